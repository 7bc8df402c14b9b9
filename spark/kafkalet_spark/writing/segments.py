"""Write batches into segments as a broker would (LogSegment.append, LogConfig).

A new segment is started before a batch that would make the current segment larger than `segment_bytes`, that is more
than `segment_ms` later than the segment's first batch, or that would make an index overflow. After every
`index_interval_bytes`, an entry for the next batch is added to the offset index: the batch's last offset and its
position. If the largest timestamp has increased since the last entry of the time index, an entry is added to the time
index as well: the largest timestamp so far, and the last offset of the first batch that has it. The same is done at the
end of the segment.

If there are producers, a snapshot of their state at the base of the segment is written next to it. If a transaction was
aborted, a transaction index is written.

Offsets in the offset and time indexes are relative to the base offset of the segment, so these indexes remain valid if
the whole segment is moved to other offsets. The batches, the snapshot and the transaction index must be changed in that
case. To make this possible, the positions and offsets of the batches (16 bytes per batch) are kept in an extra .batches
file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kafkalet_spark.decoding.aborted import AbortedTransactions
from kafkalet_spark.logs import indexes

from .log_producers import ProducerState, encode
from .transaction_shape import Aborted

_MAX_RELATIVE_OFFSET = (1 << 31) - 1
BATCHES = ".batches"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"


class SegmentLimits(NamedTuple):
    """The limits that determine when to roll segments and write index entries: the topic's segment.bytes, segment.ms,
    index.interval.bytes and segment.index.bytes."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 86_400_000
    index_interval_bytes: int = 4096
    index_bytes: int = 10 << 20


class SegmentFull(ValueError):
    """A batch is larger than the maximum segment size."""


class Placed(NamedTuple):
    """A batch whose offsets have been assigned."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    pieces: tuple[bytes | memoryview, ...]
    state: ProducerState | None = None
    """The state of the producer after this batch; None if the batch has no producer."""
    aborted: Aborted | None = None
    """The transaction that this batch aborts, if it is an abort marker."""


class WrittenSegment(NamedTuple):
    """A complete segment with all its files."""

    base_offset: int
    size_bytes: int


class _Segment:
    """The active segment, and the entries collected for its indexes."""

    __slots__ = (
        *("base_offset", "first_timestamp", "largest", "largest_at", "offsets", "positions", "since_entry", "size"),
        *("aborted", "batches", "times"),
    )

    def __init__(self, base_offset: int, first_timestamp: int) -> None:
        self.base_offset = base_offset
        self.first_timestamp = first_timestamp
        self.size = 0
        self.since_entry = 0
        self.largest, self.largest_at = -1, 0
        self.offsets: list[int] = []
        self.positions: list[int] = []
        self.times: list[tuple[int, int]] = []
        self.batches: list[tuple[int, int]] = []
        self.aborted: list[Aborted] = []

    def add_time(self) -> None:
        if self.largest > (self.times[-1][0] if self.times else -1):
            self.times.append((self.largest, self.largest_at))


class SegmentFiles:
    """Writes consecutive batches as segments to `directory`, which is created if it does not exist.

    Files are opened and closed again for each append, because a task may write to any number of partitions.
    """

    def __init__(self, directory: str, limits: SegmentLimits, *, durable: bool) -> None:
        self.directory = directory
        self._limits = limits
        self._durable = durable
        self._current: _Segment | None = None
        self._written: list[WrittenSegment] = []
        self.producers: dict[int, ProducerState] = {}
        """The producer states after the last batch."""
        os.makedirs(directory, exist_ok=True)

    def append(self, batches: Sequence[Placed]) -> None:
        """Append batches. Raises SegmentFull or OSError."""
        waiting: list[bytes | memoryview] = []
        interval = self._limits.index_interval_bytes
        for base_offset, last_offset, max_timestamp, pieces, state, aborted in batches:
            size = sum(map(len, pieces))
            segment = self._current
            if segment is None or self._is_full(segment, size, max_timestamp, last_offset):
                self._write(waiting)
                waiting = []
                self._finish()
                segment = self._begin(base_offset, max_timestamp, size)
            position = segment.size
            if max_timestamp > segment.largest:
                segment.largest, segment.largest_at = max_timestamp, last_offset - segment.base_offset
            if segment.since_entry > interval:
                segment.offsets.append(last_offset - segment.base_offset)
                segment.positions.append(position)
                segment.add_time()
                segment.since_entry = 0
            segment.batches.append((position, base_offset))
            segment.since_entry += size
            segment.size = position + size
            waiting += pieces
            if state is not None:
                self.producers[state.producer_id] = state
            if aborted is not None:
                segment.aborted.append(aborted)
        self._write(waiting)

    def close(self) -> tuple[WrittenSegment, ...]:
        """Finish the last segment and return all of them."""
        self._finish()
        return tuple(self._written)

    def _is_full(self, segment: _Segment, size: int, max_timestamp: int, last_offset: int) -> bool:
        limits = self._limits
        return (
            segment.size > limits.segment_bytes - size
            or (segment.first_timestamp >= 0 and max_timestamp - segment.first_timestamp > limits.segment_ms)
            or last_offset - segment.base_offset > _MAX_RELATIVE_OFFSET
            or len(segment.offsets) >= limits.index_bytes // 8
            or len(segment.times) >= limits.index_bytes // 12 - 1
        )

    def _begin(self, base_offset: int, first_timestamp: int, size: int) -> _Segment:
        if size > self._limits.segment_bytes:
            raise SegmentFull(f"a batch of {size} bytes exceeds segmentBytes ({self._limits.segment_bytes})")
        self._current = _Segment(base_offset, first_timestamp)
        if self.producers:
            self._save(self._current, SNAPSHOT, encode(self.producers))
        return self._current

    def _path(self, segment: _Segment, suffix: str) -> str:
        return os.path.join(self.directory, f"{segment.base_offset:020d}{suffix}")

    def _write(self, pieces: list[bytes | memoryview]) -> None:
        if self._current is not None and pieces:
            with open(self._path(self._current, ".log"), "ab", buffering=0) as file:
                write_all(file.fileno(), b"".join(pieces))

    def _finish(self) -> None:
        segment, self._current = self._current, None
        if segment is None:
            return
        segment.add_time()
        if self._durable:
            with open(self._path(segment, ".log"), "rb") as log:
                os.fsync(log.fileno())
        times = np.array(segment.times, np.int64).reshape(-1, 2)
        offset, position = np.array(segment.offsets, np.int64), np.array(segment.positions, np.int64)
        self._save(segment, ".index", indexes.offset_index_bytes(0, offset, position))
        self._save(segment, ".timeindex", indexes.time_index_bytes(0, times[:, 0], times[:, 1]))
        self._save(segment, BATCHES, np.array(segment.batches, "<i8").tobytes())
        if segment.aborted:
            *aborted, stable = np.array(segment.aborted, np.int64).T
            self._save(segment, TXN_INDEX, indexes.transaction_index_bytes(AbortedTransactions(*aborted), stable))
        self._written.append(WrittenSegment(segment.base_offset, segment.size))

    def _save(self, segment: _Segment, suffix: str, data: bytes) -> None:
        with open(self._path(segment, suffix), "wb") as file:
            file.write(data)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`, in several steps if the operating system requires it."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
