"""Cordoned log directories, which receive no new replicas (KIP-1066)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from kafkalet.protocol.errors import Code, KafkaError
from tests.wire.brokers import Wire

OLD, NEW = 29, 30  # metadata.version 4.2-IV1 and 4.3-IV0


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """Two brokers with the directories a and b."""
    with kafkalet.Cluster(2, data_dir=[tmp_path / "a", tmp_path / "b"]) as cluster:
        wire = Wire(cluster)
        yield wire
        wire.close()


def paths(wire: Wire, node: int = 1) -> list[str]:
    return wire.cluster._server.nodes[node].directories.paths


def cordon(wire: Wire, value: str, node: int = 1) -> int:
    config = {"name": "cordoned.log.dirs", "config_operation": 0, "value": value}
    resource = {"resource_type": 4, "resource_name": str(node), "configs": [config]}
    body = {"resources": [resource], "validate_only": False}
    [answer] = wire.ask("IncrementalAlterConfigs", 1, body, node)["responses"]
    code = answer["error_code"]
    assert isinstance(code, int)
    return code


def cordoned(wire: Wire, node: int = 1) -> list[bool]:
    return [each["is_cordoned"] for each in wire.ask("DescribeLogDirs", 5, {"topics": None}, node)["results"]]


def replicas(wire: Wire, topic: str) -> list[list[int]]:
    return [state.replicas for state in wire.cluster._server.metadata.topics[topic].partitions]


def test_description_names_the_cordoned_directories(wire: Wire) -> None:
    cordon(wire, paths(wire)[1])
    assert (cordoned(wire), cordoned(wire, 2)) == ([False, True], [False, False])
    cordon(wire, "*")
    assert cordoned(wire) == [True, True]
    cordon(wire, "")
    assert cordoned(wire) == [False, False]


def test_new_replicas_are_created_in_the_other_directories(wire: Wire) -> None:
    cordon(wire, paths(wire)[0])
    wire.cluster.topic("t").create(assignments=[[1]] * 3)
    results = wire.ask("DescribeLogDirs", 5, {"topics": None})["results"]
    assert [sum(len(topic["partitions"]) for topic in each["topics"]) for each in results] == [0, 3]


def test_broker_with_only_cordoned_directories_gets_replicas_only_by_assignment(wire: Wire) -> None:
    cordon(wire, "*")
    wire.cluster.topic("t").create(4)
    wire.cluster.topic("t").add_partitions(2)
    assert replicas(wire, "t") == [[2]] * 6
    wire.cluster.topic("u").create(assignments=[[1]])
    with pytest.raises(KafkaError) as error:
        wire.cluster.topic("v").create(replication_factor=2)
    assert error.value.code is Code.INVALID_REPLICATION_FACTOR


def test_replica_cannot_be_moved_to_a_cordoned_directory(wire: Wire) -> None:
    wire.cluster.topic("t").create(assignments=[[1]])
    cordon(wire, paths(wire)[1])
    wanted = [{"path": path, "topics": [{"name": "t", "partitions": [0]}]} for path in paths(wire)[1:]]
    [topic] = wire.ask("AlterReplicaLogDirs", 2, {"dirs": wanted})["results"]
    assert topic["partitions"][0]["error_code"] == Code.INVALID_REPLICA_ASSIGNMENT


def test_unknown_directory_cannot_be_cordoned(wire: Wire) -> None:
    assert cordon(wire, "/unknown") == Code.INVALID_REQUEST


def test_directories_cannot_be_cordoned_before_metadata_version_4_3(tmp_path: Path) -> None:
    config = {"cordoned.log.dirs": "*"}
    with kafkalet.Cluster(data_dir=tmp_path, config=config, features={"metadata.version": OLD}) as cluster:
        wire = Wire(cluster)
        assert (cordoned(wire), cordon(wire, "")) == ([False], Code.INVALID_CONFIG)
        update = {"feature": "metadata.version", "max_version_level": NEW, "upgrade_type": 1}
        wire.ask("UpdateFeatures", 1, {"timeout_ms": 1000, "feature_updates": [update], "validate_only": False})
        assert cordoned(wire) == [True]
        wire.close()
