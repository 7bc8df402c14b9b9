"""Tests of a clock that a test advances while real clients are connected."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, OffsetAndMetadata
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import CommitFailedError

import kafkalet
from kafkalet.clock import SystemClock
from kafkalet.protocol.errors import KafkaError
from tests.wire.brokers import Closed, Wire, batch, fetched, on_the_wire

HOUR_MS = 3_600_000
TIMEOUT_S = 60


class Assignments(ConsumerRebalanceListener):  # type: ignore[misc]
    """Counts how often a consumer got its partitions."""

    def __init__(self) -> None:
        self.count = 0

    def on_partitions_assigned(self, assigned: object) -> None:
        self.count += 1

    def on_partitions_revoked(self, revoked: object) -> None:
        pass


@pytest.fixture
def kafka() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(topics=["orders"]) as running:
        yield running


@pytest.fixture
def wire() -> Iterator[Wire]:
    with on_the_wire() as opened:
        yield opened


@pytest.fixture
def consumer(kafka: kafkalet.Broker) -> Iterator[Any]:
    """A member of the group "billing" with its assignment; `consumer.assignments` counts how often it got one."""
    assignments = Assignments()
    member = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    member.subscribe(["orders"], listener=assignments)
    member.partitions_for_topic("orders")  # otherwise kafka-python 3.0 may join twice
    member.assignments = assignments
    poll_until(member, lambda: bool(member.assignment()))
    yield member
    member.close(autocommit=False)


def poll_until(consumer: Any, condition: Callable[[], bool]) -> None:
    for _ in range(40):
        if condition():
            return
        consumer.poll(timeout_ms=250)
    raise AssertionError("the condition did not become true")


# Records


def test_old_records_expire_while_a_consumer_stays_in_its_group(kafka: kafkalet.Broker, consumer: Any) -> None:
    kafka.topic("orders").send("old")
    assert [record.value for record in take(consumer)] == [b"old"]
    kafka.clock.advance(days=8)
    assert kafka.topic("orders").log().offsets == (1, 1, 1, 1)
    kafka.topic("orders").send("new")
    assert [record.value for record in take(consumer)] == [b"new"]
    consumer.commit()  # fails unless the member is still in the same generation
    assert consumer.assignments.count == 1


def take(consumer: Any) -> list[Any]:
    found: list[Any] = []
    for _ in range(40):
        found += [record for records in consumer.poll(timeout_ms=250).values() for record in records]
        if found:
            break
    return found


@pytest.fixture
def new_member(kafka: kafkalet.Broker) -> Iterator[Consumer]:
    """A member of the group "billing" that uses the consumer protocol (KIP-848) and has received a record."""
    kafka.topic("orders").send("one")
    member = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "billing",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    member.subscribe(["orders"])
    while member.poll(0.1) is None:
        pass
    yield member
    member.close()


def test_member_of_the_consumer_protocol_stays_in_its_group(kafka: kafkalet.Broker, new_member: Consumer) -> None:
    members = kafka.group("billing").members
    kafka.clock.advance(hours=2)
    assert kafka.group("billing").members == members
    new_member.commit(asynchronous=False)  # fails unless the member still has its epoch


@pytest.mark.usefixtures("new_member")
def test_member_of_the_consumer_protocol_is_removed_if_sessions_advance(kafka: kafkalet.Broker) -> None:
    assert len(kafka.group("billing").members) == 1
    kafka.clock.advance(minutes=2, sessions=True)
    assert kafka.group("billing").members == []


def test_append_time_of_records_moves(kafka: kafkalet.Broker) -> None:
    kafka.topic("stamped").create(config={"message.timestamp.type": "LogAppendTime"})
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    before = producer.send("stamped", b"before").get(TIMEOUT_S).timestamp
    kafka.clock.advance(hours=2)
    after = producer.send("stamped", b"after").get(TIMEOUT_S).timestamp
    producer.close()
    assert 0 <= after - before - 2 * HOUR_MS < HOUR_MS


# Groups


def test_member_is_removed_if_sessions_advance(kafka: kafkalet.Broker, consumer: Any) -> None:
    assert len(kafka.group("billing").members) == 1
    kafka.clock.advance(minutes=2, sessions=True)
    assert (kafka.group("billing").state, kafka.group("billing").members) == ("Empty", [])
    with pytest.raises(CommitFailedError):
        consumer.commit({KafkaTopicPartition("orders", 0): OffsetAndMetadata(0, "", -1)})


def test_offsets_of_an_empty_group_expire(kafka: kafkalet.Broker) -> None:
    kafka.topic("orders").send("one")
    with contextlib.closing(Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "billing"})) as member:
        member.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    assert kafka.group("billing").committed() == {("orders", 0): 1}
    kafka.clock.advance(days=8)
    assert kafka.group("billing").committed() == {}


# Producers and transactions


def test_idle_producer_id_expires(kafka: kafkalet.Broker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True})
    producer.produce("orders", b"one")
    assert producer.flush(TIMEOUT_S) == 0
    producers = kafka._server.leadership.leader_of("orders", 0).log.producers
    assert kafka._server.call(lambda: len(producers)) == 1
    kafka.clock.advance(days=2)  # producer.id.expiration.ms is one day by default
    assert kafka._server.call(lambda: len(producers)) == 0


def test_unused_transactional_id_expires(kafka: kafkalet.Broker) -> None:
    Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "tx"}).init_transactions(TIMEOUT_S)
    assert kafka.transaction("tx").state == "Empty"
    kafka.clock.advance(days=8)  # transactional.id.expiration.ms is seven days by default
    with pytest.raises(KafkaError, match="there is no transactional id tx"):
        kafka.transaction("tx").describe()


def test_open_transaction_times_out(kafka: kafkalet.Broker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("orders", b"never committed")
    assert producer.flush(TIMEOUT_S) == 0
    assert (kafka.transaction("tx").state, kafka.topic("orders").log().last_stable_offset) == ("Ongoing", 0)
    kafka.clock.advance(minutes=2)  # transaction.timeout.ms is one minute by default
    assert (kafka.transaction("tx").state, kafka.topic("orders").log().last_stable_offset) == ("CompleteAbort", 2)
    with pytest.raises(KafkaException):
        producer.commit_transaction(TIMEOUT_S)


# Connections and waiting requests


def test_long_poll_continues(wire: Wire) -> None:
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000)) as receive:
        wire.cluster.clock.advance(hours=2)
        assert len(wire.cluster._server.nodes[1].purgatory) == 1
        records = batch(b"a", time=wire.cluster.clock.now_ms())
        wire.produce(records)
        assert fetched(receive())["records"]


def test_long_poll_ends_if_sessions_advance(wire: Wire) -> None:
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000)) as receive:
        wire.cluster.clock.advance(minutes=1, sessions=True)
        assert not fetched(receive())["records"]


def test_long_poll_after_sessions_have_advanced_ends_in_real_time(wire: Wire) -> None:
    wire.fetch()
    wire.cluster.clock.advance(hours=2, sessions=True)
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=100)) as receive:
        assert not fetched(receive())["records"]


def test_idle_connection_stays_open(wire: Wire) -> None:
    wire.fetch()
    connections = list(wire.cluster._server.brokers[1].connections)
    wire.cluster.clock.advance(hours=2)
    wire.fetch()
    assert list(wire.cluster._server.brokers[1].connections) == connections


def test_idle_connection_is_closed_if_sessions_advance(wire: Wire) -> None:
    wire.fetch()
    wire.cluster.clock.advance(hours=2, sessions=True)
    with pytest.raises(Closed):
        wire.fetch()


# Followers


def test_followers_stay_in_sync() -> None:
    with on_the_wire(3) as wire:
        wire.produce(batch(b"a", time=wire.cluster.clock.now_ms()))
        wire.cluster.clock.advance(hours=2)
        assert sorted(wire.cluster._server.metadata.existing_partition("t", 0).isr) == [1, 2, 3]


def test_follower_that_is_held_back_leaves_the_in_sync_replicas() -> None:
    with on_the_wire(3) as wire:
        wire.cluster.hold_replication(3, "t")
        wire.produce(batch(b"a", time=wire.cluster.clock.now_ms()))
        wire.cluster.clock.advance(minutes=1)  # replica.lag.time.max.ms is 30 seconds by default
        assert sorted(wire.cluster._server.metadata.existing_partition("t", 0).isr) == [1, 2]


# The clock of a cluster


def test_clusters_have_separate_clocks_by_default(kafka: kafkalet.Broker) -> None:
    with kafkalet.Broker() as other:
        kafka.clock.advance(hours=2)
        assert repr(kafka.clock) == "<Clock ahead of real time by 2:00:00, for clients by 0:00:00>"
        assert repr(other.clock) == "<Clock at real time>"


def test_clusters_may_share_a_clock() -> None:
    clock = kafkalet.Clock()
    with (
        kafkalet.Broker(clock=clock, topics=["t"]) as one,
        kafkalet.Broker(clock=clock, topics=["t"]) as two,
    ):
        assert one.clock is two.clock is clock
        for each in (one, two):
            each.topic("t").send("old")
        clock.advance(days=8)
        assert [each.topic("t").log().log_start_offset for each in (one, two)] == [1, 1]


def test_frozen_clock_is_the_clock_of_the_broker() -> None:
    with kafkalet.Broker(clock=kafkalet.Clock.frozen(1_000_000)) as broker:
        broker.clock.advance(milliseconds=1)
        assert broker.clock.now_ms() == 1_000_001


def test_system_clock_cannot_be_advanced() -> None:
    with (
        kafkalet.Broker(clock=SystemClock()) as broker,
        pytest.raises(RuntimeError, match="SystemClock, which cannot be advanced"),
    ):
        broker.clock.advance(hours=1)


def test_clock_of_a_broker_in_the_loop_is_advanced_with_await() -> None:
    async def run() -> tuple[int, ...]:
        async with kafkalet.aio.Broker(topics=["t"]) as broker:
            await broker.topic("t").send("old")
            await broker.clock.advance(days=8)
            return broker.topic("t").log().offsets

    assert asyncio.run(run()) == (1, 1, 1, 1)
