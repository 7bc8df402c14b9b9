"""The scenario that every client runs, step by step; `-k aiokafka` selects aiokafka.

Topics, an idempotent producer, groups, offsets by time, transactions, fencing, deleted records, codecs, descriptions.
The tests use the network interface only, so that they also run against Apache Kafka (`make oracle`).
"""

import itertools
from collections.abc import Iterator

import pytest

from .drivers import AioKafka, BrokerError, ConfluentKafka, Driver, Found, KafkaPython, Message, Row
from .waiting import shared, take, until

UNKNOWN_TOPIC_OR_PARTITION = 3
OFFSET_OUT_OF_RANGE = (1, -140)
"""OFFSET_OUT_OF_RANGE, or librdkafka's _AUTO_OFFSET_RESET if the client has no reset policy."""

FENCED = (47, 90, -144)
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED, and librdkafka's _FENCED: clients report fencing differently."""

GROUP_ID_NOT_FOUND = 69
NON_EMPTY_GROUP = 68

_numbers = itertools.count()


@pytest.fixture
def client(driver_type: type[Driver], bootstrap: str) -> Iterator[Driver]:
    driver = driver_type(bootstrap)
    yield driver
    driver.close()


@pytest.fixture
def name(client: Driver) -> str:
    """A unique name for a topic, group or transactional id."""
    return f"{type(client).__name__}-{next(_numbers)}"


@pytest.fixture
def topic(client: Driver, name: str) -> str:
    """A new topic with three partitions."""
    client.create_topic(name, 3)
    until(lambda: name in client.list_topics())
    return name


def values(found: list[tuple[int, Message]]) -> list[bytes | None]:
    return [message.value for _, message in found]


# Topics and producers


def test_created_topic_has_requested_partitions(client: Driver, topic: str) -> None:
    assert sorted(client.describe_topic(topic)) == [0, 1, 2]


def test_idempotent_producer_sends_a_thousand_keyed_records(client: Driver, topic: str) -> None:
    rows = [Row(1_000_000 + n, b"v%d" % n, b"k%d" % (n % 50), (("n", b"%d" % n), ("of", b"1000"))) for n in range(1000)]
    client.produce(topic, None, rows, enable_idempotence=True)
    assert sum(client.end_offsets(topic, [0, 1, 2])) == 1000
    found = client.read(topic, {0: 0, 1: 0, 2: 0}, 1000)
    assert {Row(m.timestamp, m.value, m.key, m.headers) for _, m in found} == set(rows)
    assert len({(partition, message.key) for partition, message in found}) == 50, "a key is in one partition"
    for partition in range(3):
        here = [message.timestamp or 0 for index, message in found if index == partition]
        assert here == sorted(here), "order is kept"


# Groups


def test_group_resumes_at_committed_offsets(client: Driver, topic: str, name: str) -> None:
    for partition in range(3):
        client.produce(topic, partition, [Row(n, b"%d" % n) for n in range(10)])
    member = client.member(name, topic)
    assert len(take(member, 30)) == 30
    member.commit({0: 10, 1: 4, 2: 0})
    assert member.committed([0, 1, 2]) == [10, 4, 0]
    member.close()

    successor = client.member(name, topic)
    found = take(successor, 16)
    assert sorted((partition, message.offset) for partition, message in found) == [
        *((1, offset) for offset in range(4, 10)),
        *((2, offset) for offset in range(10)),
    ]
    successor.commit()
    assert client.committed(name, topic) == {0: 10, 1: 10, 2: 10}


def test_two_members_share_the_partitions(client: Driver, topic: str, name: str) -> None:
    first = client.member(name, topic)
    until(shared(first), first)
    second = client.member(name, topic)
    until(shared(first, second), first, second)


