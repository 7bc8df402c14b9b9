"""The interface through which handlers and quotas use a client's connection."""

from collections.abc import Callable
from typing import Protocol

from kafkalet.protocol.errors import ProtocolError


class Client(Protocol):
    """The connection on which a request arrived."""

    when_closed: Callable[[], object] | None
    """Called when the connection has closed; None until a handler sets it."""

    @property
    def is_closed(self) -> bool: ...

    def close(self, reason: str) -> None:
        """Close the connection and log `reason`."""

    def mute(self, ms: float) -> None:
        """Respond to the current request, then serve no others on this connection for `ms` milliseconds (KIP-219)."""


class CloseConnection(ProtocolError):
    """The client is faulty or not authorized: the connection is closed without a response. The message is logged."""
