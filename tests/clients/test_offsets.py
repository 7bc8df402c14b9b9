"""beginningOffsets, endOffsets and offsetsForTimes, as the three clients of Python ask for them (KIP-79)."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from tests.recorded.wire import Connection

from .drivers import ConfluentKafka, Driver, Found, Refused, Row

HOUR = 3_600_000
UNSUPPORTED_FOR_MESSAGE_FORMAT = 43


def fill(kafka: kafkalet.Broker, topic: str, *batches: list[int], partition: int = 0) -> None:
    """Append batches of records with these timestamps."""
    for times in batches:
        kafka.produce(topic, partition, build_batch(numbered((time, None, b"v", ()) for time in times)))


# Beginning and end


def test_an_empty_partition_begins_and_ends_at_zero(client: Driver, topic: str) -> None:
    assert client.beginning_offsets(topic, [0]) == [0]
    assert client.end_offsets(topic, [0]) == [0]


def test_the_end_is_behind_the_last_record(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [1, 2, 3])
    assert client.end_offsets(topic, [0]) == [3]


def test_each_partition_has_its_own_end(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [1], partition=1)
    fill(kafka, topic, [1, 2], partition=2)
    assert client.end_offsets(topic, [0, 1, 2]) == [0, 1, 2]


def test_the_beginning_moves_with_deleted_records(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [1, 2, 3])
    delete_records(kafka, topic, 2)
    assert client.beginning_offsets(topic, [0]) == [2]
    assert client.end_offsets(topic, [0]) == [3]


def test_without_transactions_both_isolation_levels_end_at_the_same_offset(
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
def test_the_first_record_at_or_after_a_time(
    client: Driver, kafka: kafkalet.Broker, topic: str, time: int, found: Found | None
) -> None:
    fill(kafka, topic, [1000, 2000, 3000], [9000])
    assert client.offsets_for_times(topic, {0: time}) == {0: found}


def test_nothing_is_found_in_an_empty_partition(client: Driver, topic: str) -> None:
    assert client.offsets_for_times(topic, {0: 0}) == {0: None}


def test_timestamps_out_of_order_give_the_first_offset_that_is_late_enough(
    client: Driver, kafka: kafkalet.Broker, topic: str
) -> None:
    fill(kafka, topic, [5000, 1000], [3000, 2000], [4000])
    assert client.offsets_for_times(topic, {0: 1500}) == {0: Found(0, 5000)}
    assert client.offsets_for_times(topic, {0: 5001}) == {0: None}


def test_several_partitions_are_looked_up_at_once(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [100, 200], partition=0)
    fill(kafka, topic, [300], partition=1)
    answer = client.offsets_for_times(topic, {0: 150, 1: 150, 2: 150})
    assert answer == {0: Found(1, 200), 1: Found(0, 300), 2: None}


def test_deleted_records_are_not_found(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    fill(kafka, topic, [1000, 2000, 3000])
    delete_records(kafka, topic, 1)
    assert client.offsets_for_times(topic, {0: 0}) == {0: Found(1, 2000)}


# By time, LogAppendTime


class Appending:
    """A broker whose time stands still between appends, with a topic under LogAppendTime."""

    def __init__(self, kafka: kafkalet.Broker, clock: ManualClock) -> None:
        self.kafka = kafka
        self.clock = clock

    def later(self, ms: int) -> int:
        """Let time pass; what time it is then."""
        self.kafka.server.call(lambda: self.clock.advance(ms))
        return self.clock.now_ms()


@pytest.fixture
def appending() -> Iterator[Appending]:
    clock = ManualClock()
    topic = kafkalet.NewTopic("stamped", 1, {"message.timestamp.type": "LogAppendTime"})
    with kafkalet.Broker(topics=[topic], clock=clock) as kafka:
        yield Appending(kafka, clock)


def test_log_append_time_finds_the_first_record_of_an_append(driver_type: type[Driver], appending: Appending) -> None:
    client = driver_type(appending.kafka.bootstrap_servers)
    first = appending.later(HOUR)
    client.produce("stamped", 0, [Row(5, b"a"), Row(6, b"b")], linger_ms=50)
    second = appending.later(HOUR)
    client.produce("stamped", 0, [Row(7, b"c")])
    assert client.offsets_for_times("stamped", {0: 5}) == {0: Found(0, first)}
    assert client.offsets_for_times("stamped", {0: first}) == {0: Found(0, first)}
    assert client.offsets_for_times("stamped", {0: first + 1}) == {0: Found(2, second)}
    assert client.offsets_for_times("stamped", {0: second + 1}) == {0: None}
    client.close()


def test_log_append_time_is_what_consumers_see(driver_type: type[Driver], appending: Appending) -> None:
    client = driver_type(appending.kafka.bootstrap_servers)
    now = appending.later(HOUR)
    client.produce("stamped", 0, [Row(5, b"a"), Row(6, b"b")])
    found = client.read("stamped", {0: 0}, 2)
    assert [(message.timestamp, message.timestamp_type) for _, message in found] == [(now, 1), (now, 1)]
    client.close()


# Message formats before and after 0.10, on a broker that still keeps them


@pytest.fixture(scope="module")
def old() -> Iterator[kafkalet.Broker]:
    topics = [
        kafkalet.NewTopic("untimed", 1, {"message.format.version": "0.9.0"}),
        kafkalet.NewTopic("empty", 1, {"message.format.version": "0.9.0"}),
        kafkalet.NewTopic("timed", 1, {"message.format.version": "0.10.2"}),
        kafkalet.NewTopic("new", 1, {"message.format.version": "2.8"}),
    ]
    with kafkalet.Broker(topics=topics, kafka_version="2.8") as broker:
        for topic in topics[2:]:
            send_message_set(broker, topic.name, 2, [1000, 2000, 3000])
        send_message_set(broker, "untimed", 0, [-1, -1, -1])
        yield broker


def send_message_set(broker: kafkalet.Broker, topic: str, version: int, times: list[int]) -> None:
    """Produce as clients did it before 0.10 (versions 0 and 1) and before 0.11 (version 2)."""
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
def test_before_0_10_a_lookup_by_time_is_unsupported(
    old_client: Driver, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As in Java, consumers make "nothing found" of it and tell their log alone; the admin client says it."""
    if isinstance(old_client, ConfluentKafka):
        with pytest.raises(Refused) as refusal:
            old_client.offsets_for_times(topic, {0: 1500})
        assert refusal.value.code == UNSUPPORTED_FOR_MESSAGE_FORMAT
    else:
        caplog.set_level(logging.DEBUG)
        assert old_client.offsets_for_times(topic, {0: 1500}) == {0: None}
        assert "message format version is before 0.10.0" in caplog.text


