"""The listener of the controller, to which admin clients connect (KIP-919)."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import kafkalet
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.errors import Code
from kafkalet_conformance.playing.connection import Closed, Connection

CONTROLLERS = {"include_cluster_authorized_operations": False, "endpoint_type": 2}
APART = "3000@127.0.0.1:0"


@contextmanager
def connected(cluster: kafkalet.Cluster) -> Iterator[Connection]:
    host, port = cluster.bootstrap_controllers.split(":")
    connection = Connection(host, int(port), None)
    yield connection
    connection.close()


def set_property(connection: Connection, node: str, name: str = "log.cleaner.threads", value: str = "2") -> int:
    """Set a property of a node, and return the error code."""
    config = {"name": name, "config_operation": 0, "value": value}
    body = {"resources": [{"resource_type": 4, "resource_name": node, "configs": [config]}], "validate_only": False}
    error: int = connection.ask("IncrementalAlterConfigs", 1, body)["responses"][0]["error_code"]
    return error


@pytest.mark.parametrize(("controller", "node_id"), [("127.0.0.1:0", 1), (APART, 3000)])
def test_controller_describes_itself(controller: str, node_id: int) -> None:
    with kafkalet.Cluster(2, controller=controller) as cluster, connected(cluster) as connection:
        found = connection.ask("DescribeCluster", 1, CONTROLLERS)
        assert (found["controller_id"], found["endpoint_type"]) == (node_id, 2)
        [node] = found["brokers"]
        assert (node["broker_id"], f"{node['host']}:{node['port']}") == (node_id, cluster.bootstrap_controllers)


def test_controller_changes_the_properties_of_every_node() -> None:
    with kafkalet.Cluster(2, controller=APART) as cluster, connected(cluster) as connection:
        assert [set_property(connection, node) for node in ("1", "2", "3000", "3")] == [0, 0, 0, 102]
        assert cluster._server.nodes[2].config.log_cleaner_threads == 2


def test_log_directory_of_a_stopped_broker_is_uncordoned_at_the_controller(tmp_path: Path) -> None:
    directories = [tmp_path / "a", tmp_path / "b"]
    with kafkalet.Cluster(2, controller=APART, data_dir=directories) as cluster, connected(cluster) as connection:
        host, port = cluster.broker(2).address
        cordoned = cluster._server.nodes[2].directories.paths
        with closing(Connection(host, port, None)) as admin:
            assert set_property(admin, "2", "cordoned.log.dirs", ",".join(cordoned)) == 0
        cluster.broker(2).stop()
        assert set_property(connection, "2", "cordoned.log.dirs", cordoned[0]) == 0
        assert set_property(connection, "2", "cordoned.log.dirs", cordoned[1]) == Code.INVALID_CONFIG


def test_topic_created_at_the_controller_exists_at_the_brokers() -> None:
    with kafkalet.Cluster(2, controller=APART) as cluster, connected(cluster) as connection:
        made = {"name": "t", "num_partitions": 1, "replication_factor": 2, "assignments": [], "configs": []}
        connection.ask("CreateTopics", 5, {"topics": [made], "timeout_ms": 1000, "validate_only": False})
        assert cluster.topic("t").log().log_end_offset == 0


def test_stopped_controller_closes_its_connections_and_returns_at_its_address() -> None:
    with kafkalet.Cluster(1, controller=APART) as cluster:
        at = cluster.bootstrap_controllers
        with connected(cluster) as connection, cluster.stop_controller():
            with pytest.raises(Closed):
                connection.ask("ApiVersions", 0, {})
            with pytest.raises(RuntimeError, match="the controller has no listener, or is stopped"):
                assert cluster.bootstrap_controllers
        assert cluster.bootstrap_controllers == at


def test_controller_keeps_its_address_when_the_cluster_is_reset() -> None:
    with kafkalet.Cluster(1, controller=APART) as cluster:
        at = cluster.bootstrap_controllers
        cluster.reset()
        assert cluster.bootstrap_controllers == at
        with connected(cluster) as connection:
            assert connection.ask("ApiVersions", 0, {})["error_code"] == 0


def test_controller_of_a_cluster_with_users_authenticates_them() -> None:
    with kafkalet.Cluster(1, controller=APART, users={"alice": "secret"}) as cluster, connected(cluster) as connection:
        assert connection.ask("SaslHandshake", 1, {"mechanism": "PLAIN"})["error_code"] == 0


def test_properties_of_kafka_open_the_listener() -> None:
    config = {
        "process.roles": "broker,controller",
        "node.id": "7",
        "listeners": "PLAINTEXT://127.0.0.1:0,MAIN://127.0.0.1:0",
        "controller.listener.names": "MAIN",
        "controller.quorum.voters": "7@localhost:9093",
    }
    with kafkalet.Cluster(1, config=config) as cluster, connected(cluster) as connection:
        assert cluster.bootstrap_servers_of("MAIN") == cluster.bootstrap_controllers
        assert connection.ask("DescribeCluster", 1, CONTROLLERS)["controller_id"] == 7


@pytest.mark.parametrize("voters", ["3000", "x@localhost:1", "-1@localhost:1"])
def test_voter_without_valid_id_is_refused(voters: str) -> None:
    with (
        pytest.raises(InvalidProperty, match="expected ID@HOST:PORT"),
        kafkalet.Cluster(1, config={"controller.quorum.voters": voters}),
    ):
        pass


def test_port_of_a_broker_is_refused_for_the_controller() -> None:
    with pytest.raises(InvalidProperty, match="CONTROLLER and PLAINTEXT of broker 2 would both listen on port 9093"):
        kafkalet.Cluster(2, port=9092, controller="127.0.0.1:9093")
