"""Declarations of routes, and the lookup of the route of a request.

    routes = Routes("groups", "Consumer groups of both protocols.")

    @routes.post("/v1/groups/{group_id}/evict", "A member to evict.", response=GROUP)
    def evict_member(
        call: Call, group_id: Annotated[str, "The group."], member_id: Annotated[str, "The member id."]
    ) -> Json:
        '''Remove a member from a group.'''

The parameters of the function are those of the operation: in the path if the template contains them, otherwise in the
query of a GET or DELETE, or in the body of a POST. The description of the body follows the template. The docstring is
the description of the operation in the OpenAPI document.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from .shapes import Field, Json, Malformed, Object, Shape, fields_of

if TYPE_CHECKING:
    from threading import Event

    from kafkalet.testing.cluster import Cluster

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
BYTES = "application/octet-stream"
MAX_BODY_BYTES = 1 << 20
"""The default limit of a body. The brokers handle a body of this size in one turn of their event loop."""
MAX_RECORDS_BYTES = 16 << 20
MAX_FILE_BYTES = 1 << 30


class Call(NamedTuple):
    """A request whose values have been checked."""

    cluster: Cluster
    path: Mapping[str, Json]
    query: Mapping[str, Json]
    body: Json
    """The checked JSON, or an open file if the route accepts a file."""
    ended: Event
    """Set when the control API stops. Waits and streams also end when their clients have gone."""


Handler = Callable[..., Json]


class Route(NamedTuple):
    """An operation of the API."""

    method: str
    template: str
    """The path, as in `/v1/topics/{name}`."""
    tag: str
    handler: Handler
    path: Mapping[str, Field]
    query: Mapping[str, Field]
    body: Shape | None
    response: Shape | None
    """The shape of the response. None means that the response has no body (204), or that it is not JSON."""
    status: int
    waits: bool
    """Whether the operation waits, and responds with 408 after its timeout."""
    consumes: str
    produces: str
    max_body_bytes: int
    takes_body: bool
    """Whether the handler has a parameter `body`, instead of one for each field of the body."""

    def respond(self, call: Call) -> Json:
        """Call the handler with the values of a request."""
        if self.takes_body:
            return self.handler(call, **call.path, **call.query, body=call.body)
        return self.handler(call, **call.path, **call.query, **(call.body or {}))

    @property
    def summary(self) -> str:
        """The first sentence of the description, without its full stop."""
        return " ".join(self.description.split("\n\n")[0].split()).split(". ")[0].removesuffix(".")

    @property
    def description(self) -> str:
        return inspect.getdoc(self.handler) or ""

    @property
    def name(self) -> str:
        """The name of the operation, as in `getTopic`."""
        first, *rest = self.handler.__name__.split("_")
        return first + "".join(map(str.title, rest))

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """Return the path parameters as strings, or None if the path does not belong to this route."""
        parts = self.template.split("/")[1:]
        if len(parts) != len(segments):
            return None
        found = {}
        for part, segment in zip(parts, segments, strict=True):
            if part.startswith("{"):
                found[part[1:-1]] = segment
            elif part != segment:
                return None
        return found if all(found.values()) else None


class Routes:
    """The routes of one area. The methods are decorators that declare a route."""

    def __init__(self, tag: str, description: str) -> None:
        self.tag = tag
        self.description = description
        self._routes: list[Route] = []

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    def get(self, template: str, *, response: Shape | None, produces: str = JSON) -> Callable[[Handler], Handler]:
        return self.post(template, method="GET", response=response, produces=produces)

    def delete(self, template: str, *, response: Shape | None = None) -> Callable[[Handler], Handler]:
        return self.post(template, method="DELETE", response=response)

    def post(
        self,
        template: str,
        body: str | Shape | None = None,
        *,
        method: str = "POST",
        name: str = "",
        response: Shape | None = None,
        status: int | None = None,
        waits: bool = False,
        consumes: str = JSON,
        produces: str = JSON,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> Callable[[Handler], Handler]:
        """Declare an operation. `body` describes the object that the parameters make up, or is the shape of `body`.

        The object has the name of the function, or another `name` in the OpenAPI document.
        """
        in_path = [part[1:-1] for part in template.split("/") if part.startswith("{")]

        def declare(handler: Handler) -> Handler:
            fields = fields_of(handler)
            path = {name: fields.pop(name) for name in in_path}
            title = name or handler.__name__.title().replace("_", "")
            shape = Object(title, body, *fields.values()) if isinstance(body, str) else body
            query = fields if method != "POST" else {}
            success = status or (204 if response is None and produces == JSON else 200)
            takes_body = "body" in signature(handler).parameters
            operation = method, template, self.tag, handler, path, query, shape, response, success
            self._routes.append(Route(*operation, waits, consumes, produces, max_body_bytes, takes_body))
            return handler

        return declare


class Found(NamedTuple):
    """The result of a search for a route."""

    route: Route | None
    path: Mapping[str, str]
    allowed: Sequence[str]
    """The methods that exist for the path."""


def find(routes: Iterable[Route], method: str, path: str) -> Found:
    """Find the route of a request. Literal paths take precedence over those with parameters."""
    try:
        segments = [unquote(segment, errors="strict") for segment in path.split("/")[1:]]
    except UnicodeDecodeError:
        raise Malformed("the path is not UTF-8 after percent-decoding") from None
    fits = [(route, found) for route in routes if (found := route.match(segments)) is not None]
    least = min((len(found) for _, found in fits), default=0)
    fits = [(route, found) for route, found in fits if len(found) == least]
    for route, found in fits:
        if route.method == method:
            return Found(route, found, ())
    return Found(None, {}, sorted({route.method for route, _ in fits}))
