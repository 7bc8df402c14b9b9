"""Addresses of brokers: consecutive or free ports, advertised addresses, and ports reserved for stopped brokers."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from kafkalet.broker.cluster.revision import Revision
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.listeners import ListenerSettings, SecurityProtocol
from kafkalet.broker.network.addresses import Addresses
from kafkalet.broker.network.listener import Listener
from kafkalet.broker.network.listener_context import Limits
from kafkalet.broker.network.router import Router
from kafkalet.clock import ManualClock


class StubBroker:
    """A stub of a broker."""

    def __init__(self) -> None:
        self.api_versions: dict[object, tuple[int, int]] = {}
        self.node = SimpleNamespace(metadata=SimpleNamespace(revision=Revision()))
        self.controller = SimpleNamespace(config=SimpleNamespace(replica_selector_class=None))
        self.authorizer = None


def plaintext(host: str, port: int, advertised: tuple[str, int] | None = None) -> list[ListenerSettings]:
    return [ListenerSettings("PLAINTEXT", SecurityProtocol.PLAINTEXT, {}, host, port, advertised)]


@contextmanager
def listeners(count: int) -> Iterator[list[Listener]]:
    made = [Listener(Router(StubBroker()), ManualClock(), Limits()) for _ in range(count)]
    yield made
    for listener in made:
        listener.close()


def test_port_0_picks_a_free_port_for_each_broker() -> None:
    addresses = Addresses(plaintext("127.0.0.1", 0))
    with listeners(2) as (first, second):
        one, two = (
            addresses.take(1, [first], BrokerConfig({})),
            addresses.take(2, [second], BrokerConfig({"broker.rack": "r"})),
        )
        assert one.port != two.port
        assert (one.host, one.rack, two.rack) == ("127.0.0.1", None, "r")
        assert addresses.ports == {1: [one.port], 2: [two.port]}


def test_advertised_ports_are_consecutive_from_first_broker() -> None:
    addresses = Addresses(plaintext("127.0.0.1", 0, ("out.side", 7000)), first_node_id=0)
    with listeners(2) as (first, second):
        assert [
            addresses.take(0, [first], BrokerConfig({})).port,
            addresses.take(1, [second], BrokerConfig({})).port,
        ] == [7000, 7001]


@pytest.mark.parametrize(
    ("host", "advertised"), [("localhost", "localhost"), ("127.0.0.1", "127.0.0.1"), ("", "localhost")]
)
def test_clients_get_the_host_exactly_as_configured(host: str, advertised: str) -> None:
    """A certificate for localhost is not one for 127.0.0.1."""
    addresses = Addresses(plaintext(host, 0))
    with listeners(1) as (only,):
        assert addresses.take(1, [only], BrokerConfig({})).host == advertised


def test_clients_get_the_advertised_address() -> None:
    addresses = Addresses(plaintext("127.0.0.1", 0, ("kafka", 9000)))
    with listeners(2) as (first, second):
        assert addresses.take(1, [first], BrokerConfig({}))[:3] == (1, "kafka", 9000)
        assert addresses.take(2, [second], BrokerConfig({}))[:3] == (2, "kafka", 9001)


def test_advertised_port_0_is_the_port_of_the_listener() -> None:
    addresses = Addresses(plaintext("127.0.0.1", 0))
    with listeners(1) as (only,):
        taken = addresses.take(1, [only], BrokerConfig({"advertised.listeners": "PLAINTEXT://kafka:0"}))
        assert (taken.host, [taken.port]) == ("kafka", addresses.ports[1])
        assert taken.port != 0


def test_address_for_all_interfaces_is_localhost() -> None:
    with listeners(1) as (listener,):
        assert Addresses(plaintext("0.0.0.0", 0)).take(1, [listener], BrokerConfig({})).host == "localhost"


def test_stopped_broker_gets_its_port_back() -> None:
    addresses = Addresses(plaintext("127.0.0.1", 0))
    with listeners(2) as (before, after):
        port = addresses.take(1, [before], BrokerConfig({})).port
        before.close()
        assert not addresses.is_reserved(1)
        addresses.reserve(1)
        assert addresses.is_reserved(1)
        with socket.socket() as client, pytest.raises(ConnectionRefusedError):
            client.connect(("127.0.0.1", port))
        assert addresses.take(1, [after], BrokerConfig({})).port == port
        assert not addresses.is_reserved(1)


def test_release_frees_reserved_ports() -> None:
    addresses = Addresses(plaintext("127.0.0.1", 0))
    with listeners(1) as (listener,):
        port = addresses.take(1, [listener], BrokerConfig({})).port
    addresses.reserve(1)
    addresses.release()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
