"""Real clients with shaped logs: the records that they receive, and their reactions to moved offsets."""

import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import get_args

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Place
from kafka import KafkaConsumer, TopicPartition  # type: ignore[import-untyped]

from kafkalet import Broker, Cluster
from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.testing.layout import LayoutKind
from kafkalet.testing.topic import Topic
from tests.wire.brokers import batch, on_the_wire

ISOLATIONS = ("read_uncommitted", "read_committed")


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker) -> Topic:
    return broker.topic("t", 1)


def read_by_librdkafka(broker: Broker, isolation: str) -> list[int]:
    """Return the offsets of all records, up to the end that librdkafka reports."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "isolation.level": isolation}
    consumer = Consumer(settings | {"enable.partition.eof": True, "fetch.wait.max.ms": 10})
    consumer.assign([Place("t", 0, 0)])
    offsets: list[int] = []
    while True:
        message = consumer.poll(10)
        assert message is not None, f"no end after offsets {offsets}"
        if (error := message.error()) is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            break
        offset = message.offset()
        assert offset is not None
        offsets.append(offset)
    consumer.close()
    return offsets


def read_by_kafka_python(broker: Broker, isolation: str) -> list[int]:
    """Return the offsets of all records, up to the end offset."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, isolation_level=isolation, fetch_max_wait_ms=10
    )
    place = TopicPartition("t", 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    [end] = consumer.end_offsets([place]).values()
    offsets: list[int] = []
    while consumer.position(place) < end:
        offsets += [record.offset for record in consumer.poll(timeout_ms=1000).get(place, ())]
    consumer.close()
    return offsets


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("kind", get_args(LayoutKind))
def test_clients_receive_the_visible_records(broker: Broker, topic: Topic, kind: LayoutKind, isolation: str) -> None:
    topic.layout(kind)
    expected = [record.offset for record in topic.records(isolation)]  # type: ignore[arg-type]
    assert read_by_librdkafka(broker, isolation) == expected
    assert read_by_kafka_python(broker, isolation) == expected
    assert len(expected) == (topic.count() if isolation == "read_uncommitted" else topic.count("read_committed"))


def test_fetch_returns_the_bytes_that_were_appended() -> None:
    damaged = bytearray(build_batch(numbered([(1000, None, b"v", ())], 7), base_offset=7))
    damaged[17] ^= 1
    old = build_message_set(1, numbered([(1000, b"k", b"v", ())] * 2, 10), codec=Codec.GZIP, base_offset=10)
    empty = build_batch([], base_offset=20, last_offset=24, producer_id=5, producer_epoch=0, base_sequence=3)
    data = bytes(damaged) + old + empty
    with on_the_wire() as wire:
        wire.cluster.topic("t").append_batches(data)
        connection = wire.connection()
        connection.send("Fetch", 4, wire.fetch_body(version=4))
        frame = connection.receive_frame(time.monotonic() + 10)
    assert frame.endswith(struct.pack(">i", len(data)) + data)


def test_client_stops_at_a_wrong_checksum(broker: Broker, topic: Topic) -> None:
    damaged = bytearray(build_batch(numbered([(1000, None, b"v", ())])))
    damaged[17] ^= 1
    topic.append_batches(damaged)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "check.crcs": True})
    consumer.assign([Place("t", 0, 0)])
    message = consumer.poll(10)
    assert message is not None
    assert (error := message.error()) is not None
    assert error.code() == KafkaError._BAD_MSG
    consumer.close()


def test_producer_with_all_acks_waits_for_the_high_watermark(broker: Broker, topic: Topic) -> None:
    client = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
    delivered = threading.Event()
    with topic.hold_high_watermark():
        client.produce("t", b"v", on_delivery=lambda error, message: delivered.set())
        client.poll(0)
        while topic.log().log_end_offset == 0:
            client.poll(0.01)
        assert not delivered.is_set()
        assert topic.count() == 0
    assert client.flush(10) == 0
    assert delivered.is_set()
    assert topic.count() == 1


