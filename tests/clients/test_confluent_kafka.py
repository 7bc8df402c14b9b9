"""Features of confluent-kafka (librdkafka) only: watermarks, lookups by its consumer, offsets by its admin client."""

import contextlib
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

import kafkalet
from kafkalet.protocol.records.build import build_batch, numbered

from .drivers import TIMEOUT_S, ConfluentKafka, Found, Row


@pytest.fixture
def client(kafka: kafkalet.Broker) -> Iterator[ConfluentKafka]:
    driver = ConfluentKafka(kafka.bootstrap_servers)
    yield driver
    driver.close()


@pytest.fixture
def consumer(client: ConfluentKafka) -> Iterator[Consumer]:
    with contextlib.closing(client.consumer(**{"enable.partition.eof": True})) as opened:
        yield opened


@pytest.fixture
def filled(kafka: kafkalet.Broker, topic: str) -> str:
    """A topic with ten records, one second apart, in two batches."""
    rows = numbered((1000 * n, None, b"%d" % n, ()) for n in range(10))
    kafka.topic(topic).append(build_batch(rows[:6]))
    kafka.topic(topic).append(build_batch(numbered(row[1:] for row in rows[6:])))
    return topic


def test_filled_and_empty_partition_have_watermark_offsets(consumer: Consumer, filled: str) -> None:
    assert consumer.get_watermark_offsets(TopicPartition(filled, 0), TIMEOUT_S) == (0, 10)
    assert consumer.get_watermark_offsets(TopicPartition(filled, 1), TIMEOUT_S) == (0, 0)


@pytest.mark.parametrize(("time", "offset"), [(0, 0), (2500, 3), (9000, 9), (9001, -1)])
def test_consumer_looks_up_offset_by_time(consumer: Consumer, filled: str, time: int, offset: int) -> None:
    """If no record is found, the offset is librdkafka's OFFSET_END."""
    [found] = consumer.offsets_for_times([TopicPartition(filled, 0, time)], TIMEOUT_S)
    assert (found.offset, found.error) == (offset, None)


def test_unknown_topic_has_no_watermarks(kafka: kafkalet.Broker) -> None:
    with contextlib.closing(ConfluentKafka(kafka.bootstrap_servers).consumer()) as consumer:
        with pytest.raises(KafkaException) as failure:
            consumer.get_watermark_offsets(TopicPartition("no-such-topic", 0), TIMEOUT_S)
        assert failure.value.args[0].code() in (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC)
    assert "no-such-topic" not in kafka._server.metadata.topics


def test_max_timestamp_lookup_finds_first_record_with_largest_timestamp(
    client: ConfluentKafka, kafka: kafkalet.Broker, topic: str
) -> None:
    kafka.topic(topic).append(build_batch(numbered((time, None, b"v", ()) for time in (5, 30, 20, 30))))
    assert client.list_offsets(topic, {0: OffsetSpec.max_timestamp()}) == {0: Found(1, 30)}


def test_earliest_and_latest_offsets_have_no_timestamp(client: ConfluentKafka, filled: str) -> None:
    assert client.list_offsets(filled, {0: OffsetSpec.earliest()}) == {0: Found(0, -1)}
    assert client.list_offsets(filled, {0: OffsetSpec.latest()}, "read_committed") == {0: Found(10, -1)}


def test_consumer_reports_partition_end_once(consumer: Consumer, filled: str) -> None:
    consumer.assign([TopicPartition(filled, 0, 8)])
    found = consumer.consume(3, TIMEOUT_S)
    assert [(message.offset(), message.error() and message.error().code()) for message in found] == [
        (8, None),
        (9, None),
        (10, KafkaError._PARTITION_EOF),
    ]


def test_consumer_seeks_back_and_forth(consumer: Consumer, filled: str) -> None:
    consumer.assign([TopicPartition(filled, 0, 0)])
    assert consumer.consume(1, TIMEOUT_S)[0].offset() == 0
    for offset in (7, 2, 9):
        consumer.seek(TopicPartition(filled, 0, offset))
        assert consumer.consume(1, TIMEOUT_S)[0].offset() == offset


def test_offset_out_of_range_is_reset(client: ConfluentKafka, filled: str) -> None:
    with contextlib.closing(client.consumer(**{"auto.offset.reset": "earliest"})) as consumer:
        consumer.assign([TopicPartition(filled, 0, 99)])
        assert consumer.consume(1, TIMEOUT_S)[0].offset() == 0


def test_idempotent_producer_keeps_order_over_many_requests(
    client: ConfluentKafka, kafka: kafkalet.Broker, topic: str
) -> None:
    rows = [Row(n, b"%d" % n) for n in range(2000)]
    client.produce(topic, 0, rows, enable_idempotence=True, batch_num_messages=10, linger_ms=0)
    assert [record.value for batch in kafka.topic(topic).log().batches for record in batch.records()] == [
        row.value for row in rows
    ]


def test_producer_with_acks_0_continues_after_closed_connection(kafka: kafkalet.Broker) -> None:
    """With acks=0 an error closes the connection; later records use a new one."""
    kafka.topic("unforgiving").create(1, config={"max.message.bytes": "500"})
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": 0, "log_level": 0})
    producer.produce("unforgiving", b"x" * 1000)
    producer.flush(TIMEOUT_S)
    log = kafka.topic("unforgiving").log()
    until = time.monotonic() + TIMEOUT_S
    while log.log_end_offset == 0 and time.monotonic() < until:  # records sent before it notices are lost
        producer.produce("unforgiving", b"y")
        assert producer.flush(TIMEOUT_S) == 0
    client = ConfluentKafka(kafka.bootstrap_servers)
    [(_, message), *_] = client.read("unforgiving", {0: 0}, 1)
    assert message.value == b"y"
