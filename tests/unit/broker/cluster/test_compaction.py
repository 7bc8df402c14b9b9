"""Tests of compaction and retention on a broker: in the background, on request, and on several brokers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.broker.cluster.compaction import RetainedPartition
from kafkalet.clock import ManualClock
from kafkalet.storage.log import Log

COMPACTED = {"cleanup.policy": "compact"}
BACKOFF_MS = 15_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def broker(clock: ManualClock) -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(clock=clock) as running:
        yield running


def send(cluster: kafkalet.Cluster, keys: str, topic: str = "t") -> None:
    """Send a record for each letter; its value is its number in the call."""
    for number, key in enumerate(keys):
        cluster.topic(topic).send(str(number), key=key)


def log_of(cluster: kafkalet.Cluster, topic: str = "t") -> Log:
    return cluster._server.call(lambda: cluster._server.leadership.leader_of(topic, 0).log)


def roll(cluster: kafkalet.Cluster, topic: str = "t") -> None:
    log = log_of(cluster, topic)
    cluster._server.call(log.roll)


def offsets(cluster: kafkalet.Cluster, topic: str = "t") -> list[int]:
    return [record.offset for record in cluster.topic(topic).records()]


def wait_for_background(cluster: kafkalet.Cluster) -> None:
    """Wait until no cleaning is in progress in the background."""
    compaction = cluster._server.nodes[1].compaction
    while cluster._server.call(lambda: compaction._background.is_running):
        pass


def test_request_compacts_all_due_logs(broker: kafkalet.Broker) -> None:
    broker.topic("t", 1, COMPACTED)
    send(broker, "abab")
    roll(broker)
    (cleaned,) = broker.run_cleaner()
    assert (cleaned.topic, cleaned.partition, cleaned.broker) == ("t", 0, 1)
    assert (cleaned.first_dirty_offset, cleaned.end_offset) == (0, 4)
    assert (cleaned.records_before, cleaned.records_after) == (4, 2)
    assert cleaned.bytes_before > cleaned.bytes_after
    assert offsets(broker) == [2, 3]
    assert broker.run_cleaner() == []


def test_active_segment_is_compacted_only_after_a_roll(broker: kafkalet.Broker) -> None:
    broker.topic("t", 1, COMPACTED)
    send(broker, "aa")
    assert broker.run_cleaner() == []
    assert len(broker.run_cleaner(roll=True)) == 1
    assert offsets(broker) == [1]


def test_topics_that_are_not_compacted_are_not_rolled(broker: kafkalet.Broker) -> None:
    broker.topic("t", 1)
    send(broker, "aa")
    assert broker.run_cleaner(roll=True) == []
    assert len(log_of(broker).segments) == 1


def test_several_rounds_are_reported_once(clock: ManualClock) -> None:
    config = {"log.cleaner.dedupe.buffer.size": 24 * 4, "log.cleaner.io.buffer.load.factor": 0.5}
    with kafkalet.Broker(clock=clock, config=config) as broker:
        broker.topic("t", 1, {**COMPACTED, "min.cleanable.dirty.ratio": 0.01})
        send(broker, "abcdab")
        size = broker._server.call(lambda: log_of(broker).size_bytes)
        (cleaned,) = broker.run_cleaner(roll=True)
        assert (cleaned.first_dirty_offset, cleaned.end_offset) == (0, 6)
        assert (cleaned.bytes_before, cleaned.records_before, cleaned.records_after) == (size, 6, 4)
        assert offsets(broker) == [2, 3, 4, 5]


def test_logs_are_compacted_in_the_background(broker: kafkalet.Broker, clock: ManualClock) -> None:
    broker.topic("t", 1, COMPACTED)
    send(broker, "aa")
    roll(broker)
    clock.advance(milliseconds=BACKOFF_MS)
    wait_for_background(broker)
    assert offsets(broker) == [1]


def test_log_cleaner_can_be_disabled(clock: ManualClock) -> None:
    with kafkalet.Broker(clock=clock, config={"log.cleaner.enable": False}) as broker:
        broker.topic("t", 1, COMPACTED)
        send(broker, "aa")
        roll(broker)
        clock.advance(milliseconds=10 * BACKOFF_MS)
        assert not broker._server.nodes[1].compaction._background.is_running
        assert offsets(broker) == [0, 1]


def test_log_becomes_due_while_the_clock_is_advanced(broker: kafkalet.Broker, clock: ManualClock) -> None:
    broker.topic("t", 1, {**COMPACTED, "min.compaction.lag.ms": 3_600_000})
    send(broker, "aa")
    roll(broker)
    clock.advance(hours=400)
    wait_for_background(broker)
    assert offsets(broker) == [1]


def test_request_aborts_the_background_and_cleans_everything(broker: kafkalet.Broker, clock: ManualClock) -> None:
    broker.topic("t", 1, COMPACTED)
    send(broker, "aa")
    roll(broker)
    broker._server.call(lambda: clock.advance(milliseconds=BACKOFF_MS))
    broker.run_cleaner()
    assert offsets(broker) == [1]


def test_stop_ends_a_round_in_the_background(clock: ManualClock) -> None:
    with kafkalet.Broker(clock=clock) as broker:
        broker.topic("t", 1, COMPACTED)
        send(broker, "aa")
        roll(broker)
        broker._server.call(lambda: clock.advance(milliseconds=BACKOFF_MS))
        compaction = broker._server.nodes[1].compaction
    assert not compaction._background.is_running


def test_request_in_the_event_loop_is_served() -> None:
    async def compact() -> list[int]:
        async with kafkalet.Broker() as broker:
            broker.topic("t", 1, COMPACTED)
            send(broker, "aa")
            assert len(broker.run_cleaner(roll=True)) == 1
            return offsets(broker)

    assert asyncio.run(compact()) == [1]


def test_each_broker_cleans_its_replicas(clock: ManualClock) -> None:
    with kafkalet.Cluster(brokers=3, clock=clock) as cluster:
        cluster.topic("t", 1, COMPACTED, replication_factor=3)
        send(cluster, "abab")
        assert sorted(each.broker for each in cluster.run_cleaner(roll=True)) == [1, 2, 3]
        for node_id in (1, 2, 3):
            if log_of(cluster) is not cluster._server.nodes[node_id].partitions["t", 0].log:
                cluster.topic("t").move_leader(node_id)
            assert offsets(cluster) == [2, 3]


def test_follower_catches_up_with_a_compacted_leader(clock: ManualClock) -> None:
    config = {"replica.lag.time.max.ms": 1000}
    with kafkalet.Cluster(brokers=2, clock=clock, config=config) as cluster:
        cluster.topic("t", 1, COMPACTED, replication_factor=2)
        leader = cluster._server.metadata.topics["t"].partitions[0].leader
        follower = 3 - leader
        held = cluster.hold_replication(follower)
        send(cluster, "abab")
        clock.advance(milliseconds=5000, sessions=True)
        cluster.run_cleaner(roll=True)
        assert offsets(cluster) == [2, 3]
        held.release()
        log = cluster._server.nodes[follower].partitions["t", 0].log
        assert log.log_end_offset == 4
        cluster.topic("t").move_leader(follower)
        assert offsets(cluster) == [2, 3]


def test_committed_offsets_survive_compaction_and_a_restart(clock: ManualClock, tmp_path: object) -> None:
    def running() -> kafkalet.Broker:
        return kafkalet.Broker(clock=clock, data_dir=str(tmp_path), config={"offsets.topic.num.partitions": 1})

    with running() as broker:
        broker.topic("t", 1)
        send(broker, "a" * 20)
        for offset in range(50):
            broker.group("g").seek(offset, "t")
        before = log_of(broker, "__consumer_offsets").size_bytes
        (cleaned,) = broker.run_cleaner(roll=True)
        assert cleaned.topic == "__consumer_offsets"
        assert cleaned.bytes_after < before / 10
    with running() as broker:
        assert broker.group("g").committed("t", 0) == 49


def test_retention_runs_on_request(broker: kafkalet.Broker, clock: ManualClock) -> None:
    broker.topic("t", 1, {"retention.ms": 1000})
    send(broker, "aa")
    assert broker.run_retention() == []
    clock.advance(milliseconds=1001)
    assert broker.run_retention() == [RetainedPartition("t", 0, 1, 1, 2)]
    assert offsets(broker) == []


def test_retention_of_compacted_topics_is_left_to_the_log_cleaner(clock: ManualClock) -> None:
    config = {"log.retention.check.interval.ms": 1000, "log.initial.task.delay.ms": 1000}
    with kafkalet.Broker(clock=clock, config=config) as broker:
        broker.topic("t", 1, {"cleanup.policy": "compact,delete", "retention.ms": 1000})
        send(broker, "ab")
        clock.advance(milliseconds=5000)
        assert offsets(broker) == [0, 1]
        clock.advance(milliseconds=BACKOFF_MS)
        wait_for_background(broker)
        assert offsets(broker) == []


def test_transactions_survive_compaction_and_a_restart(clock: ManualClock, tmp_path: object) -> None:
    def running() -> kafkalet.Broker:
        config = {"transaction.state.log.num.partitions": 1}
        return kafkalet.Broker(clock=clock, data_dir=str(tmp_path), config=config)

    with running() as broker:
        broker.topic("t", 1)
        for number in range(10):
            with broker.open_transaction("orders") as transaction:
                transaction.send("t", str(number))
        producer_id = broker.transaction("orders").producer_id
        (cleaned,) = broker.run_cleaner(roll=True)
        assert cleaned.topic == "__transaction_state"
        assert cleaned.records_after == 1
        before = offsets(broker)
    with running() as broker:
        assert broker.transaction("orders").state == "CompleteCommit"
        assert broker.transaction("orders").producer_id == producer_id
        with broker.open_transaction("orders") as transaction:
            transaction.send("t", "again")
        assert offsets(broker)[:-1] == before
