"""Decodes requests, calls their handlers and encodes the responses.

    frame ── header ── served? ── decode ── intercept ── handle ──┬── hooks ── encode ── chunks
               │          │         │                             ├── Delayed: the connection waits
               └──────────┴─────────┴── CloseConnection           └── None: the client expects no response

The router does no I/O: it gets a frame and returns the chunks of a response. A `Route` holds everything about one
version of one API. It is created on the first request of that version, so later requests need only one lookup.

If a request cannot be served, the router does what Kafka does (SocketServer, RequestHeader.parse,
RequestContext.parseRequest):

* An ApiVersions request in an unsupported version, even a negative one, is answered in version 0 with
  UNSUPPORTED_VERSION and (since 2.4, KIP-511) the supported versions of ApiVersions. Its body is not read.
* Any other unknown API, unsupported version or malformed request closes the connection.
* Bytes after a complete request are ignored.
* If a response cannot be encoded, because a string has more than 32,767 bytes, the response is UNKNOWN_SERVER_ERROR.
* An error that does not belong to one part of the response fails the whole response (KafkaApis.handleError,
  getErrorResponse): a KafkaError raised by a handler is passed to `refuse` in the handler's module or, if there is no
  such function, to error_responses.py.

Faults, quotas, the request log and the journal are hooks (hooks.py). Without them, repeated requests are answered from
their bytes (repetitions.py, response_cache.py). Requests of clients that are not authenticated are checked before they
reach the router (sasl_connection.py).
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from importlib import import_module
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from kafkalet.broker.broker import Broker
from kafkalet.broker.client import Client, CloseConnection
from kafkalet.broker.cluster.leadership import CONTROLLER
from kafkalet.broker.context import Context
from kafkalet.broker.quoting import shown
from kafkalet.broker.served import CHANGING, FORWARDED, read_only_error
from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.errors import Code, DecodeError, EncodeError, KafkaError
from kafkalet.protocol.frame import response_head
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Request, Response
from kafkalet.protocol.tags import skip_tags
from kafkalet.protocol.text import REPLACE
from kafkalet.protocol.wire import Buffer, Chunk
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import Task, has_yielded, in_thread, pause, start, until
from kafkalet.units import counted

from .hooks import Answer, Encode, Handler, Hooks, Serve, Throttle
from .response_cache import MOST_KEY_BYTES, CacheKey, ResponseCache
from .sending import joined

if TYPE_CHECKING:  # imported only if requests are recorded
    from .journal import Journal

_LOG = logging.getLogger(__name__)
_REQUESTS = logging.getLogger("kafkalet.requests")

_HEADER = struct.Struct(">iih")  # API key and version (as one number), correlation id, length of the client id

_WITH_RECORDS = (Api.FETCH, Api.SHARE_FETCH)  # in Python 3.11, looking up a member of an enum is slow

DECODED_AT_ONCE = 256 * 1024
"""Larger requests are decoded in a thread, because they may have many elements."""
FORWARD_TIMEOUT_MS = 60_000
PRODUCE_DECODED_AT_ONCE = 1024 * 1024
"""The same limit for Produce, which consists mostly of records that are not decoded."""
FREED_AT_ONCE = 10_000
"""A response that contains a longer list is freed in steps."""

Refusal = Callable[[Any, Context, KafkaError], Answer]


class Encoded(NamedTuple):
    """A long response that was encoded in a thread."""

    pieces: list[Chunk]
    size: int


async def _free_in_steps(answer: Response) -> None:
    """Free a large response in steps: freeing a response with two million topics takes half a second."""
    for field in answer.FIELDS:
        if field.array:
            items = getattr(answer, field.name)
            while items and len(items) > FREED_AT_ONCE:
                del items[-FREED_AT_ONCE:]
                await pause()


def _encode_long(answer: Response, version: int) -> Encoded:
    """Encode a response that may have millions of chunks. Must be called in a thread."""
    pieces: list[Chunk] = []
    answer.encode_into(pieces, version)
    pieces = [b"", *joined(_emptied(pieces))]
    return Encoded(pieces, sum(map(len, pieces)))


def _emptied(pieces: list[Chunk]) -> Iterator[Chunk]:
    """Iterate over the chunks, freeing each one after use: freeing all at once would block the event loop."""
    pieces.reverse()
    while pieces:
        yield pieces.pop()


def _is_decoded_at_once(api: Api, size: int) -> bool:
    """Return whether a large request is decoded at once, because most of it is bytes that stay as they are."""
    return api is Api.SASL_AUTHENTICATE or (api is Api.PRODUCE and size <= PRODUCE_DECODED_AT_ONCE)


class Route:
    """One version of one API: how to decode its requests, handle them, and encode the responses."""

    __slots__ = (
        *("api", "close_frame", "decode", "flexible", "handle", "header_size", "is_cacheable", "refuse", "version"),
    )

    def __init__(
        self,
        api: Api,
        version: int,
        decode: Callable[[Any, int, int], Any],
        handle: Handler,
        refuse: Refusal,
        is_cacheable: Callable[[Any], bool] | None = None,
    ) -> None:
        self.api = api
        self.version = version
        self.decode = decode
        self.handle = handle
        self.refuse = refuse
        self.is_cacheable = is_cacheable
        """Returns whether a response may be sent again to the same request (response_cache.py); None: never."""
        self.flexible = version in api.flexible
        head = response_head(api, version)
        self.close_frame = head.pack
        self.header_size = head.size - 4

    def __str__(self) -> str:
        return f"{self.api} v{self.version}"


class Router:
    """Serves the requests of one broker, or of the controller."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.recorder: Journal | None = None
        """The journal if connections call it for each turn; None if there is no journal, or if `route` calls it."""
        self.route: Serve
        """Serve a request; see `_serve`."""
        self.encode_delayed: Encode
        """Encode the response of the connection's delayed request.

        Append it to a list of chunks, and return its size.
        """
        self._on_response: Callable[[Response | None, Context], None] | None
        """Called with each response before it is encoded; see `Throttle.end`."""
        self._routes: dict[int, Route] = {}
        self._cache = ResponseCache(broker.node.metadata.revision)
        self._working: set[Task[Any]] = set()
        """Requests with a coroutine handler that is still running."""
        self.hooks = Hooks(broker, self._choose)
        self._choose()

    @property
    def is_busy(self) -> bool:
        """Whether a long request is being processed, rather than just waiting."""
        return any(work.is_working for work in self._working)

    def close(self) -> None:
        """Stop the handlers that are still running."""
        for work in list(self._working):
            work.stop()

    def context(self, client: Client, peer: tuple[str, int], listener: str) -> Context:
        """Return the context for the requests of a new connection."""
        if _REQUESTS.isEnabledFor(logging.DEBUG) is (self.hooks.request_log is None):
            self._log_requests()
        return Context(self.broker, client, peer, listener)

    def _log_requests(self) -> None:
        """Start to log requests, or stop."""
        from .request_log import RequestLog

        self.hooks.request_log = RequestLog if self.hooks.request_log is None else None

    def _choose(self) -> None:
        """Adapt to a change of the hooks, so that unused ones cost nothing."""
        hooks = self.hooks
        self._is_plain, self._intercept = self.broker.is_plain, hooks.intercept
        self.route, self.encode_delayed, self._on_response, self.recorder = (
            self._serve,
            self._encode_delayed,
            None,
            None,
        )
        if hooks.throttle is not None:
            self.route, self._on_response = partial(self._serve_throttled, hooks.throttle), hooks.throttle.end
        if hooks.request_log is not None:
            log = hooks.request_log(self.route, self._on_response)
            self.route, self._on_response = log.route, log.end
        if hooks.journal is not None:
            if hooks.shaping is None:
                self.recorder = hooks.journal
                self.encode_delayed = hooks.journal.attach_finish(self.encode_delayed)
            else:  # the journal gets the responses as they were before
                self.route, self.encode_delayed = hooks.journal.attach(self.route, self.encode_delayed)
        if hooks.shaping is not None:
            self.route, self.encode_delayed = hooks.shaping.wrap(self.route, self.encode_delayed)

    def _serve_throttled(
        self, throttle: Throttle, frame: bytes | bytearray, context: Context, out: list[Chunk]
    ) -> int | Delayed[Response]:
        throttle.begin(context, len(frame))
        answer = self._serve(frame, context, out)
        if not isinstance(answer, int):
            throttle.pause(context)
        return answer

    def _serve(self, frame: bytes | bytearray, context: Context, out: list[Chunk]) -> int | Delayed[Response]:
        """Serve a request. The chunks of the response are appended to `out`, and its size is returned (0: no response).

        If the response is delayed, return its `Delayed`, whose result must be passed to `encode_delayed`. Raises
        CloseConnection and DecodeError if the client is at fault; any other exception is a bug.
        """
        is_plain = self._is_plain
        if is_plain and (repetitions := context.repetitions) is not None:
            size = repetitions.answer(frame, context, out)
            if size is not None:
                return size
        route, end = self._read_header(frame, context)
        key: CacheKey | None = None
        if (
            is_plain
            and route.is_cacheable is not None
            and context.authenticator is None
            and len(frame) - end <= MOST_KEY_BYTES
        ):
            key = route, context.listener, bytes(frame[end:])
            if size := self._append_cached(key, route, context, out):
                return size
        if len(frame) > DECODED_AT_ONCE and not _is_decoded_at_once(route.api, len(frame)):
            answer = self._start(self._decode_and_handle(frame, end, route, context))
        else:
            answer = self._handle(route.decode(frame, route.version, end), route, context)
        if isinstance(answer, Delayed):
            if answer.is_waiting:
                if route.api is Api.PRODUCE:
                    context.request = None  # because its records would keep the frame in memory
                return answer
            answer = answer.result()
        if key is None:
            return self._encode(answer, route, context, out)
        return self._encode_and_cache(key, answer, route, context, out)

    def _read_header(self, frame: bytes | bytearray, context: Context) -> tuple[Route, int]:
        """Decode the header of a request into `context`. Return its route, and where the message begins."""
        try:
            number, correlation_id, length = _HEADER.unpack_from(frame)
        except struct.error as problem:
            raise CloseConnection(f"request header in {counted(len(frame), 'byte')}: {problem}") from problem
        route = self._routes.get(number)
        if route is None:
            context.route = None  # so that an error from here on is not attributed to the previous request
            route = self._resolve(number)
        try:
            end = 10 + length if length > 0 else 10  # negative means null: -1 in the protocol, any other value in Kafka
            context.client_id = str(frame[10:end], "utf-8", REPLACE)
            if route.flexible:
                end = skip_tags(frame, end) if frame[end] else end + 1
            if end > len(frame):
                raise DecodeError(f"{counted(end - len(frame), 'byte')} missing")
        except (IndexError, DecodeError) as problem:
            raise CloseConnection(f"request header in {counted(len(frame), 'byte')}: {problem}") from problem
        context.route = route
        context.api = route.api
        context.version = route.version
        context.correlation_id = correlation_id
        return route, end

    def _append_cached(self, key: CacheKey, route: Route, context: Context, out: list[Chunk]) -> int:
        """Append the cached response to `out` and return its size; 0 if there is none."""
        cached = self._cache.get(key)
        if cached is None:
            return 0
        size = len(cached) + route.header_size
        out += route.close_frame(size, context.correlation_id), cached
        return size + 4

    def _encode_and_cache(self, key: CacheKey, answer: Any, route: Route, context: Context, out: list[Chunk]) -> int:
        body = len(out) + 1
        size = self._encode(answer, route, context, out)
        assert route.is_cacheable is not None
        if isinstance(answer, Response) and route.is_cacheable(answer):
            self._cache.add(key, b"".join(cast(list[Buffer], out[body:])))
        return size

    def _handle(self, request: Any, route: Route, context: Context) -> Any:
        context.request = request
        try:
            if self._intercept is None:
                answer = route.handle(request, context)
            else:
                answer = self._intercept(request, context, route.handle)
        except KafkaError as refused:
            answer = route.refuse(request, context, refused)
        if answer.__class__ is CoroutineType:
            answer = self._start(self._in_turns(answer, request, route, context))
        return answer

    async def _decode_and_handle(
        self, frame: bytes | bytearray, start: int, route: Route, context: Context
    ) -> Response | Encoded | None:
        with memoryview(frame):  # keeps ReceiveBuffer.give_back from reusing the memory
            request = await in_thread(partial(route.decode, frame, route.version, start))
        answer = self._handle(request, route, context)
        return await until(answer) if isinstance(answer, Delayed) else answer

    def _encode_delayed(self, answer: Response | Encoded | None, context: Context, out: list[Chunk]) -> int:
        return self._encode(answer, cast(Route, context.route), context, out)

    def _encode(self, answer: Response | Encoded | None, route: Route, context: Context, out: list[Chunk]) -> int:
        if isinstance(answer, Encoded):
            pieces, size = answer
        else:
            if self._on_response is not None:
                self._on_response(answer, context)
            if answer is None:
                context.request = None
                return 0
            pieces = [b""]
            try:
                answer.encode_into(pieces, route.version)
            except EncodeError as problem:
                pieces = self._refuse_unwritable(problem, route, context)
            if route.api in _WITH_RECORDS:  # which may be in a file
                size = sum(map(len, pieces))
            else:  # joining takes less time than counting bytes, and leaves fewer chunks to the connection
                body = b"".join(cast(list[Buffer], pieces))
                pieces, size = [b"", body], len(body)
        context.request = None
        size += route.header_size
        pieces[0] = route.close_frame(size, context.correlation_id)
        out += pieces
        return size + 4

    def _refuse_unwritable(self, problem: EncodeError, route: Route, context: Context) -> list[Chunk]:
        """Return UNKNOWN_SERVER_ERROR in place of a response that cannot be encoded.

        Such a response contains an error message that quotes a long value from the request. Raises CloseConnection if
        the error cannot be encoded either.
        """
        _LOG.error("%s: cannot encode the response: %s", route, shown(problem))
        try:
            if context.request is None:
                raise problem
            refusal = route.refuse(context.request, context, KafkaError(Code.UNKNOWN_SERVER_ERROR))
            assert isinstance(refusal, Response)
            return refusal.encode_into([b""], route.version)
        except EncodeError as again:
            raise CloseConnection(f"cannot encode the response to {route}: {again}") from again

    def _resolve(self, number: int) -> Route:
        """Create the route of an API version that is requested for the first time."""
        key, version = number >> 16, (number & 0xFFFF ^ 0x8000) - 0x8000
        api = BY_KEY.get(key)
        if api is None:
            raise CloseConnection(f"unknown API key {key}")
        served = self.broker.api_versions.get(api)
        if served is None:
            raise CloseConnection(f"{api} is not served")
        lowest, highest = served
        if not lowest <= version <= highest:
            if api is Api.API_VERSIONS:
                return _unsupported_api_versions(version, served)
            raise CloseConnection(f"{api} v{version} is not served, only v{lowest} to v{highest}")
        module = import_module(f"kafkalet.broker.apis.{api.module}")
        refuse = getattr(module, "refuse", _refuse)
        handle = module.handle
        is_cacheable = getattr(module, "is_cacheable", None)
        if api in FORWARDED:
            handle = partial(_forward, handle)
        if self.broker.node.is_read_only and api in CHANGING:

            def refuse_changes(request: Any, context: Context) -> NoReturn:
                raise read_only_error(api)

            handle, is_cacheable = refuse_changes, None
        route = self._routes[number] = Route(api, version, request_type(api).decode, handle, refuse, is_cacheable)
        return route

    async def _in_turns(
        self, work: Coroutine[Any, Any, Any], request: Any, route: Route, context: Context
    ) -> Response | Encoded | None:
        """Run the coroutine of a handler. A response that took more than one turn is encoded in a thread."""
        try:
            answer = await work
        except KafkaError as refused:
            answer = route.refuse(request, context, refused)
        if isinstance(answer, Delayed):
            return cast(Response | None, await until(answer))
        if answer is None or not await has_yielded():
            return cast(Response | None, answer)
        if self._on_response is not None:
            self._on_response(answer, context)
        try:
            encoded = await in_thread(partial(_encode_long, answer, route.version), droppable=True)
        except EncodeError as problem:
            pieces = self._refuse_unwritable(problem, route, context)
            return Encoded(pieces, sum(map(len, pieces)))
        await _free_in_steps(cast(Response, answer))
        return encoded

    def _start(self, work: Coroutine[Any, Any, Any]) -> Any:
        return start(work, self.broker.node.turns, self.broker.node.workers, self._working)


