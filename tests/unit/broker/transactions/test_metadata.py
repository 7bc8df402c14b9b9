"""The states of a transactional id, and its metadata after all markers are written."""

import pytest

from kafkalet.broker.transactions.metadata import BY_TITLE, MAX_EPOCH, Metadata, State, is_exhausted

PREPARED = Metadata(7, 3, 1000, State.PREPARE_COMMIT, frozenset({("t", 0)}), start_ms=5, update_ms=6)


def test_states_are_named_as_clients_know_them() -> None:
    assert list(BY_TITLE) == [
        *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"),
        "PrepareEpochFence",
    ]
    assert [state.title for state in BY_TITLE.values()] == list(BY_TITLE)


@pytest.mark.parametrize(
    ("prepared", "completed"),
    [(State.PREPARE_COMMIT, State.COMPLETE_COMMIT), (State.PREPARE_ABORT, State.COMPLETE_ABORT)],
)
def test_completed_transaction_has_no_partitions(prepared: State, completed: State) -> None:
    done = PREPARED._replace(state=prepared).completed(9)
    assert done == PREPARED._replace(state=completed, partitions=frozenset(), update_ms=9, previous_producer_id=7)


def test_exhausted_producer_id_is_replaced_on_completion() -> None:
    done = PREPARED._replace(producer_epoch=MAX_EPOCH, next_producer_id=8, client_version=2).completed(9)
    assert (done.producer_id, done.producer_epoch, done.previous_producer_id, done.next_producer_id) == (8, 0, 7, -1)


@pytest.mark.parametrize(("epoch", "exhausted"), [(0, False), (MAX_EPOCH - 2, False), (MAX_EPOCH - 1, True)])
def test_last_epoch_is_reserved_for_fencing(epoch: int, exhausted: bool) -> None:
    assert is_exhausted(epoch) is exhausted
