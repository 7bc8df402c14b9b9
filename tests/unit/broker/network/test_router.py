"""Tests of the router: headers, versions, errors that close the connection, and the hooks."""

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.cluster.revision import Revision
from kafkalet.broker.config.release import Release
from kafkalet.broker.context import Context
from kafkalet.broker.network import router as router_module
from kafkalet.broker.network.router import Router
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.frame import RequestHeader, decode_response_header, request_frame
from kafkalet.protocol.messages.api_versions import ApiVersionsResponse
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.schema import Response
from kafkalet.protocol.wire import Chunk
from kafkalet.tasks.delayed import Delayed


class Broker:
    """The parts of a broker that the router uses."""

    def __init__(self) -> None:
        self.node = SimpleNamespace(
            node_id=1,
            release=Release.of(),
            clock=ManualClock(),
            metadata=SimpleNamespace(cluster_id="C", revision=Revision()),
            is_read_only=False,
        )
        self.controller = SimpleNamespace(config=SimpleNamespace(replica_selector_class=None))
        self.authorizer = None
        self.api_versions: dict[Api, tuple[int, int]] = {
            Api.LIST_OFFSETS: (1, 11),
            Api.PRODUCE: (0, 13),
            Api.API_VERSIONS: (0, 4),
        }


class Client:
    """The connection as seen by a context."""

    is_closed = False
    when_closed: Callable[[], object] | None = None

    def close(self, reason: str) -> None: ...

    def mute(self, ms: float) -> None: ...


class Routing:
    """A router with the handlers of a test."""

    def __init__(self) -> None:
        self.broker = Broker()
        self.router = Router(self.broker)
        self.context = self.router.context(Client(), ("127.0.0.1", 5), "PLAINTEXT")
        self.handlers: dict[str, Callable[[Any, Context], Any]] = {}
        self.asked: list[Any] = []
        self.refuse: Callable[[Any, Context, KafkaError], Any] | None = None

    def import_module(self, name: str) -> Any:
        name = name.rpartition(".")[2]
        handlers = SimpleNamespace(handle=self.handlers.get(name, self.handle))
        if self.refuse is not None:
            handlers.refuse = self.refuse
        return handlers

    def handle(self, request: Any, context: Context) -> Any:
        self.asked.append((request, context.api, context.version, context.correlation_id, context.client_id))
        return answer()

    def route(self, frame: bytes) -> tuple[int | Delayed[Response], bytes]:
        out: list[Chunk] = []
        size = self.router.route(frame, self.context, out)
        return size, b"".join(out)  # type: ignore[arg-type]


@pytest.fixture
def routing(monkeypatch: pytest.MonkeyPatch) -> Routing:
    routing = Routing()
    monkeypatch.setattr(router_module, "import_module", routing.import_module)
    return routing


def answer() -> ListOffsetsResponse:
    return ListOffsetsResponse(topics=[])


def ask(version: int = 7, correlation_id: int = 77, client_id: str | None = "me") -> bytes:
    request = ListOffsetsRequest(replica_id=-1, topics=[])
    return b"".join(request_frame(request, version, correlation_id, client_id))[4:]  # type: ignore[arg-type]


def header(api: int, version: int, client_id: bytes = b"me") -> bytes:
    return b"".join(
        [
            api.to_bytes(2, "big", signed=True),
            version.to_bytes(2, "big", signed=True),
            (77).to_bytes(4, "big"),
            len(client_id).to_bytes(2, "big"),
            client_id,
        ]
    )


@pytest.mark.parametrize("version", [1, 5, 6, 11])
def test_response_has_the_header_of_its_version(routing: Routing, version: int) -> None:
    size, wire = routing.route(ask(version))
    assert size == len(wire)
    assert int.from_bytes(wire[:4], "big") == len(wire) - 4
    correlation_id, start = decode_response_header(Api.LIST_OFFSETS, version, wire[4:])
    assert correlation_id == 77
    assert ListOffsetsResponse.decode(wire[4:], version, start) == answer()


