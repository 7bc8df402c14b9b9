"""Tests of single brokers of a cluster."""

from collections.abc import Iterator

import pytest

from kafkalet import Cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        yield cluster


def test_records_survive_the_stop_of_a_broker(cluster: Cluster) -> None:
    topic = cluster.topic("t", replication_factor=3).send("before")
    cluster.broker(1).stop()
    assert topic.send("after").values() == [b"before", b"after"]


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
