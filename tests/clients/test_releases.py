"""Each client against emulated Kafka releases that it still supports."""

import pytest

import kafkalet
from kafkalet.broker.config.release import Release

from .drivers import Driver, Found, Row, messages
from .waiting import shared, take, until

SINCE = {"AioKafka": (0, 11), "ConfluentKafka": (0, 10, 1), "KafkaPython": (0, 10, 1)}
"""The oldest release whose offset lookup by timestamp each client supports after detecting the version."""

MILESTONES = ("0.10.1", "0.11", "2.0", "2.8", "3.5", "3.9", "4.0", "4.4", "newest")
"""Releases in which versions of the main requests were added or removed; clients see no difference between others."""

TRANSACTIONS = (0, 11)


@pytest.mark.parametrize("release", MILESTONES)
def test_client_produces_looks_up_and_consumes(driver_type: type[Driver], release: str) -> None:
    if Release.of(release).version < SINCE[driver_type.__name__]:
        return
    with kafkalet.Broker(version=release, topics=["t"]) as broker:
        client = driver_type(broker.bootstrap_servers)
        client.produce("t", 0, [Row(1000, b"a", b"k"), Row(2000, b"b")], compression_type="gzip")
        assert client.beginning_offsets("t", [0]) == [0]
        assert client.end_offsets("t", [0]) == [2]
        assert client.offsets_for_times("t", {0: 1001}) == {0: Found(1, 2000)}
        assert [(message.key, message.value) for message in messages(client.read("t", {0: 0}, 2))] == [
            (b"k", b"a"),
            (None, b"b"),
        ]
        client.close()


@pytest.mark.parametrize("release", MILESTONES)
def test_group_resumes_at_committed_offsets(driver_type: type[Driver], release: str) -> None:
    if Release.of(release).version < SINCE[driver_type.__name__]:
        return
    with kafkalet.Broker(version=release, topics=[kafkalet.NewTopic("t", 3)]) as broker:
        client = driver_type(broker.bootstrap_servers)
        client.produce("t", 0, [Row(n, b"%d" % n) for n in range(5)])
        first = client.member("g", "t")
        assert len(take(first, 5)) == 5
        first.commit({0: 3})
        second = client.member("g", "t")
        until(shared(first, second), first, second)
        first.close()
        second.close()
        assert [message.offset for _, message in take(client.member("g", "t"), 2)] == [3, 4]
        client.close()


@pytest.mark.parametrize("release", MILESTONES)
def test_client_aborts_and_commits_transactions(driver_type: type[Driver], release: str) -> None:
    if Release.of(release).version < max(TRANSACTIONS, SINCE[driver_type.__name__]):
        return
    with kafkalet.Broker(version=release, topics=["t"]) as broker:
        client = driver_type(broker.bootstrap_servers)
        member = client.member("g", "t")
        until(lambda: member.assignment() == {0}, member)
        producer = client.transactional("x")
        for finish in (producer.abort, producer.commit):
            producer.begin()
            producer.send("t", 0, [Row(1, b"v")])
            producer.send_offsets(member, "t", {0: 2})
            finish()
        assert client.end_offsets("t", [0], "read_committed") == [4]
        assert [message.offset for message in messages(client.read("t", {0: 0}, 1, "read_committed"))] == [2]
        assert member.committed([0]) == [2]
        client.close()
