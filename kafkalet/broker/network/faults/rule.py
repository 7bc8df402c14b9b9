"""One fault: the requests that it matches, on which of them it fires, and its counters.

The faults of a cluster are tried in the order in which they were set. A fault counts the requests that
match its filters, and selects some of them by `times`, `nth`, `every` or `probability`. The first fault that selects a
request fires, and the others do not see the request.

All methods run in the event loop of the cluster.
"""

import random
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, NamedTuple

from kafkalet.broker.context import Context
from kafkalet.broker.network.request_items import Item, expanded, has_elements, items
from kafkalet.broker.network.request_text import LoggedRequest
from kafkalet.clock import client_time
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.schema import Request
from kafkalet.tasks.delayed import Delayed

from .refusals import PARTITIONS_IN_RESPONSE, ROOT, SESSION_ERRORS, can_refuse, places

Text = str | re.Pattern[str]
"""A name, which must be equal, or a pattern, which must match the whole name."""

SEEN = 1000
"""How many matching requests a fault remembers."""
MISSES = 100
"""How many different reasons a fault remembers why requests did not match it."""
ITEMS = 5
"""The number of items named in the text of a request."""


class Filters(NamedTuple):
    """The conditions for a request to match. None matches any value."""

    apis: frozenset[Api] | None = None
    topic: Text | None = None
    partition: int | None = None
    group: Text | None = None
    client_id: Text | None = None
    version: range | None = None
    broker: int | None = None
    when: Callable[[Any], object] | None = None

    @property
    def names_items(self) -> bool:
        return self.topic is not None or self.partition is not None or self.group is not None

    def covers(self, item: Item) -> bool:
        """Return whether an item of a request matches."""
        return (
            (self.topic is None or (item.topic is not None and is_named(item.topic, self.topic)))
            and (self.partition is None or item.partition == self.partition)
            and (self.group is None or (item.group is not None and is_named(item.group, self.group)))
        )


class Actions(NamedTuple):
    """What a fault does to a request. Times are in milliseconds."""

    error: Code | None = None
    delay_ms: float = 0
    hang: bool = False
    barrier: int = 0
    drop_response: bool = False
    disconnect: str = ""
    corrupt: int = 0
    truncate: int | None = None
    throttle_ms: int = 0
    bandwidth: float = 0
    respond: Callable[[Any, Any], object] | None = None
    """Changes the decoded response to a decoded request, returns another response, or DROP."""
    rewrite: Callable[[Any], object] | None = None
    """Changes the decoded response. If it returns False, the response does not count (used by the conformance kit)."""
    rewrite_frame: Callable[[bytearray], bytearray] | None = None
    """Returns the frame, with its size field, that replaces an encoded response."""

    @property
    def holds(self) -> bool:
        """Whether the request has to wait before it is handled."""
        return bool(self.delay_ms or self.hang or self.barrier)

    @property
    def needs_response(self) -> bool:
        return bool(
            self.drop_response
            or self.corrupt
            or self.truncate is not None
            or self.throttle_ms
            or self.bandwidth
            or self.respond
            or self.rewrite
            or self.rewrite_frame
        )


class Dropped(Enum):
    """The type of `DROP`."""

    DROP = "drop"

    def __repr__(self) -> str:
        return "kafkalet.DROP"


DROP = Dropped.DROP
"""The result of a function `respond` that drops the response."""


class Selection(NamedTuple):
    """Selects the matching requests on which a fault fires."""

    times: int | None = None
    nth: int | None = None
    every: int = 1
    probability: float | None = None
    seed: int = 0


class HeldRequest(Delayed[None]):
    """A request that a fault holds. It is handled later even if the client has disconnected, as in Kafka."""

    __slots__ = ()

    @property
    def is_working(self) -> bool:
        return self.is_waiting


