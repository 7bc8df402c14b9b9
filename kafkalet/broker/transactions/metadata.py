"""The metadata of a transactional id, and the states of its transactions.

    EMPTY ──────────> ONGOING ──> PREPARE_COMMIT ──> COMPLETE_COMMIT
      │ InitProducerId   │  partitions  │ decided        │ every partition has its marker
      └──────────────────┴──> PREPARE_ABORT ──> COMPLETE_ABORT ──> ONGOING, EMPTY, ...

A transaction is decided once PREPARE_* is in the log. From then on, no other change is accepted until all markers are
written. Metadata objects are immutable. A change creates a new object, which is first appended to the log and then
replaces the old one. While a change is being appended (`pending`), no other change is accepted either.

The epoch of a producer is incremented whenever requests with the old epoch have to be fenced: by InitProducerId, by an
abort that the producer did not request, and, since transaction version 2 (KIP-890), at the end of each transaction.
Producers can be assigned all epochs of a producer id except the last, which the coordinator reserves for fencing.

Source: kafka.coordinator.transaction.TransactionMetadata.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

NO_PRODUCER_ID = -1
NO_EPOCH = -1
NO_TIME = -1
MAX_EPOCH = 0x7FFF
EPOCH_RISES_PER_TRANSACTION = 2
"""From this transaction version on, each transaction has its own epoch."""

TopicPartition = tuple[str, int]


class State(IntEnum):
    """The states of a transactional id, as numbered in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """The transactional id has expired and is being removed."""
    PREPARE_EPOCH_FENCE = 7
    """A new producer is being initialized, and the open transaction will be aborted. Never written to the log."""

    @property
    def title(self) -> str:
        """The name of the state as clients see it, such as "PrepareCommit"."""
        return TITLES[self]


TITLES = {state: state.name.title().replace("_", "") for state in State}
BY_TITLE = {title: state for state, title in TITLES.items()}
COMPLETE_STATES = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
IDLE_STATES = COMPLETE_STATES | {State.EMPTY}
"""The states without an open transaction."""
PREPARE_STATES = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})


class Metadata(NamedTuple):
    """The metadata of a transactional id, as stored in the log. Timestamps are in milliseconds since 1970."""

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: State = State.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    """The partitions of the open transaction. Once it is decided, only those that still need a marker."""
    start_ms: int = NO_TIME
    """The time at which the first partition was added."""
    update_ms: int = NO_TIME
    last_producer_epoch: int = NO_EPOCH
    """The previous epoch, if its producer may retry the request that assigned the current one.

    Not stored in the log.
    """
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """The producer id to use once the markers are written, if the epochs of `producer_id` are exhausted."""
    client_version: int = 0
    """The transaction version of the last request."""

    @property
    def is_exhausted(self) -> bool:
        """Whether no further epoch of this producer id can be assigned."""
        return is_exhausted(self.producer_epoch)

    def completed(self, now_ms: int) -> Metadata:
        """Return the metadata that replaces PREPARE_* once every partition has its marker."""
        producer_id, epoch = self.producer_id, self.producer_epoch
        if self.client_version >= EPOCH_RISES_PER_TRANSACTION and self.next_producer_id != NO_PRODUCER_ID:
            producer_id, epoch = self.next_producer_id, 0
        return self._replace(
            state=State.COMPLETE_COMMIT if self.state is State.PREPARE_COMMIT else State.COMPLETE_ABORT,
            producer_id=producer_id,
            producer_epoch=epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            update_ms=now_ms,
        )


def is_exhausted(producer_epoch: int) -> bool:
    """Return whether this is the last epoch that a producer can be assigned, or a later epoch."""
    return producer_epoch >= MAX_EPOCH - 1
