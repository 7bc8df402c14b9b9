"""What is known of a transactional id, and the states that its transactions go through.

    EMPTY ──────────> ONGOING ──> PREPARE_COMMIT ──> COMPLETE_COMMIT
      │ InitProducerId   │  partitions  │ decided        │ every partition has its marker
      └──────────────────┴──> PREPARE_ABORT ──> COMPLETE_ABORT ──> ONGOING, EMPTY, ...

A transaction is decided once PREPARE_* is in the log; from then on nothing can be answered but "wait" until the
markers are where they belong. The metadata are a value: a change is a new value, decided first, appended to the log,
and put in the old one's place afterwards. While one is on its way there (`pending`), every other change has to wait.

The epoch of a producer rises whenever somebody else may use its id: with InitProducerId, with an abort that it has not
asked for, and, from transaction version 2 on (KIP-890), with every end of a transaction. The last epoch but one is the
end of an id: the coordinator keeps one to fence with.

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
"""From this transaction version on, each transaction has an epoch of its own."""

TopicPartition = tuple[str, int]


class State(IntEnum):
    """The states, by their numbers in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """On its way out: the transactional id has expired."""
    PREPARE_EPOCH_FENCE = 7
    """Never in the log: another producer has come, and the transaction of the one before is about to be aborted."""

    @property
    def title(self) -> str:
        """The name that clients see: PrepareCommit."""
        return TITLES[self]


TITLES = {state: state.name.title().replace("_", "") for state in State}
BY_TITLE = {title: state for state, title in TITLES.items()}
COMPLETE_STATES = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
IDLE_STATES = COMPLETE_STATES | {State.EMPTY}
"""No transaction is open."""
PREPARE_STATES = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})


class Metadata(NamedTuple):
    """What the log keeps of a transactional id. Times are milliseconds since 1970."""

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: State = State.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    """Of the open transaction; once it is decided, those that still lack their marker."""
    start_ms: int = NO_TIME
    """When the first partition came in."""
    update_ms: int = NO_TIME
    last_producer_epoch: int = NO_EPOCH
    """The epoch before, if its producer may ask again for the present one. Not in the log."""
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """To go on with once the markers are written, where the epochs of `producer_id` have run out."""
    client_version: int = 0
    """The transaction version of the request that led here."""

    @property
    def is_exhausted(self) -> bool:
        """Whether no producer may get a further epoch of this id."""
        return is_exhausted(self.producer_epoch)

    def completed(self, now_ms: int) -> Metadata:
        """After PREPARE_*: every partition has its marker."""
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
    """Whether this is the last epoch that a producer may have, or beyond."""
    return producer_epoch >= MAX_EPOCH - 1
