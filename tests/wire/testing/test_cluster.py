"""Tests of a cluster: its brokers, and the lists of what it contains."""

from collections.abc import Iterator

import pytest

from kafkalet import Cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        yield cluster


def test_records_survive_the_stop_of_a_broker(cluster: Cluster) -> None:
    topic = cluster.topic("t", replication_factor=3)
    topic.send("before")
    cluster.broker(1).stop()
    topic.send("after")
    assert topic.values() == [b"before", b"after"]


def test_stopped_broker_has_no_address(cluster: Cluster) -> None:
    broker = cluster.broker(1)
    broker.stop()
    assert not broker.is_running
    with pytest.raises(RuntimeError, match="broker 1 is stopped"):
        _ = broker.address


def test_restarted_broker_has_its_old_address(cluster: Cluster) -> None:
    broker = cluster.broker(2)
    address = broker.address
    broker.stop()
    broker.start()
    assert broker.address == address


def test_unknown_broker_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="broker 9 does not exist; the brokers of this cluster are 1, 2, 3"):
        cluster.broker(9)


# Lists


def test_topics_are_listed_by_name(cluster: Cluster) -> None:
    cluster.topic("b").send("v")
    cluster.topic("a", partitions=2)
    cluster.group("g").seek(0, "a")
    assert [topic.name for topic in cluster.topics()] == ["a", "b"]
    assert [topic.name for topic in cluster.topics(internal=True)] == ["__consumer_offsets", "a", "b"]


def test_groups_are_listed_by_id(cluster: Cluster) -> None:
    assert cluster.groups() == []
    cluster.topic("t").create()
    for group_id in ("two", "one"):
        cluster.group(group_id).seek(0, "t")
    assert [group.group_id for group in cluster.groups()] == ["one", "two"]


def test_transactions_are_listed_by_id(cluster: Cluster) -> None:
    for transactional_id in ("two", "one"):
        with cluster.open_transaction(transactional_id) as transaction:
            transaction.send("t", "v")
    assert [(each.transactional_id, each.state) for each in cluster.transactions()] == [
        ("one", "CompleteCommit"),
        ("two", "CompleteCommit"),
    ]


def test_brokers_are_listed_by_id_whether_they_run_or_not(cluster: Cluster) -> None:
    cluster.broker(2).stop()
    assert [(broker.node_id, broker.is_running) for broker in cluster.brokers()] == [(1, True), (2, False), (3, True)]
