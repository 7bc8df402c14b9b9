"""A partition of an internal topic. The coordinator on the partition's leader appends to it and replays it.

A coordinator first decides on a change, then appends it, and changes its state in memory only after the append has
succeeded, so the state can always be replayed from the log. If followers are held back, it responds to its client only
once they have the records (`replicated`).

Source: kafka.coordinator.group.GroupMetadataManager, org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafkalet.broker.purgatory import Purgatory
from kafkalet.broker.quoting import shown
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError, ProtocolError
from kafkalet.protocol.records.batch import TRANSACTIONAL, Batch, batches
from kafkalet.protocol.records.build import frame_batch
from kafkalet.protocol.records.codecs import Codec, compress
from kafkalet.protocol.records.record import Record, encode_records
from kafkalet.storage.values import Isolation, Origin
from kafkalet.tasks.delayed import Delayed, completed

from .partition import Partition

_LOG = logging.getLogger(__name__)

NO_PRODUCER = -1
NO_SEQUENCE = -1
READ_BYTES = 1 << 20


_CLIENT_CODES = {
    Code.UNKNOWN_TOPIC_OR_PARTITION: Code.COORDINATOR_NOT_AVAILABLE,
    Code.NOT_ENOUGH_REPLICAS: Code.COORDINATOR_NOT_AVAILABLE,
    Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Code.COORDINATOR_NOT_AVAILABLE,
    Code.REQUEST_TIMED_OUT: Code.COORDINATOR_NOT_AVAILABLE,
    Code.NOT_LEADER_OR_FOLLOWER: Code.NOT_COORDINATOR,
    Code.KAFKA_STORAGE_ERROR: Code.NOT_COORDINATOR,
    Code.MESSAGE_TOO_LARGE: Code.UNKNOWN_SERVER_ERROR,
    Code.RECORD_LIST_TOO_LARGE: Code.UNKNOWN_SERVER_ERROR,
    Code.INVALID_FETCH_SIZE: Code.UNKNOWN_SERVER_ERROR,
}


def client_code(code: Code) -> Code:
    """Map an error from the log to the error code that a coordinator returns to its clients."""
    return _CLIENT_CODES.get(code, code)


class StateRecord(NamedTuple):
    """A record of an internal topic; without a value, it is a tombstone."""

    key: bytes
    value: bytes | None


class StateLog:
    """A partition of an internal topic. Valid as long as this broker leads the partition in one leader epoch."""

    def __init__(self, partition: Partition, clock: Clock, purgatory: Purgatory, codec: Codec = Codec.NONE) -> None:
        self.partition = partition
        self._codec = codec
        self.leader_epoch = partition.leader_epoch
        self._clock = clock
        self._purgatory = purgatory

    @property
    def index(self) -> int:
        return self.partition.index

    @property
    def is_current(self) -> bool:
        """Whether this broker still leads the partition in the same leader epoch."""
        return self.partition.is_leader and self.partition.leader_epoch == self.leader_epoch

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.partition.log.log_end_offset

    def append(
        self,
        records: Sequence[StateRecord],
        *,
        producer_id: int = NO_PRODUCER,
        producer_epoch: int = NO_PRODUCER,
        base_sequence: int = NO_SEQUENCE,
    ) -> int:
        """Append records as one batch and return the offset of the last one. If this fails, none are appended.

        With a producer id, the records are part of the producer's transaction. Raises KafkaError:
        NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE.
        """
        rows = [Record(offset, 0, key, value) for offset, (key, value) in enumerate(records)]
        return self.append_encoded(
            encode_records(rows, 0, 0),
            len(rows),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )

    def append_encoded(
        self,
        payload: bytes,
        count: int,
        *,
        producer_id: int = NO_PRODUCER,
        producer_epoch: int = NO_PRODUCER,
        base_sequence: int = NO_SEQUENCE,
    ) -> int:
        """Append `count` encoded records. They all have the same timestamp, and their offset deltas start at 0."""
        partition = self.partition
        log = partition.log_for(None)
        partition.check_replicas()
        now_ms = self._clock.now_ms()
        as_built = log.config.keeps_built_batches
        base_offset = log.log_end_offset if as_built else 0
        batch = frame_batch(
            compress(self._codec, payload),
            count,
            attributes=self._codec | (0 if producer_id == NO_PRODUCER else TRANSACTIONAL),
            base_offset=base_offset,
            last_offset_delta=count - 1,
            leader_epoch=partition.leader_epoch,
            base_timestamp=now_ms,
            max_timestamp=now_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )
        if as_built:
            return partition.append_built(batch)
        return partition.append(bytearray(batch), Origin.COORDINATOR).last_offset

    def read(self) -> Iterator[tuple[Batch, Sequence[Record]]]:
        """Yield every batch with its records, from the log start offset to the log end offset.

        Batches that cannot be read are skipped, and reading stops if the next batch cannot be found. Both cases are
        logged. The coordinator continues with the rest of its state, because that is more useful than no state at all.
        (Kafka does the same up to 3.9; since 4.0, the coordinator fails to load.)
        """
        log = self.partition.log
        offset = log.log_start_offset
        try:
            while offset < log.log_end_offset:
                found = log.read(offset, READ_BYTES, Isolation.LOG_END, at_least_one=True).records
                chunk = found if isinstance(found, bytes) else found.read()
                last = offset
                for batch in batches(chunk):
                    last = batch.next_offset
                    try:
                        records = batch.records()
                    except (KafkaError, ProtocolError) as problem:
                        _LOG.error(
                            "%r: skipping the batch at offset %d: %s", self.partition, batch.base_offset, shown(problem)
                        )
                        continue
                    yield batch, records
                if last <= offset:
                    break
                offset = last
        except (KafkaError, OSError) as problem:
            _LOG.error("%r: cannot read the log from offset %d on: %s", self.partition, offset, shown(problem))
            return
        if offset < log.log_end_offset:
            _LOG.error("%r: cannot read the log from offset %d on", self.partition, offset)

    def is_replicated(self, offset: int) -> bool:
        """Return whether all in-sync replicas have the record at `offset`."""
        return self.partition.log.high_watermark > offset

    def replicated(self, offset: int, timeout_ms: float) -> Delayed[Code]:
        """Wait until all in-sync replicas have the record at `offset`. If they have it, the result is known at once.

        The result is NONE, REQUEST_TIMED_OUT after `timeout_ms`, or NOT_LEADER_OR_FOLLOWER if another broker has become
        leader.
        """
        if self.is_replicated(offset):
            return _REPLICATED

        def look() -> Code | None:
            if not self.is_current:
                return Code.NOT_LEADER_OR_FOLLOWER
            return Code.NONE if self.is_replicated(offset) else None

        key = (self.partition.topic, self.partition.index)
        return self._purgatory.park([key], timeout_ms, look, lambda: Code.REQUEST_TIMED_OUT)


_REPLICATED = completed(Code.NONE)
