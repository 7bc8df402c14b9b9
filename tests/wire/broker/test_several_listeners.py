"""Brokers with several listeners: each response names the addresses of the listener that was asked."""

import logging
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

import kafkalet
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.errors import Code
from kafkalet_conformance.playing.connection import Connection
from tests.wire.brokers import batch

TWO = {
    "listeners": "IN://127.0.0.1:0,OUT://127.0.0.1:0",
    "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT",
}
NAMES = ("IN", "OUT")
Address = tuple[int, str, int]


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(3, config=TWO) as running:
        running.topic("t").create(assignments=[[2]])
        yield running


def connection(cluster: kafkalet.Cluster, listener: str, node: int = 1) -> Connection:
    host, _, port = cluster.bootstrap_servers_of(listener).split(",")[node - 1].rpartition(":")
    return Connection(host, int(port))


def addresses(cluster: kafkalet.Cluster, listener: str) -> list[Address]:
    found = (text.rpartition(":") for text in cluster.bootstrap_servers_of(listener).split(","))
    return [(node, host, int(port)) for node, (host, _, port) in enumerate(found, 1)]


@pytest.mark.parametrize("listener", NAMES)
def test_metadata_and_describe_cluster_name_the_addresses_of_the_listener(
    cluster: kafkalet.Cluster, listener: str
) -> None:
    with closing(connection(cluster, listener)) as asked:
        metadata = asked.ask("Metadata", 12, {"topics": []})["brokers"]
        described = asked.ask("DescribeCluster", 1, {"endpoint_type": 1})["brokers"]
    expected = addresses(cluster, listener)
    assert [(each["node_id"], each["host"], each["port"]) for each in metadata] == expected
    assert [(each["broker_id"], each["host"], each["port"]) for each in described] == expected


def test_each_broker_may_have_an_advertised_address_of_its_own() -> None:
    config = {node: {"advertised.listeners": f"IN://kafka-{node}:{9092 + node}"} for node in (1, 2)}
    with kafkalet.Cluster(3, config=TWO | {"advertised.listeners": "IN://kafka:9092"} | config) as running:
        assert addresses(running, "IN") == [(1, "kafka-1", 9093), (2, "kafka-2", 9094), (3, "kafka", 9094)]


@pytest.mark.parametrize("listener", NAMES)
@pytest.mark.parametrize("version", [3, 4])
def test_coordinator_has_the_address_of_the_listener(cluster: kafkalet.Cluster, listener: str, version: int) -> None:
    keys = {"coordinator_keys": ["g"]} if version > 3 else {"key": "g"}
    with closing(connection(cluster, listener)) as asked:
        answer = asked.ask("FindCoordinator", version, {"key_type": 0, **keys})
    [found] = answer.get("coordinators") or [answer]
    assert (found["node_id"], found["host"], found["port"]) in addresses(cluster, listener)


@pytest.mark.parametrize("listener", NAMES)
def test_produce_and_fetch_name_the_leaders_address_at_the_listener(cluster: kafkalet.Cluster, listener: str) -> None:
    with closing(connection(cluster, listener)) as asked:
        records = [{"raw": bytes(batch(b"a")).hex()}]
        topic = {"name": "t", "partitions": [{"index": 0, "records": records}]}
        produced = asked.ask("Produce", 10, {"acks": 1, "timeout_ms": 1000, "topics": [topic]})["node_endpoints"]
        topic_id = asked.ask("Metadata", 12, {"topics": [{"name": "t"}]})["topics"][0]["topic_id"]
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}
        topics = [{"topic_id": topic_id, "partitions": [partition]}]
        body = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1, "topics": topics}
        fetched = asked.ask("Fetch", 16, body)["node_endpoints"]
    for endpoints in (produced, fetched):
        assert [(each["node_id"], each["host"], each["port"]) for each in endpoints] == [
            addresses(cluster, listener)[1]
        ]


def test_connections_are_those_of_all_listeners(cluster: kafkalet.Cluster) -> None:
    with closing(connection(cluster, "IN")) as one, closing(connection(cluster, "OUT")) as other:
        one.ask("ApiVersions", 0, {})
        other.ask("ApiVersions", 0, {})
        names = [each._connection.context.listener for each in cluster.connections]  # type: ignore[union-attr]
    assert set(names) == {"IN", "OUT"}


def test_listener_that_is_not_advertised_has_no_brokers() -> None:
    config = TWO | {"advertised.listeners": "IN://kafka:9092"}
    with kafkalet.Broker(config=config, topics=["t"]) as broker:
        port = broker._server.brokers[1].listeners[1]._socket.getsockname()[1]  # type: ignore[union-attr]
        with closing(Connection("127.0.0.1", port)) as asked:
            answers = [asked.ask("Metadata", version, {"topics": [{"name": "t"}]}) for version in (5, 6)]
        assert broker.bootstrap_servers == "kafka:9092"
    assert [answer["brokers"] for answer in answers] == [[], []]
    partitions = [answer["topics"][0]["partitions"][0] for answer in answers]
    assert [each["error_code"] for each in partitions] == [Code.LEADER_NOT_AVAILABLE, Code.LISTENER_NOT_FOUND]
    assert [each["leader_id"] for each in partitions] == [-1, -1]
    assert partitions[1]["offline_replicas"] == [1]


