"""beginningOffsets, endOffsets and offsetsForTimes (KIP-79) with the three Python clients."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet_conformance.playing.connection import Connection

from .drivers import BrokerError, ConfluentKafka, Driver, Found, Row

HOUR = 3_600_000
UNSUPPORTED_FOR_MESSAGE_FORMAT = 43


def fill(kafka: kafkalet.Broker, topic: str, *batches: list[int], partition: int = 0) -> None:
    """Append batches of records with these timestamps."""
    for times in batches:
        kafka.topic(topic).append(build_batch(numbered((time, None, b"v", ()) for time in times)), partition)


# Beginning and end


def test_offsets_of_empty_partition_are_zero(client: Driver, topic: str) -> None:
    assert client.beginning_offsets(topic, [0]) == [0]
    assert client.end_offsets(topic, [0]) == [0]


def test_end_offset_follows_last_record(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [1, 2, 3])
    assert client.end_offsets(topic, [0]) == [3]


def test_end_offsets_of_partitions_are_independent(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [1], partition=1)
    fill(kafka, topic, [1, 2], partition=2)
    assert client.end_offsets(topic, [0, 1, 2]) == [0, 1, 2]


def test_beginning_offset_advances_when_records_are_deleted(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [1, 2, 3])
    delete_records(kafka, topic, 2)
    assert client.beginning_offsets(topic, [0]) == [2]
    assert client.end_offsets(topic, [0]) == [3]


def test_end_offset_without_transactions_is_the_same_for_both_isolation_levels(
    client: Driver, kafka: kafkalet.Broker, topic: str
) -> None:
    fill(kafka, topic, [1, 2])
    assert client.end_offsets(topic, [0], "read_committed") == client.end_offsets(topic, [0]) == [2]


def delete_records(kafka: kafkalet.Broker, topic: str, before: int) -> None:
    with contextlib.closing(Connection("127.0.0.1", kafka.port)) as connection:
        partition = {"partition_index": 0, "offset": before}
        answer = connection.ask("DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [partition]}]})
    assert answer["topics"][0]["partitions"][0]["low_watermark"] == before


# By time, CreateTime


@pytest.mark.parametrize(
    ("time", "found"),
    [
        (0, Found(0, 1000)),
        (1000, Found(0, 1000)),
        (1001, Found(1, 2000)),
        (2000, Found(1, 2000)),
        (2500, Found(2, 3000)),
        (3001, Found(3, 9000)),
        (9001, None),
    ],
)
def test_lookup_finds_first_record_at_or_after_timestamp(
    client: Driver, kafka: kafkalet.Broker, topic: str, time: int, found: Found | None
) -> None:
    fill(kafka, topic, [1000, 2000, 3000], [9000])
    assert client.offsets_for_times(topic, {0: time}) == {0: found}


def test_lookup_in_empty_partition_finds_nothing(client: Driver, topic: str) -> None:
    assert client.offsets_for_times(topic, {0: 0}) == {0: None}


def test_lookup_with_unordered_timestamps_finds_first_offset_at_or_after(
    client: Driver, kafka: kafkalet.Broker, topic: str
) -> None:
    fill(kafka, topic, [5000, 1000], [3000, 2000], [4000])
    assert client.offsets_for_times(topic, {0: 1500}) == {0: Found(0, 5000)}
    assert client.offsets_for_times(topic, {0: 5001}) == {0: None}


def test_several_partitions_are_looked_up_in_one_request(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [100, 200], partition=0)
    fill(kafka, topic, [300], partition=1)
    answer = client.offsets_for_times(topic, {0: 150, 1: 150, 2: 150})
    assert answer == {0: Found(1, 200), 1: Found(0, 300), 2: None}


def test_deleted_records_are_not_found(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [1000, 2000, 3000])
    delete_records(kafka, topic, 1)
    assert client.offsets_for_times(topic, {0: 0}) == {0: Found(1, 2000)}


# By time, LogAppendTime


class LogAppendTimeBroker:
    """A broker on a manual clock, with a topic that uses LogAppendTime."""

    def __init__(self, kafka: kafkalet.Broker, clock: ManualClock) -> None:
        self.kafka = kafka
        self.clock = clock

    def later(self, ms: int) -> int:
        """Advance the clock and return the new time."""
        self.kafka._server.call(lambda: self.clock.advance(milliseconds=ms))
        return self.clock.now_ms()


@pytest.fixture
def stamping() -> Iterator[LogAppendTimeBroker]:
    clock = ManualClock()
    topic = kafkalet.NewTopic("stamped", 1, {"message.timestamp.type": "LogAppendTime"})
    with kafkalet.Broker(topics=[topic], clock=clock) as kafka:
        yield LogAppendTimeBroker(kafka, clock)


def test_log_append_time_finds_the_first_record_of_an_append(
    driver_type: type[Driver], stamping: LogAppendTimeBroker
) -> None:
    client = driver_type(stamping.kafka.bootstrap_servers)
    first = stamping.later(HOUR)
    client.produce("stamped", 0, [Row(5, b"a"), Row(6, b"b")], linger_ms=50)
    second = stamping.later(HOUR)
    client.produce("stamped", 0, [Row(7, b"c")])
    assert client.offsets_for_times("stamped", {0: 5}) == {0: Found(0, first)}
    assert client.offsets_for_times("stamped", {0: first}) == {0: Found(0, first)}
    assert client.offsets_for_times("stamped", {0: first + 1}) == {0: Found(2, second)}
    assert client.offsets_for_times("stamped", {0: second + 1}) == {0: None}
    client.close()


def test_consumers_see_log_append_time(driver_type: type[Driver], stamping: LogAppendTimeBroker) -> None:
    client = driver_type(stamping.kafka.bootstrap_servers)
    now = stamping.later(HOUR)
    client.produce("stamped", 0, [Row(5, b"a"), Row(6, b"b")])
    found = client.read("stamped", {0: 0}, 2)
    assert [(message.timestamp, message.timestamp_type) for _, message in found] == [(now, 1), (now, 1)]
    client.close()


# Message formats before and since 0.10, on a broker that still supports them


@pytest.fixture(scope="module")
def old() -> Iterator[kafkalet.Broker]:
    topics = [
        kafkalet.NewTopic("untimed", 1, {"message.format.version": "0.9.0"}),
        kafkalet.NewTopic("empty", 1, {"message.format.version": "0.9.0"}),
        kafkalet.NewTopic("timed", 1, {"message.format.version": "0.10.2"}),
        kafkalet.NewTopic("new", 1, {"message.format.version": "2.8"}),
    ]
    with kafkalet.Broker(topics=topics, version="2.8") as broker:
        for topic in topics[2:]:
            send_message_set(broker, topic.name, 2, [1000, 2000, 3000])
        send_message_set(broker, "untimed", 0, [-1, -1, -1])
        yield broker


def send_message_set(broker: kafkalet.Broker, topic: str, version: int, times: list[int]) -> None:
    """Send Produce as clients before 0.10 (versions 0 and 1) and before 0.11 (version 2) do."""
    rows = numbered((time, b"k", b"v%d" % index, ()) for index, time in enumerate(times))
    records = build_message_set(1 if version == 2 else 0, rows)
    partition: dict[str, Any] = {"index": 0, "records": [{"raw": records.hex()}]}
    with contextlib.closing(Connection("127.0.0.1", broker.port)) as connection:
        body = {"acks": 1, "topics": [{"name": topic, "partitions": [partition]}]}
        answer = connection.ask("Produce", version, body)
    assert answer["responses"][0]["partitions"][0]["error_code"] == 0


@pytest.fixture
def old_client(driver_type: type[Driver], old: kafkalet.Broker) -> Iterator[Driver]:
    client = driver_type(old.bootstrap_servers)
    yield client
    client.close()


@pytest.mark.parametrize("topic", ["untimed", "empty"])
def test_lookup_by_time_is_unsupported_in_format_before_0_10(
    old_client: Driver, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As in Java, consumers return "not found" and log the reason at debug level; the admin client raises the error."""
    if isinstance(old_client, ConfluentKafka):
        with pytest.raises(BrokerError) as failure:
            old_client.offsets_for_times(topic, {0: 1500})
        assert failure.value.code == UNSUPPORTED_FOR_MESSAGE_FORMAT
    else:
        caplog.set_level(logging.DEBUG)
        assert old_client.offsets_for_times(topic, {0: 1500}) == {0: None}
        assert "message format version is before 0.10.0" in caplog.text


