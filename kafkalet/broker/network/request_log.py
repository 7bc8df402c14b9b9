"""The log of requests, for those who debug a client: one line for each request, once it is answered.

    conn=3 127.0.0.1:50312 on broker 1
    conn=3 client=rdkafka Produce v10 t-0 1 batch 1 record 71 B -> offset 0 in 0.4 ms
    conn=3 client=rdkafka Fetch v11 t-0@12 -> 3 batches 210 B hw=15 lso=15 in 1.2 ms
    conn=3 client=rdkafka Fetch v11 t-0@15 -> nothing hw=15 lso=15 in 502.3 ms (waited)
    conn=3 client=rdkafka JoinGroup v5 group_id=g ... -> MEMBER_ID_REQUIRED member_id=rdkafka-7c9... in 0.2 ms

It goes to the logger `kafkalet.requests` at level debug. The router looks at the level with each new connection, and
takes its way through here only while it is on (`Router.context`). A request that is refused by closing the connection,
whose client goes away, or that expects no answer is shown as well.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count
from typing import Any

from kafkalet.broker.context import Context
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.protocol.schema import Response
from kafkalet.protocol.wire import Chunk

from .request_text import Noted

_LOG = logging.getLogger("kafkalet.requests")

_NUMBERS = count(1)
"""Connections have numbers that are their own in the whole process: its brokers write into one log."""

Route = Callable[[bytes | bytearray, Context, list[Chunk]], int | Delayed[Any]]
End = Callable[[Response | None, Context], None]


class RequestLog:
    """Stands before the way of a request and behind its answer. `route` and `end` are what it stands around."""

    def __init__(self, route: Route, end: End | None) -> None:
        self._route = route
        self._end = end

    def route(self, frame: bytes | bytearray, context: Context, out: list[Chunk]) -> int | Delayed[Any]:
        """Serve a request as `Router.route` does."""
        asked = self._asked(frame, context)
        try:
            answer = self._route(frame, context, out)
        except Exception as problem:
            asked.fail(problem)
            raise
        if isinstance(answer, int):
            return answer
        asked.has_waited = True
        return _Watched(answer, asked)

    def end(self, answer: Response | None, context: Context) -> None:
        """A request is answered; None: its client expects no answer."""
        if self._end is not None:
            self._end(answer, context)
        asked = context.asked
        if asked is not None:
            asked.answer(answer)

    def _asked(self, frame: bytes | bytearray, context: Context) -> Noted:
        last = context.asked
        number = next(_NUMBERS) if last is None else last.connection
        if last is None:
            _LOG.debug("conn=%d %s:%d on broker %d", number, *context.peer[:2], context.node.node_id)
        context.asked = asked = Noted(number, frame, context.node.metadata)
        return asked


class _Watched(Delayed[Any]):
    """The answer of another `Delayed`, which tells the log when none will come."""

    __slots__ = ("_asked", "_source")

    def __init__(self, source: Delayed[Any], asked: Noted) -> None:
        super().__init__()
        self._source = source
        self._asked = asked
        source.then(self.complete, self.fail)

    @property
    def is_working(self) -> bool:
        return self._source.is_working

    def fail(self, error: Exception) -> None:
        self._asked.fail(error)
        super().fail(error)

    def cancel(self) -> None:
        super().cancel()
        self._source.cancel()
        self._asked.leave()
