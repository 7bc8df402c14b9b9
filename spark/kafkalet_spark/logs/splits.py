"""Divide a range of offsets in a log among tasks.

A `Split` is the input of one task: byte ranges (`Piece`) of one or more segments, and the offsets to return from them.
The splits of one call are in offset order and do not overlap. Cuts are made at the start of segments and at entries
listed in the offset index. If a byte range without index entries is larger than a task, it is walked to find more
places to cut. If a range of offsets begins or ends inside an entry, the bytes also hold records outside the range; the
reader drops these records.

With a lower timestamp bound, some data can be skipped by using the time index. The index holds running maxima, so it
shows which segments, or which leading parts of segments, hold only older records. With an upper bound, nothing can be
skipped: timestamps need not be in ascending order, and their minimum is not recorded.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .directory import ATTEMPTS, PartitionLog, is_replaced, open_partition
from .ends import log_end
from .heads import Head, head_at
from .index_stretches import IndexStretch, stretch_of
from .indexed import IndexedSegment, floor_segment
from .timestamps import records_of

_DELETED = "its records were deleted before they were read"
_NO_BOUND = 1 << 62


class Piece(NamedTuple):
    """The bytes of a .log file from `start` up to but not including `end`."""

    path: str
    start: int
    end: int
    last: bool
    """Whether the file is the last segment of its log, which may end with an incomplete entry."""
    inode: int = 0
    """The file's inode; 0 if unknown."""

    @property
    def is_replaced(self) -> bool:
        """Whether the file was replaced, so that `start` and `end` are no longer valid. Raises FileNotFoundError if the
        file is gone."""
        return is_replaced(self.path, self.inode)

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


