"""The bytes of responses: corrupt them, cut them off, send them slowly, or lose them.

The engine registers a request here once its response is known. When the router has encoded the response, its bytes are
changed on their way to the connection.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

from kafkalet.broker.context import Context
from kafkalet.broker.network.connection import Connection
from kafkalet.broker.network.hooks import Encode, Serve
from kafkalet.broker.network.router import Route
from kafkalet.broker.network.sending import join
from kafkalet.clock import Timer, client_time
from kafkalet.protocol.records.batch import LOG_OVERHEAD
from kafkalet.protocol.wire import Chunk
from kafkalet.storage.files import FileRange
from kafkalet.tasks.delayed import Delayed
from kafkalet.units import counted

from .rule import FaultRule

TICK_MS = 20
"""The time between two portions of a slow response."""
MUTED_MS = 60_000
"""A client is muted for the time until the next portion plus this time. Each portion mutes it again."""


class Shaping:
    """The responses that are to be changed. Implements the hook `Hooks.shaping`."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is called when `is_needed` has changed."""
        self._changed = changed
        self._due: dict[Context, FaultRule] = {}
        self._lost: set[Context] = set()
        """The connections that have lost a response."""
        self._slow: set[_SlowResponse] = set()

    def add(self, context: Context, rule: FaultRule) -> None:
        """Change the response to the current request of a connection."""
        for other in [other for other in self._due if other.client.is_closed]:
            del self._due[other]
        self._due[context] = rule
        self._changed()

    def lose(self, context: Context) -> None:
        """Send no further response on a connection, because the response to its current request is lost.

        Responses arrive in the order of their requests. A client fails if one is missing in between: for example,
        librdkafka's idempotent producer assumes that records were lost, and the Java client raises an exception.
        """
        self._lost.add(context)
        self._changed()

    def alters(self, context: Context) -> bool:
        """Return whether the response to the current request of a connection will be changed or lost."""
        return context in self._due or context in self._lost

    def finish_slow(self, rule: FaultRule) -> None:
        """Complete the responses that a fault has slowed down."""
        for slow in [slow for slow in self._slow if slow.rule is rule]:
            slow.finish()

    def clear(self) -> None:
        """Forget all connections: they have been closed."""
        self._due.clear()
        self._lost.clear()
        self._slow.clear()

    @property
    def is_needed(self) -> bool:
        """Whether there is a response to change."""
        return bool(self._due or self._lost)

    def wrap(self, route: Serve, encode: Encode) -> tuple[Serve, Encode]:
        """Return variants of `Router.route` and `Router.encode_delayed` that change responses."""

        def shaping_route(frame: bytes | bytearray, context: Context, out: list[Chunk]) -> int | Delayed[Any]:
            before = len(out)
            size = route(frame, context, out)
            return self._shape(out, before, size, context) if isinstance(size, int) and self.is_needed else size

        def shaping_encode(answer: Any, context: Context, out: list[Chunk]) -> int:
            before = len(out)
            size = encode(answer, context, out)
            return self._shape(out, before, size, context) if self.is_needed else size

        return shaping_route, shaping_encode

    def _shape(self, out: list[Chunk], before: int, size: int, context: Context) -> int:
        if self._lost:
            if context in self._lost:
                del out[before:]
                return 0
            if closed := {other for other in self._lost if other.client.is_closed}:
                self._lost -= closed
                self._changed()
        rule = self._due.pop(context, None)
        if rule is None:
            return size
        self._changed()
        if not size:
            return size
        actions = rule.actions
        data = bytearray(join(out[before:]))
        del out[before:]
        if actions.corrupt:
            head = cast(Route, context.route).header_size + 4
            damage(data, head, actions.corrupt, rule.selection.seed + rule.fired)
        if actions.rewrite_frame is not None:
            data = actions.rewrite_frame(data)
        if actions.truncate is not None:
            del data[min(actions.truncate, size - 1) :]
            context.client.close(f"a fault cut off the response to {context.route} after {counted(len(data), 'byte')}")
        if actions.bandwidth:
            slow = _SlowResponse(bytes(data), rule, context, self._slow.discard)
            self._slow.add(slow)
            slow.wait()
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


class _SlowResponse:
    """A response that is sent in portions. Until all of it has been sent, the connection serves no other request."""

    def __init__(self, data: bytes, rule: FaultRule, context: Context, ended: Callable[[_SlowResponse], None]) -> None:
        """`ended` is called when the response has been sent, or when the connection has been closed."""
        self.rule = rule
        self._rest = data
        self._connection = cast(Connection, context.client)
        self._ended = ended
        self._clock = client_time(context.clock)
        self._timer: Timer | None = None
        self._portion = max(1, int(rule.actions.bandwidth * TICK_MS / 1000))
        self._tick_ms = self._portion / rule.actions.bandwidth * 1000
        self._connection.is_sending_slowly = True

    def wait(self) -> None:
        """Send the next portion later."""
        self._connection.mute(self._tick_ms + MUTED_MS)
        self._timer = self._clock.call_later(self._tick_ms, self._send_next)

    def finish(self) -> None:
        """Send the rest immediately."""
        if self._timer is not None:
            self._timer.cancel()
        self._send(len(self._rest))

    def _send_next(self) -> None:
        self._send(self._portion)

    def _send(self, size: int) -> None:
        connection = self._connection
        if not connection.is_closed:
            portion, self._rest = self._rest[:size], self._rest[size:]
            connection.send(portion)
            if self._rest:
                self.wait()
                return
            connection.is_sending_slowly = False
            connection.mute(self.rule.actions.throttle_ms)
        self._ended(self)
