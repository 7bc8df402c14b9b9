"""What an append would make of one producer's state, decided on a copy (Kafka's ProducerAppendInfo).

Refused, unless the leader of this replica sent it (Origin.REPLICATION), which has checked it:

    an older epoch                                 INVALID_PRODUCER_EPOCH
    a marker of an older coordinator               TRANSACTION_COORDINATOR_FENCED
    data outside the transaction that is open      INVALID_TXN_STATE
and from clients
    a sequence that does not follow the last one   OUT_OF_ORDER_SEQUENCE_NUMBER
    a new epoch that does not begin with 0         OUT_OF_ORDER_SEQUENCE_NUMBER

A producer of which nothing is known may begin with any sequence: its older state may have expired, or have been
deleted with the records. Markers of a coordinator that knows transaction version 2 (KIP-890) have to come with a new
epoch each, or they are late ones of an earlier transaction; a repetition of the last marker does no harm.
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
"""From this transaction version on, each transaction has an epoch of its own."""


class CompletedTransaction(NamedTuple):
    """A transaction whose marker is in this append."""

    producer_id: int
    first_offset: int
    last_offset: int
    """Of the marker."""
    is_aborted: bool

    def aborted(self, last_stable_offset: int) -> AbortedTransaction:
        """What the transaction index keeps of it."""
        return AbortedTransaction(self.producer_id, self.first_offset, self.last_offset, last_stable_offset)


class ProducerAppend:
    """One producer's part of an append. `entry` is what its state will be; the state itself is not touched."""

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
        """Where transactions begin in this append."""
        self.is_transactional = False
        """There is data of a transaction, or a marker, in this append."""
        self.ends_verification = False
        """What was asked of the coordinator is over with that."""
        self.completed: list[CompletedTransaction] = []

    def add(self, batch: Batch, first: LogOffsetMetadata | None, transaction_version: int) -> None:
        """Take the next batch in; `first` is the place of its first offset, None outside transactions.

        Raises AppendRefused.
        """
        if first is not None:
            self.is_transactional = True
            if not self._is_late_marker(batch):
                self.ends_verification = True
        if not batch.is_control:
            self._add_data(batch, first)
        elif batch.count:  # compaction leaves an empty control batch where the whole transaction is gone
            marker = batch.records()[0]
            self._add_marker(batch, read_end_marker(marker), marker.timestamp, transaction_version)

    def _is_late_marker(self, batch: Batch) -> bool:
        """Whether this marker is of a transaction before the one that the coordinator was asked about: where each has
        an epoch of its own, its marker has the next (UnifiedLog.updateProducers)."""
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
                self._refuse_sequence(batch, "0, nothing being known of it")
            if sequence > verification.lowest_sequence:
                self._refuse_sequence(batch, f"{verification.lowest_sequence}, which came first")
        if batch.producer_epoch != entry.producer_epoch:
            if sequence != 0 and entry.producer_epoch != NO_PRODUCER_EPOCH:
                self._refuse_sequence(batch, f"0 in the new epoch {batch.producer_epoch}")
        elif (
            known is not None
            and known.producer_epoch != NO_PRODUCER_EPOCH
            and not follows(entry.last_sequence, sequence)
        ):
            self._refuse_sequence(batch, f"what follows {entry.last_sequence}")

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
                f"a marker for producer {entry.producer_id} is of coordinator epoch {marker.coordinator_epoch},"
                f" after one of {entry.coordinator_epoch}",
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
                f"producer {batch.producer_id} came at offset {batch.base_offset} with epoch {batch.producer_epoch},"
                f" after {self.entry.producer_epoch}",
            )

    def _refuse_sequence(self, batch: Batch, expected: str) -> None:
        raise AppendRefused(
            Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {batch.producer_id} came at offset {batch.base_offset} with sequence {batch.base_sequence}"
            f" instead of {expected}",
        )


class ProducerChange:
    """What an append does to the producers of a log, decided and not yet done."""

    __slots__ = ("appends", "duplicate")

    def __init__(self, appends: Sequence[ProducerAppend] = (), duplicate: BatchMetadata | None = None) -> None:
        self.appends = appends
        self.duplicate = duplicate
        """The batch has been appended before: this is where. Nothing is to be appended then."""


NO_CHANGE = ProducerChange()
