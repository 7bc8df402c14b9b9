"""What the SASL mechanisms have in common."""

from typing import Protocol

from kafkalet.broker.security.principal import Principal


class AuthenticationFailed(Exception):
    """The client could not be authenticated. The message is sent to the client, and never has a secret."""


class Mechanism(Protocol):
    """One authentication with one mechanism, on one connection."""

    def evaluate(self, token: bytes) -> bytes:
        """Return the response to a token of the client. Raises AuthenticationFailed."""

    @property
    def principal(self) -> Principal | None:
        """The authenticated principal, or None if the client has to send another token."""

    @property
    def expires_ms(self) -> int | None:
        """The time at which the client's credentials expire, in milliseconds since the epoch, or None."""
