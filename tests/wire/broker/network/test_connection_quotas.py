"""Limits on the connections of a broker over all of its listeners (KIP-402)."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

import kafkalet
from kafkalet.clock import ManualClock
from kafkalet_conformance.playing.connection import Closed, Connection
from tests.wire.brokers import TIMEOUT_S

TWO = {
    "listeners": "IN://127.0.0.1:0,OUT://127.0.0.1:0",
    "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT",
}
PROTECTED = {"inter.broker.listener.name": "IN"}


class Clients:
    """Connections to the listeners of a broker, which stay open."""

    def __init__(self, broker: kafkalet.Broker, stack: ExitStack) -> None:
        self.broker = broker
        self._stack = stack

    def begin(self, listener: str) -> tuple[Connection, int]:
        """Connect and send a request."""
        host, _, port = self.broker.bootstrap_servers_of(listener).rpartition(":")
        connection = Connection(host, int(port))
        self._stack.callback(connection.close)
        return connection, connection.send("ApiVersions", 0, {})

    def connect(self, listener: str) -> Connection:
        connection, sent = self.begin(listener)
        assert connection.receive(sent, TIMEOUT_S)["error_code"] == 0
        return connection

    def can_connect(self, listener: str) -> bool:
        try:
            self.connect(listener)
        except (Closed, OSError):
            return False
        return True


@contextmanager
def clients(config: dict[str, str], clock: ManualClock | None = None) -> Iterator[Clients]:
    with ExitStack() as stack, kafkalet.Broker(config=TWO | config, clock=clock) as broker:
        yield Clients(broker, stack)


def test_max_connections_counts_those_of_all_listeners() -> None:
    with clients({"max.connections": "2"}) as asking:
        first = asking.connect("IN")
        asking.connect("OUT")
        waiting, sent = asking.begin("OUT")
        assert not waiting.has_answer(sent, 0.05)
        first.close()
        assert waiting.receive(sent, TIMEOUT_S)["error_code"] == 0


def test_limit_of_a_listener_does_not_restrict_others() -> None:
    with clients({"listener.name.out.max.connections": "1"}) as asking:
        asking.connect("OUT")
        waiting, sent = asking.begin("OUT")
        assert not waiting.has_answer(sent, 0.05)
        asking.connect("IN")
        asking.connect("IN")


def test_limit_of_an_address_is_for_all_listeners() -> None:
    with clients({"max.connections.per.ip": "2"}) as asking:
        assert [asking.can_connect(name) for name in ("IN", "OUT", "IN", "OUT")] == [True, True, False, False]


def test_longest_idle_connection_makes_room_on_the_inter_broker_listener() -> None:
    clock = ManualClock()
    with clients(PROTECTED | {"max.connections": "2"}, clock) as asking:
        idle, busy = asking.connect("OUT"), asking.connect("OUT")
        clock.advance(seconds=1)
        busy.ask("ApiVersions", 0, {})
        asking.connect("IN")
        assert busy.ask("ApiVersions", 0, {})["error_code"] == 0
        with pytest.raises(Closed):
            idle.ask("ApiVersions", 0, {})


def test_inter_broker_listener_has_its_own_limit() -> None:
    with clients(PROTECTED | {"max.connections": "1"}) as asking:
        asking.connect("IN")
        waiting, sent = asking.begin("IN")
        assert not waiting.has_answer(sent, 0.05)


@pytest.mark.parametrize("name", ["max.connection.creation.rate", "listener.name.out.max.connection.creation.rate"])
def test_client_that_connects_too_often_is_served_after_a_delay(name: str) -> None:
    clock = ManualClock()
    with clients({name: "1"}, clock) as asking:
        for _ in range(10):  # ten seconds' worth of connections
            asking.connect("OUT")
        delayed, sent = asking.begin("OUT")
        assert not delayed.has_answer(sent, 0.05)
        clock.advance(seconds=1)
        assert delayed.receive(sent, TIMEOUT_S)["error_code"] == 0


def test_rate_of_connections_of_a_listener_does_not_restrict_others() -> None:
    with clients({"listener.name.out.max.connection.creation.rate": "1"}, ManualClock()) as asking:
        assert all(asking.can_connect("IN") for _ in range(15))


def test_rate_of_connections_of_the_broker_does_not_restrict_the_inter_broker_listener() -> None:
    config = PROTECTED | {"max.connection.creation.rate": "1", "listener.name.in.max.connection.creation.rate": "1000"}
    with clients(config, ManualClock()) as asking:
        assert all(asking.can_connect("IN") for _ in range(15))


def test_protected_listener_closes_a_connection_in_its_tls_handshake() -> None:
    config = PROTECTED | {"listener.security.protocol.map": "IN:PLAINTEXT,OUT:SSL", "max.connections": "2"}
    with ExitStack() as stack, kafkalet.Broker(config=TWO | config, tls=True) as broker:
        asking = Clients(broker, stack)
        port = int(broker.bootstrap_servers_of("OUT").rpartition(":")[2])
        silent = stack.enter_context(socket.create_connection(("127.0.0.1", port), TIMEOUT_S))
        listener = broker._server.brokers[1].listeners[1]
        while not broker._server.call(lambda: len(listener)):
            pass
        asking.connect("IN")
        assert broker._server.call(lambda: len(listener)) == 1
        asking.connect("IN")
        assert silent.recv(1) == b""
