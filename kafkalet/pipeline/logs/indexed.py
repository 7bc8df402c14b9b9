"""A segment with its indexes, which are read when they are first needed.

An index that is missing, or that breaks its rules, is a `CorruptFile`. Two exceptions: the segment that takes appends
may lack its indexes while its broker runs or after it was killed, since kafkalet writes them at the next roll, flush
or close; and Kafka before 0.10.1 knew no .timeindex, so a segment that begins with an entry of formats 0 or 1 may lack
it. `lenient` makes it one for every segment: what the index would say is then found by walking through the log. Where
a running broker has deleted or replaced the segment in the meantime, it is a FileNotFoundError.

That an entry of an index points to the wrong place shows only in the log. So the place is looked at before a walk
begins there.

An index need not reach to the end of its segment: the running broker of kafkalet has written only the first part of
it, and `index.interval.bytes` may be large. What is missing behind is found by one walk, and remembered.
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
"""A stretch of so many bytes without an entry of the index is walked through once, and indexed."""
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

    # -- the indexes

    @property
    def offsets(self) -> OffsetIndex:
        """Positions by offsets. Raises CorruptFile unless lenient."""
        if self._offsets is None:
            self._offsets = self._extended(self._read_offsets())
        return self._offsets

    @property
    def times(self) -> TimeIndex:
        """Offsets by running maxima of timestamps. Raises CorruptFile unless lenient."""
        if self._times is None:
            self._times = self._read_times()
        return self._times

    @property
    def largest_timestamp(self) -> int | None:
        """Of all records, -1 without any; None where that is not known without a walk: of the segment that takes
        appends, and of one that Kafka before 0.10.1 wrote."""
        if self.is_last or (not self.times.timestamp.size and self._is_old()):
            return None
        return self.times.largest

    def _may_lack_indexes(self) -> bool:
        return self.lenient or self.segment.size == 0 or (self.is_last and not self._log.is_closed)

    def _is_old(self) -> bool:
        """Formats 0 and 1 are what brokers wrote that knew no time index."""
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
        """Entries of what was appended after the log was listed are left out."""
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

    # -- the log

    def heads_from(self, offset: int) -> Heads:
        """A walk that begins at or before the entry that holds `offset`. Raises CorruptFile unless lenient."""
        return heads(self.segment.path, self.position_before(offset), self.segment.size)

    def position_before(self, offset: int) -> int:
        """Where an entry begins, at or before the one that holds `offset`. Raises CorruptFile unless lenient."""
        slot = int(np.searchsorted(self.offsets.offset, offset, "right")) - 1
        while slot >= 0:
            if self._check(self.claim(slot)) is not None:
                return int(self.offsets.position[slot])
            slot -= 1
        return 0

    def claim(self, slot: int) -> Claim:
        """What entry number `slot` of the offset index says."""
        return _claim(self.offsets, slot)

    def _check(self, claim: Claim) -> Head | None:
        return claim.check(self.segment, lenient=self.lenient, is_last=self.is_last)

    def entry_with(self, offset: int) -> Head | None:
        """The first entry that ends at `offset` or later; None where all end before it."""
        for head in self.heads_from(offset):
            if head.last_offset >= offset:
                return head
        return None


class Claim(NamedTuple):
    """An entry of an offset index: at `position` begins what ends in `offset`, and what is before ends before that."""

    slot: int
    position: int
    offset: int
    offset_before: int
    """Of the entry before; -1 for the first."""

    def check(self, segment: Segment, *, lenient: bool, is_last: bool) -> Head | None:
        """What begins there; in the last segment None, if it goes on behind the end of the file.

        Where it is no entry, or another one, raises CorruptFile; if lenient, None.
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
            f"the entry of offset {self.offset} points to byte {self.position} of the log, where it is not",
        )

    def _fits(self, head: Head) -> bool:
        # What wrappers show is their last offset, and the index had the first one in those days.
        return head.last_offset > self.offset_before and (head.base_offset <= self.offset or head.is_wrapper)


def _claim(index: OffsetIndex, slot: int) -> Claim:
    offset, position = index
    return Claim(slot, int(position[slot]), int(offset[slot]), int(offset[slot - 1]) if slot else -1)


def segments_of(log: PartitionLog, *, lenient: bool = False) -> list[IndexedSegment]:
    """All segments of a log."""
    return [IndexedSegment(log, segment, lenient=lenient) for segment in log.segments]


def floor_segment(log: PartitionLog, offset: int) -> int:
    """The number of the last segment that begins at or below `offset`; 0 where all begin above it."""
    bases = [segment.base_offset for segment in log.segments]
    return max(int(np.searchsorted(bases, offset, "right")) - 1, 0)
