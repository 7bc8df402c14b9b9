"""Tests of pending verifications: their guards, and the order of batches."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.storage.files import Files
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.values import Origin

from .producer_steps import append, in_transaction, refused
from .producing import T0, marker

DAY_MS = 86_400_000


@pytest.fixture
def states(tmp_path: Path) -> Iterator[ProducerStates]:
    files = Files(durable=False)
    yield ProducerStates(str(tmp_path), files)
    files.close()


def test_guard_is_valid_until_the_first_batch_is_appended(states: ProducerStates) -> None:
    guard = states.verifications.start(7, 0, 0, T0)
    assert states.verifications.is_proven(7, guard)
    assert not states.verifications.is_proven(8, guard)
    append(states, in_transaction(0, 0))
    assert not states.verifications.is_proven(7, guard)
    assert states.verifications.get(7) is None


def test_guard_from_before_a_marker_is_invalid(states: ProducerStates) -> None:
    guard = states.verifications.start(7, 0, 0, T0)
    append(states, marker(0, 7, commit=False), origin=Origin.COORDINATOR)
    again = states.verifications.start(7, 0, 0, T0)
    assert not states.verifications.is_proven(7, guard)
    assert states.verifications.is_proven(7, again)


def test_batch_does_not_overtake_an_unverified_one(states: ProducerStates) -> None:
    guard = states.verifications.start(7, 3, 0, T0)
    assert states.verifications.start(7, 1, 0, T0) is guard
    assert refused(states, in_transaction(0, 3)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, in_transaction(0, 1))
    append(states, in_transaction(1, 2))


def test_new_epoch_resets_the_lowest_sequence(states: ProducerStates) -> None:
    states.verifications.start(7, 1, 0, T0)
    states.verifications.start(7, 5, 1, T0)
    states.verifications.start(7, 0, 0, T0)
    verification = states.verifications.get(7)
    assert verification is not None
    assert (verification.epoch, verification.lowest_sequence) == (1, 5)


def test_unknown_producer_begins_with_0_in_transaction_version_2(states: ProducerStates) -> None:
    states.verifications.start(7, 4, 0, T0, supports_epoch_bump=True)
    assert refused(states, in_transaction(0, 4)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, in_transaction(0, 0))


def test_verification_expires_with_the_producers(states: ProducerStates) -> None:
    states.verifications.start(7, 0, 0, T0)
    states.remove_expired(T0 + DAY_MS - 1)
    assert states.verifications.get(7) is not None
    states.remove_expired(T0 + DAY_MS)
    assert states.verifications.get(7) is None
