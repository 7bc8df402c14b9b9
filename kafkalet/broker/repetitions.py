"""The requests that a connection repeats, and the plans with which they are answered without decoding them.

Clients send almost the same bytes again and again: the correlation id changes and, in a Fetch, the offset. A handler
that has answered such a request twice adds a plan (apis/fetch_repeated.py, apis/list_offsets_repeated.py). The layout
of its requests alternates between bytes that must be equal and numbers that may change:

    | key, version | correlation id | ... | session epoch | ... | fetch offset | ... |
          equal          number      equal      number     equal      number    equal

All requests of one length have the same layout, because a client that names other partitions sends the same fields. If
they do not, the last layout counts, and the other requests are decoded.

A plan refers to a partition and its log. So all plans are dropped when the brokers, topics or partitions of the cluster
have changed (cluster/revision.py), and learnt again.
"""

from __future__ import annotations

from collections.abc import Hashable
from struct import Struct
from typing import Any, Generic, Protocol, TypeVar

from kafkalet.broker.cluster.revision import Revision
from kafkalet.protocol.wire import Chunk

C = TypeVar("C")
"""The context of a request (context.py), which has the repetitions of its connection."""
P = TypeVar("P", contravariant=True)

MOST_PLANS = 128
"""The number of plans of a connection. Requests that would need another one are decoded."""
MOST_MISSED = 8 * MOST_PLANS
"""The number of requests without a plan after which all plans are dropped, because others may be needed by now."""
MOST_NOTED = 256
"""The number of requests that are noted until they are repeated. Then all of them are forgotten."""


class Plan(Protocol[P]):
    """How the repetitions of one request are answered."""

    def answer(self, numbers: tuple[int, ...], context: P, out: list[Chunk]) -> int | None:
        """Append the response to `out` and return its size. `numbers` are those of the request, in its order.

        If the request cannot be answered in this way, return None and change nothing. Raises Outdated if that will not
        change.
        """


class Outdated(Exception):
    """A plan is of no more use, because its session has gone."""


class _Layout(Generic[C]):
    __slots__ = ("plans", "struct")

    def __init__(self, struct: Struct) -> None:
        self.struct = struct
        self.plans: dict[tuple[Any, ...], Plan[C]] = {}
        """The plans by the bytes that must be equal."""


class Repetitions(Generic[C]):
    """The repeated requests of one connection. `revision` is that of the cluster."""

    __slots__ = ("_layouts", "_missed", "_noted", "_plans", "_revision", "_valid_at")

    def __init__(self, revision: Revision) -> None:
        self._revision = revision
        self._noted: dict[Hashable, None] = {}
        self._forget()

    def _forget(self) -> None:
        """Drop all plans."""
        self._layouts: dict[int, _Layout[C]] = {}
        self._plans = self._missed = 0
        self._valid_at = self._revision.number

    def is_first(self, request: Hashable) -> bool:
        """Note a request that may be repeated. Return False if a plan should be added, because it was noted before."""
        if request in self._noted:
            if self._plans < MOST_PLANS:
                return False
            self._missed += 1
            if self._missed > MOST_MISSED:
                self._forget()
            return True
        if len(self._noted) >= MOST_NOTED:
            self._noted.clear()
        self._noted[request] = None
        return True

    def add(self, struct: Struct, frame: bytes, plan: Plan[C]) -> None:
        """Add a plan for the repetitions of the request `frame`. `struct` has the format described above."""
        layout = self._layouts.get(len(frame))
        if layout is None or layout.struct.format != struct.format:
            if layout is not None:
                self._plans -= len(layout.plans)
            layout = self._layouts[len(frame)] = _Layout(struct)
        key = layout.struct.unpack(frame)[::2]
        self._plans += key not in layout.plans
        layout.plans[key] = plan

    def answer(self, frame: bytes | bytearray, context: C, out: list[Chunk]) -> int | None:
        """Answer a request if it is a repetition: append the response to `out` and return its size. Otherwise None."""
        if self._valid_at != self._revision.number:
            self._forget()
            return None
        layout = self._layouts.get(len(frame))
        if layout is None:
            return None
        fields = layout.struct.unpack(frame)
        plan = layout.plans.get(fields[::2])
        if plan is None:
            return None
        try:
            return plan.answer(fields[1::2], context, out)
        except Outdated:
            del layout.plans[fields[::2]]
            self._plans -= 1
            return None
