"""The bytes of responses: corrupt them, cut them off, or send them slowly.

The engine registers a request here once its response is known. When the router has encoded the response, its bytes are
changed on their way to the connection.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

from kafkalet.broker.context import Context
from kafkalet.broker.network.connection import Connection
from kafkalet.broker.network.router import Finish, Route, Serve
from kafkalet.broker.network.sending import join
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import Clock, client_time
from kafkalet.protocol.records.batch import LOG_OVERHEAD
from kafkalet.protocol.wire import Chunk
from kafkalet.storage.files import FileRange

from .rule import FaultRule

TICK_MS = 20
"""The time between two portions of a slow response."""
MUTED_MS = 60_000
"""How much longer than until the next portion a client is muted. The timer is replaced with each portion."""


class Shaping:
    """The responses that are to be changed. Implements the hook `Router.shaping`."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is called when `is_needed` has changed."""
        self._changed = changed
        self._due: dict[Context, FaultRule] = {}

    def add(self, context: Context, rule: FaultRule) -> None:
        """Change the response to the current request of a connection."""
        for other in [other for other in self._due if other.client.is_closed]:
            del self._due[other]
        self._due[context] = rule
        self._changed()

    @property
    def is_needed(self) -> bool:
        """Whether there is a response to change."""
        return bool(self._due)

    def wrap(self, route: Serve, finish: Finish) -> tuple[Serve, Finish]:
        """Return variants of `Router.route` and `Router.finish` that change responses."""

        def shaping_route(frame: bytes | bytearray, context: Context, out: list[Chunk]) -> int | Delayed[Any]:
            before = len(out)
            size = route(frame, context, out)
            return self._shape(out, before, size, context) if isinstance(size, int) and self._due else size

        def shaping_finish(answer: Any, context: Context, out: list[Chunk]) -> int:
            before = len(out)
            size = finish(answer, context, out)
            return self._shape(out, before, size, context) if self._due else size

        return shaping_route, shaping_finish

    def _shape(self, out: list[Chunk], before: int, size: int, context: Context) -> int:
        rule = self._due.pop(context, None)
        if rule is None:
            return size
        self._changed()
        if not size:
            return size
        actions = rule.actions
        data = bytearray(join(out[before:], size))
        del out[before:]
        if actions.corrupt:
            head = cast(Route, context.route).header_size + 4
            damage(data, head, actions.corrupt, rule.selection.seed + rule.fired)
        if actions.truncate is not None:
            del data[min(actions.truncate, size - 1) :]
            context.client.close(f"a fault cut off the response to {context.route} after {len(data)} bytes")
        if actions.bandwidth:
            _trickle(bytes(data), actions.bandwidth, actions.throttle_ms, context)
            return 0
        if data:
            out.append(bytes(data))
        return len(data)


def damage(data: bytearray, start: int, count: int, seed: int) -> None:
    """Invert `count` bytes (or as many as there are) of `data` from `start` on."""
    chosen = random.Random(seed)  # noqa: S311 - reproducible, not secret
    for at in chosen.sample(range(start, len(data)), min(count, len(data) - start)):
        data[at] ^= 0xFF


def corrupted_records(records: Any, count: int) -> bytes:
    """Return record batches with the last `count` bytes of the first batch inverted, so that its CRC is wrong."""
    data = bytearray(records.read() if isinstance(records, FileRange) else records)
    end = min(len(data), LOG_OVERHEAD + int.from_bytes(data[8:LOG_OVERHEAD], "big"))
    for at in range(max(LOG_OVERHEAD, end - count), end):
        data[at] ^= 0xFF
    return bytes(data)


def _trickle(data: bytes, bandwidth: float, mute_ms: int, context: Context) -> None:
    """Send data in portions. Until all of it has been sent, the connection serves no other request."""
    connection = cast(Connection, context.client)
    portion = max(1, int(bandwidth * TICK_MS / 1000))
    _send_portion(connection, data, portion, portion / bandwidth * 1000, mute_ms, client_time(context.clock))


def _send_portion(
    connection: Connection, data: bytes, portion: int, tick_ms: float, mute_ms: int, clock: Clock
) -> None:
    def send() -> None:
        if connection.is_closed:
            return
        connection.send(data[:portion])
        if len(data) > portion:
            _send_portion(connection, data[portion:], portion, tick_ms, mute_ms, clock)
        else:
            connection.mute(mute_ms)

    connection.mute(tick_ms + MUTED_MS)
    clock.call_later(tick_ms, send)
