"""Tests of coordinators that move, and of rolling restarts."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafkalet import Broker, Cluster
from kafkalet.broker.cluster.state_topics import partition_of
from kafkalet.protocol.errors import Code, KafkaError

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def kafka() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        cluster.topic("t", partitions=3, replication_factor=3)
        yield cluster


def coordinator(kafka: Cluster, group: str) -> int:
    """Return the coordinator of a group."""
    topic = kafka._server.metadata.topics["__consumer_offsets"]
    leader: int = topic.partitions[partition_of(group, len(topic.partitions))].leader
    return leader


def test_coordinator_moves_to_the_given_broker(kafka: Cluster) -> None:
    first = kafka.move_coordinator(group="g")
    target = next(node_id for node_id in (1, 2, 3) if node_id != first)
    assert kafka.move_coordinator(group="g", to=target) == target
    assert coordinator(kafka, "g") == target


def test_consumer_commits_after_its_coordinator_has_moved(kafka: Cluster) -> None:
    kafka.topic("t").send("x", partition=0)
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "moving", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "enable.auto.commit": False})
    consumer.subscribe(["t"])
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    consumer.commit(message=message, asynchronous=False)
    kafka.move_coordinator(group="moving")
    consumer.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
    consumer.close()
    kafka.group("moving").wait_for_lag(0)


def test_transaction_commits_after_its_coordinator_has_moved(kafka: Cluster) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("t", b"committed", partition=1)
    kafka.move_coordinator(transactional_id="tx")
    producer.commit_transaction(TIMEOUT_S)
    assert b"committed" in kafka.topic("t").values(isolation="read_committed")


def test_coordinator_cannot_move_to_itself(kafka: Cluster) -> None:
    target = kafka.move_coordinator(group="g")
    with pytest.raises(ValueError, match=f"broker {target} already coordinates 'g'"):
        kafka.move_coordinator(group="g", to=target)


def test_coordinator_of_a_single_broker_cannot_move() -> None:
    with Broker() as broker, pytest.raises(ValueError, match="no other broker can"):
        broker.move_coordinator(group="g")


def test_coordinator_moves_only_to_a_replica_in_sync() -> None:
    with Cluster(brokers=2, config={"offsets.topic.replication.factor": 1}) as cluster:
        with pytest.raises(ValueError, match="no other broker can"):
            cluster.move_coordinator(group="g")
        other = 3 - coordinator(cluster, "g")
        with pytest.raises(KafkaError) as raised:
            cluster.move_coordinator(group="g", to=other)
        assert raised.value.code is Code.PREFERRED_LEADER_NOT_AVAILABLE


@pytest.mark.parametrize("options", [{}, {"group": "g", "transactional_id": "t"}])
def test_move_needs_either_a_group_or_a_transactional_id(kafka: Cluster, options: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="either group= or transactional_id="):
        kafka.move_coordinator(**options)  # type: ignore[arg-type]


def test_rolling_restart_moves_leaders_and_keeps_all_replicas_in_sync(kafka: Cluster) -> None:
    servers = kafka.bootstrap_servers
    epochs = [state.leader_epoch for state in kafka._server.metadata.topics["t"].partitions]
    kafka.roll()
    partitions = kafka._server.metadata.topics["t"].partitions
    assert all(sorted(state.isr) == [1, 2, 3] for state in partitions)
    assert all(state.leader_epoch > epoch for state, epoch in zip(partitions, epochs, strict=True))
    assert kafka.bootstrap_servers == servers


def test_producer_survives_a_rolling_restart(kafka: Cluster) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True})
    topic = kafka.topic("rolled", partitions=1, replication_factor=3)
    for number in range(3):
        producer.produce("rolled", str(number).encode())
        kafka.roll()
    assert producer.flush(TIMEOUT_S) == 0
    assert topic.values() == [b"0", b"1", b"2"]


def test_single_broker_is_restarted_with_its_records() -> None:
    with Broker() as broker:
        broker.topic("t").send("x")
        port = broker.port
        broker.roll()
        assert broker.port == port
        assert broker.topic("t").values() == [b"x"]


def test_rolling_restart_says_which_replicas_lag() -> None:
    with Cluster(brokers=2) as cluster:
        cluster.topic("t", partitions=1, replication_factor=2).send("x")
        cluster.hold_replication(1)
        with pytest.raises(AssertionError, match="broker 1 was restarted, but its replicas are not in sync: t-0"):
            cluster.roll(timeout=0)
