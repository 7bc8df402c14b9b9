"""Acknowledging, releasing and losing records in flight, and the start offset."""

import pytest

from kafkalet.broker.share.acquisition import BY_RECORDS
from kafkalet.broker.share.share_partition import ACCEPT, REJECT, RELEASE, RENEW
from kafkalet.broker.share.state import RecordState, StateBatch
from kafkalet.protocol.errors import Code, KafkaError

from .in_memory import Held

TENS = [(0, 9), (10, 19), (20, 29)]
GAP = 0


@pytest.fixture
def held() -> Held:
    """A share partition of which alice has acquired ten records."""
    held = Held()
    held.acquire()
    return held


class TestAcknowledging:
    def test_a_whole_batch_is_persisted_as_one(self, held: Held) -> None:
        assert held.acknowledge("alice", (0, 9, ACCEPT)) == [(0, 9, RecordState.ACKNOWLEDGED, 1)]
        assert held.offsets == (10, 10)
        assert held.states == []

    def test_a_part_of_a_batch_is_persisted_record_by_record(self, held: Held) -> None:
        assert held.acknowledge("alice", (0, 1, ACCEPT)) == [(0, 0, 2, 1), (1, 1, 2, 1)]
        assert held.offsets == (2, 9)

    def test_each_record_may_have_its_own_type(self, held: Held) -> None:
        assert held.acknowledge("alice", (0, 3, [ACCEPT, RELEASE, REJECT, GAP])) == [
            (0, 0, RecordState.ACKNOWLEDGED, 1),
            (1, 1, RecordState.AVAILABLE, 1),
            (2, 2, RecordState.ARCHIVED, 1),
            (3, 3, RecordState.ARCHIVED, 1),
        ]
        assert held.offsets == (1, 9)

    def test_one_range_may_cover_several_batches(self) -> None:
        held = Held()
        held.acquire(log=TENS, batch_size=10)
        assert held.acknowledge("alice", (0, 29, ACCEPT)) == [(0, 9, 2, 1), (10, 19, 2, 1), (20, 29, 2, 1)]

    def test_the_offsets_before_the_acknowledgement_are_persisted_with_it(self, held: Held) -> None:
        update = held.begin("alice", (0, 4, ACCEPT))
        assert (update.start_offset, update.delivery_complete_count) == (0, 5)

    def test_records_that_have_been_delivered_too_often_are_archived_when_they_are_released(self) -> None:
        held = Held(max_deliveries=2)
        held.acquire()
        held.release("alice")
        held.acquire()
        assert held.acknowledge("alice", (0, 9, RELEASE)) == [(0, 9, RecordState.ARCHIVED, 2)]
        assert held.offsets == (10, 10)

    def test_records_below_the_start_offset_are_skipped(self, held: Held) -> None:
        held.partition.move_start(5)
        assert held.acknowledge("alice", (0, 4, ACCEPT)) == []
        assert held.acknowledge("alice", (0, 9, ACCEPT)) == [(offset, offset, 2, 1) for offset in range(5, 10)]
        assert held.offsets == (5, 9)  # until the lock of the deleted records has expired
        held.expire(30_000)
        assert held.offsets == (10, 10)

    def test_rejected_records_wait_for_the_dead_letter_queue(self) -> None:
        held = Held(dead_letters=True)
        held.acquire()
        assert held.acknowledge("alice", (0, 9, REJECT)) == [(0, 9, RecordState.ARCHIVING, 1)]
        assert held.offsets == (0, 9)
        held.partition.archive(0, 9, RecordState.ARCHIVING)
        held.partition.advance()
        assert held.offsets == (10, 10)


class TestInvalidAcknowledgements:
    @pytest.mark.parametrize(
        ("ranges", "code", "message"),
        [
            ([(0, 12, ACCEPT)], Code.INVALID_REQUEST, "The last offset in request is past acquired records."),
            ([(10, 12, ACCEPT)], Code.INVALID_REQUEST, "The first offset in request is past acquired records."),
            ([(0, 9, ACCEPT), (0, 9, ACCEPT)], Code.INVALID_RECORD_STATE, "The batch is not in the acquired state."),
            ([(0, 9, ACCEPT), (2, 3, ACCEPT)], Code.INVALID_RECORD_STATE, "The batch is not in the acquired state."),
            ([(0, 4, ACCEPT), (2, 9, ACCEPT)], Code.INVALID_RECORD_STATE, "The offset is not acquired."),
        ],
    )
    def test_nothing_is_applied_if_a_range_is_not_valid(
        self, held: Held, ranges: list[tuple[int, int, int]], code: Code, message: str
    ) -> None:
        with pytest.raises(KafkaError) as error:
            held.acknowledge("alice", *ranges)
        assert error.value.code == code
        assert message in str(error.value)
        assert {state for _, _, state, _ in held.states} == {"acquired"}
        assert held.partition.delivery_complete_count == 0
        held.acknowledge("alice", (0, 9, ACCEPT))
        assert held.offsets == (10, 10)

    def test_only_the_member_that_has_acquired_a_record_may_acknowledge_it(self, held: Held) -> None:
        with pytest.raises(KafkaError, match="Member is not the owner of batch record"):
            held.acknowledge("bob", (0, 9, ACCEPT))
        held.acknowledge("alice", (3, 3, RELEASE))
        with pytest.raises(KafkaError, match="Member is not the owner of offset"):
            held.acknowledge("bob", (4, 4, ACCEPT))

    def test_records_that_were_never_in_flight_are_unknown(self) -> None:
        with pytest.raises(KafkaError, match="The request batch offsets are not found in the cache") as error:
            Held(5).acknowledge("alice", (7, 9, ACCEPT))
        assert error.value.code is Code.INVALID_RECORD_STATE

    def test_an_acknowledgement_that_is_being_persisted_cannot_be_repeated(self, held: Held) -> None:
        held.begin("alice", (0, 9, ACCEPT))
        with pytest.raises(KafkaError) as error:
            held.begin("alice", (0, 9, ACCEPT))
        assert error.value.code is Code.INVALID_RECORD_STATE


