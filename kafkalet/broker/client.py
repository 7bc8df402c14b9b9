"""The interface to a client's connection for handlers and quotas."""

from typing import Protocol


class Client(Protocol):
    """The connection on which a request arrived."""

    is_closed: bool

    def close(self, reason: str) -> None:
        """Close the connection and log `reason`."""

    def mute(self, ms: float) -> None:
        """Serve no further request of this connection for `ms` milliseconds (KIP-219); the current one is answered."""
