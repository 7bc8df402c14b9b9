"""Replication: the logs of followers become equal to that of the leader, whatever happened before."""

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import kafkalet
from kafkalet.broker.cluster.partition import Partition
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage.log import Log
from tests.profile import examples
from tests.wire.brokers import batch, timed


@pytest.fixture
def cluster() -> Iterator[kafkalet.Cluster]:
    """Two brokers with a topic "t", led by 1 and followed by 2."""
    with kafkalet.Cluster(brokers=2) as running:
        running.topic("t").create(assignments=[[1, 2]])
        yield running


def log_of(cluster: kafkalet.Cluster, node: int) -> Log:
    return cluster._server.nodes[node].partitions["t", 0].log


def stored(log: Log) -> list[bytes]:
    """Return the batches of a log as stored on disk."""
    return [bytes(entry.buffer[entry.position : entry.position + entry.size]) for entry in entries(log)]


def entries(log: Log) -> list[object]:
    return [entry for segment in log.segments for _, entry in segment.entries()]


def values(log: Log) -> list[bytes | None]:
    return [record.value for entry in entries(log) for record in entry.records()]


def test_follower_has_same_bytes_as_leader(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").append(batch(b"a", b"b"))
    cluster.topic("t").append(timed(5, 3, 4, codec=Codec.GZIP))
    assert stored(log_of(cluster, 2)) == stored(log_of(cluster, 1))


def test_follower_has_append_times_of_leader(cluster: kafkalet.Cluster) -> None:
    cluster.topic("stamped").create(config={"message.timestamp.type": "LogAppendTime"}, assignments=[[1, 2]])
    cluster.topic("stamped").append(batch(b"a"))
    first, second = (entries(cluster._server.nodes[node].partitions["stamped", 0].log)[0] for node in (1, 2))
    assert first.max_timestamp == second.max_timestamp


def test_lagging_follower_copies_in_chunks(cluster: kafkalet.Cluster) -> None:
    held = cluster.hold_replication(2)
    for _ in range(5):
        cluster.topic("t").append(batch(b"x" * (700 << 10)))
    assert log_of(cluster, 2).log_end_offset == 0
    held.release()
    assert stored(log_of(cluster, 2)) == stored(log_of(cluster, 1))


def test_follower_adopts_high_watermark(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").append(batch(b"a", b"b"))
    assert log_of(cluster, 2).high_watermark == 2


def test_follower_below_log_start_of_leader_starts_again(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").append(batch(b"a"))
    held = cluster.hold_replication(2)
    cluster._server.metadata.topics["t"].partitions[0].isr = [1]  # otherwise nothing could be deleted
    cluster.topic("t").append(batch(b"b", b"c"))
    cluster.topic("t").append(batch(b"d"))
    leader = cluster._server.leadership.leader_of("t", 0)

    def delete_segments() -> None:
        leader.log.roll()
        leader.delete_records(3)
        leader.log.apply_retention()

    cluster._server.call(delete_segments)
    start, end = leader.log.log_start_offset, leader.log.log_end_offset
    assert start > log_of(cluster, 2).log_end_offset
    held.release()
    assert (log_of(cluster, 2).log_start_offset, log_of(cluster, 2).log_end_offset) == (start, end)


def test_new_leader_knows_producers(cluster: kafkalet.Cluster) -> None:
    numbered_batch = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
    cluster.topic("t").append(numbered_batch)
    cluster.topic("t").move_leader(2)
    assert cluster.topic("t").append(numbered_batch) == 0  # a duplicate for the new leader, too
    assert log_of(cluster, 2).log_end_offset == 1


def test_replica_truncates_records_that_only_it_has(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").append(batch(b"both"))
    held = cluster.hold_replication(2)
    cluster.topic("t").append(batch(b"lost"))
    cluster.broker(1).stop()
    held.release()
    cluster.topic("t").append(batch(b"kept"))
    cluster.broker(1).start()
    assert values(log_of(cluster, 1)) == values(log_of(cluster, 2)) == [b"both", b"kept"]


def test_logs_that_diverged_several_times_agree_in_the_end(cluster: kafkalet.Cluster) -> None:
    """Each log has records from epochs that the other one never had."""
    for leader, other in ((1, 2), (2, 1), (1, 2)):
        held = cluster.hold_replication(other)
        cluster.topic("t").move_leader(leader)
        cluster.topic("t").append(batch(b"%d" % leader))
        cluster.topic("t").append(batch(b"%d again" % leader))
        cluster._server.metadata.topics["t"].partitions[0].isr = [1, 2]  # as if it had only just begun to lag
        held.release()
    for node in (1, 2):
        assert stored(log_of(cluster, node)) == stored(log_of(cluster, 1))
        assert [tuple(entry) for entry in log_of(cluster, node).epochs.entries] == [
            tuple(entry) for entry in log_of(cluster, 1).epochs.entries
        ]


# Random histories


class Upheavals(RuleBasedStateMachine):
    """Three brokers that start, stop, lag and lead. Records that consumers have seen are never lost."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = kafkalet.Cluster(brokers=3)
        self.seen: list[bytes | None] = []
        self.number = 0
        self.held: set[int] = set()

    @initialize()
    def start(self) -> None:
        self.cluster.__enter__()
        self.cluster.topic("t").create(1, replication_factor=3)

    def teardown(self) -> None:
        self.cluster.__exit__(None, None, None)

    @property
    def leader(self) -> Partition | None:
        with contextlib.suppress(KafkaError):
            return self.cluster._server.leadership.leader_of("t", 0)
        return None

    @rule(count=st.integers(1, 3))
    def produce(self, count: int) -> None:
        records = []
        for _ in range(count):
            self.number += 1
            records.append((1000 + self.number, None, b"%d" % self.number, ()))
        with contextlib.suppress(KafkaError):
            self.cluster.topic("t").append(build_batch(numbered(records)))

    @rule(node=st.integers(1, 3))
    def hold(self, node: int) -> None:
        self.cluster.hold_replication(node)
        self.held.add(node)

    @rule(node=st.integers(1, 3))
    def release(self, node: int) -> None:
        if node in self.held:
            self.cluster._server.call(lambda: self.cluster._server.release_replication(node, None, None))
            self.held.discard(node)

    @rule()
    def lag(self) -> None:
        self.cluster._server.call(lambda: self.cluster._server.leadership.drop_laggards(-1))

    @precondition(lambda self: len(self.cluster._server.nodes) > 1)
    @rule(data=st.data())
    def stop(self, data: st.DataObject) -> None:
        self.cluster.broker(data.draw(st.sampled_from(sorted(self.cluster._server.nodes)))).stop()

    @precondition(lambda self: len(self.cluster._server.nodes) < 3)
    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        self.cluster.broker(data.draw(st.sampled_from(sorted({1, 2, 3} - self.cluster._server.nodes.keys())))).start()

    @rule(node=st.integers(1, 3))
    def elect(self, node: int) -> None:
        with contextlib.suppress(KafkaError):
            self.cluster.topic("t").move_leader(node)

    @rule()
    def consume(self) -> None:
        """Records that are visible now must stay visible."""
        leader = self.leader
        if leader is not None:
            visible = values(leader.log)[: leader.log.high_watermark]
            assert visible[: len(self.seen)] == self.seen[: len(visible)]
            self.seen = max(self.seen, visible, key=len)

    @invariant()
    def marks_are_in_order(self) -> None:
        for node in self.cluster._server.nodes.values():
            for partition in node.partitions.values():
                log = partition.log
                assert 0 <= log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset

    @invariant()
    def the_leader_is_in_sync(self) -> None:
        if "t" in self.cluster._server.metadata.topics:
            state = self.cluster._server.metadata.topics["t"].partitions[0]
            assert state.leader in (-1, *state.isr)
            assert state.isr or state.elr  # the last replica in sync becomes eligible when it stops (KIP-966)

    @rule()
    def in_the_end_all_agree(self) -> None:
        for node in sorted({1, 2, 3} - self.cluster._server.nodes.keys()):
            self.cluster.broker(node).start()
        for node in sorted(self.held):
            self.release(node)
        state = self.cluster._server.metadata.topics["t"].partitions[0]
        assert sorted(state.isr) == [1, 2, 3]
        first, *others = (log_of(self.cluster, node) for node in (1, 2, 3))
        for other in others:
            assert stored(other) == stored(first)
            assert other.high_watermark == first.high_watermark == first.log_end_offset
        assert values(first)[: len(self.seen)] == self.seen


Upheavals.TestCase.settings = settings(
    max_examples=examples(0.4), stateful_step_count=25, suppress_health_check=list(HealthCheck)
)
TestUpheavals = Upheavals.TestCase


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.integers(1, 3)), min_size=1, max_size=8))
@settings(max_examples=examples(0.25))
def test_logs_are_equal_after_any_sequence_of_leaders(turns: list[tuple[int, int]]) -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        cluster.topic("t").create(assignments=[[1, 2]])
        for leader, count in turns:
            cluster.topic("t").move_leader(leader)
            for _ in range(count):
                cluster.topic("t").append(batch(b"%d" % leader))
        assert stored(log_of(cluster, 1)) == stored(log_of(cluster, 2))
        assert log_of(cluster, 1).high_watermark == log_of(cluster, 2).high_watermark
