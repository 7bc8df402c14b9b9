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
from itertools import chain
from operator import itemgetter
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
BLOCK_REQUESTS = 64
"""The ring consists of blocks of this many requests, so that most of the work is done once for many requests."""

_REQUEST, _RESPONSE, _CONNECTION_AND_ROUTE = itemgetter(3), itemgetter(5), itemgetter(2, 6)
_FETCH = Api.FETCH  # a lookup in an enum class is slow

Route = Callable[[bytes | bytearray, "Context", list[Chunk]], int | Delayed[Any]]
Finish = Callable[[Any, "Context", list[Chunk]], int]


Entry = tuple[Any, ...]
"""An `Exchange`, or its first fields with the response as it was sent and the `Route`: a plain tuple is cheaper."""


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
        self._block_requests = max(1, min(BLOCK_REQUESTS, most_requests // 8))
        self._full_at = self._block_requests
        """The number of new requests that are added to the ring together: 1 while there are listeners."""
        self._new: list[Entry] = []
        """The requests since the last block."""
        self._blocks: deque[tuple[list[Entry], int]] = deque()
        """The ring: blocks of requests, oldest first, with their sizes in bytes."""
        self._requests = 0
        self._bytes = 0
        """The number of requests in the blocks, and their size."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._waiting: dict[Context, tuple[float, Kept, int]] = {}
        self._sequence = 0  # the number of requests that have left the ring, through drops or `clear`
        self._listeners: tuple[Callable[[Exchange], None], ...] = ()

    @property
    def bytes_held(self) -> int:
        """The approximate memory that the ring uses."""
        self._add_block()
        return self._bytes

    # Reading

    def exchanges(self) -> list[Exchange]:
        """Return the requests in the order in which they arrived, including those that still wait."""
        entries = chain(chain.from_iterable(block for block, _ in self._blocks), self._new)
        found = [*map(_exchange, entries), *self.waiting()]
        found.sort(key=lambda exchange: exchange.began_s)
        return found

    def since(self, sequence: int) -> tuple[list[Exchange], int]:
        """Return the requests that were completed after an earlier call, and the `sequence` for the next call.

        The first call passes 0. Requests that were dropped in between are missing.
        """
        now = self._sequence + self._requests + len(self._new)
        parts = [self._new]
        missing = now - sequence - len(self._new)
        for block, _ in reversed(self._blocks):
            if missing <= 0:
                break
            parts.append(block)
            missing -= len(block)
        entries = list(chain.from_iterable(reversed(parts)))
        return [_exchange(entry) for entry in entries[max(0, len(entries) - (now - sequence)) :]], now

    def counts(self) -> Counter[tuple[str, str]]:
        """Return the number of all requests by API and client id, including those that were dropped from the ring."""
        self._add_block()
        counts = self._counts.copy()
        counts.update((exchange.api, exchange.client_id) for exchange in self.waiting())
        return counts

    def waiting(self) -> list[Exchange]:
        """Return the requests that have no response yet."""
        return [self._waiting_exchange(context) for context in self._waiting]

    def _waiting_exchange(self, context: Context) -> Exchange:
        began_s, request, size = self._waiting[context]
        return Exchange(began_s, None, self._connection(context), request, size, None, True)

    def clear(self) -> None:
        """Forget all requests and counts. Requests that still wait remain."""
        self._sequence += self._requests + len(self._new)
        self._new.clear()
        self._blocks.clear()
        self._requests = self._bytes = 0
        self._counts.clear()
        self.unsupported.clear()
        self.dropped_until_s = 0.0

    def close(self) -> None:
        """Free everything, because the brokers have stopped."""
        self.clear()
        self._waiting.clear()
        self.connections.clear()
        self._set_listeners(())

    def listen(self, listener: Callable[[Exchange], None]) -> Callable[[], None]:
        """Call `listener` with each request that is completed or begins to wait. Return a function that ends this."""
        self._set_listeners((*self._listeners, listener))
        return lambda: self._set_listeners(tuple(each for each in self._listeners if each is not listener))

    def _set_listeners(self, listeners: tuple[Callable[[Exchange], None], ...]) -> None:
        self._add_block()
        self._listeners = listeners
        self._full_at = 1 if listeners else self._block_requests

    # Recording

    def attach(self, route: Route, finish: Finish, turns: Turns) -> tuple[Route, Finish]:
        """Return variants of the router's `route` and `finish` that also record the requests.

        The first one runs for each request, so it leaves as much as possible to `_add_block`.
        """
        new, append, now_s = self._new, self._new.append, elapsed_s
        last_s = 0.0

        def journaled_route(frame: bytes | bytearray, context: Context, out: list[Chunk]) -> int | Delayed[Any]:
            nonlocal last_s
            request = frame if frame.__class__ is bytes else _beginning(frame)  # Produce is changed in place
            start = len(out)
            try:
                size = route(frame, context, out)
            except Exception as problem:
                self._refused(turns.began_s, context, frame, problem)
                raise
            if size.__class__ is not int:
                self._wait(turns.began_s, context, frame, request)
                return size
            data = None if not size else _sent(out, start, size, context.api)
            connection = context.journaled
            if connection is None or connection.client_id != context.client_id:
                connection = self._connection(context)
            began_s = turns.began_s
            if last_s > began_s:  # not the first request of this turn
                began_s = last_s
            last_s = now_s()
            append((began_s, last_s, connection, request, len(frame), data, context.route))
            if len(new) >= self._full_at:
                self._add_block()
            return size

        return journaled_route, self._journaled_finish(finish)

    def _journaled_finish(self, finish: Finish) -> Finish:
        def journaled_finish(answer: Any, context: Context, out: list[Chunk]) -> int:
            start = len(out)
            try:
                size = finish(answer, context, out)
            except Exception as problem:
                self._left(context, _reason(problem))
                raise
            if context in self._waiting:
                began_s, request, request_bytes = self._waiting.pop(context)
                data = _sent(out, start, size, context.api) if size else None
                entry = began_s, elapsed_s(), self._connection(context), request, request_bytes, data, context.route
                self._append(_exchange(entry)._replace(has_waited=True))
            return size

        return journaled_finish

    def _connection(self, context: Context) -> ConnectionFacts:
        """Return what is known about the connection. There is one value for each client id that it has used."""
        connection = context.journaled
        if connection is None or connection.client_id != context.client_id:
            opened_s = elapsed_s() if connection is None else connection.opened_s
            connection = context.journaled = self.connections[context] = ConnectionFacts(
                context.number,
                context.client_id,
                context.peer,
                context.node.node_id,
                context.listener,
                opened_s,
                context.metadata,
            )
        return connection

    def closed(self, context: Context, reason: str) -> None:
        """Record that a connection was closed, with the request that was waiting, if any."""
        connection = self.connections.get(context)
        if connection is None:
            return
        self._left(context, reason and f"connection closed: {reason}")
        connection.closed_s = elapsed_s()
        connection.close_reason = reason
        del self.connections[context]
        context.journaled = None

    def _wait(self, began_s: float, context: Context, frame: Kept, request: Kept) -> None:
        self._waiting[context] = began_s, _shortened(request), len(frame)
        self._connection(context)
        if self._listeners:
            self._tell(self._waiting_exchange(context))

    def _left(self, context: Context, reason: str) -> None:
        """Record a waiting request that gets no response, because its connection is closed."""
        if context in self._waiting:
            began_s, request, size = self._waiting.pop(context)
            reason = reason or "the connection was closed before the response"
            self._append(Exchange(began_s, elapsed_s(), self._connection(context), request, size, reason, True))

    def _refused(self, began_s: float, context: Context, frame: Kept, problem: Exception) -> None:
        """Record a request that closes its connection."""
        context.client_id = _client_id(frame)
        self._count_unsupported(context.client_id, frame, context)
        request = _shortened(_beginning(frame))
        self._append(
            Exchange(began_s, elapsed_s(), self._connection(context), request, len(frame), _reason(problem), False)
        )

    def _append(self, exchange: Exchange) -> None:
        self._new.append(exchange)
        if len(self._new) >= self._full_at:
            self._add_block()

    def _add_block(self) -> None:
        """Add the new requests to the ring and to the counts, and drop the oldest requests if there are too many."""
        block = self._new.copy()
        if not block:
            return
        self._new.clear()
        size = _block_bytes(block)
        if size > KEPT_BYTES:  # perhaps due to a single message
            block = list(map(_shorter, block))
            size = _block_bytes(block)
        size += OVERHEAD_BYTES * len(block)
        for (connection, route), count in Counter(map(_CONNECTION_AND_ROUTE, block)).items():
            if not isinstance(route, bool):
                self._counts[route.api.title, connection.client_id] += count
        self._counts.update([(entry.api, entry.client_id) for entry in block if isinstance(entry, Exchange)])
        self._blocks.append((block, size))
        self._requests += len(block)
        self._bytes += size
        for listener in self._listeners:
            for entry in block:
                listener(_exchange(entry))
        while self._blocks and (
            self._bytes > self.most_bytes or self._requests + self._block_requests > self.most_requests
        ):
            dropped, size = self._blocks.popleft()
            self._requests -= len(dropped)
            self._bytes -= size
            self._sequence += len(dropped)
            self.dropped_until_s = max(self.dropped_until_s, dropped[-1][0])

    def _tell(self, exchange: Exchange) -> None:
        for listener in self._listeners:
            listener(exchange)

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


def _exchange(entry: Entry) -> Exchange:
    if isinstance(entry, Exchange):
        return entry
    began_s, ended_s, connection, request, size, data, route = entry
    head_bytes = route.header_size + 4
    if isinstance(data, bytes):
        answer: KeptResponse = data[head_bytes:]
    else:
        answer = None if data is None else data[1:]  # the first part is the header
    return Exchange(began_s, ended_s, connection, request, size, answer, False)


def _beginning(frame: bytes | bytearray) -> Kept:
    """Return a copy of a Produce request, or of the beginning of a large one."""
    return frame[:WHOLE_BYTES] if len(frame) <= WHOLE_BYTES else frame[:PRODUCE_KEPT_BYTES]


def _shortened(request: Kept) -> Kept:
    return request if len(request) <= KEPT_BYTES else request[:PRODUCE_KEPT_BYTES]


def _sent(out: list[Chunk], start: int, size: int, api: Api) -> bytes | list[bytes | int]:
    """Return what is kept of a response. Small chunks are joined in `out`, which the connection would do anyway."""
    if size <= RECORDS_BYTES or (size <= KEPT_BYTES and api is not _FETCH):
        try:
            data = b"".join(out[start:])  # type: ignore[arg-type]
        except TypeError:  # some chunks are file ranges
            pass
        else:
            out[start:] = (data,)
            return data
    return [chunk if chunk.__class__ is bytes and len(chunk) <= RECORDS_BYTES else len(chunk) for chunk in out[start:]]


def _block_bytes(block: list[Entry]) -> int:
    """Return the number of bytes of requests and responses in a block."""
    responses = sum([len(data) if data.__class__ is bytes else _size(data) for data in map(_RESPONSE, block)])
    return sum(map(len, map(_REQUEST, block))) + responses


def _size(data: Any) -> int:
    """Return the number of bytes that are kept of a response."""
    if data.__class__ is list:
        return sum([len(part) for part in data if part.__class__ is bytes])
    return 0 if data is None else len(data)


def _shorter(entry: Entry) -> Entry:
    """Return an entry without a request or a response that is too large to be kept."""
    if len(entry[3]) <= KEPT_BYTES and _size(entry[5]) <= KEPT_BYTES:
        return entry
    began_s, ended_s, connection, request, size, _, has_waited = _exchange(entry)
    answer: KeptResponse = [0] if _size(entry[5]) > KEPT_BYTES else _exchange(entry).answer
    return Exchange(began_s, ended_s, connection, _shortened(request), size, answer, has_waited)


def _client_id(frame: Kept) -> str:
    """Return the client id from the header of a request that was not served."""
    length = int.from_bytes(frame[8:10], "big", signed=True)
    return str(frame[10 : 10 + length], "utf-8", "replace") if length > 0 else ""


def _reason(problem: Exception) -> str:
    from .request_text import refusal_text

    return refusal_text(problem)