class FaultRule:
    """A fault with its counters."""

    def __init__(self, filters: Filters, actions: Actions, selection: Selection) -> None:
        self.filters = filters
        self.actions = actions
        self.selection = selection
        self.number = 0
        """The number of the fault in its cluster, from 1 on, once it has been set."""
        self.fired = 0
        self.matched = 0
        """How many requests matched the filters."""
        self.seen: deque[str] = deque(maxlen=SEEN)
        """The matching requests."""
        self.misses: Counter[str] = Counter()
        """The reasons why other requests of the same API did not match, and how often."""
        self.problem: Exception | None = None
        """The first exception that `when` or `respond` raised."""
        self.held: list[HeldRequest] = []
        self.is_released = False
        self.requests: Counter[str] = Counter()
        """The number of requests of each API while the fault was set."""
        self._random = random.Random(selection.seed)  # noqa: S311 - reproducible, not secret

    @property
    def is_late(self) -> bool:
        """Whether a match depends on the response: a Fetch response may have no records to corrupt."""
        return bool(self.actions.corrupt)

    @property
    def most(self) -> int | None:
        """The maximum number of times that the fault can fire, or None if there is no limit."""
        if self.actions.barrier:
            return self.actions.barrier
        return 1 if self.selection.nth is not None else self.selection.times

    @property
    def expected(self) -> int:
        """How often the fault has to fire; otherwise, the test fails."""
        return self.most or 1

    @property
    def is_spent(self) -> bool:
        """Whether the fault cannot fire any more."""
        return self.is_released or (self.most is not None and self.fired >= self.most)

    # Matching

    def offer(self, request: Request, context: Context) -> bool:
        """Return whether the fault fires on this request."""
        filters = self.filters
        if (filters.apis is not None and context.api not in filters.apis) or self.is_spent:
            return False
        miss = self._miss(request, context)
        if miss is not None:
            if len(self.misses) < MISSES or miss in self.misses:
                self.misses[miss] += 1
            return False
        if self.is_late and context.api is Api.FETCH:
            return True  # `select` is called with the response
        return self.select(request, context)

    def select(self, request: Request, context: Context) -> bool:
        """Count a matching request, and return whether the fault fires on it."""
        self.matched += 1
        self.seen.append(text_of(request, context))
        chosen = self.selection
        if chosen.nth is not None and self.matched != chosen.nth:
            return False
        if self.matched % chosen.every:
            return False
        if chosen.probability is not None and self._random.random() >= chosen.probability:
            return False
        self.fired += 1
        context.fault = self.number
        if isinstance(context.logged_request, LoggedRequest):
            context.logged_request.fault = self.number
        return True

    def _miss(self, request: Request, context: Context) -> str | None:
        """Return the reason why the request does not match, or None if it does."""
        filters, node_id = self.filters, context.node.node_id
        if filters.broker is not None and node_id != filters.broker:
            return f"{context.api} was sent to broker {node_id}, not {filters.broker}"
        if filters.client_id is not None and not is_named(context.client_id, filters.client_id):
            return f"{context.api} came from client {context.client_id!r}, not {shown(filters.client_id)}"
        if filters.version is not None and context.version not in filters.version:
            return f"{context.api} had version {context.version}, not {_range(filters.version)}"
        if context.api is Api.PRODUCE and self.actions.needs_response and not getattr(request, "acks", 1):
            return "Produce had acks=0 and expects no response"
        return self._item_miss(request, context) or self._predicate_miss(request, context)

    def _item_miss(self, request: Request, context: Context) -> str | None:
        filters, code = self.filters, self.actions.error
        if not filters.names_items and code is None:
            return None
        version = context.version
        if code is not None and not can_refuse(
            context.api,
            version,
            topic=filters.topic is not None,
            partition=filters.partition is not None,
            group=filters.group is not None,
        ):
            return f"{context.api} v{version} has no field for this error"
        asked = expanded(request, context)
        found = items(asked, context)
        meant = [item for item in found if self.covers(item, context)]
        if not meant and (filters.names_items or context.api is not Api.FETCH):
            return f"{context.api} was for {named(found)}, not {self._wanted()}"
        if code is not None and not _has_place(code, asked, meant, context):
            return f"{context.api} v{version} named no item that could have an error"
        return None

    def covers(self, item: Item, context: Context) -> bool:
        """Return whether an item of a request matches. Some requests name topics, but not their partitions."""
        if context.api in PARTITIONS_IN_RESPONSE and self.filters.partition is not None:
            if item.topic is None or context.metadata.partition(item.topic, self.filters.partition) is None:
                return False
            item = item._replace(partition=self.filters.partition)
        return self.filters.covers(item)

    def _wanted(self) -> str:
        filters = self.filters
        parts = [("topic", filters.topic), ("partition", filters.partition), ("group", filters.group)]
        return ", ".join(f"{name} {shown(value)}" for name, value in parts if value is not None)

    def _predicate_miss(self, request: Request, context: Context) -> str | None:
        if self.filters.when is None:
            return None
        try:
            return None if self.filters.when(request) else f"{context.api} was refused by when="
        except Exception as problem:  # noqa: BLE001 - the user's code must not close the connection
            self.problem = self.problem or problem
            return f"{context.api}: when= raised {type(problem).__name__}: {problem}"

    # Holding requests

    def hold(self, context: Context) -> HeldRequest:
        """Return a `Delayed` that completes when the request may be handled."""
        held = HeldRequest()
        if self.actions.delay_ms:
            client_time(context.clock).call_later(self.actions.delay_ms, lambda: self._let_go(held))
        self.held.append(held)
        if self.actions.barrier and len(self.held) >= self.actions.barrier:
            context.node.loop.call_soon(self.release)  # later, or the last request would be handled first
        return held

    def release(self) -> None:
        """Handle the requests that are held, in the order in which they arrived, and hold no others."""
        if self.actions.hang or self.actions.barrier:
            self.is_released = True
        for held in list(self.held):
            self._let_go(held)

    def _let_go(self, held: HeldRequest) -> None:
        if held in self.held:
            self.held.remove(held)
            if held.is_waiting:
                held.complete(None)


def _has_place(code: Code, request: Request, meant: list[Item], context: Context) -> bool:
    """Return whether a response has a field for the error of these items."""
    has_root = ROOT in places(context.api, context.version)
    if context.api is Api.FETCH:
        return bool(meant) or (has_root and code in SESSION_ERRORS)
    return has_root or has_elements(request, context.version)


def is_named(name: str, wanted: Text) -> bool:
    return name == wanted if isinstance(wanted, str) else wanted.fullmatch(name) is not None


def shown(value: object) -> str:
    """Return a filter as text."""
    return f"/{value.pattern}/" if isinstance(value, re.Pattern) else repr(value)


def _range(versions: range) -> str:
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def named(found: Iterable[Item]) -> str:
    """Return the items of a request as text, as in `t-0, t-1`."""
    texts = list(dict.fromkeys(filter(None, map(_item_text, found))))
    more = f" and {len(texts) - ITEMS} more" if len(texts) > ITEMS else ""
    return (", ".join(texts[:ITEMS]) or "no topic, partition or group") + more


def _item_text(item: Item) -> str:
    where = item.topic or ""
    if item.partition is not None:
        where = f"{where}-{item.partition}"
    if item.group is not None:
        where = f"{where} of group {item.group}" if where else f"group {item.group}"
    return where


def text_of(request: Request, context: Context) -> str:
    """Return a request as text, as in `Produce v9 from 'app' for t-0`."""
    found = items(request, context)
    what = f" for {named(found)}" if any(map(_item_text, found)) else ""
    return f"{context.api} v{context.version} from {context.client_id!r}{what}"
