"""A node: its replicas, and the errors for those of other brokers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

import kafkalet
from kafkalet.protocol.errors import Code, KafkaError


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(brokers=3) as running:
        running.topic("t").create(assignments=[[1, 2], [2, 3]])
        yield running


@pytest.mark.parametrize(
    ("node", "topic", "index", "code"),
    [
        (3, "t", 0, Code.NOT_LEADER_OR_FOLLOWER),
        (1, "t", 1, Code.NOT_LEADER_OR_FOLLOWER),
        (1, "t", 2, Code.UNKNOWN_TOPIC_OR_PARTITION),
        (1, "t", -1, Code.UNKNOWN_TOPIC_OR_PARTITION),
        (1, "u", 0, Code.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_replica_on_other_broker_is_refused(
    cluster: kafkalet.Cluster, node: int, topic: str, index: int, code: Code
) -> None:
    with pytest.raises(KafkaError) as refusal:
        cluster._server.nodes[node].partition(topic, index)
    assert refusal.value.code == code


def test_node_holds_leaders_and_followers(cluster: kafkalet.Cluster) -> None:
    held = {node_id: sorted(node.partitions) for node_id, node in cluster._server.nodes.items()}
    assert held == {1: [("t", 0)], 2: [("t", 0), ("t", 1)], 3: [("t", 1)]}
    assert cluster._server.nodes[2].partition("t", 1).is_leader
    assert not cluster._server.nodes[2].partition("t", 0).is_leader


def test_dropped_replica_is_removed(cluster: kafkalet.Cluster) -> None:
    cluster.topic("gone").create(assignments=[[1, 2, 3]])
    cluster.topic("gone").delete()
    for node in cluster._server.nodes.values():
        assert ("gone", 0) not in node.partitions
        assert "gone" not in {topic for topic, _, _ in node.directories.found()}


def test_log_of_another_broker_continues_its_leader_epoch(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("t", b"one")
        producer.flush()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_text("0\n1\n5 0\n")
    (tmp_path / "kafkalet.json").unlink()
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        assert broker._server.nodes[1].partition("t", 0).leader_epoch == 5
