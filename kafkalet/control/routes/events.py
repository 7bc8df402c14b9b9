"""Server-sent events: what has changed in the brokers, for pages and programs that show live data.

A stream begins with the whole state, one event for each kind. Each later event contains what has changed since, and the
names of what was removed. Changes are collected for a tenth of a second, so that a busy broker sends few events, or for
longer if it takes long to read the state. Topics that have not changed are not read again. The thread of the connection
reads the state after a change and writes it to the socket: there is no queue that could grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol

from kafkalet.clock import elapsed_s
from kafkalet.control import state
from kafkalet.control.encoding import encoded
from kafkalet.control.route import EVENT_STREAM, Call, Routes
from kafkalet.control.shapes import Json, ListOf, Text

from .clock import read_clock
from .faults import read_faults
from .groups import read_groups
from .requests import request_json
from .share_groups import read_share_groups
from .transactions import read_transactions

if TYPE_CHECKING:
    from kafkalet.broker.network.exchange import Exchange
    from kafkalet.testing.cluster import Cluster

routes = Routes("events", "Live data as server-sent events.")

HEARTBEAT_S = 15.0
"""A stream without events sends a comment after this time."""
INTERVAL_S = 0.1
"""The minimum time between two events of one kind."""
MOST_INTERVAL_S = 5.0
SHARE = 20
"""A stream spends at most 1/SHARE of its time on reading and encoding, if it does not have to wait longer than
MOST_INTERVAL_S for this."""
READ_ALL_S = 5.0
"""After this time, the next change of any topic lets a stream read all topics."""
MAX_REQUESTS = 200
"""The number of polls, and of other requests, in one event. If there are more, the latest ones are sent."""
POLLS = frozenset({"Fetch", "Heartbeat", "ConsumerGroupHeartbeat", "ShareFetch", "ShareGroupHeartbeat"})
"""The requests that an idle consumer repeats. They must not displace all others from an event."""
CLOCK_JITTER_MS = 20
"""The difference between two clocks that is not taken for an advance, because they are read one after the other."""


class Source(Protocol):
    """The events of one kind in one stream."""

    def read(self, topics: set[str] | None) -> Json | None:
        """Return the data of an event, or None if nothing has changed. The first call returns the full state.

        `topics` are those that have changed since the last call. None means that any topic may have changed.
        """


class Items:
    """Items with a key. An event has the changed items, and the keys of items that no longer exist."""

    def __init__(self, name: str, key: str, read: Callable[[], Sequence[Json]]) -> None:
        self._name = name
        self._key = key
        self._read = read
        self._last: dict[Json, Json] | None = None

    def read(self, topics: set[str] | None) -> Json | None:
        return self._changes({item[self._key]: item for item in self._read()})

    def _changes(self, now: dict[Json, Json]) -> Json | None:
        last, self._last = self._last, now
        changed = [item for key, item in now.items() if last is None or last.get(key) != item]
        removed = [key for key in last or () if key not in now]
        return {self._name: changed, "removed": removed} if changed or removed or last is None else None


class Topics(Items):
    """Topics. Only those that have changed are read; but some changes, such as retention, are not announced."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__("topics", "name", lambda: state.read_topics(cluster._server))
        self._server = cluster._server
        self._read_all_at_s = float("-inf")

    def read(self, topics: set[str] | None) -> Json | None:
        now_s = elapsed_s()
        if self._last is None or topics is None or now_s - self._read_all_at_s > READ_ALL_S:
            self._read_all_at_s = now_s
            return super().read(None)
        if not topics:
            return None
        now = {name: item for name, item in self._last.items() if name not in topics}
        now.update((item["name"], item) for item in state.read_topics(self._server, topics))
        return self._changes(now)