def test_each_listener_advertises_its_address() -> None:
    advertise = {"out": ("kafka", 9000)}
    with kafkalet.Cluster(2, config=TWO, advertise=advertise) as cluster:
        assert cluster.bootstrap_servers_of("OUT") == "kafka:9000,kafka:9001"
        assert cluster.bootstrap_servers.startswith("127.0.0.1:")


def test_brokers_listen_on_consecutive_ports_of_each_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1] // 2 + 500  # below the range of free ports
    config = TWO | {"listeners": f"IN://127.0.0.1:{port},OUT://127.0.0.1:{port + 10}"}
    with kafkalet.Cluster(2, config=config) as cluster:
        assert cluster.bootstrap_servers_of("IN") == f"127.0.0.1:{port},127.0.0.1:{port + 1}"
        assert cluster.bootstrap_servers_of("OUT") == f"127.0.0.1:{port + 10},127.0.0.1:{port + 11}"


def test_stopped_broker_gets_the_ports_of_all_listeners_back(cluster: kafkalet.Cluster) -> None:
    before = {name: addresses(cluster, name)[2] for name in NAMES}
    cluster.broker(3).stop()
    try:
        for _, host, port in before.values():
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, port))
        assert len(addresses(cluster, "OUT")) == 2
    finally:
        cluster.broker(3).start()
    assert {name: addresses(cluster, name)[2] for name in NAMES} == before


def test_refused_broker_refuses_connections_to_all_listeners(cluster: kafkalet.Cluster) -> None:
    with cluster.refuse_connections(2):
        for name in NAMES:
            with pytest.raises(ConnectionRefusedError):
                connection(cluster, name, 2)
    for name in NAMES:
        connection(cluster, name, 2).close()


def test_cluster_is_shown_with_the_addresses_of_each_listener(cluster: kafkalet.Cluster) -> None:
    assert f" at IN={cluster.bootstrap_servers} OUT={cluster.bootstrap_servers_of('OUT')}, Kafka" in repr(cluster)


@pytest.mark.parametrize("node", [1, 3])
def test_listeners_are_described_as_configured(cluster: kafkalet.Cluster, node: int) -> None:
    resource = {
        "resource_type": 4,
        "resource_name": str(node),
        "configuration_keys": ["listeners", "advertised.listeners"],
    }
    with closing(connection(cluster, "OUT", node)) as asked:
        [found] = asked.ask("DescribeConfigs", 1, {"resources": [resource]})["results"]
    values = {each["name"]: each["value"] for each in found["configs"]}
    assert values == {"listeners": TWO["listeners"], "advertised.listeners": None}


def test_unknown_listener_is_named_with_those_that_exist(cluster: kafkalet.Cluster) -> None:
    with pytest.raises(ValueError, match=r"'x' is not a listener of the brokers; their listeners are IN, OUT"):
        cluster.bootstrap_servers_of("x")


def test_single_listener_has_a_name_too() -> None:
    with kafkalet.Broker() as broker:
        assert broker.bootstrap_servers_of("plaintext") == broker.bootstrap_servers


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": 1234}, "port is 1234, but the property listeners names the ports"),
        ({"advertise": {"x": ("h", 1)}}, "advertise names X, but the listeners are IN, OUT"),
    ],
)
def test_contradicting_arguments_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kafkalet.Broker(config=TWO, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"the property advertised\.listeners is set, too"):
        kafkalet.Broker(config=TWO | {"advertised.listeners": "IN://h:1"}, advertise=("h", 1))


def test_invalid_listeners_are_refused_before_the_start() -> None:
    with pytest.raises(InvalidProperty, match="Each listener must have a different name"):
        kafkalet.Broker(config={"listeners": "PLAINTEXT://:0,PLAINTEXT://:0"})


def test_listener_whose_port_is_in_use_is_named_and_the_other_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as other:
        free, port = other.getsockname()[1], taken.getsockname()[1]
        other.close()
        config = TWO | {"listeners": f"IN://127.0.0.1:{free},OUT://127.0.0.1:{port}"}
        with pytest.raises(OSError, match="in use") as caught, kafkalet.Broker(config=config):
            pass
        assert caught.value.address == ("127.0.0.1", port)  # type: ignore[attr-defined]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", free))


def test_listener_properties_are_not_reported_as_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), kafkalet.Broker(config=TWO):
        pass
    assert "has no effect" not in caplog.text
