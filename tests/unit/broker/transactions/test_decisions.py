"""Decisions on requests, case by case and with random input."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.transactions.decisions import (
    End,
    Producer,
    add_partitions,
    end_transaction,
    fencing_epoch,
    initialize,
    verify_partition,
)
from kafkalet.broker.transactions.metadata import MAX_EPOCH, PREPARE_STATES, Metadata, State
from kafkalet.broker.transactions.shard import Transaction
from kafkalet.protocol.errors import Code

NOW_MS = 1000
NEXT_ID = 99
T0, T1 = ("t", 0), ("t", 1)


def at(state: State, *, pending: State | None = None, epoch: int = 3, **more: Any) -> Transaction:
    """A transaction of producer 7 in epoch 3."""
    partitions = frozenset({T0}) if state in {State.ONGOING, *PREPARE_STATES} else frozenset()
    transaction = Transaction(
        "x",
        Metadata(7, epoch, 60_000, state, partitions, start_ms=500, update_ms=600)._replace(**more),
        cast("Any", None),
    )
    transaction.pending = pending
    return transaction


def end(
    *, committed: bool = True, version: int = 0, producer_id: int = 7, epoch: int = 3, is_fence: bool = False
) -> End:
    return End(producer_id, epoch, committed, version, is_fence)


def ended(transaction: Transaction, wish: End) -> State | Code:
    decision = end_transaction(transaction, wish, NOW_MS, lambda: NEXT_ID)
    return decision if isinstance(decision, Code) else decision.state


# InitProducerId


def init(transaction: Transaction, expected: Producer | None = None) -> Metadata | Code:
    return initialize(transaction, 5000, expected, NOW_MS, lambda: NEXT_ID)


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_new_producer_gets_next_epoch(state: State) -> None:
    assert init(at(state)) == Metadata(7, 4, 5000, update_ms=NOW_MS, previous_producer_id=7)


def test_open_transaction_has_to_be_fenced_first() -> None:
    new = init(at(State.ONGOING))
    assert isinstance(new, Metadata)
    assert (new.state, new.producer_epoch) == (State.PREPARE_EPOCH_FENCE, 4)


@pytest.mark.parametrize("state", PREPARE_STATES)
def test_decided_transaction_has_to_be_completed_first(state: State) -> None:
    assert init(at(state)) == Code.CONCURRENT_TRANSACTIONS


def test_pending_change_is_checked_first() -> None:
    assert init(at(State.EMPTY, pending=State.EMPTY), Producer(1, 1)) == Code.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("expected", "epoch"),
    [
        (Producer(7, 3), 4),
        (Producer(7, 2), 3),  # a retry with the previous epoch
        (Producer(7, 1), None),
        (Producer(7, 4), None),
        (Producer(8, 3), None),
    ],
)
def test_producer_with_known_id_and_epoch_continues(expected: Producer, epoch: int | None) -> None:
    new = init(at(State.EMPTY, last_producer_epoch=2), expected)
    assert (None if new == Code.PRODUCER_FENCED else new[1]) == epoch  # type: ignore[index]


def test_exhausted_producer_id_is_replaced() -> None:
    new = init(at(State.EMPTY, epoch=MAX_EPOCH - 1))
    assert isinstance(new, Metadata)
    assert (new.producer_id, new.producer_epoch, new.previous_producer_id) == (NEXT_ID, 0, 7)


def test_producer_that_missed_new_id_can_retry() -> None:
    rotated = at(State.EMPTY, producer_id=NEXT_ID, epoch=0, previous_producer_id=7, last_producer_epoch=MAX_EPOCH - 1)
    new = init(rotated, Producer(7, MAX_EPOCH - 1))
    assert isinstance(new, Metadata)
    assert (new.producer_id, new.producer_epoch) == (NEXT_ID, 0)
    assert init(rotated, Producer(7, 5)) == Code.PRODUCER_FENCED


@pytest.mark.parametrize(("failed", "epoch", "fencing"), [(False, 3, 4), (True, 3, 3), (False, MAX_EPOCH, MAX_EPOCH)])
def test_fencing_epoch_is_incremented_once(failed: bool, epoch: int, fencing: int) -> None:
    transaction = at(State.ONGOING, epoch=epoch)
    transaction.has_failed_fence = failed
    assert fencing_epoch(transaction) == fencing


# AddPartitionsToTxn


def add(transaction: Transaction, who: Producer = Producer(7, 3), *, first: bool = False) -> Metadata | Code:  # noqa: B008
    return add_partitions(transaction, who, frozenset({T1}), 2, NOW_MS, pending_comes_first=first)


def test_partitions_are_added() -> None:
    new = add(at(State.ONGOING))
    assert isinstance(new, Metadata)
    assert (new.state, new.partitions, new.start_ms, new.update_ms) == (State.ONGOING, frozenset({T0, T1}), 500, NOW_MS)


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_first_partition_starts_transaction(state: State) -> None:
    new = add(at(state))
    assert isinstance(new, Metadata)
    assert (new.state, new.partitions, new.start_ms) == (State.ONGOING, frozenset({T1}), NOW_MS)


def test_partition_already_in_transaction_changes_nothing() -> None:
    assert add(at(State.ONGOING, partitions=frozenset({T0, T1}))) == Code.NONE


@pytest.mark.parametrize("state", PREPARE_STATES)
def test_partition_cannot_be_added_to_decided_transaction(state: State) -> None:
    assert add(at(state)) == Code.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("who", "code"), [(Producer(8, 3), Code.INVALID_PRODUCER_ID_MAPPING), (Producer(7, 2), Code.PRODUCER_FENCED)]
)
def test_order_of_checks_depends_on_release(who: Producer, code: Code) -> None:
    assert add(at(State.ONGOING), who) == code
    assert add(at(State.ONGOING, pending=State.ONGOING), who) == code
    assert add(at(State.ONGOING, pending=State.ONGOING), who, first=True) == Code.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("state", "partition", "who", "code"),
    [
        (State.ONGOING, T0, Producer(7, 3), Code.NONE),
        (State.ONGOING, T1, Producer(7, 3), Code.TRANSACTION_ABORTABLE),
        (State.EMPTY, T0, Producer(7, 3), Code.TRANSACTION_ABORTABLE),
        (State.PREPARE_COMMIT, T0, Producer(7, 3), Code.CONCURRENT_TRANSACTIONS),
        (State.ONGOING, T0, Producer(8, 3), Code.INVALID_PRODUCER_ID_MAPPING),
        (State.ONGOING, T0, Producer(7, 2), Code.PRODUCER_FENCED),
    ],
)
def test_verification_depends_on_state_and_producer(
    state: State, partition: tuple[str, int], who: Producer, code: Code
) -> None:
    assert verify_partition(at(state), who, partition) == code


# EndTxn

INVALID = Code.INVALID_TXN_STATE
CONCURRENT = Code.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("state", "committed", "aborted"),
    [
        (State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT),
        (State.EMPTY, INVALID, INVALID),
        (State.PREPARE_COMMIT, CONCURRENT, INVALID),
        (State.PREPARE_ABORT, INVALID, CONCURRENT),
        (State.COMPLETE_COMMIT, Code.NONE, INVALID),
        (State.COMPLETE_ABORT, INVALID, Code.NONE),
    ],
)
def test_end_up_to_transaction_version_1_depends_on_state(
    state: State, committed: State | Code, aborted: State | Code
) -> None:
    assert ended(at(state), end()) == committed
    assert ended(at(state), end(committed=False)) == aborted


@pytest.mark.parametrize(
    ("state", "committed", "aborted", "committed_again", "aborted_again"),
    [
        (State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT, Code.PRODUCER_FENCED, Code.PRODUCER_FENCED),
        (State.EMPTY, INVALID, State.PREPARE_ABORT, Code.PRODUCER_FENCED, Code.PRODUCER_FENCED),
        (State.PREPARE_COMMIT, Code.PRODUCER_FENCED, Code.PRODUCER_FENCED, CONCURRENT, INVALID),
        (State.PREPARE_ABORT, Code.PRODUCER_FENCED, Code.PRODUCER_FENCED, INVALID, CONCURRENT),
        (State.COMPLETE_COMMIT, INVALID, State.PREPARE_ABORT, Code.NONE, INVALID),
        (State.COMPLETE_ABORT, INVALID, State.PREPARE_ABORT, INVALID, Code.NONE),
    ],
)
def test_end_since_transaction_version_2_depends_on_state(
    state: State,
    committed: State | Code,
    aborted: State | Code,
    committed_again: State | Code,
    aborted_again: State | Code,
) -> None:
    assert ended(at(state), end(version=2)) == committed
    assert ended(at(state), end(version=2, committed=False)) == aborted
    assert ended(at(state), end(version=2, epoch=2)) == committed_again
    assert ended(at(state), end(version=2, epoch=2, committed=False)) == aborted_again


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"producer_id": 8}, Code.INVALID_PRODUCER_ID_MAPPING),
        ({"epoch": 4}, Code.PRODUCER_FENCED),
        ({"epoch": 1}, Code.PRODUCER_FENCED),
    ],
)
def test_end_with_wrong_producer_is_refused(version: int, changed: dict[str, Any], code: Code) -> None:
    assert ended(at(State.ONGOING), end(version=version, **changed)) == code
    under_way = at(State.ONGOING, pending=State.ONGOING)
    assert ended(under_way, end(version=version, **changed)) == (CONCURRENT if version == 2 else code)


def test_exhausted_producer_id_is_replaced_at_end_of_transaction() -> None:
    new = end_transaction(
        at(State.ONGOING, epoch=MAX_EPOCH - 1), end(version=2, epoch=MAX_EPOCH - 1), NOW_MS, lambda: NEXT_ID
    )
    assert isinstance(new, Metadata)
    assert (new.producer_id, new.producer_epoch, new.next_producer_id) == (7, MAX_EPOCH, NEXT_ID)
    after = at(State.COMPLETE_COMMIT)
    after.metadata = new.completed(NOW_MS)
    assert ended(after, end(version=2, epoch=MAX_EPOCH - 1)) == Code.NONE


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("epoch", [3, MAX_EPOCH - 1])
def test_fence_increments_epoch_once(version: int, epoch: int) -> None:
    transaction = at(State.ONGOING, epoch=epoch)
    fence = end(committed=False, version=version, epoch=fencing_epoch(transaction), is_fence=True)
    new = end_transaction(transaction, fence, NOW_MS, lambda: NEXT_ID)
    assert isinstance(new, Metadata)
    assert (new.state, new.producer_epoch, new.next_producer_id) == (State.PREPARE_ABORT, epoch + 1, -1)


@given(
    state=st.sampled_from([state for state in State if state < State.DEAD]),
    pending=st.sampled_from([None, State.EMPTY, State.ONGOING]),
    epoch=st.sampled_from([0, 3, MAX_EPOCH - 1, MAX_EPOCH]),
    version=st.sampled_from([0, 2]),
    committed=st.booleans(),
    asked_epoch=st.sampled_from([0, 2, 3, 4, MAX_EPOCH - 1, MAX_EPOCH]),
)
def test_end_never_decreases_epoch(
    state: State, pending: State | None, epoch: int, version: int, committed: bool, asked_epoch: int
) -> None:
    transaction = at(state, pending=pending, epoch=epoch)
    before = transaction.metadata
    new = end_transaction(
        transaction, end(committed=committed, version=version, epoch=asked_epoch), NOW_MS, lambda: NEXT_ID
    )
    assert transaction.metadata is before
    if isinstance(new, Code):
        return
    assert pending is None
    assert new.state is (State.PREPARE_COMMIT if committed else State.PREPARE_ABORT)
    assert new.producer_epoch >= before.producer_epoch
    assert new.partitions == before.partitions
    assert new.start_ms >= 0
    done = new.completed(NOW_MS)
    assert (done.producer_id, done.producer_epoch) >= (before.producer_id, before.producer_epoch) or (
        done.producer_id == NEXT_ID
    )
