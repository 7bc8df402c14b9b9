"""The journal: the last requests of all clients with their responses, for test suites and `serve --journal`.

    Connection ──> Journal.new ──> ring of the last turns ──> exchanges      split and decoded only when they are read

A connection records its requests once per turn, and only while a journal is attached (`Router.recorder`). The received
and sent bytes of the turn are kept unchanged. They are split into requests and responses (splitting.py) and decoded
(exchange.py) only when the journal is read, because that can cost more than serving the requests. The API keys and
client ids are read earlier, for the counts, in blocks of many turns.

Requests are recorded one by one if their turn is large, if their response is delayed, if they close the connection, or
while faults change responses. To limit memory, and to keep no files open, the journal drops parts of large messages:

* of a large Produce request, it keeps only the first bytes and the size;
* of the records in large Fetch responses, it keeps only the sizes;
* it drops other messages of more than KEPT_BYTES.

The ring is limited in requests and in bytes. The oldest requests are dropped, but they are still counted by API and
client. Requests for unsupported APIs and versions are counted separately and never dropped.

The journal is used only in the event loop of its brokers. Its times are values of `elapsed_s`. All requests of a turn
have the same times, because their responses are sent together.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from itertools import chain
from struct import error
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalet.clock import SystemClock, elapsed_s
from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.frame import response_head
from kafkalet.protocol.wire import Chunk
from kafkalet.tasks.delayed import Delayed

from .exchange import ConnectionFacts, Exchange, KeptResponse
from .splitting import Frame, Parts, client_id, frames, pairs, responses

if TYPE_CHECKING:
    from kafkalet.broker.context import Context

MOST_REQUESTS = 10_000
MOST_BYTES = 8 * 1024 * 1024
KEPT_BYTES = 64 * 1024
"""Larger messages are not kept, because they cannot be decoded quickly."""
WHOLE_BYTES = 4096
"""Produce requests up to this size are kept completely."""
PRODUCE_KEPT_BYTES = 1024
"""How many bytes are kept of a larger Produce request."""
RECORDS_BYTES = 512
"""If the turn is not recorded as a whole, records in a Fetch response are kept up to this size."""
OVERHEAD_BYTES = 400
"""The approximate memory for a request in the ring, in addition to its bytes."""
MOST_UNSUPPORTED = 1000
"""The limit for the number of different unsupported requests, in case a client sends random ones."""
BLOCK_TURNS = 64
"""The number of turns in a block. The ring consists of blocks, because it would have too many objects otherwise."""
NEW_BLOCKS = 8
"""How many blocks are built together. This is faster, because code that has just run is still in the CPU's caches."""
FIELDS = 5
_PRODUCE = b"\0\0"

Route = Callable[[Frame, "Context", list[Chunk]], int | Delayed[Any]]
Finish = Callable[[Any, "Context", list[Chunk]], int]


class _Block(NamedTuple):
    """A part of the ring: many turns, in few objects."""

    sources: list[ConnectionFacts | list[Exchange]]
    """The connection of each turn, or its requests if they were recorded one by one."""
    began_s: array[float]
    ended_s: array[float]
    received: bytes
    received_sizes: array[int]
    """The number of bytes of each turn in `received`."""
    sent: bytes
    sent_sizes: array[int]
    requests: int
    size: int
    """The approximate memory of the part, in bytes."""

    def exchanges(self) -> Iterator[Exchange]:
        """Yield the requests in order."""
        at = sent_at = 0
        for source, began_s, ended_s, size, sent_size in zip(
            self.sources, self.began_s, self.ended_s, self.received_sizes, self.sent_sizes, strict=True
        ):
            if isinstance(source, list):
                yield from source
            else:
                received, sent = self.received[at : at + size], self.sent[sent_at : sent_at + sent_size]
                yield from _exchanges(began_s, ended_s, source, frames(received), responses([sent]))
            at += size
            sent_at += sent_size


class Unsupported(NamedTuple):
    """A request that the broker does not serve."""

    client_id: str
    api: str
    """The name of the API, or its key if Kafka has no such API."""
    version: int
    served: str
    """The versions that are served instead, such as "versions 0 to 11", or "" if the API is not served."""


