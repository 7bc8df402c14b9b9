"""Acquiring records: which ranges a member gets, from new records and from those in flight."""

import pytest

from kafkalet.broker.share.acquisition import BY_RECORDS, Acquired, LogBatch, without
from kafkalet.broker.share.share_partition import RELEASE, SharePartition
from kafkalet.broker.share.state import StateBatch

from .in_memory import Held

TENS = [(0, 9), (10, 19), (20, 29)]


def test_new_records_are_acquired_up_to_the_end_of_the_last_batch_that_is_needed() -> None:
    held = Held()
    assert held.acquire(log=TENS, max_records=12) == [(0, 19, 1)]
    assert held.offsets == (0, 19)


def test_a_record_limit_is_exact_and_the_rest_of_the_batch_stays_available() -> None:
    held = Held()
    assert held.acquire(log=TENS, max_records=12, mode=BY_RECORDS) == [(0, 11, 1)]
    assert held.states[11:13] == [(11, 11, "acquired", 1), (12, 12, "available", 0)]
    assert held.partition.next_fetch_offset() == 12
    assert held.acquire("bob", log=TENS[1:], max_records=3, mode=BY_RECORDS) == [(12, 14, 1)]


def test_a_record_limit_ignores_the_batch_size() -> None:
    held = Held()
    assert held.acquire(log=TENS, max_records=30, batch_size=1, mode=BY_RECORDS) == [(0, 29, 1)]


def test_new_records_are_divided_where_a_batch_begins_after_enough_records() -> None:
    held = Held()
    assert held.acquire(log=[(0, 3), (4, 6), (7, 9), (10, 12)], batch_size=5) == [(0, 6, 1), (7, 12, 1)]


def test_few_records_are_not_divided() -> None:
    assert Held().acquire(log=[(0, 3), (4, 6)], batch_size=7) == [(0, 6, 1)]


def test_records_before_the_start_offset_are_not_acquired() -> None:
    held = Held(5)
    assert held.acquire(log=TENS[:1]) == [(5, 9, 1)]


def test_a_read_that_ends_before_the_start_offset_acquires_nothing() -> None:
    assert Held(10).acquire(log=TENS[:1], at=0) == []


def test_the_start_offset_advances_over_a_gap_in_the_log() -> None:
    held = Held(5)
    assert held.acquire(log=[(20, 29)]) == [(20, 29, 1)]
    assert held.offsets == (20, 29)


def test_two_members_acquire_different_records() -> None:
    held = Held()
    assert held.acquire("alice", TENS, max_records=10) == [(0, 9, 1)]
    assert held.acquire("bob", TENS, max_records=10) == [(10, 19, 1)]


def test_released_records_are_acquired_again_with_a_higher_delivery_count() -> None:
    held = Held()
    held.acquire()
    held.release("alice")
    assert held.acquire("bob") == [(0, 9, 2)]


def test_records_in_flight_and_new_records_are_acquired_together() -> None:
    held = Held()
    held.acquire(log=TENS[:1])
    held.release("alice")
    assert held.acquire(log=TENS) == [(0, 9, 2), (10, 29, 1)]


def test_released_records_of_a_batch_are_acquired_as_ranges_with_the_same_count() -> None:
    held = Held()
    held.acquire()
    held.acknowledge("alice", (0, 9, [2, 2, 1, 2, 1, 1, 2, 2, 2, 1]))
    assert held.acquire("bob") == [(0, 1, 2), (3, 3, 2), (6, 8, 2)]


def test_a_record_limit_divides_a_batch_in_flight() -> None:
    held = Held()
    held.acquire()
    held.release("alice")
    assert held.acquire(max_records=4, mode=BY_RECORDS) == [(0, 3, 2)]
    assert held.acquire(max_records=4, mode=BY_RECORDS) == [(4, 7, 2)]


def test_by_batches_a_batch_in_flight_is_acquired_whole_even_if_it_is_divided() -> None:
    held = Held()
    held.acquire()
    held.acknowledge("alice", (0, 9, [2] * 10))
    assert held.acquire(max_records=4) == [(0, 9, 2)]


def test_no_more_records_are_acquired_than_may_be_in_flight() -> None:
    held = Held(max_locks=15)
    assert held.acquire(log=TENS, max_records=12) == [(0, 19, 1)]  # up to the end of the batch
    assert not held.partition.can_acquire()
    assert held.acquire(log=TENS[2:], max_records=12) == []


def test_available_records_are_acquired_although_as_many_as_possible_are_in_flight() -> None:
    held = Held(max_locks=10)
    held.acquire(log=TENS[:1])
    held.release("alice")
    assert held.partition.can_acquire()
    assert held.acquire(log=TENS) == [(0, 9, 2)]


def test_nothing_is_acquired_without_records_or_with_a_limit_of_zero() -> None:
    assert Held().acquire(log=[]) == []
    assert Held().acquire(max_records=0) == []


def test_records_that_compaction_has_removed_while_they_were_available_are_archived() -> None:
    held = Held()
    held.acquire()
    held.release("alice")
    assert held.acquire(log=[(6, 9)], at=0) == [(6, 9, 2)]
    assert held.states[:2] == [(0, 0, "archived", 1), (1, 1, "archived", 1)]
    held.acknowledge("alice", (6, 9, 1))
    assert held.offsets == (10, 10)


