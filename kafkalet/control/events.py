"""Server-sent events: what has changed in the brokers, for pages and programs that show live data.

A stream begins with the whole state, one event for each kind. Each later event contains what has changed since, and the
names of what was removed. Changes are collected for a tenth of a second, so that a busy broker sends few events. The
thread of the connection reads the state after a change and writes it to the socket: there is no queue that could grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from . import state
from .encoding import encoded
from .shapes import Json

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster

HEARTBEAT_S = 15.0
"""A stream without events sends a comment after this time."""
INTERVAL_S = 0.1
"""The shortest time between two events of one kind."""


class Kind(NamedTuple):
    """A kind of event: `data` has the field `name` with the changed items, and `removed`."""

    name: str
    key: str
    """The field that identifies an item."""
    read: Callable[[Cluster], Sequence[Json]]
    description: str


def _topics(cluster: Cluster) -> Sequence[Json]:
    return state.read_topics(cluster.server, internal=True)


def _brokers(cluster: Cluster) -> Sequence[Json]:
    return cluster.server.call(lambda: state.brokers(cluster.server))


KINDS = (
    Kind("brokers", "node_id", _brokers, "Brokers that were started or stopped, as `Broker` objects."),
    Kind("topics", "name", _topics, "Topics whose offsets or partitions changed, as `Topic` objects."),
)


class Changes:
    """What has changed since the last call, for one kind of event."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._last: dict[Json, Json] | None = None

    def read(self, cluster: Cluster) -> Json | None:
        """Return the data of an event, or None if nothing has changed. The first call returns everything."""
        now = {item[self._kind.key]: item for item in self._kind.read(cluster)}
        last, self._last = self._last, now
        changed = [item for key, item in now.items() if last is None or last.get(key) != item]
        removed = [key for key in last or () if key not in now]
        return {self._kind.name: changed, "removed": removed} if changed or removed or last is None else None


def stream(cluster: Cluster, kinds: Sequence[Kind], closing: Event) -> Iterator[bytes]:
    """Yield the events of a stream, until the brokers stop or `closing` is set."""
    sources = [(kind.name, Changes(kind)) for kind in kinds]
    with cluster.server.watchers.watch() as changed:
        while not closing.is_set():
            changed.clear()
            for name, changes in sources:
                try:
                    data = changes.read(cluster)
                except RuntimeError:  # the brokers have stopped
                    return
                if data is not None:
                    yield b"event: %b\ndata: %b\n\n" % (name.encode(), encoded(data))
            closing.wait(INTERVAL_S)
            if not changed.wait(HEARTBEAT_S):
                yield b": heartbeat\n\n"
