"""What a log remembers of producers: sequences, epochs, transactions; expiry, truncation, snapshots."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from producing import T0, logged, marker

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import Batch
from kafkalet.storage.files import Files
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.refusals import ValidationFailed
from kafkalet.storage.values import AbortedTransaction, LogOffsetMetadata, Origin

MAX_SEQUENCE = 2147483647
DAY_MS = 86_400_000


@pytest.fixture
def states(tmp_path: Path) -> Iterator[ProducerStates]:
    files = Files(durable=False)
    yield ProducerStates(str(tmp_path), files)
    files.close()


def again(states: ProducerStates) -> ProducerStates:
    """What a restart knows of the same directory, before it replays anything."""
    return ProducerStates(states.snapshots.directory, Files(durable=False))


def append(states: ProducerStates, *batches: Batch, origin: Origin = Origin.CLIENT) -> list[AbortedTransaction]:
    change = states.prepare(batches, origin)
    assert change.duplicate is None
    aborted = states.commit(change)
    states.end_offset = batches[-1].next_offset
    return aborted


def sent(offset: int, sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 7, **fields: object) -> Batch:
    return logged(offset, count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, **fields)


def in_transaction(offset: int, sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 7) -> Batch:
    return sent(offset, sequence, count, epoch=epoch, producer=producer, transactional=True)


def refused(states: ProducerStates, batch: Batch, origin: Origin = Origin.CLIENT, **how: int) -> Code:
    before = [repr(entry) for entry in states.active()], states.first_unstable
    with pytest.raises(ValidationFailed) as caught:
        states.prepare([batch], origin, **how)  # type: ignore[arg-type]
    assert ([repr(entry) for entry in states.active()], states.first_unstable) == before
    assert caught.value.message is None
    return caught.value.code


# Sequences


def test_a_batch_without_producer_id_leaves_nothing_behind(states: ProducerStates) -> None:
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
    assert (entry.first_sequence, entry.last_sequence, entry.last_data_offset) == (0, 4, 4)


def test_sequences_go_on_with_0_behind_the_largest_int(states: ProducerStates) -> None:
    append(states, sent(0, MAX_SEQUENCE))
    append(states, sent(1, 0))
    assert refused(states, sent(2, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_may_reach_around_the_largest_int(states: ProducerStates) -> None:
    append(states, sent(0, MAX_SEQUENCE - 1, 4))
    entry = states.entry(7)
    assert entry is not None
    assert (entry.first_sequence, entry.last_sequence) == (MAX_SEQUENCE - 1, 1)
    assert states.prepare([sent(4, MAX_SEQUENCE - 1, 4)], Origin.CLIENT).duplicate is not None
    append(states, sent(4, 2))


def test_an_epoch_of_minus_1_knows_no_order(states: ProducerStates) -> None:
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


def test_coordinators_have_no_sequences(states: ProducerStates) -> None:
    append(states, in_transaction(0, -1), origin=Origin.COORDINATOR)
    append(states, in_transaction(1, -1), origin=Origin.COORDINATOR)
    assert refused(states, in_transaction(2, -1, epoch=-1), Origin.COORDINATOR) == Code.INVALID_PRODUCER_EPOCH


def test_what_the_leader_sends_is_not_questioned(states: ProducerStates) -> None:
    append(states, sent(0, 0, epoch=3), origin=Origin.REPLICATION)
    append(states, sent(1, 9, epoch=3), origin=Origin.REPLICATION)
    append(states, sent(2, 2, epoch=1), origin=Origin.REPLICATION)
    entry = states.entry(7)
    assert entry is not None
    assert (entry.producer_epoch, entry.last_sequence) == (1, 2)


# Duplicates


def test_the_last_five_batches_are_known_again(states: ProducerStates) -> None:
    for n in range(6):
        append(states, sent(10 + n, n, ts=T0 + n))
    for n in range(1, 6):
        duplicate = states.prepare([sent(16, n)], Origin.CLIENT).duplicate
        assert duplicate is not None
        assert (duplicate.first_offset, duplicate.last_offset, duplicate.timestamp) == (10 + n, 10 + n, T0 + n)
    assert refused(states, sent(16, 0)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_duplicate_has_both_ends_in_common(states: ProducerStates) -> None:
    append(states, sent(0, 0, 3))
    duplicate = states.prepare([sent(3, 0, 3)], Origin.CLIENT).duplicate
    assert duplicate is not None
    assert (duplicate.first_offset, duplicate.last_offset) == (0, 2)
    assert refused(states, sent(3, 0, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(states, sent(3, 1, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_another_epoch_makes_no_duplicate(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    append(states, sent(1, 0, epoch=1))
    assert refused(states, sent(2, 0, epoch=0)) == Code.INVALID_PRODUCER_EPOCH
    assert states.prepare([sent(2, 0, epoch=1)], Origin.CLIENT).duplicate is not None


def test_a_duplicate_changes_nothing(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    before = states.entry(7)
    assert states.commit(states.prepare([sent(1, 0)], Origin.CLIENT)) == []
    assert states.entry(7) is before


def test_only_clients_repeat_themselves(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    assert states.prepare([sent(1, 0)], Origin.REPLICATION).duplicate is None


# Transactions


def test_an_open_transaction_is_the_first_unstable_offset(states: ProducerStates) -> None:
    assert states.first_unstable is None
    states.commit(states.prepare([in_transaction(5, 0, 2)], Origin.CLIENT, segment_base_offset=3, position=210))
    append(states, in_transaction(7, 2))
    assert states.first_unstable == LogOffsetMetadata(5, 3, 210)
    assert states.first_undecided_offset == 5
    assert states.has_open_transaction(7)
    assert states.has_open_transaction(7, 0)
    assert not states.has_open_transaction(7, 1)
    assert not states.has_open_transaction(8)


def test_the_place_of_a_transaction_counts_the_batches_before_it(states: ProducerStates) -> None:
    before = logged(0)
    change = states.prepare([before, in_transaction(1, 0)], Origin.REPLICATION, segment_base_offset=0, position=1000)
    states.commit(change)
    assert states.first_unstable == LogOffsetMetadata(1, 0, 1000 + before.size)


def test_inside_a_transaction_all_data_belongs_to_it(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    assert refused(states, sent(1, 1)) == Code.INVALID_TXN_STATE
    append(states, sent(1, 0, producer=8))


def test_a_marker_holds_back_until_it_is_replicated(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    append(states, marker(1, 7, commit=True), origin=Origin.COORDINATOR)
    assert not states.has_open_transaction(7)
    assert states.first_undecided_offset is None
    assert states.first_unstable == LogOffsetMetadata(0)
    states.on_high_watermark_updated(1)
    assert states.first_unstable == LogOffsetMetadata(0)
    states.on_high_watermark_updated(2)
    assert states.first_unstable is None


def test_the_oldest_transaction_of_both_kinds_counts(states: ProducerStates) -> None:
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


def test_a_commit_leaves_no_entry_for_the_index(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    assert append(states, marker(1, 7, commit=True), origin=Origin.COORDINATOR) == []


def test_an_abort_goes_into_the_index_with_the_stable_offset_behind_it(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0, producer=7))
    append(states, in_transaction(1, 0, producer=8))
    end = append(states, marker(2, 7, commit=False), origin=Origin.COORDINATOR)
    assert end == [AbortedTransaction(7, first_offset=0, last_offset=2, last_stable_offset=1)]
    end = append(states, marker(3, 8, commit=False), origin=Origin.COORDINATOR)
    assert end == [AbortedTransaction(8, first_offset=1, last_offset=3, last_stable_offset=4)]


def test_a_marker_alone_leaves_no_trace_in_the_index(states: ProducerStates) -> None:
    assert append(states, marker(0, 7, commit=False), origin=Origin.COORDINATOR) == []
    assert states.first_unstable is None
    assert states.entry(7) is not None


def test_sequences_go_on_behind_a_marker(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    append(states, marker(1, 7, commit=True), origin=Origin.COORDINATOR)
    assert refused(states, in_transaction(2, 0, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, in_transaction(2, 1))


def test_a_marker_with_a_new_epoch_begins_anew(states: ProducerStates) -> None:
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


def test_with_transaction_version_2_each_marker_has_an_epoch_of_its_own(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    late = marker(1, 7, 0, commit=False)
    assert refused(states, late, Origin.COORDINATOR, transaction_version=2) == Code.INVALID_PRODUCER_EPOCH
    new = marker(1, 7, 1, commit=False)
    states.commit(states.prepare([new], Origin.COORDINATOR, transaction_version=2))
    assert states.prepare([marker(2, 7, 1, commit=False)], Origin.COORDINATOR, transaction_version=2).appends


def test_several_producers_in_one_append_of_a_follower(states: ProducerStates) -> None:
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
    assert states.first_undecided_offset == 3


def test_an_empty_control_batch_is_what_compaction_left(states: ProducerStates) -> None:
    end = marker(4, 7, commit=True)
    end.count = 0
    assert append(states, end, origin=Origin.REPLICATION) == []
    assert states.first_unstable is None


# Verification


def test_the_first_batch_of_a_transaction_needs_a_guard(states: ProducerStates) -> None:
    states.verifies_transactions = True
    batch = in_transaction(0, 0)
    assert refused(states, batch) == Code.INVALID_TXN_STATE
    guard = states.verifications.start(7, 0, 0, T0)
    assert refused(states, batch) == Code.INVALID_TXN_STATE
    states.commit(states.prepare([batch], Origin.CLIENT, guard=guard))
    states.commit(states.prepare([in_transaction(1, 1)], Origin.CLIENT))
    assert states.verifications.get(7) is None


def test_a_guard_from_before_a_marker_proves_nothing(states: ProducerStates) -> None:
    states.verifies_transactions = True
    guard = states.verifications.start(7, 0, 0, T0)
    append(states, marker(0, 7, commit=False), origin=Origin.COORDINATOR)
    states.verifications.start(7, 0, 0, T0)
    with pytest.raises(ValidationFailed):
        states.prepare([in_transaction(1, 0)], Origin.CLIENT, guard=guard)


def test_a_batch_does_not_overtake_one_that_waits_for_its_verification(states: ProducerStates) -> None:
    guard = states.verifications.start(7, 3, 0, T0)
    assert states.verifications.start(7, 1, 0, T0) is guard
    assert refused(states, in_transaction(0, 3)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, in_transaction(0, 1))
    append(states, in_transaction(1, 2))


def test_a_new_epoch_asks_anew(states: ProducerStates) -> None:
    states.verifications.start(7, 1, 0, T0)
    states.verifications.start(7, 5, 1, T0)
    states.verifications.start(7, 0, 0, T0)
    verification = states.verifications.get(7)
    assert verification is not None
    assert (verification.epoch, verification.lowest_sequence) == (1, 5)


def test_with_epochs_that_rise_an_unknown_producer_begins_with_0(states: ProducerStates) -> None:
    states.verifications.start(7, 4, 0, T0, supports_epoch_bump=True)
    assert refused(states, in_transaction(0, 4)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(states, in_transaction(0, 0))


# Expiry


def test_a_silent_producer_is_forgotten(states: ProducerStates) -> None:
    append(states, sent(0, 0, ts=T0))
    append(states, sent(1, 0, ts=T0 + 1, producer=8))
    states.remove_expired(T0 + DAY_MS - 1)
    assert len(states) == 2
    states.remove_expired(T0 + DAY_MS)
    assert [entry.producer_id for entry in states.active()] == [8]
    append(states, sent(2, 5))


def test_a_producer_inside_a_transaction_is_not_forgotten(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    states.remove_expired(T0 + 2 * DAY_MS)
    assert states.has_open_transaction(7)


def test_a_verification_expires_too(states: ProducerStates) -> None:
    states.verifications.start(7, 0, 0, T0)
    states.remove_expired(T0 + DAY_MS - 1)
    assert states.verifications.get(7) is not None
    states.remove_expired(T0 + DAY_MS)
    assert states.verifications.get(7) is None


# Snapshots and truncation


def test_a_snapshot_brings_back_the_last_batch_and_the_open_transactions(states: ProducerStates) -> None:
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


def test_expired_producers_do_not_come_back_with_a_snapshot(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    append(states, in_transaction(1, 0, producer=8))
    states.take_snapshot()
    states = again(states)
    states.truncate_and_reload(0, 2, T0 + DAY_MS)
    assert [entry.producer_id for entry in states.active()] == [8]


def test_truncation_goes_back_to_the_latest_snapshot_below(states: ProducerStates) -> None:
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


def test_without_a_snapshot_everything_has_to_be_replayed(states: ProducerStates) -> None:
    append(states, sent(0, 0))
    append(states, sent(1, 1))
    states.truncate_and_reload(0, 1, T0)
    assert (states.end_offset, len(states)) == (0, 0)
    states.replay([sent(0, 0)])
    assert refused(states, sent(1, 2)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_broken_snapshot_is_deleted_and_the_one_before_is_used(states: ProducerStates) -> None:
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


def test_a_new_log_start_forgets_snapshots_but_no_producers(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    states.take_snapshot()
    append(states, sent(1, 0, producer=8))
    states.take_snapshot()
    states.truncate_and_reload(1, 2, T0)
    assert states.snapshots.offsets == [2]
    assert len(states) == 2
    assert states.has_open_transaction(7)


def test_a_new_log_start_settles_the_transactions_below_it(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    append(states, marker(1, 7, commit=True), origin=Origin.COORDINATOR)
    states.on_log_start_offset_incremented(2)
    assert states.first_unstable is None
    states.on_log_start_offset_incremented(10)
    assert states.end_offset == 10


def test_a_log_that_begins_anew_knows_nobody(states: ProducerStates) -> None:
    append(states, in_transaction(0, 0))
    states.take_snapshot()
    states.truncate_fully_and_start_at(50)
    assert (states.end_offset, len(states), states.first_unstable, states.snapshots.offsets) == (50, 0, None, [])
    assert os.listdir(states.snapshots.directory) == []
