"""The hooks of a router: objects other than the handlers that see or change requests and responses.

A hook is None while it is not used, and costs nothing then. While the hooks that need the messages are None, the broker
is *plain*: its fast paths may answer requests without decoding them (repetitions.py, response_cache.py), and without
reading all partitions (apis/fetch_partitions.py). SEE_BYTES lists the hooks that only need the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from kafkalet.broker.broker import Broker
from kafkalet.broker.context import Context
from kafkalet.protocol.schema import Request, Response
from kafkalet.protocol.wire import Chunk
from kafkalet.tasks.delayed import Delayed

if TYPE_CHECKING:  # imported if they are used
    from kafkalet.broker.security.authorizer import Authorizer

    from .journal import Journal
    from .request_log import RequestLog

Answer = Response | Delayed[Any] | None
Handler = Callable[[Any, Context], Any]
"""Returns an `Answer`, or a coroutine that returns one (tasks/task.py)."""
Serve = Callable[[bytes | bytearray, Context, list[Chunk]], int | Delayed[Any]]
Encode = Callable[[Any, Context, list[Chunk]], int]

SEE_BYTES = frozenset({"journal", "shaping"})
"""The hooks that only need the bytes of requests and responses, whether or not a handler was called."""


class Throttle(Protocol):
    """Measures client requests and throttles the clients."""

    def begin(self, context: Context, request_bytes: int) -> None:
        """Called when a request arrives."""

    def pause(self, context: Context) -> None:
        """Called when the response is delayed."""

    def end(self, answer: Response | None, context: Context) -> None:
        """Called with the response, or None if none is expected. May set `throttle_time_ms` and mute the client."""


class Shaping(Protocol):
    """Changes the bytes of responses."""

    def wrap(self, route: Serve, encode: Encode) -> tuple[Serve, Encode]:
        """Return replacements of `Router.route` and `Router.encode_delayed`."""

    def alters(self, context: Context) -> bool:
        """Return whether the response to the current request of a connection will be changed or lost."""


class Hooks:
    """The hooks of the router of one broker. `on_change` is called after each change."""

    authorizer: Authorizer | None = None
    """Decides what clients may do. Handlers call it (context.py)."""
    replica_selector: str | None = None
    """The class that redirects consumers to other replicas (KIP-392). The handler of Fetch uses it."""
    intercept: Callable[[Request, Context, Handler], Answer] | None = None
    """Called instead of the handler, which is an argument. It may respond, delay the request or disconnect (faults)."""
    throttle: Throttle | None = None
    """Called with each request, and with its response before it is encoded (quotas/throttling.py)."""
    request_log: type[RequestLog] | None = None
    """Logs requests while the logger `kafkalet.requests` is at level debug."""
    journal: Journal | None = None
    """Records each request with its response."""
    shaping: Shaping | None = None
    """Changes the bytes of responses (faults/shaping.py)."""

    def __init__(self, broker: Broker, on_change: Callable[[], None]) -> None:
        self.__dict__.update(
            _broker=broker,
            _on_change=on_change,
            authorizer=broker.authorizer,
            replica_selector=broker.controller.config.replica_selector_class,
        )
        self._update(broker)

    def __setattr__(self, name: str, hook: object) -> None:
        super().__setattr__(name, hook)
        self._update(self.__dict__["_broker"])
        self.__dict__["_on_change"]()

    def _update(self, broker: Broker) -> None:
        broker.is_plain = all(getattr(self, name) is None for name in HOOKS - SEE_BYTES)


HOOKS = frozenset(Hooks.__annotations__)
"""The names of all hooks."""
