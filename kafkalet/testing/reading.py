"""Reads the records of a topic as a consumer would receive them, without a client.

Batches are read in the event loop and decoded in the thread of the caller. Like consumers, readers never see control
records, and with read_committed they skip the records of aborted transactions.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.protocol.records.control import ControlType, control_type
from kafkalet.protocol.records.record import Record as StoredRecord
from kafkalet.storage.values import AbortedTransaction
from kafkalet.storage.values import Isolation as StorageIsolation
from kafkalet.suggestions import did_you_mean
from kafkalet.units import counted

from .record import Headers, Record

if TYPE_CHECKING:
    from kafkalet.embedded import EmbeddedCluster

Isolation = Literal["read_uncommitted", "read_committed"]

SHOWN_PARTITIONS = 20
READ_BYTES = 1 << 20
FIRST_READ_BYTES = 1 << 14
"""Enough bytes to find out whether a record is left."""
_BOUNDS = {
    "read_uncommitted": StorageIsolation.HIGH_WATERMARK,
    "read_committed": StorageIsolation.LAST_STABLE,
}


def checked_isolation(isolation: str) -> StorageIsolation:
    """Return the isolation for the storage layer. Raises ValueError for an unknown one."""
    bound = _BOUNDS.get(isolation)
    if bound is None:
        allowed = " or ".join(map(repr, get_args(Isolation)))
        hint = did_you_mean(isolation, _BOUNDS)
        raise ValueError(f"isolation is {isolation!r}; it must be {allowed}{'; ' if hint else ''}{hint}")
    return bound


def partitions_shown(count: int) -> str:
    """Name the partitions of a topic, as in `partition 0` or `partitions 0 to 2`."""
    return "partition 0" if count == 1 else f"partitions 0 to {count - 1}"


def without_leader(partitions: Sequence[int], count: int) -> str:
    """Say which of `count` partitions have no leader. Return an empty string if all of them have one."""
    verb = "has" if len(partitions) == 1 else "have"
    names = ", ".join(map(str, partitions[:SHOWN_PARTITIONS])) + (", ..." if len(partitions) > SHOWN_PARTITIONS else "")
    return f"{len(partitions)} of {counted(count, 'partition')} {verb} no leader: {names}" if partitions else ""


class _Chunk(NamedTuple):
    """Batches from a log, and the aborted transactions among them."""

    data: bytes
    aborted: Sequence[AbortedTransaction]


class PartitionReader:
    """Reads a partition, starting at an offset. Each call of `read` returns the records that have become visible."""

    def __init__(
        self, cluster: EmbeddedCluster, topic: str, partition: int, isolation: StorageIsolation, offset: int
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._partition = partition
        self._isolation = isolation
        self.offset = offset
        """The offset of the next record to read."""

    def read(self, end: int | None = None) -> Iterator[Record]:
        """Yield the visible records at and after `offset`, and advance it.

        With `end`, reading ends after the batch before this offset, so that it ends even while producers continue. If
        records have been deleted, reading continues at the log start offset. Raises KafkaError with
        LEADER_NOT_AVAILABLE or UNKNOWN_TOPIC_OR_PARTITION if the partition has no leader or does not exist.
        """
        while (end is None or self.offset < end) and (chunk := self._cluster._server.call(self._read_chunk)):
            yield from self._decode(chunk)

    def is_at_end(self) -> bool:
        """Return whether no record is visible at or after `offset`. Advances `offset` at most to a visible record."""
        most_bytes = FIRST_READ_BYTES
        while chunk := self._cluster._server.call(partial(self._read_chunk, most_bytes)):
            start, most_bytes = self.offset, READ_BYTES
            for batch in self._visible(chunk):
                is_known = batch.magic > 1 and batch.count > 0 and batch.base_offset >= start
                if is_known or any(record.offset >= start for record in batch.records()):
                    self.offset = start
                    return False
        return True

    def _read_chunk(self, most_bytes: int = READ_BYTES) -> _Chunk | None:
        log = self._cluster._server.leadership.leader_of(self._topic, self._partition).log
        self.offset = max(self.offset, log.log_start_offset)
        if self.offset >= self._isolation.bound(log):
            return None
        read = log.read(self.offset, most_bytes, self._isolation, at_least_one=True)
        data = read.records if isinstance(read.records, bytes) else read.records.read()
        return _Chunk(data, read.aborted or ()) if data else None

    def _decode(self, chunk: _Chunk) -> Iterator[Record]:
        start = self.offset
        for batch in self._visible(chunk):
            for record in batch.records():
                self.offset = max(self.offset, record.offset + 1)  # a wrapper of format 0 or 1 has several records
                if record.offset >= start:
                    yield self._record(record)

    def _visible(self, chunk: _Chunk) -> Iterator[Batch]:
        """Yield the batches that a consumer does not skip, and advance `offset` to the end of each batch."""
        aborted = _AbortedProducers(chunk.aborted)
        for batch in batches(chunk.data):
            self.offset = batch.next_offset
            if not aborted.skips(batch) and not batch.is_control:
                yield batch

    def _record(self, stored: StoredRecord) -> Record:
        offset, timestamp, key, value, headers = stored
        return Record(self._topic, self._partition, offset, timestamp, key, value, Headers(headers))


class _AbortedProducers:
    """The batches that a read_committed consumer skips (Java's CompletedFetch.consumeAbortedTransactionsUpTo)."""

    def __init__(self, transactions: Sequence[AbortedTransaction]) -> None:
        self._pending = [(each.first_offset, each.producer_id) for each in transactions]
        heapq.heapify(self._pending)
        self._producers: set[int] = set()

    def skips(self, batch: Batch) -> bool:
        while self._pending and self._pending[0][0] <= batch.last_offset:
            self._producers.add(heapq.heappop(self._pending)[1])
        if batch.producer_id not in self._producers or not batch.is_transactional:
            return False
        if batch.is_control and batch.count > 0 and control_type(batch.records()[0]) is ControlType.ABORT:
            self._producers.discard(batch.producer_id)
        return True


def offset_at(cluster: EmbeddedCluster, place: tuple[str, int], time_ms: int) -> int:
    """Return the offset of the first record at or after a time, or the high watermark. Runs in the event loop."""
    from kafkalet.tasks.task import finish

    leader = cluster._server.leadership.leader_of(*place)
    found = finish(leader.offset_for(time_ms, StorageIsolation.HIGH_WATERMARK, None, True))
    if found is None or found.offset < 0:  # all records are older
        return leader.log.high_watermark
    return found.offset
