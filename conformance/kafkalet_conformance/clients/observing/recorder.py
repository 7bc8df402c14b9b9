"""Records the whole requests of clients, as a journal that also passes each request to an observation.

The brokers know one hook, the journal, which drops parts of large messages. The recorder takes its place and shares its
state, so that everything that reads the journal still works. In addition, it keeps each request as a whole, with the
times at which its bytes arrived and the response was given. Of the fetched records in a response, only the sizes are
kept.

The recorder is called in the event loop of the brokers. It keeps at most `most_bytes` until `take` is called; requests
beyond that are counted, not kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafkalet.broker.network.connection import Connection
from kafkalet.broker.network.journal import Finish, Journal
from kafkalet.broker.network.splitting import Frame, Parts, frames, pairs, responses
from kafkalet.clock import elapsed_s
from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.wire import Chunk

from .finding import Place
from .sent import Answered, Closed, Event, Fate, Gap, Sent
from .strict import header_of

if TYPE_CHECKING:
    from kafkalet.broker.context import Context
    from kafkalet.broker.server import Server

MOST_BYTES = 64 * 1024 * 1024
OVERHEAD_BYTES = 1000
MOST_ANSWER_BYTES = 4 * 1024 * 1024
"""Larger responses are not kept; their requests are still checked."""
RECORDS_BYTES = 4096
"""A part of a Fetch response that exceeds this size contains records, and is not kept."""


class Recorded:
    """The events that have not been taken yet."""

    def __init__(self, most_bytes: int, nearly_full: Callable[[], None]) -> None:
        self.most_bytes = most_bytes
        self.nearly_full = nearly_full
        self.began_s = elapsed_s()
        self.events: deque[Event] = deque()
        self.bytes_held = 0
        self.unchecked = 0
        """How many requests were not kept."""
        self.number = 0
        self.positions: dict[int, int] = {}
        """The number of requests on each open connection."""
        self.waiting: dict[Context, Sent] = {}
        self.refused: dict[Context, tuple[bytes, str]] = {}
        """Requests that close their connections, with the reasons, until they are recorded."""
        self.arrivals: dict[Context, deque[tuple[float, int]]] = {}
        """When bytes arrived on blocked connections, and how many."""

    def add(self, event: Event, size: int = 0) -> None:
        self.events.append(event)
        self.bytes_held += size
        if self.bytes_held > self.most_bytes // 2 and self.bytes_held - size <= self.most_bytes // 2:
            self.nearly_full()

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        events = list(self.events)
        self.events.clear()
        self.bytes_held = 0
        return events


class Recorder(Journal):
    """A journal that also records whole requests. It shares the state of the journal that it replaces."""

    def __init__(self, before: Journal, server: Server, recorded: Recorded) -> None:
        self.__dict__ = before.__dict__
        self._observer: tuple[Server, Recorded] = server, recorded
        self._before = before

    @property
    def before(self) -> Journal:
        """The journal that this recorder replaces, with the requests recorded in the meantime."""
        return self._before

    @property
    def keeps_turns(self) -> bool:
        """False, so that connections call `add_turn` for every turn."""
        return False

    @keeps_turns.setter
    def keeps_turns(self, value: bool) -> None:
        vars(self)["keeps_turns"] = value

    # The interface of the connections and the router

    @staticmethod
    def beginning(frame: Frame) -> Frame:
        """Return a copy of the whole request, because the broker changes the records of a Produce request."""
        return bytes(frame)

    def add_turn(self, context: Context, received: Frame, out: list[Chunk], *, is_waiting: bool) -> None:
        requests = frames(received)
        if is_waiting:
            requests.pop()  # it is recorded by `request`
        began_s = context.node.turns.began_s
        for frame, answer in pairs(requests, responses(out)):
            self._answer(context, self._sent(context, bytes(frame), began_s), answer)
        super().add_turn(context, received, out, is_waiting=is_waiting)
        self._add_refused(context)

    def request(self, context: Context, request: Frame, size: int, out: list[Chunk], *, is_waiting: bool) -> None:
        sent = self._sent(context, bytes(request), context.node.turns.began_s)
        if is_waiting:
            if sent is not None:
                self._observer[1].waiting[context] = sent
        else:
            self._answer(context, sent, out or None)
        super().request(context, Journal.beginning(request), size, out, is_waiting=is_waiting)

    def attach_finish(self, finish: Finish) -> Finish:
        inner = super().attach_finish(finish)

        def recorded_finish(answer: Any, context: Context, out: list[Chunk]) -> int:
            start = len(out)
            size = inner(answer, context, out)
            sent = self._observer[1].waiting.pop(context, None)
            self._answer(context, sent, out[start:] or None)
            return size

        return recorded_finish

    def refused(self, context: Context, frame: Frame, problem: Exception) -> None:
        super().refused(context, frame, problem)
        self._observer[1].refused[context] = bytes(frame), str(problem)

    def _add_refused(self, context: Context) -> None:
        """Record a refused request after the earlier ones of its turn, which are recorded when the turn ends."""
        refused = self._observer[1].refused.pop(context, None)
        if refused is not None:
            frame, problem = refused
            self._end(self._sent(context, frame, elapsed_s()), Fate.REFUSED, problem)

    def arrived(self, context: Context, size: int) -> None:
        """Record that bytes arrived while the connection was blocked."""
        self._observer[1].arrivals.setdefault(context, deque()).append((elapsed_s(), size))

    def closed(self, context: Context, reason: str) -> None:
        super().closed(context, reason)
        recorded = self._observer[1]
        self._add_refused(context)
        recorded.arrivals.pop(context, None)
        recorded.positions.pop(context.number, None)
        self._end(recorded.waiting.pop(context, None), Fate.LEFT, reason)
        recorded.add(Closed(context.number, elapsed_s() - recorded.began_s, reason))

    # Events

    def _sent(self, context: Context, frame: bytes, served_s: float) -> Sent | None:
        """Record a request. Return None if it is not kept."""
        recorded = self._observer[1]
        recorded.number += 1
        position = recorded.positions[context.number] = recorded.positions.get(context.number, 0) + 1
        arrived_s = self._arrived_s(context, len(frame) + 4, served_s)
        if recorded.bytes_held + len(frame) > recorded.most_bytes:
            recorded.unchecked += 1
            recorded.add(Gap(1))
            return None
        key, version, correlation_id, client_id = header_of(frame)
        place = Place(
            recorded.number,
            context.number,
            position,
            context.node.node_id,
            context.peer,
            client_id,
            BY_KEY[key].title if key in BY_KEY else f"API {key}",
            version,
            correlation_id,
            arrived_s - recorded.began_s,
        )
        sent = Sent(place, frame, served_s - recorded.began_s)
        recorded.add(sent, len(frame) + OVERHEAD_BYTES)
        return sent

    def _arrived_s(self, context: Context, size: int, served_s: float) -> float:
        """Return when the last bytes of a request arrived, if it was blocked, otherwise when it was served."""
        arrivals = self._observer[1].arrivals.get(context)
        if not arrivals:
            return served_s
        at_s = served_s
        while arrivals and size > 0:
            at_s, count = arrivals.popleft()
            if count > size:
                arrivals.appendleft((at_s, count - size))
            size -= count
        return min(at_s, served_s)

    def _answer(self, context: Context, sent: Sent | None, parts: Parts | None) -> None:
        if sent is None:
            return
        server, _ = self._observer
        broker = server.brokers.get(context.node.node_id)
        shaping = None if broker is None else broker.router.hooks.shaping
        sent.is_altered = shaping is not None and shaping.alters(context)
        client = context.client
        if isinstance(client, Connection) and client.discards_data:
            sent.is_altered = True
        if parts is None:
            self._end(sent, Fate.LEFT if sent.is_altered else Fate.NO_ANSWER, "")
            return
        most = RECORDS_BYTES if sent.api is Api.FETCH else MOST_ANSWER_BYTES
        kept = [
            bytes(part) if isinstance(part, bytes | bytearray | memoryview) and len(part) <= most else len(part)
            for part in parts
        ]
        kept[0] = kept[0][4:] if isinstance(kept[0], bytes) else kept[0] - 4
        if sum(map(len, parts)) <= MOST_ANSWER_BYTES:
            sent.answer = kept
        self._end(sent, Fate.ANSWERED, "", sum(len(part) for part in kept if isinstance(part, bytes)))

    def _end(self, sent: Sent | None, fate: Fate, reason: str, size: int = 0) -> None:
        if sent is not None:
            recorded = self._observer[1]
            sent.ended_s = elapsed_s() - recorded.began_s
            sent.fate = fate
            sent.close_reason = reason
            recorded.add(Answered(sent), size)