def test_before_0_10_there_are_a_beginning_and_an_end(old_client: Driver) -> None:
    assert old_client.beginning_offsets("untimed", [0]) == [0]
    assert old_client.end_offsets("untimed", [0]) == [3]


def test_before_0_10_messages_have_no_time(old_client: Driver) -> None:
    found = old_client.read("untimed", {0: 0}, 3)
    assert [(message.offset, message.timestamp, message.value) for _, message in found] == [
        (0, None, b"v0"),
        (1, None, b"v1"),
        (2, None, b"v2"),
    ]


@pytest.mark.parametrize("topic", ["timed", "new"])
def test_since_0_10_a_lookup_by_time_is_answered(old_client: Driver, topic: str) -> None:
    assert old_client.offsets_for_times(topic, {0: 1500}) == {0: Found(1, 2000)}
    assert old_client.offsets_for_times(topic, {0: 3001}) == {0: None}


@pytest.mark.parametrize("topic", ["timed", "new"])
def test_since_0_10_messages_have_the_time_of_their_producer(old_client: Driver, topic: str) -> None:
    found = old_client.read(topic, {0: 1}, 2)
    assert [(message.offset, message.timestamp, message.timestamp_type) for _, message in found] == [
        (1, 2000, 0),
        (2, 3000, 0),
    ]


@pytest.mark.parametrize(("format_version", "magic"), [("0.9.0", 0), ("0.10.2", 1), ("2.8", 2)])
def test_what_new_clients_produce_is_kept_in_the_format_of_the_topic(
    driver_type: type[Driver], old: kafkalet.Broker, format_version: str, magic: int
) -> None:
    topic = f"{driver_type.__name__}-{magic}"
    old.create_topic(topic, 1, config={"message.format.version": format_version})
    client = driver_type(old.bootstrap_servers)
    client.produce(topic, 0, [Row(1000, b"a", b"k")])
    assert {batch.magic for batch in old.log(topic).batches} == {magic}
    [(_, message)] = client.read(topic, {0: 0}, 1)
    assert (message.key, message.value, message.timestamp) == (b"k", b"a", 1000 if magic else None)
    client.close()
