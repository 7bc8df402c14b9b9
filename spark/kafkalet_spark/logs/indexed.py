"""A segment with its indexes, which are read on first use.

If an index is missing or inconsistent, `CorruptFile` is raised, with two exceptions: the active segment may lack its
indexes while the broker is running or after it was killed, because kafkalet writes them at the next roll, flush or
close; and Kafka before 0.10.1 had no .timeindex, so a segment whose first entry has format 0 or 1 may lack one. With
`lenient`, the indexes of any segment may be missing, and corrupt ones are ignored: the log is walked instead. If a
running broker has deleted or replaced the segment in the meantime, FileNotFoundError is raised.

Only the log itself shows whether an index entry points to the right place, so that place is checked before a walk
starts there.

An index may not cover the whole segment: a running kafkalet has written only the first part of it, and
`index.interval.bytes` may be large. The missing part is built by one walk and cached.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from .directory import PartitionLog, Segment
from .files import CorruptFile
from .heads import Head, Heads, head_at, heads
from .indexes import (
    NO_OFFSETS,
    NO_TIMES,
    OFFSET_ENTRY_BYTES,
    OffsetIndex,
    TimeIndex,
    check_positions,
    existing,
    read_offset_index,
    read_time_index,
)

_FAR_BYTES = 1 << 20
"""If more bytes than this at the end of a segment have no index entries, that part is walked once and indexed."""
_INTERVAL_BYTES = 1 << 16


class IndexedSegment:
    """One segment of a log, as it was when the log was listed."""

    __slots__ = ("_first", "_log", "_offsets", "_times", "is_last", "lenient", "segment")

    def __init__(self, log: PartitionLog, segment: Segment, *, lenient: bool = False) -> None:
        self.segment = segment
        self.is_last = log.is_last(segment)
        self.lenient = lenient
        self._log = log
        self._first: Head | None = None
        self._offsets: OffsetIndex | None = None
        self._times: TimeIndex | None = None

    # The indexes

    @property
    def offsets(self) -> OffsetIndex:
        """The offset index, which maps offsets to positions. Raises CorruptFile unless lenient."""
        if self._offsets is None:
            self._offsets = self._extended(self._read_offsets())
        return self._offsets

    @property
    def times(self) -> TimeIndex:
        """The time index, which maps the running maximum of the timestamps to offsets. Raises CorruptFile unless
        lenient.
        """
        if self._times is None:
            self._times = self._read_times()
        return self._times

    @property
    def largest_timestamp(self) -> int | None:
        """The largest timestamp of all records; -1 if no record has a timestamp. None if the log would have to be
        walked to find it: for the active segment, and for a segment written by Kafka before 0.10.1."""
        if self.is_last or (not self.times.timestamp.size and self._is_old()):
            return None
        return self.times.largest

    def _may_lack_indexes(self) -> bool:
        return self.lenient or self.segment.size == 0 or (self.is_last and not self._log.is_closed)

    def _is_old(self) -> bool:
        """Return whether the segment has format 0 or 1, so that it may have been written before time indexes were
        introduced."""
        if self._first is None:
            self._first = head_at(self.segment.path, 0, self.segment.size)
        return self._first is not None and self._first.magic < 2

    def _read_offsets(self) -> OffsetIndex:
        segment = self.segment
        if self._may_lack_indexes() and not os.path.exists(existing(segment.index_path)):
            segment.check_is_there()
            return NO_OFFSETS
        try:
            return self._read_offsets_strictly()
        except CorruptFile:
            segment.check_is_there()
            if not self.lenient:
                raise
            return NO_OFFSETS

    def _read_offsets_strictly(self) -> OffsetIndex:
        """Read the offset index, without the entries for data that was appended after the log was listed."""
        segment = self.segment
        index = read_offset_index(segment.index_path, segment.base_offset)
        if index.position.size and index.position[-1] >= segment.size:
            check_positions(segment.index_path, index, os.stat(segment.path).st_size)
        known = int(np.searchsorted(index.position, segment.size))
        return OffsetIndex(index.offset[:known], index.position[:known])

    def _extended(self, index: OffsetIndex) -> OffsetIndex:
        start = int(index.position[-1]) if index.position.size else 0
        if self.segment.size - start <= _FAR_BYTES:
            return index
        if start and self._check(_claim(index, index.offset.size - 1)) is None:
            if not self.lenient:
                return index
            index, start = NO_OFFSETS, 0
        offsets, positions, last = [], [], start
        for head in heads(self.segment.path, start, self.segment.size):
            if head.position - last >= _INTERVAL_BYTES:
                offsets.append(head.last_offset)
                positions.append(head.position)
                last = head.position
        return OffsetIndex(
            np.concatenate([index.offset, np.array(offsets, np.int64)]),
            np.concatenate([index.position, np.array(positions, np.int64)]),
        )

    def _read_times(self) -> TimeIndex:
        segment = self.segment
        if not os.path.exists(existing(segment.time_index_path)) and (self._may_lack_indexes() or self._is_old()):
            segment.check_is_there()
            return self._walked_times()
        try:
            return read_time_index(segment.time_index_path, segment.base_offset)
        except CorruptFile:
            segment.check_is_there()
            if not self.lenient:
                raise
            return self._walked_times()

    def _walked_times(self) -> TimeIndex:
        timestamps: list[int] = []
        offsets: list[int] = []
        largest, last = -1, -_INTERVAL_BYTES
        for head in heads(self.segment.path, 0, self.segment.size):
            if head.max_timestamp > largest:
                largest, offset = head.max_timestamp, head.last_offset
                if head.position - last < _INTERVAL_BYTES:
                    timestamps.pop()
                    offsets.pop()
                else:
                    last = head.position
                timestamps.append(largest)
                offsets.append(offset)
        if not timestamps:
            return NO_TIMES
        return TimeIndex(np.array(timestamps, np.int64), np.array(offsets, np.int64))

    # The log

    def heads_from(self, offset: int) -> Heads:
        """Iterate over the entries, starting at or before the one that holds `offset`. Raises CorruptFile unless
        lenient."""
        return heads(self.segment.path, self.position_before(offset), self.segment.size)

    def position_before(self, offset: int) -> int:
        """Return the position of an entry at or before the one that holds `offset`. Raises CorruptFile unless
        lenient."""
        slot = int(np.searchsorted(self.offsets.offset, offset, "right")) - 1
        while slot >= 0:
            if self._check(self.claim(slot)) is not None:
                return int(self.offsets.position[slot])
            slot -= 1
        return 0

    def claim(self, slot: int) -> Claim:
        """Return entry number `slot` of the offset index."""
        return _claim(self.offsets, slot)

    def _check(self, claim: Claim) -> Head | None:
        return claim.check(self.segment, lenient=self.lenient, is_last=self.is_last)

    def entry_with(self, offset: int) -> Head | None:
        """Return the first entry whose last offset is at or after `offset`; None if there is none."""
        for head in self.heads_from(offset):
            if head.last_offset >= offset:
                return head
        return None


class Claim(NamedTuple):
    """An entry of an offset index, which claims that `offset` is the last offset of the append that begins at
    `position`.

    All records before `position` have lower offsets.
    """

    slot: int
    position: int
    offset: int
    offset_before: int
    """The offset in the previous index entry; -1 for the first."""

    def check(self, segment: Segment, *, lenient: bool, is_last: bool) -> Head | None:
        """Return the header at `position`. In the last segment, return None if the entry extends past the end of the
        file.

        If no matching entry begins there, raise CorruptFile or, if lenient, return None.
        """
        walk = heads(segment.path, self.position, segment.size)
        head = next(iter(walk), None)
        if head is not None and self._fits(head):
            return head
        segment.check_is_there()
        if lenient or (is_last and head is None and (walk.fault or "").startswith("truncated")):
            return None
        raise CorruptFile(
            segment.index_path,
            self.slot * OFFSET_ENTRY_BYTES,
            f"the index entry for offset {self.offset} points to byte {self.position}, where that offset is not found",
        )

    def _fits(self, head: Head) -> bool:
        # A wrapper message carries only the offset of its last inner message, but old index entries hold the first
        # offset.
        return head.last_offset > self.offset_before and (head.base_offset <= self.offset or head.is_wrapper)


def _claim(index: OffsetIndex, slot: int) -> Claim:
    offset, position = index
    return Claim(slot, int(position[slot]), int(offset[slot]), int(offset[slot - 1]) if slot else -1)


def segments_of(log: PartitionLog, *, lenient: bool = False) -> list[IndexedSegment]:
    """Return all segments of a log with their indexes."""
    return [IndexedSegment(log, segment, lenient=lenient) for segment in log.segments]


def floor_segment(log: PartitionLog, offset: int) -> int:
    """Return the index of the last segment whose base offset is at or below `offset`; 0 if there is none."""
    bases = [segment.base_offset for segment in log.segments]
    return max(int(np.searchsorted(bases, offset, "right")) - 1, 0)
