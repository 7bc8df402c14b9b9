"""Runs and batches in flight: how a batch is split, how a transition ends, and how batches are found."""

import pytest

from kafkalet.broker.share.in_flight import InFlight, InFlightBatch, Run
from kafkalet.broker.share.state import RecordState


def batch(first: int, last: int) -> InFlightBatch:
    return InFlightBatch(Run(first, last, RecordState.AVAILABLE, 0))


@pytest.fixture
def in_flight() -> InFlight:
    """Batches from 0 to 9 and from 20 to 29."""
    batches = InFlight()
    batches.add(batch(20, 29))
    batches.add(batch(0, 9))
    return batches


def test_batches_are_in_the_order_of_their_offsets(in_flight: InFlight) -> None:
    assert [each.first for each in in_flight] == [0, 20]
    assert (in_flight.first.first, in_flight.last.last) == (0, 29)


@pytest.mark.parametrize(("offset", "first"), [(-1, None), (0, 0), (15, 0), (20, 20), (99, 20)])
def test_the_batch_at_or_before_an_offset_is_found(in_flight: InFlight, offset: int, first: int | None) -> None:
    found = in_flight.floor(offset)
    assert first == (None if found is None else found.first)


def test_batches_that_begin_between_two_offsets_are_found(in_flight: InFlight) -> None:
    assert [each.first for each in in_flight.beginning_within(5, 20)] == [20]
    assert [each.first for each in in_flight.touching(5, 20)] == [0, 20]
    assert in_flight.after(0).first == 20


def test_batches_before_an_offset_are_removed(in_flight: InFlight) -> None:
    in_flight.remove_before(20)
    assert [each.first for each in in_flight] == [20]
    in_flight.clear()
    assert not in_flight


def test_a_batch_is_split_into_its_records() -> None:
    whole = batch(5, 7)
    whole.runs[0].acquire("alice", 1000)
    whole.split()
    assert [(run.first, run.last, run.member, run.lock_ms, run.deliveries) for run in whole.runs] == [
        (offset, offset, "alice", 1000, 1) for offset in (5, 6, 7)
    ]
    assert [run.first for run in whole.runs_within(6, 99)] == [6, 7]
    assert whole.runs_within(0, 4) == []


def test_a_batch_stays_split() -> None:
    whole = batch(5, 7)
    whole.split()
    runs = whole.runs
    whole.split()
    assert whole.runs is runs


def test_a_released_record_is_archived_after_its_last_delivery() -> None:
    run = Run(0, 0, RecordState.ACQUIRED, 5, "alice")
    run.give_up(RecordState.AVAILABLE, 5, dead_letters=False)
    assert run.state is RecordState.ARCHIVED


def test_a_released_record_goes_to_the_dead_letter_queue_after_its_last_delivery() -> None:
    run = Run(0, 0, RecordState.ACQUIRED, 5, "alice")
    run.give_up(RecordState.AVAILABLE, 5, dead_letters=True)
    assert run.state is RecordState.ARCHIVING


def test_a_transition_that_is_not_persisted_gives_the_record_back_to_its_member() -> None:
    run = Run(0, 0, RecordState.ACQUIRED, 1, "alice", 1000)
    run.begin_transition(RecordState.ACKNOWLEDGED, 5, dead_letters=False)
    assert not run.is_finished
    run.end_transition(is_persisted=False, now_ms=999)
    assert (run.state, run.member, run.lock_ms) == (RecordState.ACQUIRED, "alice", 1000)


@pytest.mark.parametrize(("deliveries", "state"), [(4, RecordState.AVAILABLE), (5, RecordState.ARCHIVED)])
def test_a_lock_that_expired_during_a_transition_counts_if_it_is_not_persisted(
    deliveries: int, state: RecordState
) -> None:
    run = Run(0, 0, RecordState.ACQUIRED, deliveries, "alice", 1000)
    run.begin_transition(RecordState.ACKNOWLEDGED, 5, dead_letters=False)
    run.end_transition(is_persisted=False, now_ms=1000)
    assert (run.state, run.member, run.lock_ms) == (state, "", None)


def test_a_persisted_transition_ends_the_lock() -> None:
    run = Run(0, 0, RecordState.ACQUIRED, 1, "alice", 1000)
    run.begin_transition(RecordState.ACKNOWLEDGED, 5, dead_letters=False)
    run.end_transition(is_persisted=True, now_ms=2000)
    assert run.is_finished
    assert run.lock_ms is None
