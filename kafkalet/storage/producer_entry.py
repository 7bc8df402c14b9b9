"""The state of one producer in a log (Kafka's ProducerStateEntry).

The last five batches are kept, because an idempotent producer may have five requests in flight: if the producer retries
one of them, the earlier result is returned and the batch is not appended twice. After a snapshot is loaded, only the
last batch is known. A new epoch restarts the sequences, so the batches are dropped.

Sequences wrap around from 2,147,483,647 to 0.
"""

from typing import NamedTuple

from kafkalet.protocol.records.batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP

from .values import UNKNOWN_OFFSET

BATCHES_KEPT = 5
MAX_SEQUENCE = (1 << 31) - 1


class BatchMetadata(NamedTuple):
    """A batch that was appended."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    """Last offset minus first offset, and last sequence minus first sequence."""
    timestamp: int
    """The largest timestamp in the batch."""

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        first = self.last_sequence - self.offset_delta
        return first if first >= 0 else first + MAX_SEQUENCE + 1


def follows(last_sequence: int, sequence: int) -> bool:
    """Return whether `sequence` continues a batch that ended with `last_sequence`."""
    return sequence == last_sequence + 1 or (sequence == 0 and last_sequence == MAX_SEQUENCE)


class ProducerEntry:
    """The state of one producer id in one partition."""

    __slots__ = ("batches", "coordinator_epoch", "last_timestamp", "open_since", "producer_epoch", "producer_id")

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = -1,
        last_timestamp: int = NO_TIMESTAMP,
        open_since: int | None = None,
        batches: tuple[BatchMetadata, ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        """-1 if only the id is known."""
        self.coordinator_epoch = coordinator_epoch
        """The epoch of the coordinator that wrote the last marker; -1 before the first marker."""
        self.last_timestamp = last_timestamp
        """The timestamp of the last batch or marker, in milliseconds."""
        self.open_since = open_since
        """The first offset of the open transaction; None if there is none."""
        self.batches = batches
        """The last five batches of the current epoch, oldest first."""

    def __repr__(self) -> str:
        return (
            f"<ProducerEntry {self.producer_id} epoch {self.producer_epoch} last sequence {self.last_sequence}"
            f" open since {self.open_since}>"
        )

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else UNKNOWN_OFFSET

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1].offset_delta if self.batches else 0

    def find_duplicate(self, producer_epoch: int, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        """Return the kept batch of this epoch with exactly these sequences, or None."""
        if producer_epoch == self.producer_epoch:
            for batch in self.batches:
                if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
                    return batch
        return None

    def copy(self) -> "ProducerEntry":
        """Return a copy."""
        return ProducerEntry(
            self.producer_id,
            self.producer_epoch,
            self.coordinator_epoch,
            self.last_timestamp,
            self.open_since,
            self.batches,
        )

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Record an appended batch."""
        self._enter_epoch(producer_epoch)
        self.batches = (*self.batches[1 - BATCHES_KEPT :], batch)
        self.last_timestamp = batch.timestamp

    def end_transaction(self, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        """Record an appended marker. Markers have no sequence and are not kept as batches."""
        self._enter_epoch(producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = timestamp
        self.open_since = None

    def _enter_epoch(self, producer_epoch: int) -> None:
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.batches = ()