class TestPersisting:
    def test_records_are_acquired_again_only_when_their_release_is_persisted(self, held: Held) -> None:
        update = held.begin("alice", (0, 9, RELEASE))
        assert held.acquire("bob", at=0) == []
        held.partition.commit(update, held.now_ms)
        assert held.acquire("bob") == [(0, 9, 2)]

    def test_the_member_keeps_its_records_if_they_cannot_be_persisted(self, held: Held) -> None:
        update = held.begin("alice", (0, 4, ACCEPT))
        held.partition.roll_back(update, held.now_ms)
        assert held.offsets == (0, 9)
        assert held.partition.delivery_complete_count == 0
        held.acknowledge("alice", (0, 9, ACCEPT))

    def test_records_become_available_if_they_cannot_be_persisted_and_their_lock_has_expired(self, held: Held) -> None:
        update = held.begin("alice", (0, 9, ACCEPT))
        assert held.expire(30_000) == []
        held.partition.roll_back(update, held.now_ms)
        assert held.states == [(0, 9, "available", 1)]

    def test_records_stay_archived_if_an_earlier_release_cannot_be_persisted(self, held: Held) -> None:
        update = held.begin("alice", (0, 9, RELEASE))
        held.partition.move_start(10)
        held.partition.roll_back(update, held.now_ms)
        assert held.states == [(0, 9, "archived", 1)]


class TestLocks:
    def test_a_lock_expires_after_its_duration(self, held: Held) -> None:
        assert held.partition.next_expiry_ms() == 30_000
        assert held.expire(29_999) == []
        assert held.expire(1) == [(0, 9, RecordState.AVAILABLE, 1)]
        assert held.partition.next_expiry_ms() is None
        assert held.acquire("bob") == [(0, 9, 2)]

    def test_only_what_was_not_acknowledged_expires(self, held: Held) -> None:
        held.acknowledge("alice", (0, 7, ACCEPT))
        assert held.expire(30_000) == [(8, 8, 0, 1), (9, 9, 0, 1)]

    def test_no_lock_is_left_after_an_acknowledgement(self, held: Held) -> None:
        held.acknowledge("alice", (0, 9, ACCEPT))
        assert held.partition.next_expiry_ms() is None

    def test_locks_of_one_member_can_end_early(self, held: Held) -> None:
        held.acquire("bob", log=TENS, batch_size=10)
        assert held.partition.end_locks("alice", held.now_ms) == 10
        assert held.expire(0) == [(0, 9, RecordState.AVAILABLE, 1)]
        assert held.partition.end_locks(None, held.now_ms) == 20
        assert [state for _, _, state, _ in held.states] == ["available", "acquired", "acquired"]

    def test_renewing_starts_the_lock_again(self, held: Held) -> None:
        held.now_ms = 20_000
        assert held.acknowledge("alice", (0, 9, RENEW)) == []
        assert held.expire(10_000) == []
        assert held.expire(20_000) == [(0, 9, 0, 1)]

    def test_single_records_may_be_renewed(self, held: Held) -> None:
        held.now_ms = 20_000
        held.acknowledge("alice", (0, 9, [ACCEPT] * 8 + [RENEW, RELEASE]))
        assert held.expire(10_000) == []
        assert held.expire(20_000) == [(8, 8, 0, 1)]

    def test_renewing_may_be_disabled(self) -> None:
        held = Held(renews=False)
        held.acquire()
        with pytest.raises(KafkaError, match="Renewing acquisition locks is not enabled for the group") as error:
            held.acknowledge("alice", (0, 9, RENEW))
        assert error.value.code is Code.INVALID_RECORD_STATE

    def test_a_new_duration_applies_to_the_next_acquisition(self, held: Held) -> None:
        held.limits = held.limits._replace(lock_ms=1000)
        held.acquire("bob", log=TENS[1:2])
        assert held.expire(1000) == [(10, 19, 0, 1)]
        assert held.expire(29_000) == [(0, 9, 0, 1)]

    def test_the_last_delivery_ends_in_the_archive(self) -> None:
        held = Held(max_deliveries=2)
        held.acquire()
        held.expire(30_000)
        held.acquire()
        assert held.expire(30_000) == [(0, 9, RecordState.ARCHIVED, 2)]
        assert held.offsets == (10, 10)


