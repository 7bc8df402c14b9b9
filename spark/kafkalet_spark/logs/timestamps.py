"""Find an offset by timestamp, as Kafka does for ListOffsets.

For a timestamp of 0 or more, the result is the first record in offset order, at or above the log start offset, whose
timestamp is equal to it or later:

1. Take the first segment whose largest timestamp is equal or later. Records below the log start offset count too, and
   later segments are never tried.
2. In that segment, find the first entry whose largest timestamp is equal or later, starting at a position from the
   indexes.
3. In that entry, decompressed if necessary, find the first record whose timestamp is equal or later. If there is none,
   continue with the entries after it.

If none of the records in a segment has a timestamp, the modification time of its file is used. Negative timestamps are
special values. Sources: UnifiedLog.fetchOffsetByTimestamp, LogSegment.findOffsetByTimestamp,
FileRecords.searchForTimestamp.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from kafkalet_spark.decoding.batches import Batches, walk
from kafkalet_spark.decoding.exactly import Unreadable
from kafkalet_spark.decoding.records import Records, decode

from .directory import ATTEMPTS, PartitionLog, open_partition
from .ends import log_end_offset
from .files import CorruptFile
from .heads import Head
from .indexed import IndexedSegment, segments_of

LATEST = -1
"""The log end offset."""
EARLIEST = -2
"""The log start offset."""
MAX_TIMESTAMP = -3
"""The first record with the largest timestamp, even if it is below the log start offset (KIP-734)."""
NO_TIMESTAMP = -1


def offset_for(log: PartitionLog, timestamp_ms: int, *, lenient: bool = False) -> tuple[int, int] | None:
    """Return the offset and timestamp found for a timestamp or special value; None if no record is late enough. For
    LATEST and EARLIEST, the returned timestamp is -1.

    Raises CorruptFile for an index (unless `lenient`) or an entry that cannot be read; ValueError for an unknown
    negative timestamp.
    """
    return TimestampSearch(log, lenient=lenient).offset_for(timestamp_ms)


class TimestampSearch:
    """Finds the offsets for many timestamps in one log. Caches the indexes and the last decoded entry."""

    __slots__ = ("_decoded", "_lenient", "_log", "_peaks", "_segments")

    def __init__(self, log: PartitionLog, *, lenient: bool = False) -> None:
        self._log = log
        self._lenient = lenient
        self._segments = segments_of(log, lenient=lenient)
        self._peaks: NDArray[np.int64] | None = None
        self._decoded: tuple[str, int, Records] | None = None

    def offset_for(self, timestamp_ms: int) -> tuple[int, int] | None:
        """Find one offset, as the function `offset_for` does."""
        for _ in range(ATTEMPTS):
            try:
                return self._find(timestamp_ms)
            except FileNotFoundError:  # a running broker may delete or replace segments
                self._log = open_partition(self._log.path, lenient=self._lenient)
                self._segments, self._peaks = segments_of(self._log, lenient=self._lenient), None
        return self._find(timestamp_ms)

    def _find(self, timestamp_ms: int) -> tuple[int, int] | None:
        if timestamp_ms >= 0:
            return self._first_as_late_as(timestamp_ms)
        if timestamp_ms == LATEST:
            return log_end_offset(self._log, lenient=self._lenient), NO_TIMESTAMP
        if timestamp_ms == EARLIEST:
            return self._log.log_start_offset, NO_TIMESTAMP
        if timestamp_ms == MAX_TIMESTAMP:
            return self._latest_record()
        raise ValueError(f"unknown special timestamp {timestamp_ms}")

    def _first_as_late_as(self, timestamp_ms: int) -> tuple[int, int] | None:
        if self._peaks is None:
            peaks = [_largest_or_modified(segment) for segment in self._segments[:-1]]
            self._peaks = np.maximum.accumulate(np.array(peaks, np.int64)) if peaks else np.empty(0, np.int64)
        if not self._segments:
            return None
        segment = self._segments[int(np.searchsorted(self._peaks, timestamp_ms))]
        start = self._log.log_start_offset
        before = max(segment.times.last_offset_until(timestamp_ms), start)
        for head in segment.heads_from(before):
            if head.max_timestamp >= timestamp_ms and head.last_offset >= start:
                records = self._records(segment.segment.path, head)
                late = (records.timestamp >= timestamp_ms) & (records.offset >= start)
                if late.any():
                    row = int(late.argmax())
                    return int(records.offset[row]), int(records.timestamp[row])
        return None

    def _latest_record(self) -> tuple[int, int] | None:
        largest = [_largest(segment) for segment in self._segments]
        if not largest:
            return None
        timestamp = max(largest)
        segment = self._segments[largest.index(timestamp)]
        # If no record has a timestamp, the loop stops at the first entry.
        before = segment.times.last_offset_before(timestamp)
        for head in segment.heads_from(before):
            if head.max_timestamp == timestamp:
                if head.magic == 0:
                    return None
                records = self._records(segment.segment.path, head)
                equal = records.timestamp == timestamp
                if equal.any():
                    return int(records.offset[int(equal.argmax())]), timestamp
                return None
        return None

    def _records(self, path: str, head: Head) -> Records:
        if self._decoded is None or self._decoded[:2] != (path, head.position):
            self._decoded = path, head.position, records_of(path, head)
        return self._decoded[2]


def records_of(path: str, head: Head) -> Records:
    """Decode the offsets and timestamps of the records in the entry with header `head`. Raises CorruptFile."""
    with open(path, "rb", buffering=0) as file:
        data = os.pread(file.fileno(), head.size, head.position)
    try:
        batches, _ = walk(data)
        return decode(data, batches, ())
    except Unreadable as error:
        raise CorruptFile(path, head.position, error.reason) from error


def may_hold(batches: Batches, not_before_ms: int | None, not_after_ms: int | None) -> NDArray[np.bool_]:
    """Mark the batches that may hold a record between the two timestamps, both inclusive.

    The largest timestamp of a batch is known; the smallest is known only with LogAppendTime, where all timestamps of a
    batch are equal.
    """
    mask = np.ones(batches.position.size, np.bool_)
    if not_before_ms is not None:
        mask &= batches.max_timestamp >= not_before_ms
    if not_after_ms is not None:
        mask &= ~batches.is_log_append_time | (batches.max_timestamp <= not_after_ms)
    return mask


def _largest(segment: IndexedSegment) -> int:
    known = segment.largest_timestamp
    if known is not None:
        return known
    largest = segment.times.largest
    for head in segment.heads_from(segment.times.last_offset_until(largest)):
        largest = max(largest, head.max_timestamp)
    return largest


def _largest_or_modified(segment: IndexedSegment) -> int:
    largest = _largest(segment)
    return largest if largest >= 0 else os.stat(segment.segment.path).st_mtime_ns // 1_000_000
