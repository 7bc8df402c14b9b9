"""Clients of a cluster whose partitions have different leaders; a leader may stop while a client uses it."""

import gc
import itertools
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

import kafkalet

from .drivers import TIMEOUT_S, ConfluentKafka, Driver, KafkaPython, Row, kafka, messages

_numbers = itertools.count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(brokers=3, config={"log.retention.ms": "-1"}) as running:
        yield running


@pytest.fixture
def topic(cluster: kafkalet.Cluster) -> Iterator[str]:
    """A topic with three partitions, each led by another broker; all brokers are running."""
    name = f"wide-{next(_numbers)}"
    cluster.topic(name).create(3, replication_factor=3)
    yield name
    for node_id in (1, 2, 3):
        if node_id not in cluster._server.nodes:
            cluster.broker(node_id).start()
            for index in range(3):
                cluster.topic(name).move_leader(
                    cluster._server.metadata.topics[name].partitions[index].replicas[0], index
                )


@pytest.fixture
def client(driver_type: type[Driver], cluster: kafkalet.Cluster) -> Iterator[Driver]:
    driver = driver_type(cluster.bootstrap_servers)
    yield driver
    driver.close()


@pytest.fixture(autouse=True)
def _collect_unclosed_sockets() -> Iterator[None]:
    yield
    gc.collect()


def leader(cluster: kafkalet.Cluster, topic: str, partition: int) -> int:
    return cluster._server.metadata.topics[topic].partitions[partition].leader


def test_client_sends_requests_to_partition_leaders(client: Driver, cluster: kafkalet.Cluster, topic: str) -> None:
    assert {leader(cluster, topic, index) for index in range(3)} == {1, 2, 3}
    for index in range(3):
        client.produce(topic, index, [Row(1000 + index, b"%d" % index)] * (index + 1))
    assert client.end_offsets(topic, [0, 1, 2]) == [1, 2, 3]
    found = client.offsets_for_times(topic, {0: 1000, 1: 1001, 2: 1003})
    assert [hit and hit.offset for hit in (found[0], found[1], found[2])] == [0, 0, None]
    read = client.read(topic, {0: 0, 1: 0, 2: 0}, 6)
    assert sorted(partition for partition, _ in read) == [0, 1, 1, 2, 2, 2]


def test_client_finds_all_brokers_from_one_address(
    driver_type: type[Driver], cluster: kafkalet.Cluster, topic: str
) -> None:
    client = driver_type(cluster.bootstrap_servers.split(",")[2])
    for index in range(3):
        client.produce(topic, index, [Row(1, b"v")])
    assert client.end_offsets(topic, [0, 1, 2]) == [1, 1, 1]
    client.close()


def test_records_survive_stop_of_their_leader(client: Driver, cluster: kafkalet.Cluster, topic: str) -> None:
    client.produce(topic, 0, [Row(1, b"a"), Row(2, b"b")])
    cluster.broker(leader(cluster, topic, 0)).stop()
    assert client.end_offsets(topic, [0]) == [2]
    assert [message.value for message in messages(client.read(topic, {0: 0}, 2))] == [b"a", b"b"]


def test_idempotent_producer_continues_when_leader_stops(cluster: kafkalet.Cluster, topic: str) -> None:
    """With idempotence, no record is lost or duplicated."""
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 0,
            "batch.num.messages": 20,
            "log_level": 0,
        }
    )
    for number in range(1000):
        producer.produce(topic, b"%d" % number, partition=1)
        if number == 500:
            producer.poll(0)
            cluster.broker(leader(cluster, topic, 1)).stop()
    assert producer.flush(TIMEOUT_S) == 0
    records = [record.value for batch in cluster.topic(topic).log(1).batches for record in batch.records()]
    assert records == [b"%d" % number for number in range(1000)]


def test_consumer_continues_when_leader_stops(cluster: kafkalet.Cluster, topic: str) -> None:
    client = KafkaPython(cluster.bootstrap_servers)
    client.produce(topic, 2, [Row(1, b"a")])
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers, enable_auto_commit=False, auto_offset_reset="none"
    )
    partition = kafka.TopicPartition(topic, 2)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    assert [record.value for record in consumer.poll(timeout_ms=10_000)[partition]] == [b"a"]
    cluster.broker(leader(cluster, topic, 2)).stop()
    client.produce(topic, 2, [Row(2, b"b")])
    found: list[bytes] = []
    while not found:
        found = [record.value for record in consumer.poll(timeout_ms=1000).get(partition, [])]
    assert found == [b"b"]
    consumer.close()
    client.close()


def test_restarted_broker_is_used_again(cluster: kafkalet.Cluster, topic: str) -> None:
    client = ConfluentKafka(cluster.bootstrap_servers)
    preferred = leader(cluster, topic, 0)
    cluster.broker(preferred).stop()
    client.produce(topic, 0, [Row(1, b"while it was away")])
    cluster.broker(preferred).start()
    cluster.topic(topic).move_leader(preferred)
    client.produce(topic, 0, [Row(2, b"when it was back")])
    assert client.end_offsets(topic, [0]) == [2]
    assert cluster.topic(topic).log().log_end_offset == 2
    client.close()


@pytest.mark.parametrize("acks", [1, "all"])
def test_acknowledged_records_are_on_every_broker(
    client: Driver, cluster: kafkalet.Cluster, topic: str, acks: int | str
) -> None:
    client.produce(topic, 0, [Row(1, b"a")] * 3, acks=acks)
    ends = {node.partitions[topic, 0].log.log_end_offset for node in cluster._server.nodes.values()}
    assert ends == {3}
