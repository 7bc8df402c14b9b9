"""What has to be read of a segment, and where that may be cut.

A stretch begins with the entry that holds the first offset asked for, and ends behind the one that holds the last; by
the time index it may begin later. Places to cut it are the entries that the offset index knows, thinned out to as many
as it takes for even splits. Where the index leaves more than a task's bytes without one, entries are looked for in the
log itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .directory import Segment
from .heads import heads
from .indexed import Claim, IndexedSegment

_PLACES_PER_SPLIT = 64
"""So many are enough to cut where it is about even."""


class Places(NamedTuple):
    """Where entries begin inside a stretch, in columns as `Claim` has them; slot -1: seen in the log itself."""

    slot: NDArray[np.int64]
    position: NDArray[np.int64]
    offset: NDArray[np.int64]
    offset_before: NDArray[np.int64]

    def claim(self, at: int) -> Claim:
        return Claim(*(int(column[at]) for column in self))


class IndexStretch(NamedTuple):
    """Bytes of one segment that are to be read."""

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
    """What of `segment` holds the offsets from `start_offset` to before `end_offset` (None: to its end), for splits of
    `max_bytes`; None where it has nothing of them.

    Where `not_before_ms` is given, entries that are known to hold only older records are left out.
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
    head = segment.entry_with(offset) if offset >= 0 else None
    return 0 if head is None else head.end


def _places(segment: IndexedSegment, start: int, end: int, max_bytes: int) -> Places:
    """Where the stretch may be cut: not more places than it takes to cut it evenly."""
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
