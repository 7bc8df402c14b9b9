"""Decisions about requests: each results in new metadata for a transactional id, or in an error code.

These functions change nothing. They perform their checks in the same order as Kafka, because this determines which
error a client gets:

    INVALID_PRODUCER_ID_MAPPING   the transactional id has another producer id
    PRODUCER_FENCED               the epoch is outdated because of a newer producer or an abort by the coordinator
    CONCURRENT_TRANSACTIONS       a change or the writing of markers is in progress; the client retries
    INVALID_TXN_STATE             there is no transaction to end, or it has ended with the opposite result

Since 4.0 CONCURRENT_TRANSACTIONS is checked first, because the change in progress may assign another producer id.

Up to transaction version 1, ending a transaction does not change the epoch, so a retry of EndTxn is recognized by the
unchanged epoch. Since version 2 (KIP-890), ending a transaction increments the epoch, so that a late request of one
transaction cannot be mistaken for a request of the next. A retry is then recognized by the previous epoch. Version 2
also allows clients to abort a transaction that was never started, because a client cannot know whether its first batch
has arrived.

Source: kafka.coordinator.transaction.TransactionCoordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.protocol.errors import Code

from .metadata import (
    EPOCH_RISES_PER_TRANSACTION,
    IDLE_STATES,
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_TIME,
    PREPARE_STATES,
    Metadata,
    State,
    TopicPartition,
    is_exhausted,
)

if TYPE_CHECKING:  # avoids loading the log when a broker starts
    from .shard import Transaction

Decision = Metadata | Code
NO_PARTITIONS: frozenset[TopicPartition] = frozenset()


class Producer(NamedTuple):
    """The producer id and epoch that a request contains."""

    producer_id: int
    producer_epoch: int


class End(NamedTuple):
    """A request to end a transaction, from a client or from the coordinator itself."""

    producer_id: int
    producer_epoch: int
    committed: bool
    client_version: int
    """The transaction version of the sender."""
    is_fence: bool = False
    """Whether the coordinator itself is aborting the transaction, with an epoch that no producer has."""

    @property
    def raises_epoch(self) -> bool:
        """Whether ending the transaction increments the epoch."""
        return self.client_version >= EPOCH_RISES_PER_TRANSACTION


def initialize(
    transaction: Transaction,
    timeout_ms: int,
    expected: Producer | None,
    now_ms: int,
    take_producer_id: Callable[[], int],
) -> Decision:
    """Handle InitProducerId: return the metadata with the next epoch.

    The state PREPARE_EPOCH_FENCE means that the open transaction has to be aborted first. `expected` is given if the
    producer wants to continue after an error (KIP-360). It has to be the current producer, or one that missed the
    response to its last InitProducerId.
    """
    known = transaction.metadata
    if transaction.pending is not None:
        return Code.CONCURRENT_TRANSACTIONS
    if expected is not None and not _is_known(known, expected):
        return Code.PRODUCER_FENCED
    if known.state in PREPARE_STATES:
        return Code.CONCURRENT_TRANSACTIONS
    if known.state is State.ONGOING:
        return known._replace(
            state=State.PREPARE_EPOCH_FENCE, producer_epoch=fencing_epoch(transaction), last_producer_epoch=NO_EPOCH
        )
    new = known._replace(
        state=State.EMPTY,
        partitions=NO_PARTITIONS,
        timeout_ms=timeout_ms,
        start_ms=NO_TIME,
        update_ms=now_ms,
        previous_producer_id=known.producer_id,
        last_producer_epoch=NO_EPOCH if expected is None else known.producer_epoch,
    )
    if known.is_exhausted and (expected is None or expected.producer_epoch == known.producer_epoch):
        return new._replace(producer_id=take_producer_id(), producer_epoch=0)
    if expected is None or known.producer_epoch in (NO_EPOCH, expected.producer_epoch):
        return new._replace(producer_epoch=known.producer_epoch + 1)
    if expected.producer_epoch == known.last_producer_epoch:  # the producer missed the response with its new epoch
        return new._replace(last_producer_epoch=known.last_producer_epoch)
    return Code.PRODUCER_FENCED


def _is_known(known: Metadata, expected: Producer) -> bool:
    return (
        known.producer_epoch == NO_EPOCH
        or expected.producer_id == known.producer_id
        or (expected.producer_id == known.previous_producer_id and is_exhausted(expected.producer_epoch))
    )


def fencing_epoch(transaction: Transaction) -> int:
    """Return the epoch with which the coordinator aborts the open transaction of a producer."""
    epoch = transaction.metadata.producer_epoch
    return epoch if transaction.has_failed_fence or epoch == MAX_EPOCH else epoch + 1


def add_partitions(
    transaction: Transaction,
    producer: Producer,
    partitions: frozenset[TopicPartition],
    client_version: int,
    now_ms: int,
    *,
    pending_comes_first: bool,
) -> Decision:
    """Handle AddPartitionsToTxn and AddOffsetsToTxn: return the open transaction with these partitions added."""
    known = transaction.metadata
    if transaction.pending is not None and pending_comes_first:
        return Code.CONCURRENT_TRANSACTIONS
    if known.producer_id != producer.producer_id:
        return Code.INVALID_PRODUCER_ID_MAPPING
    if known.producer_epoch != producer.producer_epoch:
        return Code.PRODUCER_FENCED
    if transaction.pending is not None or known.state in PREPARE_STATES:
        return Code.CONCURRENT_TRANSACTIONS
    if known.state is State.ONGOING and partitions <= known.partitions:
        return Code.NONE
    return known._replace(
        state=State.ONGOING,
        partitions=known.partitions | partitions,
        start_ms=now_ms if known.state in IDLE_STATES else known.start_ms,
        update_ms=now_ms,
        previous_producer_id=known.producer_id,
        client_version=client_version,
    )


def verify_partition(transaction: Transaction, producer: Producer, partition: TopicPartition) -> Code:
    """Return NONE if the producer's open transaction includes the partition, and otherwise TRANSACTION_ABORTABLE."""
    known = transaction.metadata
    if known.producer_id != producer.producer_id:
        return Code.INVALID_PRODUCER_ID_MAPPING
    if known.producer_epoch != producer.producer_epoch:
        return Code.PRODUCER_FENCED
    if known.state in PREPARE_STATES:
        return Code.CONCURRENT_TRANSACTIONS
    return Code.NONE if partition in known.partitions else Code.TRANSACTION_ABORTABLE


