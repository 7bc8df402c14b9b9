"""Consuming by assignment: from the beginning, an offset or a timestamp, out of range, and by isolation level."""

import pytest

import kafkalet
from kafkalet.protocol.records.build import build_batch, numbered

from .drivers import BrokerError, Driver, Row, messages

OFFSET_OUT_OF_RANGE = 1
AUTO_OFFSET_RESET = -140
"""librdkafka's error for an offset out of range without a reset policy."""


def append(kafka: kafkalet.Broker, topic: str, *values: bytes, partition: int = 0, time: int = 1000) -> None:
    rows = numbered((time + n, None, value, ()) for n, value in enumerate(values))
    kafka.topic(topic).append(build_batch(rows), partition)


def offsets(client: Driver, topic: str, start: int, count: int) -> list[int]:
    return [message.offset for message in messages(client.read(topic, {0: start}, count))]


def test_consumer_reads_from_the_beginning(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    append(kafka, topic, b"a", b"b")
    append(kafka, topic, b"c")
    [start] = client.beginning_offsets(topic, [0])
    found = messages(client.read(topic, {0: start}, 3))
    assert [(message.offset, message.value) for message in found] == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_consumer_starts_at_offset_inside_a_batch(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    """The broker returns the whole batch, and clients drop the records before their offset."""
    append(kafka, topic, b"a", b"b", b"c", b"d")
    assert offsets(client, topic, 2, 2) == [2, 3]


def test_consumer_starts_at_offset_of_a_timestamp(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    append(kafka, topic, b"a", b"b", b"c", time=1000)
    append(kafka, topic, b"d", time=5000)
    found = client.offsets_for_times(topic, {0: 1002})[0]
    assert found is not None
    assert [message.timestamp for message in messages(client.read(topic, {0: found.offset}, 2))] == [1002, 5000]


def test_record_produced_during_long_poll_is_consumed(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    """The consumer starts at the log end."""
    append(kafka, topic, b"old")
    loop_time = 0.3
    kafka._server.call(lambda: kafka._server.host.loop.call_later(loop_time, lambda: append(kafka, topic, b"new")))
    assert [message.value for message in messages(client.read(topic, {0: 1}, 1))] == [b"new"]


def test_consumer_reads_several_partitions(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    for partition in range(3):
        append(kafka, topic, b"%d" % partition, b"%d" % partition, partition=partition)
    found = client.read(topic, {0: 0, 1: 1, 2: 0}, 5)
    assert sorted((partition, message.offset) for partition, message in found) == [
        (0, 0),
        (0, 1),
        (1, 1),
        (2, 0),
        (2, 1),
    ]
    assert all(message.value == b"%d" % partition for partition, message in found)


def test_fetch_beyond_log_end_is_out_of_range(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    append(kafka, topic, b"a")
    with pytest.raises(BrokerError) as failure:
        client.read(topic, {0: 99}, 1)
    assert failure.value.code in (OFFSET_OUT_OF_RANGE, AUTO_OFFSET_RESET)


def test_fetch_below_log_start_is_out_of_range(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    append(kafka, topic, b"a", b"b")
    kafka._server.call(lambda: kafka._server.leadership.leader_of(topic, 0).delete_records(1))
    with pytest.raises(BrokerError) as failure:
        client.read(topic, {0: 0}, 1)
    assert failure.value.code in (OFFSET_OUT_OF_RANGE, AUTO_OFFSET_RESET)
    assert offsets(client, topic, 1, 1) == [1]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_both_isolation_levels_see_nontransactional_records(
    client: Driver, kafka: kafkalet.Broker, topic: str, isolation: str
) -> None:
    append(kafka, topic, b"a", b"b")
    client.produce(topic, 0, [Row(5000, b"c")], enable_idempotence=True)
    found = messages(client.read(topic, {0: 0}, 3, isolation))
    assert [message.value for message in found] == [b"a", b"b", b"c"]


def test_consumer_reads_across_segments(client: Driver, kafka: kafkalet.Broker) -> None:
    topic = f"{type(client).__name__}-segments"
    kafka.topic(topic).create(1, config={"segment.bytes": str(1 << 20)})
    for n in range(12):
        append(kafka, topic, bytes([n]) * (300 << 10))
    assert len(kafka.topic(topic).log().segments) > 3
    found = messages(client.read(topic, {0: 0}, 12))
    assert [message.value[0] for message in found if message.value] == list(range(12))