class Journal:
    """Requests whose responses were sent since the last event."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sequence = 0

    def read(self, topics: set[str] | None) -> Json | None:
        from kafkalet.testing.requests import Request

        journal = self._cluster._server.journal
        if journal is None:
            return None
        is_first = self._sequence == 0
        found, self._sequence = self._cluster._server.call(lambda: journal.since(self._sequence))
        if not found and not is_first:
            return None
        shown = [request_json(Request(each, journal.began_ms), messages=False) for each in _latest(found)]
        return {"requests": shown, "skipped": len(found) - len(shown)}


def _latest(found: Sequence[Exchange]) -> list[Exchange]:
    """Return the latest polls and the latest other requests, in their order."""
    counts = {True: 0, False: 0}
    latest = []
    for exchange in reversed(found):
        is_poll = exchange.api in POLLS
        counts[is_poll] += 1
        if counts[is_poll] <= MAX_REQUESTS:
            latest.append(exchange)
    return latest[::-1]


class ClockTime:
    """The clock, after it has been advanced."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ahead_ms: int | None = None

    def read(self, topics: set[str] | None) -> Json | None:
        clock = read_clock(self._cluster)
        last = self._ahead_ms
        if last is not None and abs(clock["ahead_ms"] - last) <= CLOCK_JITTER_MS:
            return None
        self._ahead_ms = clock["ahead_ms"]
        return clock


class Kind(NamedTuple):
    """A kind of event."""

    name: str
    open: Callable[[Cluster], Source]
    description: str
    sees_requests: bool = False
    """Whether a request may change the data without any other effect."""


def _items(name: str, key: str, read: Callable[[Cluster], Sequence[Json]]) -> Callable[[Cluster], Source]:
    return lambda cluster: Items(name, key, lambda: read(cluster))


_brokers = _items("brokers", "node_id", lambda cluster: state.brokers(cluster._server))
_groups = _items("groups", "group_id", read_groups)
_share_groups = _items("share_groups", "group_id", read_share_groups)
_transactions = _items("transactions", "transactional_id", read_transactions)
_faults = _items("faults", "id", read_faults)
KINDS = (
    Kind("brokers", _brokers, "`Broker` objects of brokers that were started or stopped."),
    Kind("topics", Topics, "`Topic` objects of topics whose offsets or partitions changed."),
    Kind("groups", _groups, "`Group` objects of groups whose members, offsets or lag changed."),
    Kind("share_groups", _share_groups, "`ShareGroup` objects of groups whose members or records changed.", True),
    Kind("transactions", _transactions, "`Transaction` objects of transactional ids whose state changed."),
    Kind("faults", _faults, "`Fault` objects of faults that were set or have fired.", True),
    Kind("clock", ClockTime, "a `Clock` object after the clock was advanced."),
    Kind(
        "requests",
        Journal,
        f"`Request` objects of new requests in the journal, without messages; `skipped` counts those beyond the latest "
        f"{MAX_REQUESTS} polls (fetches and heartbeats) and the latest {MAX_REQUESTS} others.",
        True,
    ),
)


def stream(cluster: Cluster, kinds: Sequence[Kind], ended: Event) -> Iterator[bytes]:
    """Yield the events of a stream, until the brokers stop or `ended` is set. Then the watchers must be touched."""
    sources = [(kind.name.encode(), kind.open(cluster)) for kind in kinds]
    with cluster._server.watchers.watch(requests=any(kind.sees_requests for kind in kinds)) as changed:
        while True:
            changed.clear()
            if ended.is_set():
                return
            topics = changed.take_topics()
            working_s = 0.0
            for name, source in sources:
                begin_s = elapsed_s()
                try:
                    data = source.read(topics)
                except RuntimeError:  # the brokers have stopped
                    return
                event = b"" if data is None else b"event: %b\ndata: %b\n\n" % (name, encoded(data))
                working_s += elapsed_s() - begin_s
                if event:
                    yield event
            ended.wait(min(max(INTERVAL_S, SHARE * working_s), MOST_INTERVAL_S))
            if not changed.wait(HEARTBEAT_S):
                yield b": heartbeat\n\n"


@routes.get("/v1/events", response=None, produces=EVENT_STREAM)
def stream_events(
    call: Call,
    only: Annotated[
        Sequence[str],
        ListOf(Text(*[kind.name for kind in KINDS])),
        "The kinds of events, separated by commas; by default all. "
        + " ".join(f"`{kind.name}`: {kind.description}" for kind in KINDS),
    ] = (),
) -> Json:
    """Stream changes as server-sent events.

    The stream begins with one event of each kind, with the full state. Later events contain the items that have
    changed, and `removed` the names of those that no longer exist. Without changes, a comment is sent every 15 seconds.
    The stream ends if the client does not read for 10 seconds.
    """
    kinds = [kind for kind in KINDS if not only or kind.name in only]
    return stream(call.cluster, kinds, call.ended)