def test_context_has_client_and_api_of_the_request(routing: Routing) -> None:
    routing.route(ask(7, 78, "another"))
    [(request, *who)] = routing.asked
    assert request == ListOffsetsRequest(replica_id=-1, topics=[])
    assert who == [Api.LIST_OFFSETS, 7, 78, "another"]


@pytest.mark.parametrize("client_id", [None, ""])
def test_a_null_client_id_counts_as_empty(routing: Routing, client_id: str | None) -> None:
    routing.route(ask(client_id=client_id))
    assert routing.asked[0][-1] == ""


def test_a_client_id_that_is_not_utf_8_is_read_as_java_reads_it(routing: Routing) -> None:
    frame = ask(5, client_id="ab")
    routing.route(frame.replace(b"ab", b"\xffb"))
    assert routing.asked[0][-1] == "\ufffdb"


def test_negative_length_of_a_client_id_is_null(routing: Routing) -> None:
    frame = ask(5, client_id=None)
    routing.route(frame[:8] + b"\xff\xfe" + frame[10:])
    assert routing.asked[0][-1] == ""


def test_bytes_after_the_message_are_ignored(routing: Routing) -> None:
    assert routing.route(ask() + b"and more") == routing.route(ask())


def test_unknown_tags_in_the_header_are_skipped(routing: Routing) -> None:
    plain = ask(7)
    at = len(header(2, 7))
    assert plain[at] == 0
    tags = b"\x02\x05\x03abc\x09\x01z"
    routing.route(plain[:at] + tags + plain[at + 1 :])
    assert len(routing.asked) == 1


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"\x00", "request header in 1 byte"),
        (b"\x00\x12\x00\x00\x00\x00\x00", "request header in 7 bytes"),
        (header(2, 5)[:-1], "1 byte missing"),
        (header(2, 7), "request header"),
        (header(2, 7) + b"\x01\x05\xff\xff\xff\xff\x0f", "bytes missing"),
        (header(2, 7) + b"\x01\x80\x80\x80\x80\x80\x80", "varint"),
        (header(999, 0), "unknown API key 999"),
        (header(-1, 0), "unknown API key -1"),
        (header(4, 0), "LeaderAndIsr is not served"),
        (header(7, 0), "ControlledShutdown is not served"),
        (header(2, 99), "ListOffsets v99 is not served, only v1 to v11"),
        (header(2, -1), "ListOffsets v-1 is not served"),
        (header(2, 0), "ListOffsets v0 is not served"),
    ],
)
def test_unsupported_request_closes_the_connection(routing: Routing, frame: bytes, reason: str) -> None:
    with pytest.raises((CloseConnection, DecodeError), match=reason):
        routing.route(frame)
    assert routing.asked == []


def test_incomplete_body_closes_the_connection(routing: Routing) -> None:
    with pytest.raises(DecodeError):
        routing.route(ask()[:-2])


@given(st.binary(max_size=60))
def test_random_bytes_get_a_response_or_close_the_connection(frame: bytes) -> None:
    routing = Routing()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(router_module, "import_module", routing.import_module)
        routing.broker.api_versions = {api: (api.versions.low, api.versions.high) for api in Api if api.client_facing}
        routing.router.hooks.intercept = lambda request, context, handle: None
        with contextlib.suppress(CloseConnection, DecodeError):
            routing.route(frame)


# ApiVersions


@pytest.mark.parametrize(
    ("version", "rest"), [(99, b"\x00\x02x\x02x\x00"), (32767, b"\x00"), (5, b"\x00"), (-1, b""), (-32768, b"")]
)
def test_api_versions_in_an_unserved_version_is_answered_in_version_0(
    routing: Routing, version: int, rest: bytes
) -> None:
    size, wire = routing.route(header(18, version) + rest)
    assert size == len(wire)
    assert wire[4:8] == (77).to_bytes(4, "big")
    response = ApiVersionsResponse.decode(wire[8:], 0)
    assert response.error_code == Code.UNSUPPORTED_VERSION
    assert [(key.api_key, key.min_version, key.max_version) for key in response.api_keys] == [(18, 0, 4)]
    assert len(wire) == 8 + 2 + 4 + 6


