"""The request log, for debugging clients: one line for each request, written with its response.

    conn=3 127.0.0.1:50312 on broker 1
    conn=3 client=rdkafka Produce v10 t-0 1 batch 1 record 71 B -> offset 0 in 0.4 ms
    conn=3 client=rdkafka Fetch v11 t-0@12 -> 3 batches 210 B hw=15 lso=15 in 1.2 ms
    conn=3 client=rdkafka Fetch v11 t-0@15 -> nothing hw=15 lso=15 in 502.3 ms (waited)
    conn=3 client=rdkafka JoinGroup v5 group_id=g ... -> MEMBER_ID_REQUIRED member_id=rdkafka-7c9... in 0.2 ms

The logger is `kafkalet.requests`, at level debug. The router checks the level for each new connection, and uses this
module only while debug logging is enabled (`Router.context`). A request is also logged if it expects no response, if it
closes the connection, or if the client disconnects before the response.
"""

import logging
from collections.abc import Callable
from typing import Any

from kafkalet.broker.context import Context
from kafkalet.protocol.schema import Response
from kafkalet.protocol.wire import Chunk
from kafkalet.tasks.delayed import Delayed

from .request_text import LoggedRequest

_LOG = logging.getLogger("kafkalet.requests")

Route = Callable[[bytes | bytearray, Context, list[Chunk]], int | Delayed[Any]]
End = Callable[[Response | None, Context], None]


class RequestLog:
    """Wraps `route` and `end` of the router to log each request with its response."""

    def __init__(self, route: Route, end: End | None) -> None:
        self._route = route
        self._end = end

    def route(self, frame: bytes | bytearray, context: Context, out: list[Chunk]) -> int | Delayed[Any]:
        """Serve a request like `Router.route`."""
        logged = self._logged_request(frame, context)
        try:
            answer = self._route(frame, context, out)
        except Exception as problem:
            logged.fail(problem)
            raise
        if isinstance(answer, int):
            return answer
        logged.has_waited = True
        return _LoggedDelayed(answer, logged)

    def end(self, answer: Response | None, context: Context) -> None:
        """Log a request with its response. `answer` is None if the client expects no response."""
        if self._end is not None:
            self._end(answer, context)
        logged = context.logged_request
        if isinstance(logged, LoggedRequest):
            logged.answer(answer)

    def _logged_request(self, frame: bytes | bytearray, context: Context) -> LoggedRequest:
        if context.logged_request is None:
            _LOG.debug("conn=%d %s:%d on broker %d", context.number, *context.peer[:2], context.node.node_id)
        context.logged_request = logged = LoggedRequest(context.number, frame, context.node.metadata)
        return logged


class _LoggedDelayed(Delayed[Any]):
    """Forwards another `Delayed`, and logs its failure or cancellation."""

    __slots__ = ("_logged_request", "_source")

    def __init__(self, source: Delayed[Any], logged: LoggedRequest) -> None:
        super().__init__()
        self._source = source
        self._logged_request = logged
        source.then(self.complete, self.fail)

    @property
    def is_working(self) -> bool:
        return self._source.is_working

    @property
    def may_be_dropped(self) -> bool:
        return self._source.may_be_dropped

    def fail(self, error: Exception) -> None:
        self._logged_request.fail(error)
        super().fail(error)

    def cancel(self) -> None:
        super().cancel()
        self._source.cancel()
        self._logged_request.leave()
