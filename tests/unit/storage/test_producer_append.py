"""Tests of the epochs and sequences accepted from producers, and of the markers accepted from coordinators."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.storage.files import Files
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.values import Origin

from .producer_steps import append, in_transaction, refused, sent
from .producing import logged, marker

MAX_SEQUENCE = 2147483647


@pytest.fixture
def states(tmp_path: Path) -> Iterator[ProducerStates]:
    files = Files(durable=False)
    yield ProducerStates(str(tmp_path), files)
    files.close()


def test_batch_without_producer_id_adds_no_state(states: ProducerStates) -> None:
    append(states, logged(0, 3))
    append(states, logged(3, producer_id=-2, producer_epoch=0, base_sequence=0))
    assert len(states) == 0
    assert states.is_empty


@pytest.mark.parametrize("sequence", [0, 5, MAX_SEQUENCE])
def test_an_unknown_producer_begins_with_any_sequence(states: ProducerStates, sequence: int) -> None:
    append(states, sent(0, sequence))
    assert states.entry(7) is not None


def test_sequences_follow_each_other(states: ProducerStates) -> None:
    append(states, sent(0, 0, 3))
    append(states, sent(3, 3))
    assert refused(states, sent(4, 5)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(states, sent(4, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, sent(4, 4))
    entry = states.entry(7)
    assert entry is not None
    assert (entry.batches[0].first_sequence, entry.last_sequence, entry.last_data_offset) == (0, 4, 4)


def test_sequences_wrap_around_to_0(states: ProducerStates) -> None:
    append(states, sent(0, MAX_SEQUENCE))
    append(states, sent(1, 0))
    assert refused(states, sent(2, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_may_wrap_around_within_a_batch(states: ProducerStates) -> None:
    append(states, sent(0, MAX_SEQUENCE - 1, 4))
    entry = states.entry(7)
    assert entry is not None
    assert (entry.batches[0].first_sequence, entry.last_sequence) == (MAX_SEQUENCE - 1, 1)
    assert states.prepare([sent(4, MAX_SEQUENCE - 1, 4)], Origin.CLIENT).duplicate is not None
    append(states, sent(4, 2))


def test_unknown_epoch_accepts_any_sequence(states: ProducerStates) -> None:
    append(states, sent(0, 4, epoch=-1))
    append(states, sent(1, 9, epoch=-1))
    append(states, sent(2, 3, epoch=0))


def test_a_new_epoch_begins_with_0(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    assert refused(states, sent(1, 5, epoch=1)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(states, sent(1, 1, epoch=1)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, sent(1, 0, epoch=1))


def test_an_old_epoch_is_fenced(states: ProducerStates) -> None:
    append(states, sent(0, 0, epoch=3))
    assert refused(states, sent(1, 1, epoch=2)) == Code.INVALID_PRODUCER_EPOCH
    assert refused(states, sent(1, 0, epoch=2)) == Code.INVALID_PRODUCER_EPOCH


def test_sequences_of_coordinators_are_not_checked(states: ProducerStates) -> None:
    append(states, in_transaction(0, -1), origin=Origin.COORDINATOR)
    append(states, in_transaction(1, -1), origin=Origin.COORDINATOR)
    assert refused(states, in_transaction(2, -1, epoch=-1), Origin.COORDINATOR) == Code.INVALID_PRODUCER_EPOCH


def test_entries_of_the_leader_are_not_checked(states: ProducerStates) -> None:
    append(states, sent(0, 0, epoch=3), origin=Origin.REPLICATION)
    append(states, sent(1, 9, epoch=3), origin=Origin.REPLICATION)
    append(states, sent(2, 2, epoch=1), origin=Origin.REPLICATION)
    entry = states.entry(7)
    assert entry is not None
    assert (entry.producer_epoch, entry.last_sequence) == (1, 2)


# Transactions and markers


def test_non_transactional_data_is_refused_during_a_transaction(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    assert refused(states, sent(1, 1)) == Code.INVALID_TXN_STATE
    append(states, sent(1, 0, producer=8))


def test_sequences_continue_after_a_marker(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    append(states, marker(1, 7, commit=True), origin=Origin.COORDINATOR)
    assert refused(states, in_transaction(2, 0, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, in_transaction(2, 1))


def test_marker_with_a_new_epoch_restarts_the_sequences(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    append(states, marker(1, 7, 1, commit=False), origin=Origin.COORDINATOR)
    assert refused(states, in_transaction(2, 1)) == Code.INVALID_PRODUCER_EPOCH
    assert refused(states, in_transaction(2, 1, epoch=1)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, in_transaction(2, 0, epoch=1))


def test_a_marker_of_an_old_epoch_is_fenced(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0, epoch=2))
    assert refused(states, marker(1, 7, 1, commit=False), Origin.COORDINATOR) == Code.INVALID_PRODUCER_EPOCH


def test_a_marker_of_an_old_coordinator_is_fenced(states: ProducerStates) -> None:
    append(states, marker(0, 7, commit=True, coordinator_epoch=5), origin=Origin.COORDINATOR)
    late = marker(1, 7, commit=False, coordinator_epoch=4)
    assert refused(states, late, Origin.COORDINATOR) == Code.TRANSACTION_COORDINATOR_FENCED
    append(states, late, origin=Origin.REPLICATION)
    entry = states.entry(7)
    assert entry is not None
    assert entry.coordinator_epoch == 4


def test_transaction_version_2_requires_a_new_epoch_for_each_marker(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    late = marker(1, 7, 0, commit=False)
    assert refused(states, late, Origin.COORDINATOR, transaction_version=2) == Code.INVALID_PRODUCER_EPOCH
    new = marker(1, 7, 1, commit=False)
    states.commit(states.prepare([new], Origin.COORDINATOR, transaction_version=2))
    assert states.prepare([marker(2, 7, 1, commit=False)], Origin.COORDINATOR, transaction_version=2).appends


def test_empty_control_batch_is_accepted(states: ProducerStates) -> None:
    end = marker(4, 7, commit=True)
    end.count = 0
    assert append(states, end, origin=Origin.REPLICATION) == []
    assert states.first_unstable is None