class TestThrottling:
    """A batch that has been delivered half of the allowed times is delivered in smaller and smaller parts."""

    @staticmethod
    def deliveries(limit: int) -> list[list[tuple[int, int, int]]]:
        held, found = Held(max_deliveries=limit), []
        while acquired := held.acquire(log=TENS[:1]):
            found.append(acquired)
            held.release("alice")
        assert held.offsets == (10, 10)
        return found

    def test_halves_quarters_and_at_last_single_records_are_delivered(self) -> None:
        found = self.deliveries(5)
        assert found[:3] == [[(0, 9, 1)], [(0, 9, 2)], [(0, 9, 3)]]
        assert found[3] == [(0, 4, 4)]  # half of the batch, after three of five deliveries
        assert found[4] == [(0, 0, 5)]  # a record alone, for the last time
        assert [each[0] for each in found if each[0][2] == 5] == [(offset, offset, 5) for offset in range(10)]

    def test_a_limit_of_two_does_not_deliver_records_alone(self) -> None:
        assert self.deliveries(2) == [[(0, 9, 1)], [(0, 9, 2)]]

    def test_new_records_do_not_follow_throttled_ones(self) -> None:
        held = Held()
        for _ in range(3):
            held.acquire(log=TENS[:1])
            held.release("alice")
        assert held.acquire(log=TENS) == [(0, 4, 4)]

    def test_a_throttled_batch_is_left_for_the_next_time_if_other_records_come_first(self) -> None:
        held = Held(max_deliveries=4)
        held.acquire(log=TENS[:1])
        held.acquire("bob", log=TENS[1:2])
        held.release("bob")
        held.acquire("bob", log=TENS[1:2])
        held.release("bob")  # the second batch has been delivered twice of four times
        held.release("alice")
        assert held.acquire(log=TENS) == [(0, 9, 2)]
        held.acknowledge("alice", (0, 9, 1))
        assert held.acquire(log=TENS[1:]) == [(10, 14, 3)]

    def test_a_record_that_has_its_last_delivery_ends_the_acquisition(self) -> None:
        held = Held(max_deliveries=3, batches=[StateBatch(0, 3, 0, 1), StateBatch(4, 4, 0, 2), StateBatch(5, 9, 0, 1)])
        assert held.acquire(log=TENS[:1]) == [(0, 3, 2)]
        assert held.acquire(log=TENS[:1], at=4) == [(4, 4, 3)]


class TestGaps:
    """A share partition that was loaded may have gaps between its batches, which have not been delivered."""

    batches = (StateBatch(0, 4, 2, 1), StateBatch(10, 14, 2, 1), StateBatch(20, 24, 0, 1))

    def held(self) -> Held:
        return Held(batches=self.batches)

    def test_the_start_offset_advances_to_the_first_gap(self) -> None:
        assert self.held().offsets == (5, 24)

    def test_the_gaps_are_acquired_first(self) -> None:
        held = self.held()
        assert held.partition.next_fetch_offset() == 5
        assert held.acquire(log=[(5, 29)]) == [(5, 9, 1), (15, 19, 1), (20, 24, 2), (25, 29, 1)]

    def test_a_gap_is_left_only_as_far_as_it_was_acquired(self) -> None:
        held = self.held()
        assert held.acquire(log=[(5, 29)], max_records=3, mode=BY_RECORDS) == [(5, 7, 1)]
        assert held.partition.next_fetch_offset() == 8
        assert held.acquire(log=[(5, 29)], max_records=100, mode=BY_RECORDS)[0] == (8, 9, 1)

    def test_the_start_offset_does_not_advance_over_a_gap(self) -> None:
        held = Held(batches=(StateBatch(5, 9, 2, 1),))
        assert held.offsets == (0, 9)
        held.partition.advance()
        assert held.offsets == (0, 9)


@pytest.mark.parametrize(
    ("aborted", "left"),
    [
        ([], [(0, 9), (20, 29)]),
        ([(0, 29)], []),
        ([(3, 4)], [(0, 2), (5, 9), (20, 29)]),
        ([(3, 4), (8, 22)], [(0, 2), (5, 7), (23, 29)]),
        ([(10, 19), (29, 29)], [(0, 9), (20, 28)]),
    ],
)
def test_records_of_aborted_transactions_are_left_out(
    aborted: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    acquired = [Acquired(0, 9, 1), Acquired(20, 29, 2)]
    found = without(acquired, [LogBatch(*batch) for batch in aborted])
    assert [(one.first, one.last) for one in found] == left
    assert all(one.deliveries == (1 if one.last < 10 else 2) for one in found)


def test_a_partition_without_records_in_flight_is_read_at_its_start_offset() -> None:
    assert SharePartition(lambda: Held().limits, 7).next_fetch_offset() == 7


def test_a_released_record_is_read_again() -> None:
    held = Held()
    held.acquire(log=TENS)
    held.acknowledge("alice", (12, 12, RELEASE))
    assert held.partition.next_fetch_offset() == 12
