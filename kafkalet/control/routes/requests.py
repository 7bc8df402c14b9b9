"""Routes of the journal: the requests of clients with their responses, and the connections."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from kafkalet.control.failures import Refusal
from kafkalet.control.fields import Int64, Timeout
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import (
    INT32_MAX,
    AnyJson,
    Boolean,
    Field,
    Integer,
    Json,
    ListOf,
    MapOf,
    Nullable,
    Number,
    Object,
    Text,
)

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster
    from kafkalet.testing.connections import ClientConnection
    from kafkalet.testing.requests import Request, Requests

routes = Routes("requests", "The journal: requests of clients, with their responses.")

MAX_REQUESTS = 10_000

REQUEST = Object(
    "Request",
    "A request of a client, and its response.",
    Field("api", Text(), "The API, such as `Fetch`; `API 999` for a key that Kafka does not know."),
    Field("version", Integer(), "The version that the client chose."),
    Field("correlation_id", Integer(), "The correlation id of the request."),
    Field("client_id", Text(), "The client id, or an empty string."),
    Field("connection", Integer(), "The number of the connection."),
    Field("host", Text(), "The address of the client."),
    Field("port", Integer(), "The port of the client."),
    Field("broker", Integer(), "The id of the broker."),
    Field("time_ms", Integer(), "When the broker received it, in milliseconds since 1970, by the machine's clock."),
    Field("duration_ms", Number(0, float(1 << 53)), "The time until the response, or until now while it waits."),
    Field("is_waiting", Boolean(), "Whether it has no response yet, like a long poll."),
    Field("has_waited", Boolean(), "Whether the broker delayed the response."),
    Field("size_bytes", Integer(0), "The size of the request."),
    Field("topics", ListOf(Text()), "The topics that the request or the response names."),
    Field("errors", ListOf(Text()), "The errors in the response, such as `NOT_LEADER_OR_FOLLOWER`."),
    Field("closed", Nullable(Text()), "Why the broker closed the connection instead of responding, or null."),
    Field("fault", Nullable(Integer(1)), "The id of the fault that has fired on the request, or null."),
    Field("text", Text(), "The request and its response on one line."),
    Field(
        "request",
        Nullable(AnyJson()),
        "The decoded request, with bytes as base64. null if `messages` is false or the request was too large to keep.",
    ),
    Field("response", Nullable(AnyJson()), "The decoded response, like `request`."),
)
REQUESTS = Object("Requests", "Requests of clients.", Field("requests", ListOf(REQUEST), "The requests, oldest first."))
COUNT = Object(
    "RequestCount",
    "Numbers of requests.",
    Field("count", Integer(0), "The number of all selected requests."),
)
COUNTED = Object(
    "CountedRequests",
    "Requests of one API by one client.",
    Field("api", Text(), "The API."),
    Field("client_id", Text(), "The client id."),
    Field("count", Integer(0), "The number of requests."),
)
COUNTS = Object(
    "RequestCounts",
    "Numbers of requests.",
    Field("counts", ListOf(COUNTED), "By API and client, including requests that the journal no longer keeps."),
)
UNSUPPORTED_REQUEST = Object(
    "UnsupportedRequest",
    "A request that the brokers do not serve.",
    Field("api", Text(), "The API, or its key if Kafka has no such API."),
    Field("version", Integer(), "The version."),
    Field("client_id", Text(), "The client id."),
    Field("served", Text(), "What is served instead, such as `versions 0 to 11`; empty if the API is not served."),
    Field("count", Integer(0), "The number of requests."),
)
UNSUPPORTED = Object(
    "Unsupported",
    "Requests that the brokers do not serve.",
    Field("counts", MapOf(Integer(0)), 'The number of requests by API, as in `{"ShareFetch": 2}`.'),
    Field("requests", ListOf(UNSUPPORTED_REQUEST), "The requests, by API, version and client."),
)
CONNECTION = Object(
    "Connection",
    "A connection of a client.",
    Field("id", Text(), "The address and port of the client, as in `127.0.0.1:50123`."),
    Field("broker", Integer(0, INT32_MAX), "The id of the broker."),
    Field("client_id", Text(), "The client id, or an empty string before the first request."),
    Field("last_request", Text(), "The API and version of the last request, as in `Fetch v13`, or an empty string."),
)
ConnectionId = Annotated[str, "The address and port of the client, as in `127.0.0.1:50123`."]
CONNECTIONS = Object(
    "Connections", "The connections.", Field("connections", ListOf(CONNECTION), "By broker, oldest first.")
)

Apis = Annotated[Sequence[str], "The APIs, separated by commas. The default is all."]
ClientId = Annotated[str | None, "The client id."]
TopicName = Annotated[str | None, "A topic that the request or the response names."]
Errors = Annotated[
    list[str] | None, "`true` for responses with an error, `false` for those without, or names of errors."
]


def select(
    cluster: Cluster, apis: Sequence[str], client_id: str | None, topic: str | None, errors: Sequence[str] | None
) -> Requests:
    """Return the requests that a query selects."""
    has_errors = {"true": True, "false": False}.get(",".join(errors or ()))
    return cluster.requests.filter(
        *apis, client_id=client_id, topic=topic, errors=errors if has_errors is None else has_errors
    )


def request_json(request: Request, *, messages: bool) -> Json:
    """Return a request as a `Request` object."""
    host, port = request.peer[:2]
    return REQUEST.of(
        request,
        host=host,
        port=port,
        time_ms=round(request.time.timestamp() * 1000),
        duration_ms=round(max(0.0, request.duration_ms), 3),
        request=_with_base64(request.request) if messages else None,
        response=_with_base64(request.response) if messages else None,
    )


def _with_base64(value: Any) -> Json:
    """Return plain data with bytes as base64."""
    if isinstance(value, dict):
        return {name: _with_base64(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_base64(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None  # JSON has no infinity
    return value


@routes.get("/v1/requests", response=REQUESTS)
def list_requests(
    call: Call,
    apis: Apis = (),
    client_id: ClientId = None,
    topic: TopicName = None,
    errors: Errors = None,
    since_ms: Annotated[Int64 | None, "Only requests since this time, in milliseconds since 1970."] = None,
    until_ms: Annotated[Int64 | None, "Only requests until this time, in milliseconds since 1970."] = None,
    limit: Annotated[int, Integer(1, MAX_REQUESTS), "The largest number of requests; the latest are returned."] = 100,
    messages: Annotated[bool, "Whether to return the decoded messages."] = False,
) -> Json:
    """Return the latest requests that the journal keeps."""
    found = select(call.cluster, apis, client_id, topic, errors)
    if since_ms is not None or until_ms is not None:
        found = found.between(since_ms or 0, until_ms)
    return {"requests": [request_json(request, messages=messages) for request in found.last(limit)]}


@routes.delete("/v1/requests")
def clear_requests(call: Call) -> None:
    """Forget all requests and counts, including those of unsupported requests. Requests in progress remain."""
    call.cluster.requests.clear()


@routes.get("/v1/requests/count", response=COUNT)
def count_requests(
    call: Call, apis: Apis = (), client_id: ClientId = None, topic: TopicName = None, errors: Errors = None
) -> Json:
    """Count the requests since the start or since the journal was cleared.

    A count by API and client is always available. Other counts fail with 409 if the journal has dropped requests.
    """
    wanted = select(call.cluster, apis, client_id, topic, errors)
    try:
        return {"count": wanted.count()}
    except LookupError as error:
        raise Refusal(409, str(error)) from error


@routes.get("/v1/requests/counts", response=COUNTS)
def list_request_counts(call: Call) -> Json:
    """Count the requests by API and client."""
    journal = call.cluster._server.journal
    counts = {} if journal is None else call.cluster._server.call(journal.counts)
    return {
        "counts": [
            {"api": api, "client_id": client_id, "count": count} for (api, client_id), count in sorted(counts.items())
        ]
    }


@routes.get("/v1/requests/unsupported", response=UNSUPPORTED)
def list_unsupported(call: Call) -> Json:
    """Return the requests for APIs or versions that the brokers do not serve."""
    journal = call.cluster._server.journal
    found = {} if journal is None else call.cluster._server.call(journal.unsupported.copy)
    counts: dict[str, int] = {}
    for each, count in sorted(found.items()):
        counts[each.api] = counts.get(each.api, 0) + count
    return {
        "counts": counts,
        "requests": [
            UNSUPPORTED_REQUEST.of(each, count=count)
            for each, count in sorted(found.items(), key=lambda item: (item[0].api, item[0].version, item[0].client_id))
        ],
    }


@routes.post("/v1/requests/wait", "Requests to wait for.", response=REQUESTS, waits=True)
def wait_for_requests(
    call: Call,
    apis: Annotated[Sequence[str], "The APIs. The default is all."] = (),
    n: Annotated[int, Integer(1, MAX_REQUESTS), "The number of requests."] = 1,
    client_id: Annotated[str | None, "The client id."] = None,
    topic: Annotated[str | None, "A topic that the request or the response names."] = None,
    errors: Annotated[list[str] | None, "Errors; the response must have one of them."] = None,
    messages: Annotated[bool, "Whether to return the decoded messages."] = False,
    timeout: Timeout = None,
) -> Json:
    """Wait until clients have sent requests, and return them. Earlier requests count, unless they were cleared."""
    found = call.cluster.requests.wait_for(
        *apis,
        n=n,
        client_id=client_id,
        topic=topic,
        errors=errors,
        timeout=timeout,
    )
    return {"requests": [request_json(request, messages=messages) for request in found]}


@routes.get("/v1/connections", response=CONNECTIONS)
def list_connections(call: Call) -> Json:
    """Return the connections of clients."""
    return {"connections": [CONNECTION.of(each, id=_connection_id(each)) for each in call.cluster.connections]}


def _connection_id(connection: ClientConnection) -> str:
    return f"{connection.peer[0]}:{connection.peer[1]}"


def _connection(call: Call, wanted: str) -> ClientConnection:
    for connection in call.cluster.connections:
        if _connection_id(connection) == wanted:
            return connection
    raise Refusal(404, f"there is no connection {wanted}; GET /v1/connections lists them")


@routes.post("/v1/connections/{id}/reset")
def reset_connection(call: Call, id: ConnectionId) -> None:  # noqa: A002 - the name in the path
    """Close a connection with a TCP reset. Responses that have not been sent are lost."""
    _connection(call, id).reset()


@routes.post("/v1/connections/{id}/half-close")
def half_close_connection(call: Call, id: ConnectionId) -> None:  # noqa: A002 - the name in the path
    """Close the direction to the client: the client reads end of file, while the broker still receives requests."""
    _connection(call, id).half_close()


@routes.post("/v1/connections/{id}/black-hole")
def black_hole_connection(call: Call, id: ConnectionId) -> None:  # noqa: A002 - the name in the path
    """Discard what the client sends, and send nothing. The connection stays open until the client closes it."""
    _connection(call, id).black_hole()