class TestReleasing:
    def test_all_records_of_a_member_are_released(self) -> None:
        held = Held()
        held.acquire("alice", log=TENS[:1])
        held.acquire("bob", log=TENS[1:2])
        held.acquire("alice", log=TENS[2:], max_records=4, mode=BY_RECORDS)
        assert held.release("alice") == [(0, 9, 0, 1), *((offset, offset, 0, 1) for offset in range(20, 24))]
        assert held.states[1] == (10, 19, "acquired", 1)

    def test_records_that_the_log_has_deleted_are_archived(self, held: Held) -> None:
        held.partition.move_start(8)
        released = held.release("alice")
        assert {batch[2] for batch in released[:8]} == {RecordState.ARCHIVED}
        assert {batch[2] for batch in released[8:]} == {RecordState.AVAILABLE}

    def test_a_member_without_records_releases_nothing(self, held: Held) -> None:
        assert held.release("bob") == []


class TestStartOffset:
    def test_records_below_it_are_done(self, held: Held) -> None:
        held.release("alice")
        held.partition.move_start(4)
        assert held.offsets == (4, 9)
        assert held.acquire() == [(4, 9, 2)]

    def test_it_does_not_go_back(self, held: Held) -> None:
        held.partition.move_start(4)
        held.partition.move_start(2)
        assert held.offsets == (4, 9)

    def test_both_offsets_move_without_records_in_flight(self) -> None:
        held = Held()
        held.partition.move_start(100)
        assert held.offsets == (100, 100)

    def test_it_may_pass_everything_in_flight(self, held: Held) -> None:
        held.release("alice")
        held.partition.move_start(50)
        assert held.offsets == (50, 50)
        assert held.acquire(log=[(50, 54)]) == [(50, 54, 1)]

    def test_records_below_it_are_acquired_with_their_batch_while_older_ones_are_in_flight(self, held: Held) -> None:
        held.release("alice")
        held.partition.move_start(50)
        assert held.acquire(log=[(45, 54)]) == [(45, 54, 1)]  # as in Kafka

    def test_it_advances_when_the_first_record_is_done(self) -> None:
        held = Held()
        held.acquire(log=TENS, batch_size=10)
        held.acknowledge("alice", (10, 19, ACCEPT))
        assert held.offsets == (0, 29)
        assert held.partition.delivery_complete_count == 10
        held.acknowledge("alice", (0, 9, ACCEPT))
        assert held.offsets == (20, 29)
        assert held.partition.delivery_complete_count == 0

    def test_it_advances_within_a_batch(self, held: Held) -> None:
        held.acknowledge("alice", (0, 5, ACCEPT))
        assert held.offsets == (6, 9)

    def test_done_records_that_the_log_has_deleted_are_no_longer_counted(self, held: Held) -> None:
        held.acknowledge("alice", (2, 6, ACCEPT))
        assert held.partition.delivery_complete_count == 5
        held.partition.move_start(4)
        assert held.partition.delivery_complete_count == 3

    def test_it_does_not_go_back_to_a_gap_that_was_deleted(self) -> None:
        held = Held(batches=[StateBatch(5, 9, 0, 1)])
        assert held.acquire(log=[(0, 1), (2, 9)], max_records=1) == [(0, 1, 1)]
        held.partition.move_start(4)
        held.release("alice")
        assert held.offsets == (4, 9)


class TestLoading:
    def test_persisted_batches_are_in_flight(self) -> None:
        held = Held(10, [StateBatch(10, 14, 0, 2), StateBatch(15, 19, 4, 1)])
        assert held.offsets == (10, 19)
        assert held.partition.delivery_complete_count == 5
        assert held.acquire(log=[(10, 29)]) == [(10, 14, 3), (20, 29, 1)]

    def test_done_batches_at_the_start_are_skipped(self) -> None:
        assert Held(10, [StateBatch(10, 14, 2, 2)]).offsets == (15, 15)

    @pytest.mark.parametrize("batch", [StateBatch(5, 12, 0, 1), StateBatch(12, 11, 0, 1)])
    def test_batches_that_are_not_valid_are_refused(self, batch: StateBatch) -> None:
        with pytest.raises(KafkaError):
            Held(10, [batch])


def test_records_of_aborted_transactions_are_archived_at_once() -> None:
    held = Held()
    held.acquire(log=TENS, batch_size=10)
    held.archive(10, 19)
    assert held.states == [(0, 9, "acquired", 1), (10, 19, "archived", 1), (20, 29, "acquired", 1)]
    assert held.partition.delivery_complete_count == 10
    held.acknowledge("alice", (0, 9, ACCEPT))
    assert held.offsets == (20, 29)


def test_a_part_of_a_batch_may_be_archived() -> None:
    held = Held()
    held.acquire(log=TENS)
    held.archive(5, 6)
    assert [state for _, _, state, _ in held.states[4:8]] == ["acquired", "archived", "archived", "acquired"]