class Journal:
    """The last requests of the clients of one or more brokers. See the docstring of the module."""

    def __init__(self, most_requests: int = MOST_REQUESTS, most_bytes: int = MOST_BYTES) -> None:
        self.most_requests = most_requests
        self.most_bytes = most_bytes
        self.dropped_until_s = 0.0
        """The time at which the last dropped request began; 0 if none was dropped."""
        self.unsupported: Counter[Unsupported] = Counter()
        self._connections: dict[Context, ConnectionFacts] = {}
        self.began_ms = SystemClock().now_ms() - elapsed_s() * 1000
        """The time, in milliseconds since 1970, at which `elapsed_s` was 0."""
        self._block_turns = max(1, min(BLOCK_TURNS, most_requests // 8))
        self.full_at = NEW_BLOCKS * self._block_turns * FIELDS
        """The length of `new` at which `add_new` must be called."""
        self.keeps_turns = True
        """Whether turns may be added to `new`. While there are listeners, `add_turn` must be called for all turns."""
        self.new: list[Any] = []
        """The turns that are not in the ring yet. There are FIELDS items for each one:

        * its context, or a list of its exchanges if they were recorded one by one;
        * when it began and ended;
        * the requests with their sizes, as they were received, and the responses, as they were sent.

        An object for each turn would be more work for the garbage collector than the rest of the journal.
        """
        self._new_bytes = 0
        """The size of the new requests and responses that were recorded one by one."""
        self._blocks: deque[_Block] = deque()
        """The ring, oldest turns first."""
        self._requests = 0
        self._bytes = 0
        """The number of requests in the blocks, and their size."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._waiting: dict[Context, tuple[float, Frame, int]] = {}
        self._sequence = 0  # the number of requests that have left the ring, through drops or `clear`
        self._listeners: tuple[Callable[[Exchange], None], ...] = ()

    @property
    def bytes_held(self) -> int:
        """The approximate memory that the ring uses."""
        self.add_new()
        return self._bytes

    # Reading

    @property
    def connections(self) -> dict[Context, ConnectionFacts]:
        """The open connections that have sent a request."""
        self.add_new()
        return self._connections

    def exchanges(self) -> list[Exchange]:
        """Return the requests in the order in which they arrived, including those in progress."""
        return self.latest(self.most_requests)()

    def latest(self, most: int) -> Callable[[], list[Exchange]]:
        """Return a function that decodes at least the `most` requests that are the latest now.

        It also works after `close`.
        """
        self.add_new()
        blocks, waiting = self._latest_blocks(most), self.waiting()

        def decode() -> list[Exchange]:
            found = [*chain.from_iterable(map(_Block.exchanges, blocks)), *waiting]
            found.sort(key=lambda exchange: exchange.began_s)
            return found

        return decode

    def _latest_blocks(self, requests: int) -> deque[_Block]:
        """Return the blocks that hold this many of the latest requests, or all blocks."""
        found: deque[_Block] = deque()
        for block in reversed(self._blocks):
            if requests <= 0:
                break
            found.appendleft(block)
            requests -= block.requests
        return found

    def since(self, sequence: int) -> tuple[list[Exchange], int]:
        """Return the requests completed since an earlier call, and the `sequence` for the next call.

        The first call passes 0. Requests that were dropped in between are missing.
        """
        self.add_new()
        now = self._sequence + self._requests
        found = list(chain.from_iterable(map(_Block.exchanges, self._latest_blocks(now - sequence))))
        return found[max(0, len(found) - (now - sequence)) :], now

    def counts(self) -> Counter[tuple[str, str]]:
        """Return the number of requests of each API and client id, including those that were dropped from the ring."""
        self.add_new()
        counts = self._counts.copy()
        counts.update((exchange.api, exchange.client_id) for exchange in self.waiting())
        return counts

    def waiting(self) -> list[Exchange]:
        """Return the requests that have no response yet."""
        return [self._waiting_exchange(context) for context in self._waiting]

    def _waiting_exchange(self, context: Context) -> Exchange:
        began_s, request, size = self._waiting[context]
        return Exchange(began_s, None, self._facts(context), request, size, None, True, context.fault)

    def clear(self) -> None:
        """Forget all requests and counts. Requests in progress remain."""
        self.add_new()
        self._sequence += self._requests
        self._blocks.clear()
        self._requests = self._bytes = 0
        self._counts.clear()
        self.unsupported.clear()
        self.dropped_until_s = 0.0

    def close(self) -> None:
        """Free everything, because the brokers have stopped."""
        self.clear()
        self._waiting.clear()
        self._connections.clear()
        self._set_listeners(())

    def listen(self, listener: Callable[[Exchange], None]) -> Callable[[], None]:
        """Call `listener` with each request that is completed or begins to wait. Return a function that removes it."""
        self._set_listeners((*self._listeners, listener))
        return lambda: self._set_listeners(tuple(each for each in self._listeners if each is not listener))

    def _set_listeners(self, listeners: tuple[Callable[[Exchange], None], ...]) -> None:
        self.add_new()
        self._listeners = listeners
        self.keeps_turns = not listeners

    # Recording

    @staticmethod
    def beginning(frame: Frame) -> Frame:
        """Return the part of a request to keep: a copy of a Produce request, or its beginning if it is large."""
        most = WHOLE_BYTES if frame[:2] == _PRODUCE else KEPT_BYTES
        return frame[: most if len(frame) <= most else PRODUCE_KEPT_BYTES]

    def attach(self, route: Route, finish: Finish) -> tuple[Route, Finish]:
        """Return variants of the router's `route` and `finish` that also record each request."""

        def journaled_route(frame: Frame, context: Context, out: list[Chunk]) -> int | Delayed[Any]:
            request = self.beginning(frame)  # Produce is changed in place
            start = len(out)
            try:
                size = route(frame, context, out)
            except Exception as problem:
                self.refused(context, frame, problem)
                raise
            self.request(context, request, len(frame), out[start:], is_waiting=not isinstance(size, int))
            return size

        return journaled_route, self.attach_finish(finish)

    def attach_finish(self, finish: Finish) -> Finish:
        """Return a variant of the router's `finish` that also records the delayed response."""

        def journaled_finish(answer: Any, context: Context, out: list[Chunk]) -> int:
            start = len(out)
            try:
                size = finish(answer, context, out)
            except Exception as problem:
                self._left(context, _reason(problem))
                raise
            if context in self._waiting:
                began_s, request, request_bytes = self._waiting.pop(context)
                kept = _kept_response(request, out[start:] or None)
                self._add_one(context, began_s, request, request_bytes, kept, has_waited=True)
            return size

        return journaled_finish

    def add_turn(self, context: Context, received: Frame, out: list[Chunk], *, is_waiting: bool) -> None:
        """Record the requests that a connection has served in this turn, one by one.

        `out` contains the responses. With `is_waiting`, the last request still waits for its response.
        """
        requests = frames(received)
        last = requests.pop() if is_waiting else b""
        self._add(_exchanges(context.node.turns.began_s, elapsed_s(), self._facts(context), requests, responses(out)))
        if is_waiting:
            self.request(context, self.beginning(last), len(last), [], is_waiting=True)

    def request(self, context: Context, request: Frame, size: int, out: list[Chunk], *, is_waiting: bool) -> None:
        """Record a request of `size` bytes and its response.

        `request` is a copy of the request, or of its beginning.
        """
        began_s = context.node.turns.began_s
        if is_waiting:
            self._waiting[context] = began_s, request, size
            if self._listeners:
                self._tell(self._waiting_exchange(context))
        else:
            self._add_one(context, began_s, request, size, _kept_response(request, out or None))

    def refused(self, context: Context, frame: Frame, problem: Exception) -> None:
        """Record a request that closes its connection."""
        context.client_id = client_id(frame)
        self._count_unsupported(context.client_id, frame, context)
        self._add_one(context, elapsed_s(), Journal.beginning(frame), len(frame), _reason(problem))

    def arrived(self, context: Context, size: int) -> None:
        """Called when `size` bytes arrive on a blocked connection. Their requests are recorded when they are served."""

    def closed(self, context: Context, reason: str) -> None:
        """Record that a connection was closed, with the request that was waiting, if any."""
        self._left(context, reason and f"connection closed: {reason}")
        facts = self._facts(context)
        facts.closed_s = elapsed_s()
        facts.close_reason = reason
        self._connections.pop(context, None)

    def _left(self, context: Context, reason: str) -> None:
        """Record a waiting request that gets no response, because its connection is closed."""
        if context in self._waiting:
            began_s, request, size = self._waiting.pop(context)
            reason = reason or "the connection was closed before the response"
            self._add_one(context, began_s, request, size, reason, has_waited=True)

    def _facts(self, context: Context) -> ConnectionFacts:
        """Return the `ConnectionFacts` of a connection. There is one for each client id that it has used."""
        facts = context.journaled
        if not isinstance(facts, ConnectionFacts) or facts.client_id != context.client_id:
            opened_s = facts.opened_s if isinstance(facts, ConnectionFacts) else elapsed_s()
            facts = context.journaled = ConnectionFacts(
                context.number,
                context.client_id,
                context.peer,
                context.node.node_id,
                context.listener,
                opened_s,
                context.metadata,
            )
            if not context.client.is_closed:
                self._connections[context] = facts
        return facts

    def _add_one(
        self,
        context: Context,
        began_s: float,
        request: Frame,
        size: int,
        response: KeptResponse,
        *,
        has_waited: bool = False,
    ) -> None:
        """Add a request that has just ended, with the fault that has fired on it."""
        fault, context.fault = context.fault, 0
        facts = self._facts(context)
        self._add([Exchange(began_s, elapsed_s(), facts, request, size, response, has_waited, fault)])

    def _add(self, exchanges: list[Exchange]) -> None:
        """Add requests that are not kept as a turn."""
        if exchanges:
            began_s = exchanges[0].began_s
            self.new += exchanges, began_s, began_s, b"", b""
            self._new_bytes += sum(map(_exchange_bytes, exchanges))
            if len(self.new) >= self.full_at or self._new_bytes > KEPT_BYTES or self._listeners:
                self.add_new()

    def add_new(self) -> None:
        """Add the new turns to the ring and to the counts, and drop the oldest turns if there are too many."""
        most = self._block_turns * FIELDS
        while self.new:
            self._add_block(self.new[:most])
            del self.new[:most]
        self._new_bytes = 0

    def _add_block(self, new: list[Any]) -> None:
        sources = [source if source.__class__ is list else self._facts(source) for source in new[0::FIELDS]]
        began_s, ended_s = array("d", new[1::FIELDS]), array("d", new[2::FIELDS])
        turns_received, turns_sent = new[3::FIELDS], new[4::FIELDS]
        received_sizes, sent_sizes = array("i", map(len, turns_received)), array("i", map(len, turns_sent))
        received, sent = b"".join(turns_received), b"".join(turns_sent)
        requests = self._count(sources, received, received_sizes)
        size = len(received) + len(sent) + OVERHEAD_BYTES * requests
        size += sum([_exchange_bytes(each) for source in sources if source.__class__ is list for each in source])
        block = _Block(sources, began_s, ended_s, received, received_sizes, sent, sent_sizes, requests, size)
        self._blocks.append(block)
        self._requests += requests
        self._bytes += size
        if self._listeners:
            for exchange in block.exchanges():
                self._tell(exchange)
        while self._requests > self.most_requests or self._bytes > self.most_bytes:
            dropped = self._blocks.popleft()
            self._requests -= dropped.requests
            self._bytes -= dropped.size
            self._sequence += dropped.requests
            self.dropped_until_s = max(self.dropped_until_s, dropped.began_s[-1])

    def _count(self, sources: list[Any], received: bytes, sizes: array[int]) -> int:
        """Count the requests of turns by API and client id. Return their number."""
        keys: defaultdict[str, list[int]] = defaultdict(list)
        others: list[tuple[str, str]] = []
        at = end = 0
        for source, turn_size in zip(sources, sizes, strict=True):
            if source.__class__ is list:
                others += [(exchange.api, exchange.client_id) for exchange in source]
                continue
            header_id, read, add = source.header_id, source.read_header, keys[source.client_id].append
            end += turn_size
            try:
                while at < end:
                    size, key, name = read(received, at)
                    if name != header_id:
                        break
                    add(key)
                    at += size + 4
            except error:  # a shorter client id in the last request
                pass
            if at < end:
                others += [(_api(frame).title, client_id(frame)) for frame in frames(received[at:end])]
                at = end
        for name, found in keys.items():
            for key, count in Counter(found).items():
                self._counts[BY_KEY[key].title, name] += count
        self._counts.update(others)
        return sum(map(len, keys.values())) + len(others)

    def _tell(self, exchange: Exchange) -> None:
        for listener in self._listeners:
            listener(exchange)

    def _count_unsupported(self, client_id: str, request: Frame, context: Context) -> None:
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


def _exchanges(
    began_s: float, ended_s: float, facts: ConnectionFacts, requests: list[Frame], answers: list[Parts]
) -> list[Exchange]:
    return [
        Exchange(
            began_s,
            ended_s,
            facts.of(frame),
            Journal.beginning(frame),
            len(frame),
            _kept_response(frame, answer),
            False,
        )
        for frame, answer in pairs(requests, answers)
    ]


def _api(frame: Frame) -> Api:
    """Return the API of a request that was served."""
    return BY_KEY[int.from_bytes(frame[:2], "big")]


def _kept_response(request: Frame, parts: Parts | None) -> KeptResponse:
    """Return the part of a response to keep, or None if there is no response."""
    if not parts:
        return None
    api = _api(request)
    head = response_head(api, int.from_bytes(request[2:4], "big", signed=True)).size
    parts = [parts[0][head:], *parts[1:]]  # type: ignore[index]
    size = sum(map(len, parts))
    if len(parts) == 1 or size <= RECORDS_BYTES or (size <= KEPT_BYTES and api is not Api.FETCH):
        try:
            return b"".join(parts)  # type: ignore[arg-type]
        except TypeError:  # some parts are file ranges
            pass
    kept = [part if isinstance(part, bytes) and len(part) <= RECORDS_BYTES else len(part) for part in parts]
    return kept if _size(kept) <= KEPT_BYTES else [size]


def _size(response: KeptResponse) -> int:
    """Return how many bytes of a response are kept."""
    if isinstance(response, list):
        return sum([len(part) for part in response if isinstance(part, bytes)])
    return 0 if response is None else len(response)


def _exchange_bytes(exchange: Exchange) -> int:
    """Return how many bytes of a request and its response are kept."""
    return len(exchange.frame) + _size(exchange.answer)


def _reason(problem: Exception) -> str:
    from .request_text import refusal_text

    return refusal_text(problem)
