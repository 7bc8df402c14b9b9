"""Find the byte range ("stretch") of a segment that a task has to read, and the places at which it can be cut.

A stretch begins at the entry that holds the first requested offset and ends after the entry that holds the last; the
time index may move its start forward. It can be cut at the entries listed in the offset index. Only as many of these
are kept as are needed for splits of about equal size. Where the gap between two index entries is larger than a task,
more places are found by walking the headers in the log.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .directory import Segment
from .heads import heads
from .indexed import Claim, IndexedSegment

_PLACES_PER_SPLIT = 64
"""The number of candidate cuts per split. This is enough to make splits of about equal size."""


class Places(NamedTuple):
    """Positions of entries inside a stretch, with the fields of `Claim` as columns. A slot of -1 means that the entry
    was found by walking the log."""

    slot: NDArray[np.int64]
    position: NDArray[np.int64]
    offset: NDArray[np.int64]
    offset_before: NDArray[np.int64]

    def claim(self, at: int) -> Claim:
        return Claim(*(int(column[at]) for column in self))


class IndexStretch(NamedTuple):
    """A byte range of one segment, and the places at which it can be cut."""

    segment: Segment
    is_last: bool
    start: int
    end: int
    places: Places

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


def stretch_of(
    segment: IndexedSegment, start_offset: int, end_offset: int | None, max_bytes: int, not_before_ms: int | None
) -> IndexStretch | None:
    """Return the part of `segment` that holds the offsets from `start_offset` up to but not including `end_offset`
    (None: to the end of the segment), with places to cut it into splits of `max_bytes`. Return None if the segment
    holds none of these offsets.

    If `not_before_ms` is given, entries that are known to hold only older records are left out.
    """
    size = segment.segment.size
    start = _position_of_first(segment, start_offset)
    if not_before_ms is not None and start < size:
        start = max(start, _position_of_later(segment, not_before_ms))
    end = size if end_offset is None else _position_behind(segment, end_offset)
    if start >= end:
        return None
    return IndexStretch(segment.segment, segment.is_last, start, end, _places(segment, start, end, max_bytes))


def _position_of_first(segment: IndexedSegment, start_offset: int) -> int:
    """Return the position of the entry that holds the offset, or of the next entry after it."""
    if start_offset <= segment.segment.base_offset:
        return 0
    walk = segment.heads_from(start_offset)
    for head in walk:
        if head.last_offset >= start_offset:
            return head.position
    return walk.position


def _position_behind(segment: IndexedSegment, end_offset: int) -> int:
    """Return the end of the last entry with offsets below `end_offset`; the file size if that is the last entry."""
    for head in segment.heads_from(end_offset - 1):
        if head.last_offset >= end_offset - 1:
            # A wrapper message carries only the offset of its last inner message; the inner messages before it have
            # lower offsets.
            return head.position if head.base_offset >= end_offset and not head.is_wrapper else head.end
    return segment.segment.size


def _position_of_later(segment: IndexedSegment, not_before_ms: int) -> int:
    """Return a position such that all records before it are older than `not_before_ms`."""
    largest = segment.largest_timestamp
    if largest is not None and largest < not_before_ms:
        return segment.segment.size
    offset = segment.times.last_offset_before(not_before_ms)
    head = segment.entry_with(offset) if offset >= 0 else None
    return 0 if head is None else head.end


def _places(segment: IndexedSegment, start: int, end: int, max_bytes: int) -> Places:
    """Return the places at which the stretch can be cut, but no more than are needed for splits of about equal size."""
    offset, position = segment.offsets
    slots = np.flatnonzero((position > start) & (position < end))
    grain = max(max_bytes // _PLACES_PER_SPLIT, 1)
    slots = slots[np.diff(position[slots] // grain, prepend=-1) != 0]
    before = np.where(slots > 0, offset[np.maximum(slots - 1, 0)], -1) if slots.size else slots
    known = Places(slots, position[slots], offset[slots], before)
    edges = np.concatenate([[start], known.position, [end]])
    gaps = np.flatnonzero(np.diff(edges) > max_bytes)
    if not gaps.size:
        return known
    path = segment.segment.path
    walked = [head.position for gap in gaps for head in heads(path, int(edges[gap]), int(edges[gap + 1]))]
    return _with_walked(known, np.setdiff1d(walked, edges))


def _with_walked(known: Places, walked: NDArray[np.int64]) -> Places:
    nothing = np.full(walked.size, -1, np.int64)
    columns = [np.concatenate(pair) for pair in zip(known, (nothing, walked, nothing, nothing), strict=True)]
    order = np.argsort(columns[1])
    return Places(*(column[order] for column in columns))
