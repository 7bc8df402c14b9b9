"""The client of a request, as far as handlers and quotas may touch it."""

from typing import Protocol


class Client(Protocol):
    """The connection a request came in on."""

    is_closed: bool

    def close(self, reason: str) -> None:
        """End the connection, with one line in the log that gives `reason`."""

    def mute(self, ms: float) -> None:
        """Serve no further request of this connection for `ms` milliseconds (KIP-219); this one's answer goes out."""