def test_unsupported_api_versions_before_kip_511_has_an_empty_response(routing: Routing) -> None:
    routing.broker.api_versions[Api.API_VERSIONS] = (0, 2)
    _, wire = routing.route(header(18, 3) + b"\x00")
    assert ApiVersionsResponse.decode(wire[8:], 0).api_keys == []


def test_malformed_header_of_api_versions_closes_the_connection(routing: Routing) -> None:
    with pytest.raises(CloseConnection):
        routing.route(header(18, 99))  # without a tag section
    with pytest.raises(CloseConnection):
        routing.route(header(18, -1)[:-1])


def test_api_versions_has_response_header_0_in_every_version(routing: Routing) -> None:
    routing.handlers["api_versions"] = lambda request, context: ApiVersionsResponse(error_code=0, api_keys=[])
    _, wire = routing.route(header(18, 3) + b"\x00\x02x\x02x\x00")
    assert ApiVersionsResponse.decode(wire[8:], 3).error_code == 0


# Responses


def test_handler_without_response_sends_no_bytes(routing: Routing) -> None:
    routing.handlers["list_offsets"] = lambda request, context: None
    assert routing.route(ask()) == (0, b"")


def test_delayed_response_is_finished_later(routing: Routing) -> None:
    delayed: Delayed[Response] = Delayed()
    routing.handlers["list_offsets"] = lambda request, context: delayed
    assert routing.route(ask()) == (delayed, b"")
    out: list[Chunk] = []
    size = routing.router.encode_delayed(answer(), routing.context, out)
    wire = b"".join(out)  # type: ignore[arg-type]
    assert size == len(wire)
    assert wire[4:8] == (77).to_bytes(4, "big")
    assert wire.endswith(answer().encode(7))


def test_completed_delayed_response_is_sent_immediately(routing: Routing) -> None:
    delayed: Delayed[Response] = Delayed()
    delayed.complete(answer())
    routing.handlers["list_offsets"] = lambda request, context: delayed
    size, wire = routing.route(ask())
    assert size == len(wire) > 0


def test_finishing_without_a_response_sends_no_bytes(routing: Routing) -> None:
    assert routing.router.encode_delayed(None, routing.context, []) == 0


def test_unexpected_exception_of_a_handler_is_raised(routing: Routing) -> None:
    def bug(request: Any, context: Context) -> None:
        raise ZeroDivisionError

    routing.handlers["list_offsets"] = bug
    with pytest.raises(ZeroDivisionError):
        routing.route(ask())


def test_refuse_function_of_a_handler_builds_the_response_to_a_kafka_error(routing: Routing) -> None:
    def handle(request: Any, context: Context) -> None:
        raise KafkaError(Code.CORRUPT_MESSAGE, "broken")

    def refuse(request: Any, context: Context, error: KafkaError) -> ListOffsetsResponse:
        return ListOffsetsResponse(topics=[], throttle_time_ms=error.code)

    routing.handlers["list_offsets"] = handle
    routing.refuse = refuse
    _, wire = routing.route(ask(5))
    assert ListOffsetsResponse.decode(wire[8:], 5).throttle_time_ms == Code.CORRUPT_MESSAGE


def test_kafka_error_without_a_refuse_function_is_in_the_response(routing: Routing) -> None:
    def handle(request: Any, context: Context) -> None:
        raise KafkaError(Code.CORRUPT_MESSAGE, "broken")

    routing.handlers["list_offsets"] = handle
    partition = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name="t", partitions=[partition])])
    _, wire = routing.route(b"".join(map(bytes, request_frame(request, 5, 1)))[4:])
    _, at = decode_response_header(Api.LIST_OFFSETS, 5, wire[4:])
    [topic] = ListOffsetsResponse.decode(wire[4:], 5, at).topics
    assert [each.error_code for each in topic.partitions] == [Code.CORRUPT_MESSAGE]


