"""How a stretch of a log is cut into tasks.

A `Split` is what one task reads: stretches of bytes (`Piece`) of one or more segments, and the offsets it is
responsible for. Splits of one call follow each other in offsets and share none. Cuts lie where segments or entries
begin, wherever the offset index knows one; a stretch of more than a task's bytes that it says nothing of is walked
through, and then cut as well. Bytes may hold records outside of the split's offsets: where a range begins or ends
inside of an entry, the reader leaves them out.

Times narrow what is read by the time index. It holds running maxima, so whole segments, and stretches at the beginning
of segments, can be known to hold only older records. That no record of a stretch is old enough can not be known from
it: timestamps need not rise, and nothing holds their minimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .directory import PartitionLog
from .heads import Head, head_at, heads
from .indexed import IndexedSegment, floor_segment
from .timestamps import records_of


class Piece(NamedTuple):
    """Bytes `start` to before `end` of a .log file."""

    path: str
    start: int
    end: int
    last: bool
    """Of the last segment, which may end with the first part of an entry."""

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


class Split(NamedTuple):
    """The records with offsets from `start_offset` to before `end_offset` that lie in `pieces`."""

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
    """The offsets from `start_offset` to before `end_offset`, in splits of at most `max_bytes`, or of one stretch
    between two entries of the index, if that is more.

    What is left out by `not_before_ms` holds only records with earlier timestamps. Raises CorruptFile for an index
    that is missing or corrupt, unless `lenient`; ValueError for `max_bytes` below 1.
    """
    if max_bytes < 1:
        raise ValueError(f"splits of {max_bytes} bytes")
    stretches = list(_stretches(log, start_offset, end_offset, not_before_ms, lenient))
    return list(_cut(log, stretches, start_offset, end_offset, max_bytes)) if stretches else []


class Stretch(NamedTuple):
    """Bytes of one segment that are to be read."""

    segment: IndexedSegment
    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


def _stretches(
    log: PartitionLog, start_offset: int, end_offset: int, not_before_ms: int | None, lenient: bool
) -> Iterator[Stretch]:
    """What has to be read of each segment."""
    start_offset = max(start_offset, log.log_start_offset)
    if start_offset >= end_offset or not log.segments:
        return
    for at in range(floor_segment(log, start_offset), len(log.segments)):
        segment = IndexedSegment(log, log.segments[at], lenient=lenient)
        if segment.segment.base_offset >= end_offset:
            return
        start = _position_of_first(segment, start_offset)
        if not_before_ms is not None and start < segment.segment.size:
            start = max(start, _position_of_later(segment, not_before_ms))
        next_base = log.next_base_offset(at)
        is_whole = next_base is not None and next_base <= end_offset
        end = segment.segment.size if is_whole else _position_behind(segment, end_offset)
        if start < end:
            yield Stretch(segment, start, end)


def _position_of_first(segment: IndexedSegment, start_offset: int) -> int:
    """Where the entry begins that holds the offset, or the first one behind it."""
    if start_offset <= segment.segment.base_offset:
        return 0
    walk = segment.heads_from(start_offset)
    for head in walk:
        if head.last_offset >= start_offset:
            return head.position
    return walk.position


def _position_behind(segment: IndexedSegment, end_offset: int) -> int:
    """Where the last entry ends that holds anything below the offset; the end of the file where that is the last."""
    for head in segment.heads_from(end_offset - 1):
        if head.last_offset >= end_offset - 1:
            # A wrapper shows only its last offset; lower ones lie in there, too.
            return head.position if head.base_offset >= end_offset and not head.is_wrapper else head.end
    return segment.segment.size


def _position_of_later(segment: IndexedSegment, not_before_ms: int) -> int:
    """Up to this position all records are earlier."""
    largest = segment.largest_timestamp
    if largest is not None and largest < not_before_ms:
        return segment.segment.size
    offset = segment.times.last_offset_before(not_before_ms)
    if offset < 0:
        return 0
    head = segment.entry_with(offset)
    return 0 if head is None else head.end


def _cut(
    log: PartitionLog, stretches: Sequence[Stretch], start_offset: int, end_offset: int, max_bytes: int
) -> Iterator[Split]:
    """The splits, balanced. Places are counted in bytes from the beginning of what is to be read."""
    ends = np.cumsum([stretch.size_bytes for stretch in stretches])
    total = int(ends[-1])
    places = _places(stretches, ends, max_bytes)
    begin, first = 0, max(start_offset, log.log_start_offset)
    while begin < total:
        end = _next_cut(places, begin, total, max_bytes)
        until = _offset_at(stretches, ends, end)
        while until is None and end < total:  # no entry begins there after all
            end = _behind(places, end, total)
            until = _offset_at(stretches, ends, end)
        until = end_offset if until is None else min(until, end_offset)
        if first < until:
            yield Split(log.topic, log.partition, first, until, _pieces(stretches, ends, begin, end), end - begin)
        begin, first = end, max(first, until)


def _places(stretches: Sequence[Stretch], ends: NDArray[np.int64], max_bytes: int) -> NDArray[np.int64]:
    """Where cuts may be, ascending."""
    places = []
    for stretch, end in zip(stretches, ends.tolist(), strict=True):
        begin = end - stretch.size_bytes
        positions = stretch.segment.offsets.position
        positions = positions[(positions > stretch.start) & (positions < stretch.end)]
        positions = _with_walked(stretch, positions, max_bytes)
        places.append(positions - stretch.start + begin)
        places.append(np.array([end], np.int64))
    return np.concatenate(places)


def _with_walked(stretch: Stretch, positions: NDArray[np.int64], max_bytes: int) -> NDArray[np.int64]:
    """The positions, and where gaps between them are too large for a task, those of the entries in them."""
    edges = np.concatenate([[stretch.start], positions, [stretch.end]])
    gaps = np.flatnonzero(np.diff(edges) > max_bytes)
    if not gaps.size:
        return positions
    path = stretch.segment.segment.path
    walked = [head.position for gap in gaps for head in heads(path, int(edges[gap]), int(edges[gap + 1]))]
    found = np.array(walked, np.int64)
    return np.union1d(positions, found[found > stretch.start])


def _next_cut(places: NDArray[np.int64], begin: int, total: int, max_bytes: int) -> int:
    """The end of a split that begins at `begin`: near to an equal share of the rest, and at most `max_bytes` away."""
    left = total - begin
    if left <= max_bytes:
        return total
    share = begin + left / -(-left // max_bytes)
    after = int(np.searchsorted(places, share))
    candidates = [int(places[slot]) for slot in (after - 1, after) if 0 <= slot < places.size]
    fitting = [place for place in candidates if begin < place <= begin + max_bytes]
    if fitting:
        return min(fitting, key=lambda place: abs(place - share))
    return _behind(places, begin, total)


def _behind(places: NDArray[np.int64], place: int, total: int) -> int:
    slot = int(np.searchsorted(places, place, "right"))
    return int(places[slot]) if slot < places.size else total


def _offset_at(stretches: Sequence[Stretch], ends: NDArray[np.int64], place: int) -> int | None:
    """The first offset of what lies at `place`; None at the end, and where that can not be read."""
    slot = int(np.searchsorted(ends, place, "right"))
    if slot == len(stretches):
        return None
    stretch = stretches[slot]
    position = stretch.start + place - (int(ends[slot]) - stretch.size_bytes)
    if position == 0:
        return stretch.segment.segment.base_offset
    return _entry_offset(stretch, position)


def _entry_offset(stretch: Stretch, position: int) -> int | None:
    """The first offset of the entry at `position`."""
    segment = stretch.segment
    slot = int(np.searchsorted(segment.offsets.position, position))
    if slot < segment.offsets.position.size and segment.offsets.position[slot] == position:
        head = segment.begins_at(slot)
    else:
        head = head_at(segment.segment.path, position, segment.segment.size)
    return None if head is None else _first_offset_in(segment.segment.path, head)


def _first_offset_in(path: str, head: Head) -> int:
    if not head.is_wrapper:
        return head.base_offset
    return int(records_of(path, head).offset.min())


def _pieces(stretches: Sequence[Stretch], ends: NDArray[np.int64], begin: int, end: int) -> tuple[Piece, ...]:
    pieces = []
    for stretch, last in zip(stretches, ends.tolist(), strict=True):
        first = last - stretch.size_bytes
        if first < end and begin < last:
            start = stretch.start + max(begin - first, 0)
            stop = stretch.start + min(end - first, stretch.size_bytes)
            pieces.append(Piece(stretch.segment.segment.path, start, stop, stretch.segment.is_last))
    return tuple(pieces)
