"""Clients of a cluster with several listeners: each stays on the listener that it first connected to."""

import gc
from collections.abc import Iterator

import pytest

import kafkalet

from .drivers import Driver, Row, messages

CONFIG = {
    "listeners": "HOST://127.0.0.1:0,NETWORK://127.0.0.1:0",
    "listener.security.protocol.map": "HOST:PLAINTEXT,NETWORK:PLAINTEXT",
    "inter.broker.listener.name": "NETWORK",
}


@pytest.fixture(autouse=True)
def _collect_unclosed_sockets() -> Iterator[None]:
    yield
    gc.collect()


@pytest.mark.parametrize("listener", ["HOST", "NETWORK"])
def test_client_reaches_every_leader_through_its_listener(driver_type: type[Driver], listener: str) -> None:
    """The other listener refuses connections, so a client that is sent there would fail."""
    with kafkalet.Cluster(brokers=3, config=CONFIG) as cluster:
        cluster.topic("t").create(assignments=[[1], [2], [3]])

        def stop_other() -> None:
            for broker in cluster._server.brokers.values():
                for each in broker.listeners:
                    if each.name != listener:
                        each.stop_listening()

        cluster._server.call(stop_other)
        client = driver_type(cluster.bootstrap_servers_of(listener).split(",")[0])
        for index in range(3):
            client.produce("t", index, [Row(1, b"v")])
        read = client.read("t", {0: 0, 1: 0, 2: 0}, 3)
        client.close()
    assert [message.value for message in messages(read)] == [b"v"] * 3
