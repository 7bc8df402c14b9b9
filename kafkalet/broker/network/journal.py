"""The journal: the last requests of all clients with their responses, for test suites and `serve --journal`.

    client ──> Journal.route ──> Router.route ──> response        kept as bytes, and decoded only when it is read
                    └── ring of the last requests (exchange.py)

The router calls the journal only while one is attached (`Router.journal`), and a request costs a fraction of a
microsecond: its frame and its response are kept as they are, without decoding. Three things are not kept, so that the
journal neither holds much memory nor keeps files open:

* the end of a large Produce request: only its first bytes are kept, and its size;
* records in Fetch responses: only their sizes are kept;
* other messages of more than KEPT_BYTES.

The ring is limited in requests and in bytes. The oldest requests are dropped, but they are still counted by API and
client. Requests for unsupported APIs and versions are counted separately and never dropped.

The journal is used only in the event loop of its brokers. Its times are those of `elapsed_s`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import SystemClock, elapsed_s
from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.wire import Chunk

from .exchange import ConnectionFacts, Exchange, Kept, KeptResponse

if TYPE_CHECKING:
    from kafkalet.broker.context import Context
    from kafkalet.broker.scheduling.turns import Turns

MOST_REQUESTS = 10_000
MOST_BYTES = 8 * 1024 * 1024
KEPT_BYTES = 64 * 1024
"""A larger message is not kept: it could not be decoded quickly."""
WHOLE_BYTES = 4096
"""A Produce request of at most this size is kept as a whole."""
PRODUCE_KEPT_BYTES = 1024
"""Of a larger Produce request, this many bytes are kept."""
RECORDS_BYTES = 512
"""Records in a Fetch response of at most this size are kept."""
OVERHEAD_BYTES = 400
"""The approximate memory for a request in the ring, beside its bytes."""
MOST_UNSUPPORTED = 1000
"""Most different unsupported requests that are counted, in case a client sends random ones."""
_KEPT_BYTES_AT = Exchange._fields.index("kept_bytes")
_DROPPED_PART = 16  # this part of the ring is dropped at once

Route = Callable[[bytes | bytearray, "Context", list[Chunk]], int | Delayed[Any]]
Finish = Callable[[Any, "Context", list[Chunk]], int]


class Unsupported(NamedTuple):
    """A request that the broker does not serve."""

    client_id: str
    api: str
    """The name of the API, or its key if Kafka has no such API."""
    version: int
    served: str
    """What is served instead, such as "versions 0 to 11", or "" if the API is not served at all."""


class Journal:
    """The last requests of the clients of one or more brokers. See the module."""

    def __init__(self, most_requests: int = MOST_REQUESTS, most_bytes: int = MOST_BYTES) -> None:
        self.most_requests = most_requests
        self.most_bytes = most_bytes
        self.dropped_until_s = 0.0
        """The time at which the last dropped request began; 0 if none was dropped."""
        self.unsupported: Counter[Unsupported] = Counter()
        self.connections: dict[Context, ConnectionFacts] = {}
        """The open connections that have sent a request."""
        self.began_ms = SystemClock().now_ms() - elapsed_s() * 1000
        """The time, in milliseconds since 1970, at which `elapsed_s` was 0."""
        self._ring: deque[tuple[Any, ...]] = deque()  # the fields of each `Exchange`
        self._bytes = 0
        self._counts: Counter[tuple[str, str]] = Counter()  # of the connections that are closed, and of failed requests
        self._waiting: dict[Context, tuple[float, Kept, int]] = {}
        self._sequence = 0  # the number of requests that have left the ring, through drops or `clear`
        self._listeners: tuple[Callable[[Exchange], None], ...] = ()

    @property
    def bytes_held(self) -> int:
        """The approximate memory that the ring uses."""
        return self._bytes

    # Reading

    def exchanges(self) -> list[Exchange]:
        """Return the requests in the order in which they arrived, including those that still wait."""
        found = [Exchange._make(each) for each in self._ring]
        found += self.waiting()
        found.sort(key=lambda exchange: exchange.began_s)
        return found

    def since(self, sequence: int) -> tuple[list[Exchange], int]:
        """Return the requests that were completed after an earlier call, and the `sequence` for the next call.

        The first call passes 0. Requests that were dropped in between are missing.
        """
        start = max(0, sequence - self._sequence)
        return [Exchange._make(each) for each in islice(self._ring, start, None)], self._sequence + len(self._ring)

    def counts(self) -> Counter[tuple[str, str]]:
        """Return the number of all requests by API and client id, including those that were dropped from the ring."""
        counts = self._counts.copy()
        for connection in self.connections.values():
            counts += connection.counted()
        counts.update((exchange.api, exchange.client_id) for exchange in self.waiting())
        return counts

    def waiting(self) -> list[Exchange]:
        """Return the requests that have no response yet."""
        return [self._waiting_exchange(context) for context in self._waiting]

    def _waiting_exchange(self, context: Context) -> Exchange:
        began_s, request, size = self._waiting[context]
        return Exchange(began_s, None, self.connections[context], context.client_id, request, size, None, 0, True)

    def clear(self) -> None:
        """Forget all requests and counts. Requests that still wait remain."""
        self._sequence += len(self._ring)
        self._ring.clear()
        self._bytes = 0
        self._counts.clear()
        for connection in self.connections.values():
            connection.counts.clear()
        self.unsupported.clear()
        self.dropped_until_s = 0.0

    def close(self) -> None:
        """Free everything, because the brokers have stopped."""
        self.clear()
        self._waiting.clear()
        self.connections.clear()
        self._listeners = ()

    def listen(self, listener: Callable[[Exchange], None]) -> Callable[[], None]:
        """Call `listener` with each request that is completed or begins to wait. Return a function that ends this."""
        self._listeners += (listener,)

        def end() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not listener)

        return end

    # Recording

    def attach(self, route: Route, finish: Finish, turns: Turns) -> tuple[Route, Finish]:
        """Return variants of the router's `route` and `finish` that also record the requests."""
        ring, waiting = self._ring, self._waiting  # local names, because this runs for each request
        now_s, most_requests, most_bytes = elapsed_s, self.most_requests, self.most_bytes
        last_s = 0.0

        def journaled_route(frame: bytes | bytearray, context: Context, out: list[Chunk]) -> int | Delayed[Any]:
            nonlocal last_s
            began_s = turns.began_s
            if last_s > began_s:  # not the first request of this turn
                began_s = last_s
            connection = context.journaled or self._opened(context)
            counts = connection.counts
            kept = size = len(frame)
            start = len(out)
            if size <= WHOLE_BYTES:
                request = frame[
                    :WHOLE_BYTES
                ]  # a copy of a Produce request, which is changed in place; others are bytes
            else:
                request = _shortened(frame)
                kept = len(request)
            try:
                answer = route(frame, context, out)
            except Exception as problem:
                self._refused(began_s, context, request, size, problem)
                raise
            if answer.__class__ is not int:
                waiting[context] = began_s, request, size
                if self._listeners:
                    self._tell(self._waiting_exchange(context))
                return answer
            response: KeptResponse = None
            if answer:
                response, added = _response(out, start, answer, context.api)
                kept += added
            kept += OVERHEAD_BYTES
            self._bytes += kept
            key = context.api._value_
            try:
                counts[key] += 1
            except KeyError:
                counts[key] = 1
            if connection.client_id != context.client_id:
                self._renamed(connection, context)
            last_s = now_s()
            ring.append((began_s, last_s, connection, context.client_id, request, size, response, kept, False))
            if self._listeners:
                self._tell(Exchange._make(ring[-1]))
            if self._bytes > most_bytes or len(ring) > most_requests:
                self._drop()
            return answer

        return journaled_route, self._recording_finish(finish)

    def _recording_finish(self, finish: Finish) -> Finish:
        def journaled_finish(answer: Any, context: Context, out: list[Chunk]) -> int:
            start = len(out)
            try:
                size = finish(answer, context, out)
            except Exception as problem:
                self._left(context, _reason(problem))
                raise
            if context in self._waiting:
                began_s, request, request_size = self._waiting.pop(context)
                response, kept = _response(out, start, size, context.api) if size else (None, 0)
                kept += len(request)
                self._append(began_s, context, context.client_id, request, request_size, response, kept, True)
            return size

        return journaled_finish

    def closed(self, context: Context, reason: str) -> None:
        """Record that a connection was closed, with the request that was waiting, if any."""
        connection = self.connections.get(context)
        if connection is None:
            return
        self._left(context, reason and f"connection closed: {reason}")
        self._counts += connection.counted()
        connection.counts.clear()
        connection.closed_s = elapsed_s()
        connection.close_reason = reason
        del self.connections[context]
        if context.journaled is connection:
            context.journaled = None

    def _opened(self, context: Context) -> ConnectionFacts:
        connection = context.journaled = self.connections[context] = ConnectionFacts(
            context.number, context.peer, context.node.node_id, context.listener, elapsed_s(), context.metadata
        )
        return connection

    def _renamed(self, connection: ConnectionFacts, context: Context) -> None:
        """Handle a connection whose client id changes: the last request, counted already, is that of the new client."""
        if connection.client_id is not None:
            connection.counts[int(context.api)] -= 1
            self._counts += connection.counted()
            connection.counts.clear()
            connection.counts[int(context.api)] = 1
        connection.client_id = context.client_id

    def _append(
        self,
        began_s: float,
        context: Context,
        client_id: str,
        request: Kept,
        size: int,
        response: KeptResponse,
        kept_bytes: int,
        has_waited: bool,
    ) -> None:
        connection = context.journaled or self._opened(context)
        kept_bytes += OVERHEAD_BYTES
        self._bytes += kept_bytes
        exchange = Exchange(
            began_s, elapsed_s(), connection, client_id, request, size, response, kept_bytes, has_waited
        )
        self._counts[exchange.api, client_id] += 1
        self._ring.append(exchange)
        if self._listeners:
            self._tell(exchange)
        if self._bytes > self.most_bytes or len(self._ring) > self.most_requests:
            self._drop()

    def _left(self, context: Context, reason: str) -> None:
        """Record a waiting request that gets no response, because its connection is closed."""
        if context in self._waiting:
            began_s, request, size = self._waiting.pop(context)
            reason = reason or "the connection was closed before the response"
            self._append(began_s, context, context.client_id, request, size, reason, len(request), True)

    def _refused(self, began_s: float, context: Context, request: Kept, size: int, problem: Exception) -> None:
        """Record a request that closes its connection."""
        client_id = _client_id(request)
        self._count_unsupported(client_id, request, context)
        self._append(began_s, context, client_id, request, size, _reason(problem), len(request), False)

    def _count_unsupported(self, client_id: str, request: Kept, context: Context) -> None:
        if len(request) < 4:
            return
        key, version = int.from_bytes(request[:2], "big", signed=True), int.from_bytes(request[2:4], "big", signed=True)
        api = BY_KEY.get(key)
        served = context.broker.api_versions.get(api) if api is not None else None
        if served is not None and served[0] <= version <= served[1]:
            return
        what = "" if served is None else f"versions {served[0]} to {served[1]}"
        unsupported = Unsupported(client_id, f"API {key}" if api is None else str(api), version, what)
        if unsupported in self.unsupported or len(self.unsupported) < MOST_UNSUPPORTED:
            self.unsupported[unsupported] += 1

    def _drop(self) -> None:
        """Drop the oldest requests. Several are dropped at once, so that this is rarely called."""
        ring = self._ring
        before = len(ring)
        most_requests = self.most_requests - self.most_requests // _DROPPED_PART
        most_bytes = self.most_bytes - self.most_bytes // _DROPPED_PART
        while ring and (len(ring) > most_requests or self._bytes > most_bytes):
            oldest = ring.popleft()
            self._bytes -= oldest[_KEPT_BYTES_AT]
            self.dropped_until_s = max(self.dropped_until_s, oldest[0])
        self._sequence += before - len(ring)

    def _tell(self, exchange: Exchange) -> None:
        for listener in self._listeners:
            listener(exchange)


