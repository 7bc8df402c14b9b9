"""Tests of the producer states of a log: transactions that limit readers, expiration, truncation, snapshots."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import Code
from kafkalet.storage.files import Files
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.values import AbortedTransaction, LogOffsetMetadata, Origin

from .producer_steps import again, append, in_transaction, refused, sent
from .producing import T0, logged, marker

DAY_MS = 86_400_000


@pytest.fixture
def states(tmp_path: Path) -> Iterator[ProducerStates]:
    files = Files(durable=False)
    yield ProducerStates(str(tmp_path), files)
    files.close()


# Transactions


def test_an_open_transaction_is_the_first_unstable_offset(states: ProducerStates) -> None:
    assert states.first_unstable is None
    states.commit(states.prepare([in_transaction(5, 0, 2)], Origin.CLIENT, segment_base_offset=3, position=210))
    append(states, in_transaction(7, 2))
    assert states.first_unstable == LogOffsetMetadata(5, 3, 210)
    assert states.has_open_transaction(7)
    assert states.has_open_transaction(7, 0)
    assert not states.has_open_transaction(7, 1)
    assert not states.has_open_transaction(8)


def test_position_of_a_transaction_includes_earlier_batches_of_the_append(states: ProducerStates) -> None:
    before = logged(0)
    change = states.prepare([before, in_transaction(1, 0)], Origin.REPLICATION, segment_base_offset=0, position=1000)
    states.commit(change)
    assert states.first_unstable == LogOffsetMetadata(1, 0, 1000 + before.size)


def test_transaction_is_unstable_until_its_marker_is_replicated(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    append(states, marker(1, 7, commit=True), origin=Origin.COORDINATOR)
    assert not states.has_open_transaction(7)
    assert states.first_unstable == LogOffsetMetadata(0)
    states.on_high_watermark_updated(1)
    assert states.first_unstable == LogOffsetMetadata(0)
    states.on_high_watermark_updated(2)
    assert states.first_unstable is None


def test_first_unstable_is_the_oldest_open_or_unreplicated_transaction(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0, producer=1))
    append(states, in_transaction(1, 0, producer=2))
    append(states, marker(2, 2, commit=True), origin=Origin.COORDINATOR)
    assert states.first_unstable == LogOffsetMetadata(0)
    append(states, marker(3, 1, commit=True), origin=Origin.COORDINATOR)
    append(states, in_transaction(4, 0, producer=3))
    assert states.first_unstable == LogOffsetMetadata(0)
    states.on_high_watermark_updated(3)
    assert states.first_unstable == LogOffsetMetadata(0)
    states.on_high_watermark_updated(4)
    assert states.first_unstable == LogOffsetMetadata(4)


def test_commit_has_no_index_entry(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    assert append(states, marker(1, 7, commit=True), origin=Origin.COORDINATOR) == []


def test_abort_is_indexed_with_the_next_stable_offset(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0, producer=7))
    append(states, in_transaction(1, 0, producer=8))
    end = append(states, marker(2, 7, commit=False), origin=Origin.COORDINATOR)
    assert end == [AbortedTransaction(7, first_offset=0, last_offset=2, last_stable_offset=1)]
    end = append(states, marker(3, 8, commit=False), origin=Origin.COORDINATOR)
    assert end == [AbortedTransaction(8, first_offset=1, last_offset=3, last_stable_offset=4)]


def test_marker_without_transaction_has_no_index_entry(states: ProducerStates) -> None:
    assert append(states, marker(0, 7, commit=False), origin=Origin.COORDINATOR) == []
    assert states.first_unstable is None
    assert states.entry(7) is not None


def test_follower_tracks_several_producers_in_one_append(states: ProducerStates) -> None:
    aborted = append(
        states,
        in_transaction(0, 0, producer=1),
        in_transaction(1, 0, producer=2),
        marker(2, 2, commit=False),
        in_transaction(3, 1, producer=2),
        marker(4, 1, commit=False),
        origin=Origin.REPLICATION,
    )
    assert aborted == [AbortedTransaction(2, 1, 2, 0), AbortedTransaction(1, 0, 4, 3)]
    assert {entry.producer_id: entry.open_since for entry in states.active()} == {1: None, 2: 3}


# Expiration


def test_inactive_producer_expires(states: ProducerStates) -> None:
    append(states, sent(0, 0, ts=T0))
    append(states, sent(1, 0, ts=T0 + 1, producer=8))
    states.remove_expired(T0 + DAY_MS - 1)
    assert len(states) == 2
    states.remove_expired(T0 + DAY_MS)
    assert [entry.producer_id for entry in states.active()] == [8]
    append(states, sent(2, 5))


def test_producer_in_a_transaction_does_not_expire(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    states.remove_expired(T0 + 2 * DAY_MS)
    assert states.has_open_transaction(7)


def test_next_expiration_is_that_of_the_producer_outside_a_transaction_with_the_oldest_record(
    states: ProducerStates,
) -> None:
    append(states, in_transaction(0, 0))
    append(states, sent(1, 0, ts=T0 + 2, producer=8))
    append(states, sent(2, 0, ts=T0 + 1, producer=9))
    assert states.quiet_ms(T0 + 5) == DAY_MS - 4


# Snapshots and truncation


def test_snapshot_restores_the_last_batch_and_the_open_transactions(states: ProducerStates) -> None:
    append(states, sent(0, 0, 2))
    append(states, sent(2, 2, 3))
    append(states, in_transaction(5, 0, producer=8))
    append(states, marker(6, 9, 4, commit=True, coordinator_epoch=6), origin=Origin.COORDINATOR)
    assert states.take_snapshot() == 7

    states = again(states)
    states.truncate_and_reload(0, 100, T0)
    assert states.end_offset == 7
    assert states.first_unstable == LogOffsetMetadata(5)
    duplicate = states.prepare([sent(7, 2, 3)], Origin.CLIENT).duplicate
    assert duplicate is not None
    assert duplicate.first_offset == 2
    assert refused(states, sent(7, 0, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    marked = states.entry(9)
    assert marked is not None
    assert (marked.producer_epoch, marked.coordinator_epoch, marked.last_sequence) == (4, 6, -1)


def test_a_snapshot_is_taken_once_for_an_offset(states: ProducerStates) -> None:
    assert states.take_snapshot() is None
    append(states, sent(0, 0))
    assert states.take_snapshot() == 1
    assert states.take_snapshot() is None
    assert os.listdir(states.snapshots.directory) == ["00000000000000000001.snapshot"]


def test_expired_producers_are_not_restored_from_a_snapshot(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    append(states, in_transaction(1, 0, producer=8))
    states.take_snapshot()
    states = again(states)
    states.truncate_and_reload(0, 2, T0 + DAY_MS)
    assert [entry.producer_id for entry in states.active()] == [8]


def test_truncation_loads_the_latest_snapshot_below(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    states.take_snapshot()
    append(states, in_transaction(1, 1))
    states.take_snapshot()
    append(states, marker(2, 7, commit=True), origin=Origin.COORDINATOR)
    states.truncate_and_reload(0, 1, T0)
    assert states.end_offset == 1
    assert states.first_unstable is None
    assert states.snapshots.offsets == [1]
    append(states, sent(1, 1))


def test_everything_is_replayed_without_a_snapshot(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    append(states, sent(1, 1))
    states.truncate_and_reload(0, 1, T0)
    assert (states.end_offset, len(states)) == (0, 0)
    states.replay([sent(0, 0)])
    assert refused(states, sent(1, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_corrupt_snapshot_is_deleted_and_the_previous_one_is_used(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    states.take_snapshot()
    append(states, sent(1, 1))
    states.take_snapshot()
    with open(states.snapshots.path(2), "r+b") as file:
        file.seek(12)
        file.write(b"\xff")
    states = again(states)
    states.truncate_and_reload(0, 2, T0)
    assert states.end_offset == 1
    assert states.snapshots.offsets == [1]


def test_raised_log_start_removes_snapshots_but_no_producers(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    states.take_snapshot()
    append(states, sent(1, 0, producer=8))
    states.take_snapshot()
    states.truncate_and_reload(1, 2, T0)
    assert states.snapshots.offsets == [2]
    assert len(states) == 2
    assert states.has_open_transaction(7)


def test_raised_log_start_releases_transactions_below_it(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    append(states, marker(1, 7, commit=True), origin=Origin.COORDINATOR)
    states.on_log_start_offset_incremented(2)
    assert states.first_unstable is None
    states.on_log_start_offset_incremented(10)
    assert states.end_offset == 10


def test_full_truncation_removes_all_producers(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    states.take_snapshot()
    states.truncate_fully_and_start_at(50)
    assert (states.end_offset, len(states), states.first_unstable, states.snapshots.offsets) == (50, 0, None, [])
    assert os.listdir(states.snapshots.directory) == []


# State machine test


class Model:
    """A simple model of idempotence and transactions, which searches the whole history."""

    def __init__(self) -> None:
        self.log: list[tuple[int, int, int, int, int]] = []  # producer, epoch, first sequence, count, offset
        self.open: dict[int, int] = {}
        self.end = 0

    def append(self, producer: int, epoch: int, sequence: int, count: int, transactional: bool) -> int | Code:
        """Return the offset of a new or duplicate batch, or the reason for its refusal."""
        mine = [batch for batch in self.log if batch[0] == producer]
        this_epoch = [batch for batch in mine if batch[1] == epoch]
        for batch in this_epoch[-5:]:
            if batch[1:4] == (epoch, sequence, count) and mine[-1][1] == epoch:
                return batch[4]
        if mine:
            last = mine[-1]
            if epoch < last[1]:
                return Code.INVALID_PRODUCER_EPOCH
            expected = 0 if epoch > last[1] else (last[2] + last[3]) % 2**31
            if sequence != expected:
                return Code.OUT_OF_ORDER_SEQUENCE_NUMBER
        if producer in self.open and not transactional:
            return Code.INVALID_TXN_STATE
        if transactional:
            self.open.setdefault(producer, self.end)
        self.log.append((producer, epoch, sequence, count, self.end))
        self.end += count
        return self.end - count

    def mark(self, producer: int) -> int | None:
        """End a transaction and return its first offset."""
        self.end += 1
        return self.open.pop(producer, None)


APPENDS = st.tuples(
    st.integers(1, 3),  # producer
    st.integers(0, 2),  # epoch
    st.one_of(st.integers(0, 12), st.just(2147483647)),  # sequence
    st.integers(1, 3),  # count
    st.booleans(),  # transactional
)
NEXT = st.tuples(st.integers(1, 3), st.integers(1, 3), st.booleans())  # the next sequence that the producer should send
MARKS = st.tuples(st.integers(1, 3), st.booleans())


@given(steps=st.lists(st.one_of(APPENDS, NEXT, NEXT, MARKS), max_size=40))
def test_producers_behave_like_the_model(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    states = ProducerStates(str(tmp_path_factory.mktemp("states")), Files(durable=False))
    model = Model()
    unreplicated: list[tuple[int, int]] = []
    for step in steps:
        if len(step) == 2:
            producer, commit = step
            entry = states.entry(producer)
            end = marker(model.end, producer, entry.producer_epoch if entry else 0, commit=commit)
            offset = model.end
            if entry is None:  # a marker makes a producer known, which the model ignores
                continue
            first = model.mark(producer)
            stable = min(model.open.values(), default=model.end)
            aborted = append(states, end, origin=Origin.COORDINATOR)
            expected = [] if first is None or commit else [AbortedTransaction(producer, first, offset, stable)]
            assert aborted == expected
            if first is not None:
                unreplicated.append((first, offset))
        else:
            if len(step) == 3:
                producer, count, transactional = step
                entry = states.entry(producer)
                epoch = entry.producer_epoch if entry else 0
                sequence = (entry.last_sequence + 1) % 2**31 if entry else 0
            else:
                producer, epoch, sequence, count, transactional = step
            batch = sent(model.end, sequence, count, epoch=epoch, producer=producer, transactional=transactional)
            expected_answer = model.append(producer, epoch, sequence, count, transactional)
            if isinstance(expected_answer, Code):
                assert refused(states, batch) == expected_answer
            else:
                change = states.prepare([batch], Origin.CLIENT)
                answered = batch.base_offset if change.duplicate is None else change.duplicate.first_offset
                assert answered == expected_answer
                states.commit(change)
        holding = [*model.open.values(), *(first for first, _ in unreplicated)]
        unstable = states.first_unstable
        assert (unstable.offset if unstable else None) == min(holding, default=None)
        opened = {entry.producer_id: entry.open_since for entry in states.active() if entry.open_since is not None}
        assert opened == model.open
        if len(unreplicated) > 2:
            high_watermark = unreplicated[1][1] + 1
            states.on_high_watermark_updated(high_watermark)
            unreplicated = [each for each in unreplicated if each[1] >= high_watermark]