def end_transaction(transaction: Transaction, end: End, now_ms: int, take_producer_id: Callable[[], int]) -> Decision:
    """Handle EndTxn: return the decided transaction, or NONE if it has already ended with the same result."""
    if end.raises_epoch:
        return _end_since_version_2(transaction, end, now_ms, take_producer_id)
    return _end_up_to_version_1(transaction, end, now_ms)


def _end_up_to_version_1(transaction: Transaction, end: End, now_ms: int) -> Decision:
    """Decide a transaction of transaction version 0 or 1."""
    known, prepared = transaction.metadata, _prepared(end)
    if known.producer_id != end.producer_id:
        return Code.INVALID_PRODUCER_ID_MAPPING
    if end.producer_epoch < known.producer_epoch or (end.producer_epoch > known.producer_epoch and not end.is_fence):
        return Code.PRODUCER_FENCED
    if transaction.pending is not None:
        return Code.CONCURRENT_TRANSACTIONS
    if known.state is State.ONGOING:
        return known._replace(
            state=prepared,
            producer_epoch=end.producer_epoch,
            last_producer_epoch=NO_EPOCH if end.is_fence else known.last_producer_epoch,
            update_ms=now_ms,
            previous_producer_id=known.producer_id,
            client_version=0,
        )
    if known.state == prepared:
        return Code.CONCURRENT_TRANSACTIONS
    return Code.NONE if known.state == _completed(end) else Code.INVALID_TXN_STATE


def _end_since_version_2(
    transaction: Transaction, end: End, now_ms: int, take_producer_id: Callable[[], int]
) -> Decision:
    """Decide a transaction of transaction version 2 or later."""
    known, prepared = transaction.metadata, _prepared(end)
    after_overflow = (
        not end.is_fence
        and known.previous_producer_id == end.producer_id
        and end.producer_epoch == MAX_EPOCH - 1
        and known.producer_epoch == 0
    )
    is_retry = after_overflow or (not end.is_fence and known.producer_epoch == end.producer_epoch + 1)
    if transaction.pending is not None:
        return Code.CONCURRENT_TRANSACTIONS
    if known.producer_id != end.producer_id and not after_overflow:
        return Code.INVALID_PRODUCER_ID_MAPPING
    if not _has_right_epoch(known, end, is_retry):
        return Code.PRODUCER_FENCED
    if known.state in PREPARE_STATES:
        return Code.CONCURRENT_TRANSACTIONS if known.state == prepared else Code.INVALID_TXN_STATE
    if is_retry:
        return Code.NONE if known.state == _completed(end) else Code.INVALID_TXN_STATE
    if known.state is not State.ONGOING and end.committed:
        return Code.INVALID_TXN_STATE
    return known._replace(
        state=prepared,
        producer_epoch=min(known.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=known.producer_epoch,
        next_producer_id=take_producer_id() if known.is_exhausted and not end.is_fence else NO_PRODUCER_ID,
        start_ms=known.start_ms if known.state is State.ONGOING else now_ms,
        update_ms=now_ms,
        previous_producer_id=known.producer_id,
        client_version=end.client_version,
    )


def _has_right_epoch(known: Metadata, end: End, is_retry: bool) -> bool:
    if end.is_fence:
        return end.producer_epoch >= known.producer_epoch
    if known.state in PREPARE_STATES:
        return is_retry
    if known.state in (State.ONGOING, State.EMPTY):
        return end.producer_epoch == known.producer_epoch
    return is_retry or end.producer_epoch == known.producer_epoch


def _prepared(end: End) -> State:
    return State.PREPARE_COMMIT if end.committed else State.PREPARE_ABORT


def _completed(end: End) -> State:
    return State.COMPLETE_COMMIT if end.committed else State.COMPLETE_ABORT