def test_consumer_receives_nothing_above_a_held_high_watermark(broker: Broker, topic: Topic) -> None:
    topic.send("a")
    with topic.hold_high_watermark():
        topic.send("b")
        assert read_by_librdkafka(broker, "read_uncommitted") == [0]
    assert read_by_librdkafka(broker, "read_uncommitted") == [0, 1]


def test_consumer_below_the_log_start_is_reset(broker: Broker, topic: Topic) -> None:
    topic.send_batch(["a", "b", "c"])
    topic.delete_records(2)
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.assign([Place("t", 0, 0)])
    message = consumer.poll(10)
    assert message is not None
    assert (message.error(), message.offset()) == (None, 2)
    consumer.close()


# Leaders and replicas


def test_librdkafka_continues_where_the_log_was_truncated(broker: Broker, topic: Topic) -> None:
    topic.send("a")
    topic.send("b")
    topic.send("c")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "fetch.wait.max.ms": 10})
    consumer.assign([Place("t", 0, 2)])
    assert next_value(consumer) == b"c"
    topic.truncate(1)
    topic.send("d")
    assert next_value(consumer) == b"d"
    consumer.close()


def next_value(consumer: Consumer) -> bytes | None:
    """Return the value of the next record; a truncation may be reported first."""
    while True:
        message = consumer.poll(10)
        assert message is not None
        if message.error() is None:
            return message.value()


@pytest.mark.parametrize(("api_version", "then"), [(None, [b"d"]), ((1, 1), [b"a", b"d"])])
def test_kafka_python_detects_a_truncation_or_is_reset(
    broker: Broker, topic: Topic, api_version: tuple[int, int] | None, then: list[bytes]
) -> None:
    """Since KIP-320, consumers request the end of their last epoch; older ones notice an offset out of range."""
    topic.send("a")
    topic.send("b")
    topic.send("c")
    consumer = KafkaConsumer(
        "t",
        bootstrap_servers=broker.bootstrap_servers,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=10,
        api_version=api_version,
    )
    assert [next(consumer).value for _ in range(3)] == [b"a", b"b", b"c"]
    topic.truncate(1)
    topic.send("d")
    assert [next(consumer).value for _ in then] == then
    consumer.close()


def test_producer_that_waits_for_truncated_records_gets_an_error() -> None:
    with on_the_wire() as wire:
        topic = wire.cluster.topic("t")
        topic.hold_high_watermark()
        body = wire.produce_body(batch(b"a"), acks=-1, timeout_ms=30_000)
        with wire.waiting("Produce", 9, body) as answer:
            topic.truncate(0)
            [partition] = answer()["responses"][0]["partitions"]
        assert partition["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_producer_delivers_once_its_partition_is_online_again(broker: Broker, topic: Topic) -> None:
    topic.send("a")
    offline = topic.take_offline()
    client = Producer({"bootstrap.servers": broker.bootstrap_servers, "retry.backoff.ms": 10})
    client.produce("t", b"b", partition=0)
    assert client.flush(0.2) == 1
    offline.release()
    assert client.flush(10) == 0
    assert topic.values() == [b"a", b"b"]


def test_client_follows_the_leader_with_every_epoch() -> None:
    with Cluster(brokers=2) as cluster:
        topic = cluster.topic("t", 1, replication_factor=2)
        client = Producer({"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 10})
        moves: list[Callable[[], object]] = [
            topic.new_leader_epoch,
            lambda: topic.move_leader(1),
            lambda: topic.move_leader(2),
            lambda: topic.take_offline(broker=2),
        ]
        for number, move in enumerate(moves):
            move()
            client.produce("t", b"%d" % number)
            assert client.flush(10) == 0
        assert topic.values() == [b"0", b"1", b"2", b"3"]
