"""The versions that a broker supports, changed configurations, and separate state of each node."""

from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.wire.brokers import Closed, Wire, batch, on_the_wire


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(brokers=2) as running:
        running.topic("t").create(assignments=[[1, 2]])
        yield running


@pytest.mark.parametrize("release", ["0.10.2", "2.8", "3.9", "4.4", "newest"])
def test_node_supports_only_apis_of_its_release(release: str) -> None:
    with kafkalet.Broker(version=release) as broker:
        served = broker._server.brokers[1].api_versions
        assert set(served) <= SERVED
        assert {Api.PRODUCE, Api.FETCH, Api.LIST_OFFSETS, Api.METADATA} <= set(served)


@pytest.mark.parametrize(("release", "version"), [("0.10.2", 4), ("2.8", 13), ("3.9", 18), ("4.4", 3)])
def test_version_unknown_to_the_release_closes_the_connection(release: str, version: int) -> None:
    with on_the_wire(version=release) as wire, pytest.raises(Closed):
        wire.ask("Fetch", version, {"topics": []})


def test_changed_config_is_applied_to_the_listener(cluster: kafkalet.Cluster) -> None:
    brokers = cluster._server.brokers

    def change() -> None:
        cluster._server.metadata.broker_config.setdefault(1, {})["max.connections"] = "7"
        cluster._server.controller.apply_broker_config()

    cluster._server.call(change)
    assert brokers[1].listeners[0].limits.max_connections == 7
    assert brokers[2].listeners[0].limits.max_connections != 7


def test_nodes_have_separate_fetch_sessions(cluster: kafkalet.Cluster) -> None:
    wire = Wire(cluster)
    opened = wire.ask("Fetch", 12, {**wire.fetch_body(), "session_epoch": 0})["session_id"]
    assert wire.ask("Fetch", 12, {"session_id": opened, "session_epoch": 1}, node=2)["error_code"] == (
        Code.FETCH_SESSION_ID_NOT_FOUND
    )
    cluster.topic("t").append(batch(b"a"))
    wire.close()


def test_custom_authorizer_is_replaced_by_that_of_kafka_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with kafkalet.Broker(config={"authorizer.class.name": "com.example.Mine"}) as broker:
        [warned] = [record.getMessage() for record in caplog.records if "authorizer.class.name" in record.getMessage()]
        assert "com.example.Mine: kafkalet cannot run Java classes" in warned
        assert broker._server.brokers[1].authorizer is not None
