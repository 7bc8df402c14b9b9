"""Waiting for records, and reading logs with gaps, deleted records and transactions."""

from collections.abc import Iterator
from threading import Thread

import pytest

from kafkalet.broker.share.fetching import rotated
from kafkalet.broker.share.sessions import Place
from kafkalet.protocol.errors import Code
from tests.wire.brokers import batch

from .members import ACCEPT, RELEASE, Jobs, Member, jobs, partition_of

WAIT_MS = 20_000


@pytest.fixture
def group() -> Iterator[Jobs]:
    with jobs() as opened:
        yield opened


class Waiting(Thread):
    """A fetch that waits in another thread."""

    def __init__(self, member: Member, **more: int) -> None:
        super().__init__()
        self.member, self.more = member, more
        self.acquired: list[tuple[int, ...]] = []
        self.start()
        member.jobs.cluster._server.call(lambda: None)

    def run(self) -> None:
        self.acquired = self.member.fetch(max_wait_ms=WAIT_MS, **self.more)

    def end(self) -> list[tuple[int, ...]]:
        self.join()
        return self.acquired


def test_a_fetch_waits_for_new_records(group: Jobs) -> None:
    waiting = Waiting(group.member())
    group.write(3)
    assert waiting.end() == [(0, 2, 1)]


def test_a_fetch_waits_for_released_records(group: Jobs) -> None:
    group.write(3)
    alice = group.member("alice")
    alice.fetch()
    waiting = Waiting(group.member("bob"))
    alice.acknowledge((0, 2, RELEASE))
    assert waiting.end() == [(0, 2, 2)]


def test_a_fetch_waits_until_fewer_records_are_in_flight(group: Jobs) -> None:
    group.configure({"share.partition.max.record.locks": "100"})
    group.write(100, 5)
    alice = group.member("alice")
    assert alice.fetch() == [(0, 99, 1)]
    waiting = Waiting(group.member("bob"))
    alice.acknowledge((0, 99, ACCEPT))
    assert waiting.end() == [(100, 104, 1)]


def test_a_fetch_that_may_not_wait_returns_nothing(group: Jobs) -> None:
    assert group.member().fetch(max_wait_ms=0) == []


def test_fewer_bytes_than_wanted_are_returned_after_the_wait(group: Jobs) -> None:
    group.write(3)
    assert group.member().fetch(min_bytes=1 << 19, max_wait_ms=50) == [(0, 2, 1)]


def test_the_first_batch_is_returned_even_if_it_is_too_large(group: Jobs) -> None:
    group.write(3, 3)
    assert group.member().fetch(max_bytes=1) == [(0, 2, 1)]


def test_the_beginning_of_the_next_batch_is_returned_even_if_it_is_shorter_than_a_header(group: Jobs) -> None:
    group.write(3, 3)
    member = group.member()
    assert member.fetch(max_bytes=len(batch(*[b"v"] * 3)) + 8) == [(0, 2, 1)]
    assert partition_of(member.last)["records"][1:] == [{"partial_bytes": 8}]


def test_many_small_batches_are_read_as_far_as_they_are_acquired(group: Jobs) -> None:
    for _ in range(30):
        group.wire.produce(bytes(batch(b"v" * 20_000)))
    member = group.member()
    assert member.fetch(max_records=25, batch_size=100) == [(0, 24, 1)]
    assert len(partition_of(member.last)["records"]) == 25


def test_large_batches_are_returned_whole(group: Jobs) -> None:
    for _ in range(3):
        group.wire.produce(bytes(batch(b"v" * 200_000)))
    member = group.member()
    assert member.fetch(max_records=2, batch_size=100) == [(0, 1, 1)]
    assert [each["crc_ok"] for each in partition_of(member.last)["records"]] == [True, True]


def test_large_batch_that_the_limit_of_bytes_cuts_is_left_out(group: Jobs) -> None:
    for _ in range(3):
        group.wire.produce(bytes(batch(b"v" * 200_000)))
    assert group.member().fetch(max_bytes=500_000) == [(0, 1, 1)]


