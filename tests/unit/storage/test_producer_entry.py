"""Tests of the state of a producer, with its last batches, which it may retry."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.storage.files import Files
from kafkalet.storage.producer_entry import BatchMetadata, ProducerEntry
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.values import Origin

from .producer_steps import append, refused, sent
from .producing import T0


@pytest.fixture
def states(tmp_path: Path) -> Iterator[ProducerStates]:
    files = Files(durable=False)
    yield ProducerStates(str(tmp_path), files)
    files.close()


def test_duplicates_of_the_last_five_batches_are_found(states: ProducerStates) -> None:
    for n in range(6):
        append(states, sent(10 + n, n, ts=T0 + n))
    for n in range(1, 6):
        duplicate = states.prepare([sent(16, n)], Origin.CLIENT).duplicate
        assert duplicate is not None
        assert (duplicate.first_offset, duplicate.last_offset, duplicate.timestamp) == (10 + n, 10 + n, T0 + n)
    assert refused(states, sent(16, 0)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_duplicate_has_the_same_first_and_last_sequence(states: ProducerStates) -> None:
    append(states, sent(0, 0, 3))
    duplicate = states.prepare([sent(3, 0, 3)], Origin.CLIENT).duplicate
    assert duplicate is not None
    assert (duplicate.first_offset, duplicate.last_offset) == (0, 2)
    assert refused(states, sent(3, 0, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(states, sent(3, 1, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_batch_of_another_epoch_is_not_a_duplicate(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    append(states, sent(1, 0, epoch=1))
    assert refused(states, sent(2, 0, epoch=0)) == Code.INVALID_PRODUCER_EPOCH
    assert states.prepare([sent(2, 0, epoch=1)], Origin.CLIENT).duplicate is not None


def test_a_duplicate_changes_nothing(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    before = states.entry(7)
    assert states.commit(states.prepare([sent(1, 0)], Origin.CLIENT)) == []
    assert states.entry(7) is before


def test_duplicates_are_only_detected_for_clients(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    assert states.prepare([sent(1, 0)], Origin.REPLICATION).duplicate is None


def test_first_sequence_of_a_batch_that_wraps_around_is_large() -> None:
    batch = BatchMetadata(last_sequence=1, last_offset=10, offset_delta=3, timestamp=T0)
    assert (batch.first_sequence, batch.first_offset) == (2147483646, 7)


def test_unknown_producer_has_no_state() -> None:
    entry = ProducerEntry(7)
    assert (entry.producer_epoch, entry.coordinator_epoch, entry.last_timestamp, entry.open_since) == (-1, -1, -1, None)
    assert (entry.batches, entry.last_sequence) == ((), -1)
    assert (entry.last_data_offset, entry.last_offset_delta) == (-1, 0)


def test_copy_is_independent() -> None:
    entry = ProducerEntry(7)
    copy = entry.copy()
    copy.add_batch(0, BatchMetadata(0, 0, 0, T0))
    assert (entry.producer_epoch, entry.batches) == (-1, ())
