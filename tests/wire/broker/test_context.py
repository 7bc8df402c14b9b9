"""The context of a request: each connection has one, which every request updates."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.context import Context
from kafkalet.broker.security.principal import ANONYMOUS
from kafkalet.protocol.api import Api
from tests.wire.brokers import Wire, on_the_wire


class Seen:
    """Records the contexts passed to handlers."""

    def __init__(self) -> None:
        self.contexts: list[Context] = []
        self.requests: list[tuple[Api, int, int, str]] = []

    def __call__(self, request: Any, context: Context, handle: Any) -> Any:
        self.contexts.append(context)
        self.requests.append((context.api, context.version, context.correlation_id, context.client_id))
        return handle(request, context)


@pytest.fixture
def wire() -> Iterator[Wire]:
    with on_the_wire(2, version="3.9") as opened:
        yield opened


@pytest.fixture
def seen(wire: Wire) -> Seen:
    noted = Seen()
    for broker in wire.cluster._server.brokers.values():
        broker.router.hooks.intercept = noted
    return noted


def test_context_has_api_version_and_client_id(wire: Wire, seen: Seen) -> None:
    wire.ask("Metadata", 9, {"topics": []})
    wire.fetch(version=11)
    assert seen.requests == [(Api.METADATA, 9, 1, "conformance"), (Api.FETCH, 11, 2, "conformance")]


def test_requests_of_a_connection_share_a_context(wire: Wire, seen: Seen) -> None:
    for _ in range(2):
        wire.ask("Metadata", 9, {"topics": []})
    first, second = seen.contexts
    assert first is second


def test_connections_have_separate_contexts(wire: Wire, seen: Seen) -> None:
    for name in ("one", "two"):
        wire.connection(1, name).ask("Metadata", 9, {"topics": []})
    first, second = seen.contexts
    assert first is not second
    assert first.peer != second.peer


def test_context_has_the_node_of_its_listener(wire: Wire, seen: Seen) -> None:
    for node in (1, 2):
        wire.ask("Metadata", 9, {"topics": []}, node)
    assert [context.node.node_id for context in seen.contexts] == [1, 2]
    assert {context.controller for context in seen.contexts} == {wire.cluster._server.controller}
    assert {context.release.name for context in seen.contexts} == {"3.9"}
    assert {context.clock for context in seen.contexts} == {node.clock for node in wire.cluster._server.nodes.values()}


def test_context_has_the_address_of_the_client(wire: Wire, seen: Seen) -> None:
    wire.ask("Metadata", 9, {"topics": []})
    [context] = seen.contexts
    assert context.peer == wire.connection().socket.getsockname()
    assert (context.principal, context.authenticator) == (ANONYMOUS, None)


def test_context_of_a_delayed_request_is_not_overwritten(wire: Wire, seen: Seen) -> None:
    """Requests of other connections that are served meanwhile do not change it."""
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000)) as receive:
        wire.produce(b"")
        context = seen.contexts[0]
        assert (context.api, context.version) == (Api.FETCH, 12)
        wire.cluster.topic("t").delete()
        assert receive()["responses"][0]["partitions"][0]["error_code"] == 3