def test_a_module_is_imported_once(routing: Routing, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    monkeypatch.setattr(router_module, "import_module", lambda name: names.append(name) or routing.import_module(name))
    for _ in range(3):
        routing.route(ask())
    assert names == ["kafkalet.broker.apis.list_offsets"]


# Hooks


def test_interceptor_is_called_instead_of_the_handler(routing: Routing) -> None:
    seen: list[object] = []

    def intercept(request: Any, context: Context, handle: Any) -> Any:
        seen.append(request)
        return handle(request, context) if len(seen) == 1 else None

    routing.router.hooks.intercept = intercept
    assert routing.route(ask())[0]
    assert routing.route(ask()) == (0, b"")
    assert len(routing.asked) == 1
    assert len(seen) == 2


class Counting:
    """A throttle that records its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def begin(self, context: Context, request_bytes: int) -> None:
        self.calls.append(request_bytes)

    def pause(self, context: Context) -> None:
        self.calls.append("pause")

    def end(self, answer: Any, context: Context) -> None:
        self.calls.append(None if answer is None else "end")
        if answer is not None:
            answer.throttle_time_ms = 1234


def test_throttle_gets_each_request_and_its_response_before_encoding(routing: Routing) -> None:
    routing.router.hooks.throttle = throttle = Counting()
    _, wire = routing.route(ask(5))
    assert ListOffsetsResponse.decode(wire[8:], 5).throttle_time_ms == 1234
    assert throttle.calls == [len(ask(5)), "end"]


def test_throttle_is_called_for_a_delayed_response(routing: Routing) -> None:
    routing.router.hooks.throttle = throttle = Counting()
    delayed: Delayed[Any] = Delayed()
    routing.handlers["list_offsets"] = lambda request, context: delayed
    assert routing.route(ask()) == (delayed, b"")
    routing.router.encode_delayed(None, routing.context, [])
    assert throttle.calls[1:] == ["pause", None]


def test_throttle_can_be_removed(routing: Routing) -> None:
    routing.router.hooks.throttle = throttle = Counting()
    routing.router.hooks.throttle = None
    routing.route(ask())
    assert throttle.calls == []


def test_header_equals_that_of_the_protocol(routing: Routing) -> None:
    for version in (1, 7):
        frame = RequestHeader(Api.LIST_OFFSETS, version, 9, "x").encode()
        routing.route(frame + ListOffsetsRequest(replica_id=-1, topics=[]).encode(version))
    assert [asked[3] for asked in routing.asked] == [9, 9]


# Responses that cannot be encoded


def unwritable(*_: Any) -> ListOffsetsResponse:
    return ListOffsetsResponse(topics=[ListOffsetsResponse.Topic(name="x" * 32_768, partitions=[])])


def refused(request: Any, context: Context, error: KafkaError) -> ListOffsetsResponse:
    return ListOffsetsResponse(throttle_time_ms=error.code, topics=[])


@pytest.mark.parametrize("version", [5, 7])
def test_response_that_cannot_be_encoded_is_unknown_server_error(routing: Routing, version: int) -> None:
    routing.handlers["list_offsets"], routing.refuse = unwritable, refused
    size, wire = routing.route(ask(version))
    assert size == len(wire)
    _, at = decode_response_header(Api.LIST_OFFSETS, version, wire[4:])
    assert ListOffsetsResponse.decode(wire[4:], version, at).throttle_time_ms == Code.UNKNOWN_SERVER_ERROR


def test_error_response_that_cannot_be_encoded_closes_the_connection(routing: Routing) -> None:
    routing.handlers["list_offsets"], routing.refuse = unwritable, unwritable
    with pytest.raises(CloseConnection, match="cannot encode the response to ListOffsets v5"):
        routing.route(ask(5))


def test_client_id_that_does_not_fit_after_replacement_closes_the_connection(routing: Routing) -> None:
    frame = ask(5, client_id="y" * 32_767)
    with pytest.raises(CloseConnection, match="98301 bytes after replacing"):
        routing.route(frame.replace(b"y" * 32_767, b"\xff" * 32_767))
