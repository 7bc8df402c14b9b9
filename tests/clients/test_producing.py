"""Producing: acknowledgements, codecs, headers, sizes, timestamps and idempotence."""

import pytest

import kafkalet
from kafkalet.protocol.records.codecs import Codec

from .drivers import BrokerError, ConfluentKafka, Driver, Message, Row, messages

MESSAGE_TOO_LARGE = 10
CODECS = ["gzip", "snappy", "lz4", "zstd"]
BIG = 3 << 20


# Acknowledgements


@pytest.mark.parametrize("acks", [1, "all"])
def test_producer_gets_offsets_of_its_records(client: Driver, topic: str, acks: int | str) -> None:
    assert client.produce(topic, 1, [Row(1000, b"a"), Row(1001, b"b")], acks=acks) == [0, 1]
    assert client.produce(topic, 1, [Row(1002, b"c")], acks=acks) == [2]


def test_records_sent_with_acks_0_arrive(client: Driver, topic: str) -> None:
    client.produce(topic, 0, [Row(1000, b"a"), Row(1001, b"b")], acks=0)
    assert [message.value for message in messages(client.read(topic, {0: 0}, 2))] == [b"a", b"b"]


# Contents of a record


def test_key_value_timestamp_and_headers_round_trip(client: Driver, topic: str) -> None:
    headers = (("trace", b"\x00\x01"), ("trace", b""), ("ünïcode", "✓".encode()))
    client.produce(topic, 0, [Row(1234, b"value", b"key", headers)])
    assert messages(client.read(topic, {0: 0}, 1)) == [Message(0, 1234, 0, b"key", b"value", headers)]


def test_null_and_empty_keys_and_values_are_distinct(client: Driver, topic: str) -> None:
    client.produce(topic, 0, [Row(1, None, b"k"), Row(2, b"", b""), Row(3, b"", None)])
    found = messages(client.read(topic, {0: 0}, 3))
    assert [(message.key, message.value) for message in found] == [(b"k", None), (b"", b""), (None, b"")]


def test_record_without_timestamp_gets_producer_time(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    before = kafka._server.clock.now_ms()
    client.produce(topic, 0, [Row(None, b"a")])
    [message] = messages(client.read(topic, {0: 0}, 1))
    assert message.timestamp is not None
    assert before <= message.timestamp <= kafka._server.clock.now_ms()


# Codecs


@pytest.mark.parametrize("codec", CODECS)
def test_codec_of_producer_is_kept(client: Driver, kafka: kafkalet.Broker, topic: str, codec: str) -> None:
    rows = [Row(1000 + n, b"all work and no play %d " % n * 50) for n in range(20)]
    client.produce(topic, 0, rows, compression_type=codec, linger_ms=100)
    assert {batch.codec for batch in kafka.topic(topic).log().batches} == {Codec[codec.upper()]}
    found = messages(client.read(topic, {0: 0}, 20))
    assert [(message.offset, message.timestamp, message.value) for message in found] == [
        (n, row.timestamp, row.value) for n, row in enumerate(rows)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_topic_with_compression_type_recompresses(client: Driver, kafka: kafkalet.Broker, codec: str) -> None:
    topic = f"{type(client).__name__}-to-{codec}"
    kafka.topic(topic).create(1, config={"compression.type": codec})
    client.produce(topic, 0, [Row(1, b"same again " * 100)])
    assert {batch.codec for batch in kafka.topic(topic).log().batches} == {Codec[codec.upper()]}
    assert [message.value for message in messages(client.read(topic, {0: 0}, 1))] == [b"same again " * 100]


# Sizes


def test_five_thousand_records_are_produced_and_consumed_in_order(client: Driver, topic: str) -> None:
    rows = [Row(n, b"%06d" % n * 10) for n in range(5000)]
    assert client.produce(topic, 0, rows, linger_ms=20) == list(range(5000))
    assert [message.value for message in messages(client.read(topic, {0: 0}, 5000))] == [row.value for row in rows]


def large_message_setting(client: Driver) -> dict[str, int]:
    """Return the setting that allows a producer to send messages larger than 1 MB."""
    name = "message_max_bytes" if type(client) is ConfluentKafka else "max_request_size"
    return {name: 16 << 20}


def test_message_larger_than_fetch_size_is_returned_whole(client: Driver, topic: str) -> None:
    """The value exceeds the consumers' fetch size: the first batch of a response is returned whole (KIP-74)."""
    value = bytes(range(256)) * (BIG // 256)
    client.produce(topic, 0, [Row(1, value)], **large_message_setting(client))
    assert [message.value for message in messages(client.read(topic, {0: 0}, 1))] == [value]


def test_message_over_size_limit_is_rejected(client: Driver, kafka: kafkalet.Broker) -> None:
    topic = f"{type(client).__name__}-small"
    kafka.topic(topic).create(1, config={"max.message.bytes": "1000"})
    with pytest.raises(BrokerError) as failure:
        client.produce(topic, 0, [Row(1, b"x" * 2000)])
    assert failure.value.code == MESSAGE_TOO_LARGE
    assert client.produce(topic, 0, [Row(1, b"x" * 500)]) == [0]


# Idempotence


def test_batches_of_idempotent_producer_have_sequence_numbers(
    client: Driver, kafka: kafkalet.Broker, topic: str
) -> None:
    rows = [Row(n, b"v" * 500) for n in range(100)]
    assert client.produce(topic, 0, rows, enable_idempotence=True) == list(range(100))
    batches = kafka.topic(topic).log().batches
    assert len({batch.producer_id for batch in batches}) == 1
    assert all(batch.has_producer_id and batch.producer_epoch == 0 for batch in batches)
    assert [batch.base_sequence for batch in batches] == [batch.base_offset for batch in batches]


def test_each_idempotent_producer_gets_a_different_id(client: Driver, kafka: kafkalet.Broker, topic: str) -> None:
    for _ in range(2):
        client.produce(topic, 0, [Row(1, b"a")], enable_idempotence=True)
    assert len({batch.producer_id for batch in kafka.topic(topic).log().batches}) == 2


# Topics that are created automatically


def test_producing_to_a_new_topic_creates_it(client: Driver, kafka: kafkalet.Broker) -> None:
    topic = f"{type(client).__name__}-made"
    assert client.produce(topic, 0, [Row(1, b"a")]) == [0]
    assert len(kafka._server.metadata.topics[topic].partitions) == 1
