"""Connection limits by IP address: how they are resolved, and how they are applied by a running broker."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

import kafkalet
from kafkalet.broker.network import connection_limits
from kafkalet.broker.network.connection_limits import by_address, numeric_address
from kafkalet.properties import InvalidProperty
from kafkalet.tasks.delayed import Delayed
from kafkalet_conformance.playing.connection import Closed, Connection
from tests.wire.brokers import Wire, on_the_wire

LIMIT, OVERRIDES = "max.connections.per.ip", "max.connections.per.ip.overrides"


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("0:0::1", "::1"), ("localhost", "127.0.0.1"), ("", "127.0.0.1"), ("a.host", None)],
)
def test_numeric_addresses_need_no_name_lookup(host: str, address: str | None) -> None:
    assert numeric_address(host) == address


def test_address_of_name_is_added_when_it_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses("10.0.0.7"))
    calls: list[tuple[Callable[[], str], Delayed[str]]] = []

    def in_thread(call: Callable[[], str]) -> Delayed[str]:
        calls.append((call, Delayed()))
        return calls[-1][1]

    limits = by_address({"a.host": 3, "::1": 2}, in_thread)
    assert limits == {"::1": 2}
    [(call, delayed)] = calls
    delayed.complete(call())
    assert limits == {"::1": 2, "10.0.0.7": 3}


def test_name_without_an_address_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    failed: Delayed[str] = Delayed()
    assert by_address({"no.host": 3}, lambda call: failed) == {}
    failed.fail(socket.gaierror(-2, "Name or service not known"))
    assert "cannot resolve no.host: [Errno -2]" in caplog.text


def addresses(*found: str) -> list[tuple[int, int, int, str, tuple[str, int]]]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in found]


# On a running broker


def can_connect(wire: Wire, stack: ExitStack, source: str = "127.0.0.1") -> bool:
    """Open a connection from a source address and leave it open; return whether the broker serves it."""
    endpoint = wire.cluster._server.metadata.endpoints[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "create_connection", partial(socket.create_connection, source_address=(source, 0)))
        connection = Connection(endpoint.host, endpoint.port, timeout_s=10)
    stack.callback(connection.close)
    try:
        connection.ask("ApiVersions", 0, {})
    except (Closed, OSError):
        return False
    return True


def alter(wire: Wire, **texts: str) -> int:
    configs = [{"name": name.replace("_", "."), "value": value} for name, value in texts.items()]
    resource = {"resource_type": 4, "resource_name": "", "configs": configs}
    [answer] = wire.ask("IncrementalAlterConfigs", 1, {"resources": [resource]})["responses"]
    code: int = answer["error_code"]
    return code


@contextmanager
def limited(**config: str) -> Iterator[tuple[Wire, ExitStack]]:
    texts = {name.replace("_", "."): value for name, value in config.items()}
    with ExitStack() as stack, on_the_wire(config=texts) as wire:
        yield wire, stack


def test_limit_of_zero_admits_only_overridden_address() -> None:
    with limited(max_connections_per_ip="0", max_connections_per_ip_overrides="127.0.0.1:2") as (wire, stack):
        assert [can_connect(wire, stack) for _ in range(3)] == [True, True, False]
        assert not can_connect(wire, stack, "127.0.0.2")


def test_changed_limits_apply_immediately() -> None:
    with limited() as (wire, stack):
        assert alter(wire, max_connections_per_ip="3") == 0  # one of them is the connection of `wire`
        assert [can_connect(wire, stack) for _ in range(3)] == [True, True, False]
        assert alter(wire, max_connections_per_ip_overrides="127.0.0.1:4") == 0
        assert [can_connect(wire, stack) for _ in range(2)] == [True, False]
        assert alter(wire, max_connections_per_ip_overrides="127.0.0.2:1") == 0
        assert [can_connect(wire, stack, "127.0.0.2") for _ in range(2)] == [True, False]


def test_limit_of_name_survives_other_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = []

    def look_up(host: str) -> str:
        looked_up.append(host)
        return "127.0.0.2"

    monkeypatch.setattr(connection_limits, "_first_address", look_up)
    with limited(max_connections_per_ip_overrides="a.host:1") as (wire, stack):
        [listener] = wire.cluster._server.brokers[1].listeners
        wire.until(lambda: listener.limits.max_connections_per_ip_overrides == {"127.0.0.2": 1})
        assert alter(wire, max_connections_per_ip="5") == 0
        assert [can_connect(wire, stack, "127.0.0.2") for _ in range(2)] == [True, False]
        assert looked_up == ["a.host"]


def test_raising_max_connections_admits_waiting_clients() -> None:
    with limited(max_connections="1") as (wire, stack):
        wire.ask("ApiVersions", 0, {})
        endpoint = wire.cluster._server.metadata.endpoints[1]
        waiting = Connection(endpoint.host, endpoint.port)
        stack.callback(waiting.close)
        sent = waiting.send("ApiVersions", 0, {})
        assert not waiting.has_answer(sent, 0.05)
        assert alter(wire, max_connections="2") == 0
        assert waiting.receive(sent)["error_code"] == 0


def test_malformed_overrides_are_rejected() -> None:
    with pytest.raises(InvalidProperty, match="not host:number"):
        kafkalet.Broker(config={OVERRIDES: "x"})