def _shortened(frame: bytes | bytearray) -> Kept:
    """Return the part of a large request that is kept."""
    if frame[:2] == b"\0\0":  # Produce
        return frame[:PRODUCE_KEPT_BYTES]
    return frame if len(frame) <= KEPT_BYTES else frame[:PRODUCE_KEPT_BYTES]


def _response(out: list[Chunk], start: int, size: int, api: Api) -> tuple[KeptResponse, int]:
    """Return what is kept of a response, and its size. The first chunk is the header, which is not needed."""
    pieces = out[start + 1 :]
    most = RECORDS_BYTES if api is Api.FETCH else KEPT_BYTES
    if size <= most:
        try:
            return b"".join(pieces), size  # type: ignore[arg-type]
        except TypeError:  # some chunks are file ranges
            pass
    parts = [piece if piece.__class__ is bytes and len(piece) <= most else len(piece) for piece in pieces]
    kept = sum([len(part) for part in parts if part.__class__ is bytes])
    return (parts, kept) if kept <= KEPT_BYTES else ([size], 0)


def _client_id(frame: Kept) -> str:
    """Return the client id from the header of a request that was not served."""
    length = int.from_bytes(frame[8:10], "big", signed=True)
    return str(frame[10 : 10 + length], "utf-8", "replace") if length > 0 else ""


def _reason(problem: Exception) -> str:
    from .request_text import refusal_text

    return refusal_text(problem)