def test_each_member_reads_its_own_partitions(client: Driver, topic: str, name: str) -> None:
    first, second = client.member(name, topic), client.member(name, topic)
    until(shared(first, second), first, second)
    for partition in range(3):
        client.produce(topic, partition, [Row(1, b"%d" % partition)])
    for member in (first, second):
        found = take(member, len(member.assignment()))
        assert {partition for partition, _ in found} == member.assignment()


def test_partitions_of_closed_member_are_reassigned(client: Driver, topic: str, name: str) -> None:
    first, second = client.member(name, topic), client.member(name, topic)
    until(shared(first, second), first, second)
    first.close()
    until(shared(second), second)


# Offsets by time


def test_offsets_are_looked_up_by_time(client: Driver, topic: str) -> None:
    client.produce(topic, 0, [Row(1000, b"a"), Row(2000, b"b"), Row(3000, b"c")])
    client.produce(topic, 1, [Row(5000, b"d")])
    found = client.offsets_for_times(topic, {0: 1001, 1: 1001, 2: 1001})
    assert found == {0: Found(1, 2000), 1: Found(0, 5000), 2: None}


# Transactions


def test_isolation_level_determines_visible_transactions(client: Driver, topic: str, name: str) -> None:
    """Consecutive committed, aborted and open transactions; each marker takes one offset."""
    producer = client.transactional(name)
    producer.begin()
    assert producer.send(topic, 0, [Row(1, b"committed"), Row(2, b"too")]) == [0, 1]
    producer.commit()
    producer.begin()
    assert producer.send(topic, 0, [Row(3, b"aborted")]) == [3]
    producer.abort()
    producer.begin()
    assert producer.send(topic, 0, [Row(4, b"open")]) == [5]

    assert client.end_offsets(topic, [0], "read_uncommitted") == [6]
    assert client.end_offsets(topic, [0], "read_committed") == [5]
    everything = values(client.read(topic, {0: 0}, 4, "read_uncommitted"))
    assert everything == [b"committed", b"too", b"aborted", b"open"]
    assert values(client.read(topic, {0: 0}, 2, "read_committed")) == [b"committed", b"too"]

    producer.commit()
    until(lambda: client.end_offsets(topic, [0], "read_committed") == [7])
    assert values(client.read(topic, {0: 0}, 3, "read_committed")) == [b"committed", b"too", b"open"]


def test_transaction_commits_on_all_its_partitions(client: Driver, topic: str, name: str) -> None:
    producer = client.transactional(name)
    producer.begin()
    for partition in range(3):
        producer.send(topic, partition, [Row(1, b"%d" % partition)])
    assert client.end_offsets(topic, [0, 1, 2], "read_committed") == [0, 0, 0]
    producer.commit()
    until(lambda: client.end_offsets(topic, [0, 1, 2], "read_committed") == [2, 2, 2])


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "aborted"])
def test_offsets_in_transaction_are_committed_with_it(client: Driver, topic: str, name: str, commits: bool) -> None:
    client.produce(topic, 0, [Row(n, b"%d" % n) for n in range(5)])
    member = client.member(name, topic)
    take(member, 5)
    producer = client.transactional(name)
    producer.begin()
    producer.send(topic, 1, [Row(1, b"made of them")])
    producer.send_offsets(member, topic, {0: 5})
    (producer.commit if commits else producer.abort)()
    until(lambda: client.end_offsets(topic, [1], "read_committed") == [2])
    if commits:
        until(lambda: client.committed(name, topic) == {0: 5})
    else:
        assert client.committed(name, topic) == {}


def test_newer_producer_fences_the_older_one(client: Driver, topic: str, name: str) -> None:
    older = client.transactional(name)
    older.begin()
    older.send(topic, 0, [Row(1, b"of the older")])
    newer = client.transactional(name)
    newer.begin()
    newer.send(topic, 0, [Row(2, b"of the newer")])
    newer.commit()
    with pytest.raises(BrokerError) as failure:
        older.commit()
    assert failure.value.code in FENCED
    assert values(client.read(topic, {0: 0}, 1, "read_committed")) == [b"of the newer"]


# Deleted records