def _refuse(request: Request, context: Context, error: KafkaError) -> Response | None:
    from .error_responses import error_response  # imported with the first error

    return error_response(request, context, error)


def _forward(handle: Handler, request: Any, context: Context) -> Any:
    """Handle a request for the controller, when it is reached (NodeToControllerChannelManagerImpl)."""
    node = context.node
    reaches = partial(context.controller.leadership.reaches_controller, node.node_id)

    async def wait() -> Any:
        if not await until(node.purgatory.park([CONTROLLER], FORWARD_TIMEOUT_MS, lambda: reaches() or None, reaches)):
            raise KafkaError(Code.REQUEST_TIMED_OUT)
        answer = handle(request, context)
        return await answer if answer.__class__ is CoroutineType else answer

    return handle(request, context) if reaches() else wait()


def _unsupported_api_versions(version: int, served: tuple[int, int]) -> Route:
    """Return a route that answers ApiVersions in an unsupported version. It is not cached."""
    from kafkalet.protocol.messages.api_versions import ApiVersionsResponse

    lowest, highest = served
    own = ApiVersionsResponse.ApiVersion(api_key=Api.API_VERSIONS, min_version=lowest, max_version=highest)
    answer = ApiVersionsResponse(
        error_code=Code.UNSUPPORTED_VERSION,
        api_keys=[own] if highest >= 3 else [],  # KIP-511 introduced version 3
    )
    route = Route(Api.API_VERSIONS, 0, lambda frame, version, start: None, lambda request, context: answer, _refuse)
    route.flexible = version in Api.API_VERSIONS.flexible  # for the header of the request
    return route
