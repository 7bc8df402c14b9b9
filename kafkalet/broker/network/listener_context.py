"""The state that a listener's connections share, including the limits on its clients.

The limits are named after Kafka's properties (`max.connections` is `max_connections`) and have Kafka's defaults. They
are read each time they are used, so changed values apply immediately.
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from kafkalet.broker.security.principal import Principal
from kafkalet.broker.watchers import Watchers
from kafkalet.clock import Clock
from kafkalet.tasks.turns import Turns

from .receiving import ReceiveBuffer
from .router import Router

if TYPE_CHECKING:  # imported only if the listener uses TLS or SASL
    import ssl

    from kafkalet.broker.security.sasl.listener import SaslListener

MAX_INT = 2**31 - 1


class Limits:
    """The limits of a listener and its connections."""

    socket_request_max_bytes = 100 * 1024 * 1024
    connections_max_idle_ms = 600_000  # negative: no limit
    max_connections = MAX_INT
    max_connection_creation_rate = MAX_INT
    max_connections_per_ip = MAX_INT
    max_connections_per_ip_overrides: Mapping[str, int] = MappingProxyType({})
    socket_send_buffer_bytes = -1  # the system default (Kafka's default is 102,400)
    socket_receive_buffer_bytes = -1

    def __init__(self, **limits: Any) -> None:
        self.__dict__.update(limits)


class Tls(Protocol):
    """The TLS settings of a listener."""

    @property
    def context(self) -> "ssl.SSLContext":
        """The certificates, protocols and ciphers for new connections."""

    def principal(self, tls: "ssl.SSLSocket") -> Principal:
        """Return the principal of a client's certificate, or ANONYMOUS if it has none.

        Raises ValueError if the certificate has no valid name.
        """


class ListenerContext:
    """The objects that all connections of a listener share."""

    __slots__ = (
        *("authenticators", "buffer", "clock", "forget", "limits", "listener", "loop", "router", "turns", "watchers"),
    )

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
        watchers: Watchers,
    ) -> None:
        self.loop = loop
        self.router = router
        self.limits = limits
        self.clock = clock
        self.buffer = buffer
        self.turns = turns
        self.listener = listener  # the name of the listener
        self.forget = forget  # called with the descriptor of a closing connection
        self.watchers = watchers
        self.authenticators: SaslListener | None = None  # authenticates the clients, if the listener uses SASL
