"""The requests that a connection repeats, and the plans that answer them without decoding.

Clients send almost the same bytes again and again: the correlation id changes and, in a Fetch, the offset. A handler
that has answered such a request twice adds a plan (apis/fetch_plan.py, apis/list_offsets_plan.py). The layout
of its requests alternates between bytes that must be equal and numbers that may change:

    | key, version | correlation id | ... | session epoch | ... | fetch offset | ... |
          equal          number      equal      number     equal      number    equal

All requests of one length have the same layout, because a client that names other partitions sends the same fields. If
two layouts have the same length, the newer one is used, and requests with the older layout are decoded.

A plan refers to a partition and its log. So all plans are dropped when the brokers, topics or partitions of the cluster
have changed (cluster/revision.py), and learned again. If there are too many plans, a new one replaces the one that has
not been used for the longest time.
"""

from collections.abc import Hashable
from struct import Struct
from typing import Any, Generic, Protocol, TypeVar

from kafkalet.broker.cluster.revision import Revision
from kafkalet.protocol.wire import Chunk

C = TypeVar("C")
"""The context of a request (context.py), which has the repetitions of its connection."""
P = TypeVar("P", contravariant=True)

MOST_PLANS = 128
"""The maximum number of plans of a connection."""
MISSES_PER_PLAN = 8
"""When a connection has MOST_PLANS plans, only one in this many repeated requests without a plan gets one.

A plan costs about as much as ten requests, and may replace one that is about to be used.
"""
MOST_NOTED = 256
"""The maximum number of recorded requests without a plan. When it is exceeded, all of them are forgotten."""


class Plan(Protocol[P]):
    """Answers the repetitions of one request."""

    def answer(self, numbers: tuple[int, ...], context: P, out: list[Chunk]) -> int | None:
        """Append the response to `out` and return its size. `numbers` contains the numbers of the request, in order.

        If the request cannot be answered in this way, return None and change nothing. Raises Outdated if later requests
        cannot be answered either.
        """


class Outdated(Exception):
    """The plan cannot be used again: its session no longer exists."""


class Repetitions(Generic[C]):
    """The repeated requests of one connection. `revision` is the revision of the cluster."""

    __slots__ = ("_is_full", "_layouts", "_missed", "_noted", "_plans", "_revision", "_valid_at")

    def __init__(self, revision: Revision) -> None:
        self._revision = revision
        self._noted: dict[Hashable, None] = {}
        self._missed = 0
        self._forget()

    def _forget(self) -> None:
        """Drop all plans."""
        self._layouts: dict[int, Struct] = {}
        """The layouts, keyed by the size of the requests."""
        self._plans: dict[tuple[Any, ...], Plan[C]] = {}
        """The plans, keyed by the bytes that must be equal.

        When there are MOST_PLANS, the most recently used come last.
        """
        self._is_full = False
        self._valid_at = self._revision.number

    def should_learn(self, request: Hashable) -> bool:
        """Record a request without a plan.

        Return True if a plan should be added now, because the request is repeated.
        """
        if request in self._noted:
            if not self._is_full:
                return True
            self._missed = (self._missed + 1) % MISSES_PER_PLAN
            return not self._missed
        if len(self._noted) >= MOST_NOTED:
            self._noted.clear()
        self._noted[request] = None
        return False

    def add(self, struct: Struct, frame: bytes, plan: Plan[C]) -> None:
        """Add a plan for the repetitions of the request `frame`. `struct` has the format described above."""
        if self._is_full:
            del self._plans[next(iter(self._plans))]
        self._layouts[len(frame)] = struct
        self._plans[struct.unpack(frame)[::2]] = plan
        self._is_full = len(self._plans) >= MOST_PLANS

    def answer(self, frame: bytes | bytearray, context: C, out: list[Chunk]) -> int | None:
        """If a request is a repetition, append its response to `out` and return the size. Otherwise, return None."""
        if self._valid_at != self._revision.number:
            self._forget()
            return None
        layout = self._layouts.get(len(frame))
        if layout is None:
            return None
        fields = layout.unpack(frame)
        key, plans = fields[::2], self._plans
        plan = plans.get(key)
        if plan is None:
            return None
        if self._is_full:
            plans[key] = plans.pop(key)
        try:
            return plan.answer(fields[1::2], context, out)
        except Outdated:
            del plans[key]
            self._is_full = False
            return None
