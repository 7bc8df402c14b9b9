"""Decides which records of a batch stay, and builds the batch that is written for them (MemoryRecords.filterTo).

A batch is copied byte by byte if all its records stay, and encoded again if some are removed. It keeps its offsets: a
batch of format 2 keeps its first and last offset even if these records are gone. A batch without records is removed,
unless it is the last batch of a producer, which preserves the producer's sequence and epoch, or the last batch of the
round.

A tombstone stays for `delete.retention.ms` after the first round that finds no newer record of its key, so
that consumers see the deletion. The end of that time, the delete horizon, replaces the base timestamp of the batch
(KIP-534). The same applies to the marker of a transaction without records. Formats 0 and 1 have no delete horizon;
their tombstones stay until the segments before the dirty ones have not been modified for `delete.retention.ms`.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from kafkalet.protocol.records.batch import (
    CONTROL,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    Batch,
)
from kafkalet.protocol.records.build import build_batch, build_message_set, frame_batch
from kafkalet.protocol.records.record import Record, wrapped

from .offset_map import OffsetMap
from .transactions import CleanedTransactions


class CannotClean(Exception):
    """The log cannot be cleaned. The message is the reason."""


class LastRecord(NamedTuple):
    """The last batch of a producer that has not expired (Kafka's LastRecord)."""

    data_offset: int
    """The last offset of its last batch with data; -1 if unknown. In that case, the last marker is its last batch."""
    producer_epoch: int


class Retention(Enum):
    """What happens to a batch (MemoryRecords.RecordFilter.BatchRetention)."""

    DELETE = "it is removed"
    RETAIN_EMPTY = "it stays, even if none of its records do"
    DELETE_EMPTY = "it is removed if none of its records stay"


class Retained(NamedTuple):
    """A batch that stays, with the data for the indexes."""

    data: bytes | memoryview
    records: int
    max_offset: int
    """The offset of its last record or, if the batch is unchanged or empty, the last offset of the batch."""


class RecordFilter:
    """The rules of one round. Batches must be given in the order of the log."""

    def __init__(
        self,
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        *,
        now_ms: int,
        delete_retention_ms: int,
        sets_horizons: bool = True,
        keeps_before: int = -1,
    ) -> None:
        """The batch before offset `keeps_before` stays, even without records.

        `sets_horizons` is False for releases without KIP-534: the rules for formats 0 and 1 then apply to format 2, and
        to markers, as well.
        """
        self.offsets = offsets
        self.transactions = transactions
        self.last_records: Mapping[int, LastRecord] = {}
        """The last batches of the producers, keyed by producer id."""
        self.keeps_legacy_tombstones = True
        """Whether tombstones without a delete horizon stay in the segment that is being read."""
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms
        self._sets_horizons = sets_horizons
        self._keeps_before = keeps_before
        self.records_read = 0

    def filter(self, batch: Batch) -> Retained | None:
        """Return a batch without the records that are removed, or None.

        Raises CannotClean, and KafkaError for invalid records.
        """
        is_control = batch.is_control
        if is_control:
            may_discard = self.transactions.read_control_batch(batch)
            discards_records = may_discard and not self._keeps_deletions(batch)
        else:
            may_discard = discards_records = self.transactions.read_batch(batch)
        retention = self._retention(batch, discards_records)
        if retention is Retention.DELETE:
            self.records_read += batch.count
            return None
        records: Sequence[Record] = batch.records()
        self.records_read += len(records)
        if discards_records:
            retained: Sequence[Record] = ()
        elif is_control:
            retained = records
        else:
            retained = self._newest(batch, records)
        if retained:
            return self._rebuilt(batch, records, retained, is_empty_marker=may_discard and is_control)
        if retention is Retention.RETAIN_EMPTY:
            return _emptied(batch)
        return None

    def _retention(self, batch: Batch, discards_records: bool) -> Retention:
        last = self.last_records.get(batch.producer_id) if batch.has_producer_id else None
        if last is not None:
            if last.data_offset >= 0:
                is_last = batch.last_offset == last.data_offset
            else:
                is_last = batch.is_control and batch.producer_epoch == last.producer_epoch
            if is_last:
                return Retention.RETAIN_EMPTY
        if batch.next_offset == self._keeps_before:
            return Retention.RETAIN_EMPTY
        return Retention.DELETE if discards_records else Retention.DELETE_EMPTY

    def _keeps_deletions(self, batch: Batch) -> bool:
        """Return whether tombstones and markers in this batch have not expired."""
        if batch.magic < 2 or not self._sets_horizons:
            return self.keeps_legacy_tombstones
        horizon = batch.delete_horizon_ms
        return horizon is None or self._now_ms < horizon

    def _newest(self, batch: Batch, records: Sequence[Record]) -> Sequence[Record]:
        """Return the records that are the newest of their keys, without the tombstones that have expired."""
        latest, offset_of = self.offsets.latest_offset, self.offsets.offsets.get
        keeps_tombstones = self._keeps_deletions(batch)
        return [
            record
            for record in records
            if record.offset > latest
            or (
                record.key is not None
                and record.offset >= offset_of(record.key, -1)
                and (keeps_tombstones or record.value is not None)
            )
        ]

    def _rebuilt(
        self, batch: Batch, records: Sequence[Record], retained: Sequence[Record], *, is_empty_marker: bool
    ) -> Retained:
        old_horizon = batch.delete_horizon_ms
        gets_horizon = (
            batch.magic >= 2
            and self._sets_horizons
            and old_horizon is None
            and (is_empty_marker or any(record.value is None for record in retained))
        )
        if len(retained) == len(records) and not gets_horizon:
            return Retained(batch.view(), len(records), batch.last_offset)
        if any(record.timestamp < NO_TIMESTAMP for record in retained):
            raise CannotClean(f"Invalid negative timestamp in the batch at offset {batch.base_offset}")
        horizon = wrapped(self._now_ms + self._delete_retention_ms) if gets_horizon else old_horizon
        return _with_records(batch, retained, horizon)


def _with_records(batch: Batch, records: Sequence[Record], delete_horizon_ms: int | None) -> Retained:
    """Encode a batch with some of its records (MemoryRecords.buildRetainedRecordsInto)."""
    if batch.magic < 2:
        data: bytes = build_message_set(
            batch.magic,
            records,
            codec=batch.codec,
            base_offset=records[0].offset,
            timestamp_type=batch.timestamp_type,
            append_time=batch.max_timestamp,
        )
        return Retained(data, len(records), records[-1].offset)
    data = build_batch(
        records,
        base_offset=batch.base_offset,
        codec=batch.codec,
        leader_epoch=batch.leader_epoch,
        timestamp_type=batch.timestamp_type,
        append_time=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        last_offset=batch.last_offset,
        delete_horizon_ms=None if delete_horizon_ms is None or delete_horizon_ms < 0 else delete_horizon_ms,
    )
    return Retained(data, len(records), records[-1].offset)


def _emptied(batch: Batch) -> Retained:
    """Return a batch without its records (DefaultRecordBatch.writeEmptyHeader)."""
    if batch.magic < 2:
        raise CannotClean(
            f"the batch of format {batch.magic} at offset {batch.base_offset} has no record left but must stay; only "
            "batches of format 2 can be empty"
        )
    data = frame_batch(
        b"",
        0,
        attributes=batch.attributes & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL),
        base_offset=batch.base_offset,
        last_offset_delta=batch.last_offset_delta,
        leader_epoch=batch.leader_epoch,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
    )
    return Retained(data, 0, batch.last_offset)
