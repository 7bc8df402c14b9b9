"""What all connections of a listener have in common, among it how much of a broker its clients may take.

The limits are Kafka's properties of the same names (`max.connections` is `max_connections`), with Kafka's defaults.
Listeners and connections look at them whenever they matter, so a changed value counts from then on.
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable

from kafkalet.broker.scheduling.turns import Turns
from kafkalet.clock import Clock

from .receiving import ReceiveBuffer
from .router import Router

MAX_INT = 2**31 - 1


class Limits:
    """What a listener and its connections keep to."""

    __slots__ = (
        "connections_max_idle_ms",
        "max_connections",
        "max_connections_per_ip",
        "max_connections_per_ip_overrides",
        "socket_receive_buffer_bytes",
        "socket_request_max_bytes",
        "socket_send_buffer_bytes",
    )

    def __init__(
        self,
        *,
        socket_request_max_bytes: int = 100 * 1024 * 1024,
        connections_max_idle_ms: int = 600_000,
        max_connections: int = MAX_INT,
        max_connections_per_ip: int = MAX_INT,
        max_connections_per_ip_overrides: dict[str, int] | None = None,
        socket_send_buffer_bytes: int = -1,
        socket_receive_buffer_bytes: int = -1,
    ) -> None:
        self.socket_request_max_bytes = socket_request_max_bytes
        self.connections_max_idle_ms = connections_max_idle_ms  # below 0: for ever
        self.max_connections = max_connections
        self.max_connections_per_ip = max_connections_per_ip
        self.max_connections_per_ip_overrides = max_connections_per_ip_overrides or {}
        self.socket_send_buffer_bytes = socket_send_buffer_bytes  # -1: the system's (Kafka's default is 102,400)
        self.socket_receive_buffer_bytes = socket_receive_buffer_bytes


class Surroundings:
    """What all connections of a listener have in common."""

    __slots__ = ("buffer", "clock", "forget", "limits", "listener", "loop", "router", "turns")

    def __init__(
        self,
        loop: AbstractEventLoop,
        router: Router,
        limits: Limits,
        clock: Clock,
        buffer: ReceiveBuffer,
        turns: Turns,
        listener: str,
        forget: Callable[[int], None],
    ) -> None:
        self.loop = loop
        self.router = router
        self.limits = limits
        self.clock = clock
        self.buffer = buffer
        self.turns = turns
        self.listener = listener  # its name
        self.forget = forget  # called with the descriptor of a connection that ends