def test_deleting_records_advances_beginning_offset(client: Driver, topic: str) -> None:
    client.produce(topic, 0, [Row(n, b"%d" % n) for n in range(10)])
    assert client.delete_records(topic, {0: 4}) == {0: 4}
    assert client.beginning_offsets(topic, [0]) == [4]
    assert client.end_offsets(topic, [0]) == [10]
    assert values(client.read(topic, {0: 4}, 6))[0] == b"4"


# Codecs


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_records_round_trip_with_each_codec(client: Driver, topic: str, codec: str) -> None:
    rows = [Row(n, b"all work and no play %d " % n * 50) for n in range(100)]
    client.produce(topic, 0, rows, compression_type=codec, linger_ms=20)
    assert values(client.read(topic, {0: 0}, 100)) == [row.value for row in rows]


# Descriptions


def test_cluster_is_described(client: Driver, bootstrap: str) -> None:
    cluster = client.describe_cluster()
    [(broker_id, host, port)] = cluster.brokers
    assert f"{host}:{port}" in (bootstrap, bootstrap.replace("127.0.0.1", "localhost"))
    assert cluster.controller_id == broker_id
    assert cluster.cluster_id


def test_topics_are_described(client: Driver, topic: str) -> None:
    for partition in client.describe_topic(topic).values():
        assert partition.replicas == partition.isr == [partition.leader]


def test_configs_are_described(client: Driver, name: str) -> None:
    client.create_topic(name, 1, {"retention.ms": "123456"})
    until(lambda: name in client.list_topics())
    config = client.describe_config(name)
    assert config["retention.ms"] == "123456"
    assert config["cleanup.policy"] == "delete"


def test_groups_are_listed_and_described(client: Driver, topic: str, name: str) -> None:
    member = client.member(name, topic)
    until(shared(member), member)
    until(lambda: client.describe_group(name).state == "Stable", member)
    assert name in client.list_groups()
    assert client.describe_group(name).assignor in ("range", "roundrobin")
    assert client.describe_group(name).assigned == [[0, 1, 2]]
    member.commit({0: 0})
    member.close()
    assert client.describe_group(name).state == "Empty"


# Deletion


def test_deleted_topic_is_unknown(client: Driver, topic: str) -> None:
    client.delete_topic(topic)
    until(lambda: topic not in client.list_topics())
    with pytest.raises(BrokerError) as failure:
        client.delete_topic(topic)
    assert failure.value.code == UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("driver_type", [KafkaPython, ConfluentKafka])
def test_only_empty_group_can_be_deleted(client: Driver, topic: str, name: str) -> None:
    """aiokafka's admin client cannot delete groups."""
    member = client.member(name, topic)
    until(shared(member), member)
    member.commit({0: 0})
    with pytest.raises(BrokerError) as failure:
        client.delete_group(name)
    assert failure.value.code == NON_EMPTY_GROUP
    member.close()
    client.delete_group(name)
    assert name not in client.list_groups()
    with pytest.raises(BrokerError) as failure:
        client.delete_group(name)
    assert failure.value.code == GROUP_ID_NOT_FOUND


# Refusals


def test_unknown_topic_is_reported(client: Driver, name: str) -> None:
    """When aiokafka describes a topic, the broker creates it, the default behavior of Metadata."""
    if type(client) is not AioKafka:
        with pytest.raises(BrokerError) as failure:
            client.describe_topic(name)
        assert failure.value.code == UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(BrokerError) as failure:
        client.delete_topic(f"{name}-no-such")
    assert failure.value.code == UNKNOWN_TOPIC_OR_PARTITION


def test_offset_out_of_range_without_reset_policy_fails(client: Driver, topic: str) -> None:
    client.produce(topic, 0, [Row(1, b"a")])
    with pytest.raises(BrokerError) as failure:
        client.read(topic, {0: 99}, 1)
    assert failure.value.code in OFFSET_OUT_OF_RANGE
