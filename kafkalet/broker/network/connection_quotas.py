"""The number of open connections of a broker, over all of its listeners.

While `max.connections` connections are open, a listener accepts none. The inter-broker listener of a broker with
several listeners is protected: it still accepts clients, and an idle connection of another listener is closed instead
(KIP-402). A client's address has one limit for all listeners.

If a listener or its broker exceeds its `max.connection.creation.rate`, the listener accepts no client until the rate is
back at the limit (KIP-612). The broker's limit does not apply to the protected listener.

Source: kafka.network.ConnectionQuotas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from .listener_context import MAX_INT, Limits

if TYPE_CHECKING:
    from kafkalet.broker.quotas.meters import SampledRate

    from .connection import Connection
    from .tls_handshake import TlsHandshake


class Listener(Protocol):
    """The part of a listener that the quotas use."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def open(self) -> Sequence[Connection | TlsHandshake]: ...

    def __len__(self) -> int:
        """Return the number of open connections."""

    def resume(self) -> None:
        """Accept clients again, because a connection of this or another listener of the broker has closed."""


class ConnectionQuotas:
    """Counts the connections of a broker. `protected` is the name of the inter-broker listener, if it is configured."""

    def __init__(self, protected: str | None = None, windows: int = 11, window_ms: int = 1000) -> None:
        self.max_connections = MAX_INT
        self.by_host: dict[str, int] = {}
        """How many connections each client address has, if any."""
        self.max_connection_creation_rate = MAX_INT
        self._protected = protected
        self._windows = windows
        self._window_ms = window_ms
        self._rates: dict[str, SampledRate] = {}
        self._listeners: list[Listener] = []

    def __len__(self) -> int:
        """Return the number of open connections."""
        return sum(map(len, self._listeners))

    def add(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def has_slot(self, listener: Listener) -> bool:
        """Return whether a listener may accept a connection."""
        if len(listener) >= listener.limits.max_connections:
            return False
        return self._is_protected(listener) or len(self) < self.max_connections

    def throttle_ms(self, listener: Listener, now_ms: int) -> int:
        """Count a connection that a listener is about to open. Return the time until it may be opened, usually 0."""
        delay_ms = self._over(listener.name, listener.limits.max_connection_creation_rate, now_ms)
        if not self._is_protected(listener):
            delay_ms = max(delay_ms, self._over("", self.max_connection_creation_rate, now_ms))
        return min(delay_ms, self._window_ms)

    def _over(self, name: str, most: int, now_ms: int) -> int:
        """Return the time until the connection rate of a listener, or of the broker (""), is back at the limit."""
        if most >= MAX_INT:
            self._rates.pop(name, None)
            return 0
        if name not in self._rates:
            from kafkalet.broker.quotas.meters import SampledRate  # imported only if there is a limit

            self._rates[name] = SampledRate(self._windows, self._window_ms)
        self._rates[name].record(1, now_ms)
        return self._rates[name].throttle_ms(max(most, 1), now_ms)

    def opened(self, listener: Listener, host: str) -> None:
        """Count a new connection. Close another one if there are too many on a protected listener."""
        self.by_host[host] = self.by_host.get(host, 0) + 1
        if self._is_protected(listener) and len(self) >= self.max_connections:  # the new one is not among them yet
            self._close_one(listener)

    def closed(self, host: str) -> None:
        """Count a connection as closed. Other listeners may accept one now."""
        left = self.by_host[host] - 1
        if left:
            self.by_host[host] = left
        else:
            del self.by_host[host]
        for listener in self._listeners:
            listener.resume()

    def _is_protected(self, listener: Listener) -> bool:
        return listener.name == self._protected and len(self._listeners) > 1

    def _close_one(self, protected: Listener) -> None:
        """Of the connections of other listeners, close the one that has been idle longest."""
        others = [each for listener in self._listeners if listener is not protected for each in listener.open]
        if others:
            oldest = min(others, key=lambda connection: connection.last_active_ms)
            oldest.abort(f"max.connections={self.max_connections} is exceeded on a protected listener")