class Split(NamedTuple):
    """The records in `pieces` whose offsets are in the range from `start_offset` up to but not including
    `end_offset`."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    pieces: tuple[Piece, ...]
    size_bytes: int


def split(
    log: PartitionLog,
    start_offset: int,
    end_offset: int,
    *,
    max_bytes: int,
    not_before_ms: int | None = None,
    lenient: bool = False,
) -> list[Split]:
    """Cut the offsets from `start_offset` up to but not including `end_offset` into splits of at most `max_bytes`. A
    split may be larger if index entries are further apart than that. The last split ends at or before the log end
    offset (`ends.log_end`).

    If `not_before_ms` is given, data that is known to hold only older records may be left out. Raises CorruptFile for a
    missing or corrupt index, unless `lenient`; ValueError if `max_bytes` is below 1; FileNotFoundError if a running
    broker has deleted records in the range since the log was listed.
    """
    return SplitCutter(log, lenient=lenient).split(start_offset, end_offset, max_bytes, not_before_ms)


def renewed(stale: Split, *, lenient: bool = False) -> Split:
    """Return the split itself or, if a compaction has replaced some of its files, a split of the same offsets in the
    current files.

    Raises FileNotFoundError if some of the records have been deleted, and CorruptFile as `split` does.
    """
    if not stale.pieces:
        return stale
    path = stale.pieces[0].path
    log = open_partition(os.path.dirname(path), lenient=lenient)
    if log.log_start_offset > stale.start_offset:
        raise FileNotFoundError(errno.ENOENT, _DELETED, path)
    try:
        if not any(piece.is_replaced for piece in stale.pieces):
            return stale
    except FileNotFoundError:
        pass  # the file was deleted, or merged into the segment before it
    again = split(log, stale.start_offset, stale.end_offset, max_bytes=_NO_BOUND, lenient=lenient)
    return again[0] if again else stale._replace(pieces=(), size_bytes=0)


class SplitCutter:
    """Cuts many ranges of one log. If the ranges are passed in ascending order, each index is read only once."""

    __slots__ = ("_end", "_kept", "_lenient", "log")

    def __init__(self, log: PartitionLog, *, lenient: bool = False) -> None:
        self.log = log
        self._lenient = lenient
        self._kept: IndexedSegment | None = None
        self._end: int | None = None

    def split(
        self, start_offset: int, end_offset: int, max_bytes: int, not_before_ms: int | None = None
    ) -> list[Split]:
        """Cut one range into splits, as the function `split` does."""
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, not {max_bytes}")
        for _ in range(ATTEMPTS):
            try:
                return self._split(start_offset, end_offset, max_bytes, not_before_ms)
            except FileNotFoundError as error:
                log = open_partition(self.log.path, lenient=self._lenient)
                if log.log_start_offset > max(start_offset, self.log.log_start_offset):
                    raise FileNotFoundError(errno.ENOENT, _DELETED, error.filename) from None
                self.log, self._kept, self._end = log, None, None
        return self._split(start_offset, end_offset, max_bytes, not_before_ms)

    def _split(self, start_offset: int, end_offset: int, max_bytes: int, not_before_ms: int | None) -> list[Split]:
        first = max(start_offset, self.log.log_start_offset)
        if first >= end_offset or not self.log.segments:
            return []
        end = self._within_log(end_offset)
        stretches = list(self._stretches(first, end, max_bytes, not_before_ms))
        return list(_cut(self.log, stretches, first, end, max_bytes, self._lenient)) if stretches else []

    def _within_log(self, end_offset: int) -> int:
        if end_offset <= self.log.segments[-1].base_offset:
            return end_offset
        if self._end is None:
            self._end = log_end(self.log, lenient=self._lenient).offset
        return min(end_offset, self._end)

    def _stretches(
        self, start_offset: int, end_offset: int, max_bytes: int, not_before_ms: int | None
    ) -> Iterator[IndexStretch]:
        """Yield the part of each segment that has to be read."""
        for at in range(floor_segment(self.log, start_offset), len(self.log.segments)):
            segment = self._segment(at)
            if segment.segment.base_offset >= end_offset:
                return
            next_base = self.log.next_base_offset(at)
            until = None if next_base is not None and next_base <= end_offset else end_offset
            stretch = stretch_of(segment, start_offset, until, max_bytes, not_before_ms)
            if stretch is not None:
                yield stretch

    def _segment(self, at: int) -> IndexedSegment:
        segment = self.log.segments[at]
        if self._kept is None or self._kept.segment is not segment:
            self._kept = IndexedSegment(self.log, segment, lenient=self._lenient)
        return self._kept


def _cut(
    log: PartitionLog, stretches: Sequence[IndexStretch], first: int, end_offset: int, max_bytes: int, lenient: bool
) -> Iterator[Split]:
    """Yield splits of about equal size. Positions of cuts are counted in bytes from the start of the first stretch."""
    ends = np.cumsum([stretch.size_bytes for stretch in stretches])
    edges = np.concatenate(
        [
            np.append(stretch.places.position - stretch.start, stretch.size_bytes) + (end - stretch.size_bytes)
            for stretch, end in zip(stretches, ends, strict=True)
        ]
    )
    begin, total = 0, int(ends[-1])
    while begin < total:
        end = _next_cut(edges, begin, total, max_bytes)
        until = _offset_at(stretches, ends, end, lenient)
        while until is None and end < total:  # no entry begins at `end` after all
            end = _behind(edges, end)
            until = _offset_at(stretches, ends, end, lenient)
        until = end_offset if until is None else min(until, end_offset)
        if first < until:
            yield Split(log.topic, log.partition, first, until, _pieces(stretches, ends, begin, end), end - begin)
        begin, first = end, max(first, until)


def _next_cut(edges: NDArray[np.int64], begin: int, total: int, max_bytes: int) -> int:
    """Return the end of a split that begins at `begin`: close to an equal share of the remaining bytes, and at most
    `max_bytes` away if possible."""
    left = total - begin
    if left <= max_bytes:
        return total
    share = begin + left / -(-left // max_bytes)
    after = int(np.searchsorted(edges, share))
    candidates = [int(edges[slot]) for slot in (after - 1, after) if 0 <= slot < edges.size]
    fitting = [edge for edge in candidates if begin < edge <= begin + max_bytes]
    if fitting:
        return min(fitting, key=lambda edge: abs(edge - share))
    return _behind(edges, begin)


def _behind(edges: NDArray[np.int64], edge: int) -> int:
    return int(edges[int(np.searchsorted(edges, edge, "right"))])


def _offset_at(stretches: Sequence[IndexStretch], ends: NDArray[np.int64], edge: int, lenient: bool) -> int | None:
    """Return the first offset after `edge`; None if `edge` is at the end, or if no entry begins there."""
    number = int(np.searchsorted(ends, edge, "right"))
    if number == len(stretches):
        return None
    stretch = stretches[number]
    segment, places = stretch.segment, stretch.places
    position = stretch.start + edge - (int(ends[number]) - stretch.size_bytes)
    if position == 0:
        return segment.base_offset
    at = int(np.searchsorted(places.position, position))
    if at < places.position.size and places.position[at] == position and places.slot[at] >= 0:
        head = places.claim(at).check(segment, lenient=lenient, is_last=stretch.is_last)
    else:
        head = head_at(segment.path, position, segment.size)
    return None if head is None else _first_offset(segment.path, head)


def _first_offset(path: str, head: Head) -> int:
    return int(records_of(path, head).offset.min()) if head.is_wrapper else head.base_offset


def _pieces(stretches: Sequence[IndexStretch], ends: NDArray[np.int64], begin: int, end: int) -> tuple[Piece, ...]:
    pieces = []
    for number in range(int(np.searchsorted(ends, begin, "right")), len(stretches)):
        stretch = stretches[number]
        first = int(ends[number]) - stretch.size_bytes
        if first >= end:
            break
        start = stretch.start + max(begin - first, 0)
        stop = stretch.start + min(end - first, stretch.size_bytes)
        pieces.append(Piece(stretch.segment.path, start, stop, stretch.is_last, stretch.segment.inode))
    return tuple(pieces)
