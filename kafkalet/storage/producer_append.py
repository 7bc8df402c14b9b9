"""The effect of an append on one producer's state, computed on a copy (Kafka's ProducerAppendInfo).

These batches and markers are refused, unless they come from the leader of this replica (Origin.REPLICATION), which has
already checked them:

    an older epoch                                 INVALID_PRODUCER_EPOCH
    a marker of an older coordinator               TRANSACTION_COORDINATOR_FENCED
    data outside the open transaction              INVALID_TXN_STATE
and from clients only
    a sequence that does not follow the last one   OUT_OF_ORDER_SEQUENCE_NUMBER
    a new epoch that does not begin with 0         OUT_OF_ORDER_SEQUENCE_NUMBER

An unknown producer may begin with any sequence: its state may have expired or been deleted with its records. With
transaction version 2 (KIP-890), every marker must have a higher epoch, because one with the current epoch is a late
marker of an earlier transaction; repeating the last marker is allowed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import NO_PRODUCER_EPOCH, Batch
from kafkalet.protocol.records.control import ControlType, EndMarker, read_end_marker

from .producer_entry import BatchMetadata, ProducerEntry, follows
from .refusals import AppendRefused
from .values import AbortedTransaction, LogOffsetMetadata, Origin
from .verification import Verification

MAX_EPOCH = (1 << 15) - 1
EPOCH_RISES_PER_TRANSACTION = 2
"""From this transaction version on, each transaction increments the epoch."""


class CompletedTransaction(NamedTuple):
    """A transaction that is completed by this append."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of the marker."""
    is_aborted: bool

    def aborted(self, last_stable_offset: int) -> AbortedTransaction:
        """Return the entry for the transaction index."""
        return AbortedTransaction(self.producer_id, self.first_offset, self.last_offset, last_stable_offset)


class ProducerAppend:
    """One producer's part of an append. `entry` is the resulting state; the current state is not changed."""

    __slots__ = (
        *("_known", "_origin", "_verification", "completed", "ends_verification", "entry", "is_transactional"),
        "started",
    )

    def __init__(
        self, producer_id: int, known: ProducerEntry | None, origin: Origin, verification: Verification | None
    ) -> None:
        self._known = known
        self._origin = origin
        self._verification = verification
        self.entry = ProducerEntry(producer_id) if known is None else known.copy()
        self.started: list[LogOffsetMetadata] = []
        """The first offsets of the transactions that begin in this append."""
        self.is_transactional = False
        """Whether the append contains transactional data or a marker."""
        self.ends_verification = False
        """Whether the append completes a pending verification."""
        self.completed: list[CompletedTransaction] = []

    def add(self, batch: Batch, first: LogOffsetMetadata | None, transaction_version: int) -> None:
        """Add the next batch. `first` is the position of its first offset; None if it is not transactional.

        Raises AppendRefused.
        """
        if first is not None:
            self.is_transactional = True
            if not self._is_late_marker(batch):
                self.ends_verification = True
        if not batch.is_control:
            self._add_data(batch, first)
        elif batch.count:  # compaction leaves an empty control batch if all records of the transaction are gone
            marker = batch.records()[0]
            self._add_marker(batch, read_end_marker(marker), marker.timestamp, transaction_version)

    def _is_late_marker(self, batch: Batch) -> bool:
        """Return whether the marker ends a transaction that precedes the one under verification.

        If each transaction increments the epoch, the marker of the transaction under verification has the next epoch,
        so a marker with the current epoch is late (UnifiedLog.updateProducers).
        """
        asked = self._verification
        return (
            asked is not None and asked.supports_epoch_bump and batch.is_control and batch.producer_epoch == asked.epoch
        )

    def _add_data(self, batch: Batch, first: LogOffsetMetadata | None) -> None:
        epoch, entry = batch.producer_epoch, self.entry
        if epoch < entry.producer_epoch:
            self._refuse_epoch(batch)
        if self._origin is Origin.CLIENT:
            self._check_sequence(batch)
        entry.add_batch(
            epoch,
            BatchMetadata(batch.last_sequence, batch.last_offset, batch.last_offset_delta, batch.max_timestamp),
        )
        if first is not None:
            if entry.open_since is None:
                entry.open_since = batch.base_offset
                self.started.append(first)
        elif entry.open_since is not None:
            raise AppendRefused(
                Code.INVALID_TXN_STATE,
                f"producer {entry.producer_id} wrote outside its transaction, which is open since {entry.open_since}",
            )

    def _check_sequence(self, batch: Batch) -> None:
        sequence, entry, known, verification = batch.base_sequence, self.entry, self._known, self._verification
        if verification is not None:
            if verification.supports_epoch_bump and sequence != 0 and not (known and known.batches):
                self._refuse_sequence(batch, "0, because the producer is unknown")
            if sequence > verification.lowest_sequence:
                self._refuse_sequence(batch, f"{verification.lowest_sequence}, the lowest seen")
        if batch.producer_epoch != entry.producer_epoch:
            if sequence != 0 and entry.producer_epoch != NO_PRODUCER_EPOCH:
                self._refuse_sequence(batch, f"0 in the new epoch {batch.producer_epoch}")
        elif (
            known is not None
            and known.producer_epoch != NO_PRODUCER_EPOCH
            and not follows(entry.last_sequence, sequence)
        ):
            self._refuse_sequence(batch, f"the one after {entry.last_sequence}")

    def _add_marker(self, batch: Batch, marker: EndMarker, timestamp: int, transaction_version: int) -> None:
        epoch, entry = batch.producer_epoch, self.entry
        if epoch < entry.producer_epoch or (
            transaction_version >= EPOCH_RISES_PER_TRANSACTION
            and epoch == entry.producer_epoch
            and not (entry.open_since is None or epoch == MAX_EPOCH)
        ):
            self._refuse_epoch(batch)
        if marker.coordinator_epoch < entry.coordinator_epoch and self._origin is not Origin.REPLICATION:
            raise AppendRefused(
                Code.TRANSACTION_COORDINATOR_FENCED,
                f"the marker for producer {entry.producer_id} has coordinator epoch {marker.coordinator_epoch},"
                f" but the last one had {entry.coordinator_epoch}",
            )
        if entry.open_since is not None:  # an empty transaction leaves no trace
            is_aborted = marker.type is ControlType.ABORT
            self.completed.append(
                CompletedTransaction(entry.producer_id, entry.open_since, batch.base_offset, is_aborted)
            )
        entry.end_transaction(epoch, marker.coordinator_epoch, timestamp)

    def _refuse_epoch(self, batch: Batch) -> None:
        if self._origin is not Origin.REPLICATION:
            raise AppendRefused(
                Code.INVALID_PRODUCER_EPOCH,
                f"producer {batch.producer_id} at offset {batch.base_offset} has epoch {batch.producer_epoch},"
                f" but the current epoch is {self.entry.producer_epoch}",
            )

    def _refuse_sequence(self, batch: Batch, expected: str) -> None:
        raise AppendRefused(
            Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {batch.producer_id} at offset {batch.base_offset} has sequence {batch.base_sequence},"
            f" expected {expected}",
        )


class ProducerChange:
    """The effect of an append on the producers of a log."""

    __slots__ = ("appends", "duplicate")

    def __init__(self, appends: Sequence[ProducerAppend] = (), duplicate: BatchMetadata | None = None) -> None:
        self.appends = appends
        self.duplicate = duplicate
        """The earlier batch if this append is a duplicate, in which case nothing is appended."""


NO_CHANGE = ProducerChange()