def test_several_partitions_share_the_limits() -> None:
    with jobs(partitions=3) as group:
        for index in range(3):
            group.write(4, index=index)
        member = group.member()
        answer = member.request(partitions=(0, 1, 2), max_records=6, max_wait_ms=WAIT_MS)
        sizes = [len(partition["acquired_records"]) for partition in answer["responses"][0]["partitions"]]
        assert sizes == [1, 1, 0]


def test_another_partition_is_the_first_one_of_each_request() -> None:
    places = [(Place(b"t" * 16, index), "t") for index in range(3)]
    assert [rotated(places, epoch)[0][0].partition for epoch in (0, 1, 2, 3, 4)] == [0, 1, 2, 0, 1]
    assert rotated([], 1) == []


class TestDeletedRecords:
    def test_a_fetch_continues_at_the_log_start_offset(self, group: Jobs) -> None:
        group.write(10)
        group.cluster.topic("t").delete_records(5)
        assert group.member().fetch() == [(5, 9, 1)]

    def test_available_records_that_were_deleted_are_skipped(self, group: Jobs) -> None:
        group.write(10, 10)
        member = group.member()
        member.fetch(max_records=10)
        member.acknowledge((0, 9, RELEASE))
        group.cluster.topic("t").delete_records(15)
        assert member.fetch() == []  # notices it
        assert member.fetch() == [(10, 19, 1)]  # with the rest of the batch

    def test_acknowledging_deleted_records_succeeds(self, group: Jobs) -> None:
        group.write(10)
        member = group.member()
        member.fetch()
        group.cluster.topic("t").delete_records(10)
        member.fetch()
        assert member.acknowledge((0, 9, ACCEPT)) is Code.NONE


class TestCompaction:
    @pytest.fixture
    def compacted(self) -> Iterator[Jobs]:
        """A group that reads a log with the keys a, b, a, c."""
        with jobs(topic_config={"cleanup.policy": "compact"}) as group:
            for key in (b"a", b"b", b"a", b"c"):
                group.cluster.topic("t").send(b"v", key=key)
            yield group

    def compact(self, group: Jobs) -> None:
        """Remove offset 0, which has the same key as offset 2."""
        group.cluster.run_cleaner(roll=True)
        assert [record.offset for record in group.cluster.topic("t").records()] == [1, 2, 3]

    def test_removed_records_are_not_acquired(self, compacted: Jobs) -> None:
        self.compact(compacted)
        assert compacted.member().fetch() == [(1, 3, 1)]

    def test_released_records_that_were_removed_are_done(self, compacted: Jobs) -> None:
        member = compacted.member()
        assert member.fetch() == [(0, 3, 1)]
        assert member.acknowledge((0, 0, RELEASE), (1, 3, ACCEPT)) is Code.NONE
        self.compact(compacted)
        assert member.fetch() == []
        compacted.cluster.topic("t").send(b"v", key=b"d")
        assert member.fetch() == [(4, 4, 1)]
        assert member.acknowledge((4, 4, ACCEPT)) is Code.NONE
        assert compacted.start_offset() == 5


class TestTransactions:
    @pytest.fixture
    def committed(self, group: Jobs) -> Jobs:
        """A group that reads committed records of a log with an aborted transaction (3 to 5, marker 6)."""
        group.configure({"share.isolation.level": "read_committed"})
        group.write(3)
        transaction = group.cluster.open_transaction("tx")
        with transaction:
            for value in (b"a", b"b", b"c"):
                transaction.send("t", value)
            transaction.abort()
        group.write(2)
        return group

    def test_records_of_aborted_transactions_are_not_acquired(self, committed: Jobs) -> None:
        assert committed.member().fetch() == [(0, 2, 1), (6, 8, 1)]

    def test_they_are_done(self, committed: Jobs) -> None:
        member = committed.member()
        member.fetch()
        assert member.acknowledge((0, 2, ACCEPT), (6, 8, ACCEPT)) is Code.NONE
        assert member.fetch() == []
        committed.write(1)
        assert member.fetch() == [(9, 9, 1)]

    def test_other_groups_get_them(self, committed: Jobs) -> None:
        committed.configure({"share.isolation.level": "read_uncommitted"})
        assert committed.member().fetch() == [(0, 8, 1)]
