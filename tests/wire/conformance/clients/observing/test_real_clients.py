"""Real clients produce, consume, join groups and use transactions without a reported violation."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator

import aiokafka
import confluent_kafka
import kafka
import pytest

import kafkalet
from kafkalet_conformance.clients.observing.observation import Observation, observe

RECORDS = 60
KNOWN_NOTES: dict[str, set[str]] = {
    "kafka-python": set(),
    "confluent-kafka": set(),
    "aiokafka": {"idempotence"},  # it sends base_sequence 0 without a producer id
}
"""The notes that each client causes, by rule."""


@pytest.fixture
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(brokers=2) as cluster:
        cluster.topic("t").create(3, replication_factor=2)
        yield cluster


def check(observation: Observation, client: str, *apis: str) -> None:
    """Check that a client caused no violation, and only the known notes, in requests that include these APIs."""
    assert [str(finding) for finding in observation.violations()] == []
    assert {finding.rule for finding in observation.findings()} <= KNOWN_NOTES[client]
    assert observation.unchecked == 0
    assert set(apis) <= set(observation.counts)


def test_kafka_python_produces_and_consumes_in_a_group(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation:
        producer = kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, compression_type="gzip")
        for number in range(RECORDS):
            producer.send("t", b"v%d" % number, key=b"k%d" % number, headers=[("h", b"x")])
        producer.close()
        consumer = kafka.KafkaConsumer(
            "t",
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="g",
            auto_offset_reset="earliest",
            consumer_timeout_ms=20_000,
        )
        for count, _ in enumerate(consumer, 1):
            if count == RECORDS:
                break
        consumer.close()
    check(observation, "kafka-python", "Produce", "Fetch", "JoinGroup", "SyncGroup", "OffsetCommit", "LeaveGroup")


def consume(consumer: confluent_kafka.Consumer, expected: int) -> None:
    consumer.subscribe(["t"])
    counts: Counter[str] = Counter()
    end_s = time.monotonic() + 20
    while counts["records"] < expected and time.monotonic() < end_s:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            counts["records"] += 1
    consumer.close()
    assert counts["records"] == expected


def test_confluent_kafka_commits_and_aborts_transactions(cluster: kafkalet.Cluster) -> None:
    with observe(cluster) as observation:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "x", "linger.ms": 1}
        )
        producer.init_transactions()
        for commits in (True, False, True):
            producer.begin_transaction()
            for number in range(RECORDS):
                producer.produce("t", b"v%d" % number, key=b"%d" % number)
            producer.commit_transaction() if commits else producer.abort_transaction()
    check(observation, "confluent-kafka", "InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_confluent_kafka_consumes_in_a_group(cluster: kafkalet.Cluster, protocol: str) -> None:
    for number in range(RECORDS):
        cluster.topic("t").send(b"v%d" % number, partition=number % 3)
    with observe(cluster) as observation:
        options = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "group.protocol": protocol}
        consume(confluent_kafka.Consumer(options | {"auto.offset.reset": "earliest"}), RECORDS)
    joining = "JoinGroup" if protocol == "classic" else "ConsumerGroupHeartbeat"
    check(observation, "confluent-kafka", "Fetch", joining)


def test_aiokafka_produces_and_consumes(cluster: kafkalet.Cluster) -> None:
    async def run() -> None:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
        await producer.start()
        for number in range(RECORDS):
            await producer.send("t", b"v%d" % number)
        await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(
            "t", bootstrap_servers=cluster.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
        )
        await consumer.start()
        for _ in range(RECORDS):
            await asyncio.wait_for(consumer.getone(), 20)
        await consumer.stop()

    with observe(cluster) as observation:
        asyncio.run(run())
    check(observation, "aiokafka", "Produce", "Fetch", "JoinGroup", "OffsetCommit")


def test_aiokafka_uses_transactions(cluster: kafkalet.Cluster) -> None:
    async def run() -> None:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="x")
        await producer.start()
        for _ in range(3):
            async with producer.transaction():
                for number in range(RECORDS):
                    await producer.send("t", b"v%d" % number)
        await producer.stop()

    with observe(cluster) as observation:
        asyncio.run(run())
    check(observation, "aiokafka", "InitProducerId", "AddPartitionsToTxn", "EndTxn")


def test_confluent_kafka_follows_the_leader(cluster: kafkalet.Cluster) -> None:
    topic = cluster.topic("t")
    with observe(cluster) as observation:  # before the clients connect
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
        )
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True}
        )
        consumer.subscribe(["t"])
        for to in (1, 2, 1):
            topic.move_leader(to, 0)
            for number in range(RECORDS):
                producer.produce("t", b"v%d" % number, partition=0)
            assert producer.flush(20) == 0
            for _ in range(RECORDS):
                message = consumer.poll(20)
                assert message is not None
                assert message.error() is None
        consumer.close()
    check(observation, "confluent-kafka", "Produce", "Fetch", "OffsetForLeaderEpoch")


@pytest.mark.parametrize("fault", ["", "SHARE_SESSION_NOT_FOUND"])
def test_confluent_kafka_consumes_in_a_share_group(cluster: kafkalet.Cluster, fault: str) -> None:
    """It releases every third record once, and opens another session after an error."""
    cluster.share_group("g").configure({"share.auto.offset.reset": "earliest"})
    for number in range(RECORDS):
        cluster.topic("t").send(b"v%d" % number, partition=number % 3)
    options = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"}
    accepted: set[bytes | None] = set()
    with observe(cluster) as observation:
        consumer = confluent_kafka.ShareConsumer(options | {"share.acknowledgement.mode": "explicit"})
        consumer.subscribe(["t"])
        if fault:
            cluster.fault("ShareFetch", error=fault, times=1, when=lambda request: request.share_session_epoch > 1)
        end_s = time.monotonic() + 20
        while len(accepted) < RECORDS and time.monotonic() < end_s:
            for message in consumer.poll(0.5):
                if message.delivery_count() == 1 and message.offset() % 3 == 0:
                    consumer.acknowledge(message, confluent_kafka.AcknowledgeType.RELEASE)
                else:
                    consumer.acknowledge(message)
                    accepted.add(message.value())
        consumer.close()
    assert len(accepted) == RECORDS
    check(observation, "confluent-kafka", "ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
