"""Connection limits by IP address: how they are resolved, and how they are applied by a running broker."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NoReturn

import pytest

import kafkalet
from kafkalet.broker.network.connection_limits import by_address, numeric_address
from kafkalet.conformance.playing.connection import Closed, Connection
from kafkalet.properties import InvalidProperty
from tests.wire.brokers import Wire, on_the_wire
from tests.wire.serving import in_loop

LIMIT, OVERRIDES = "max.connections.per.ip", "max.connections.per.ip.overrides"


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("0:0::1", "::1"), ("localhost", "127.0.0.1"), ("", "127.0.0.1"), ("a.host", None)],
)
def test_numeric_addresses_need_no_name_lookup(host: str, address: str | None) -> None:
    assert numeric_address(host) == address


@in_loop
async def test_name_is_looked_up_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def slow(host: str, *_: object, **options: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        asked.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.7", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    limits = by_address({"a.host": 3, "::1": 2}, asyncio.get_running_loop())
    assert limits == {"::1": 2}
    asked.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    await asyncio.sleep(0)
    assert limits == {"::1": 2, "10.0.0.7": 3}


@in_loop
async def test_name_without_an_address_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(host: str, *_: object, **options: object) -> NoReturn:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert by_address({"no.host": 3}, asyncio.get_running_loop()) == {}
    await asyncio.get_running_loop().shutdown_default_executor()
    await asyncio.sleep(0)
    assert "cannot resolve no.host: [Errno -2]" in caplog.text


# On a running broker


def can_connect(wire: Wire, stack: ExitStack, source: str = "127.0.0.1") -> bool:
    """Open a connection from a source address and leave it open; return whether the broker serves it."""
    endpoint = wire.cluster.server.metadata.endpoints[1]
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


def test_raising_max_connections_admits_waiting_clients() -> None:
    with limited(max_connections="1") as (wire, stack):
        wire.ask("ApiVersions", 0, {})
        endpoint = wire.cluster.server.metadata.endpoints[1]
        waiting = Connection(endpoint.host, endpoint.port)
        stack.callback(waiting.close)
        sent = waiting.send("ApiVersions", 0, {})
        assert not waiting.has_answer(sent, 0.05)
        assert alter(wire, max_connections="2") == 0
        assert waiting.receive(sent)["error_code"] == 0


def test_malformed_overrides_are_rejected() -> None:
    with pytest.raises(InvalidProperty, match="not host:number"):
        kafkalet.Broker(config={OVERRIDES: "x"})
