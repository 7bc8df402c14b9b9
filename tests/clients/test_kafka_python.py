"""Features of kafka-python only: emulating old clients, and deleting records with its admin client."""

import contextlib
from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.protocol.records.build import build_batch, numbered

from .drivers import BrokerError, Found, KafkaPython, Row, messages
from .drivers import kafka as kafka_python
from .waiting import take

OLD = [(0, 8, 2), (0, 9), (0, 10, 0), (0, 10, 1), (0, 11), (1, 1), (2, 1), (2, 5)]
"""Broker versions that the client assumes; they determine the request versions it sends."""


@pytest.fixture(params=OLD, ids=lambda version: ".".join(map(str, version)))
def version(request: pytest.FixtureRequest) -> tuple[int, ...]:
    return request.param


@pytest.fixture
def old_client(version: tuple[int, ...], kafka: kafkalet.Broker) -> Iterator[KafkaPython]:
    client = KafkaPython(kafka.bootstrap_servers, api_version=version)
    yield client
    client.close()


def test_old_client_reads_records_it_produced(old_client: KafkaPython, topic: str, version: tuple[int, ...]) -> None:
    client = old_client
    rows = [Row(1000 * n, b"v%d" % n, b"k%d" % n) for n in range(5)]
    client.produce(topic, 0, rows, compression_type="gzip", linger_ms=20)
    found = messages(client.read(topic, {0: 1}, 4))
    assert [(message.offset, message.key, message.value) for message in found] == [
        (n, row.key, row.value) for n, row in enumerate(rows) if n >= 1
    ]
    if version >= (0, 10):
        assert [message.timestamp for message in found] == [1000, 2000, 3000, 4000]


def test_old_client_gets_beginning_and_end_offsets(old_client: KafkaPython, kafka: kafkalet.Broker, topic: str) -> None:
    kafka.topic(topic).append(build_batch(numbered([(1000, None, b"a", ()), (2000, None, b"b", ())])))
    assert old_client.beginning_offsets(topic, [0]) == [0]
    assert old_client.end_offsets(topic, [0]) == [2]


def test_lookup_by_time_is_supported_since_0_10_1(
    old_client: KafkaPython, kafka: kafkalet.Broker, topic: str, version: tuple[int, ...]
) -> None:
    kafka.topic(topic).append(build_batch(numbered([(1000, None, b"a", ()), (2000, None, b"b", ())])))
    if version >= (0, 10, 1):
        assert old_client.offsets_for_times(topic, {0: 1001}) == {0: Found(1, 2000)}
    else:
        with pytest.raises(BrokerError, match="IncompatibleBrokerVersion"):  # the client rejects the call itself
            old_client.offsets_for_times(topic, {0: 1001})


def test_old_client_commits_offsets_of_a_group(old_client: KafkaPython, topic: str, version: tuple[int, ...]) -> None:
    """Until 0.9 a group was only a name for committed offsets; group membership was added in 0.9."""
    old_client.produce(topic, 0, [Row(n, b"v") for n in range(4)])
    group = f"{topic}-old"
    if version < (0, 9):
        consumer = kafka_python.KafkaConsumer(
            bootstrap_servers=old_client.servers, api_version=version, group_id=group, enable_auto_commit=False
        )
        with contextlib.closing(consumer):
            partition = kafka_python.TopicPartition(topic, 0)
            consumer.assign([partition])
            consumer.commit({partition: kafka_python.OffsetAndMetadata(3, "", -1)})
            assert consumer.committed(partition) == 3
    else:
        member = old_client.member(group, topic)
        assert len(take(member, 4)) == 4
        member.commit({0: 3})
        member.close()
        assert [message.offset for _, message in take(old_client.member(group, topic), 1)] == [3]


def test_consumer_resets_to_latest_offset(kafka: kafkalet.Broker, topic: str) -> None:
    kafka.topic(topic).append(build_batch(numbered([(1000, None, b"a", ())])))
    consumer = kafka_python.KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, enable_auto_commit=False, auto_offset_reset="latest"
    )
    with contextlib.closing(consumer):
        partition = kafka_python.TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, 77)
        consumer.poll(timeout_ms=500)
        assert consumer.position(partition) == 1


def test_admin_client_deletes_records(kafka: kafkalet.Broker, topic: str) -> None:
    kafka.topic(topic).append(build_batch(numbered((n, None, b"v", ()) for n in range(5))))
    admin = kafka_python.KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    with contextlib.closing(admin):
        admin.delete_records({kafka_python.TopicPartition(topic, 0): 3})
    assert kafka.topic(topic).log().log_start_offset == 3