def test_beginning_and_end_offsets_are_known_in_format_before_0_10(old_client: Driver) -> None:
    assert old_client.beginning_offsets("untimed", [0]) == [0]
    assert old_client.end_offsets("untimed", [0]) == [3]


def test_messages_in_format_before_0_10_have_no_timestamp(old_client: Driver) -> None:
    found = old_client.read("untimed", {0: 0}, 3)
    assert [(message.offset, message.timestamp, message.value) for _, message in found] == [
        (0, None, b"v0"),
        (1, None, b"v1"),
        (2, None, b"v2"),
    ]


@pytest.mark.parametrize("topic", ["timed", "new"])
def test_lookup_by_time_is_supported_in_format_since_0_10(old_client: Driver, topic: str) -> None:
    assert old_client.offsets_for_times(topic, {0: 1500}) == {0: Found(1, 2000)}
    assert old_client.offsets_for_times(topic, {0: 3001}) == {0: None}


@pytest.mark.parametrize("topic", ["timed", "new"])
def test_messages_in_format_since_0_10_have_create_time(old_client: Driver, topic: str) -> None:
    found = old_client.read(topic, {0: 1}, 2)
    assert [(message.offset, message.timestamp, message.timestamp_type) for _, message in found] == [
        (1, 2000, 0),
        (2, 3000, 0),
    ]


@pytest.mark.parametrize(("format_version", "magic"), [("0.9.0", 0), ("0.10.2", 1), ("2.8", 2)])
def test_records_of_new_clients_are_stored_in_the_format_of_the_topic(
    driver_type: type[Driver], old: kafkalet.Broker, format_version: str, magic: int
) -> None:
    topic = f"{driver_type.__name__}-{magic}"
    old.topic(topic).create(1, config={"message.format.version": format_version})
    client = driver_type(old.bootstrap_servers)
    client.produce(topic, 0, [Row(1000, b"a", b"k")])
    assert {batch.magic for batch in old.topic(topic).log().batches} == {magic}
    [(_, message)] = client.read(topic, {0: 0}, 1)
    assert (message.key, message.value, message.timestamp) == (b"k", b"a", 1000 if magic else None)
    client.close()
