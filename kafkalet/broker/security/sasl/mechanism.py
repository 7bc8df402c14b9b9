"""What the SASL mechanisms have in common: the interface, and how an exchange of tokens fails.

Kafka's SaslServer implementations distinguish three failures, and clients see the difference:

    AuthenticationFailed      SaslAuthenticationException: its message is sent to the client
    InvalidCredentials        SaslException: the client gets a fixed message, whatever the reason
    BrokenExchange            an unexpected exception: the connection is closed without a response
"""

from typing import Protocol

from kafkalet.broker.security.principal import Principal

SASL_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
"""The pattern of a user name in a message: a comma is written as =2C, and an equals sign as =3D (RFC 5802)."""


class AuthenticationFailed(Exception):
    """The client is not authenticated. The message is sent to the client and logged; it contains no secret."""


class InvalidCredentials(Exception):
    """The client is not authenticated. The message says why; it is logged, but never sent. It contains no secret."""


class BrokenExchange(Exception):
    """The client sent a token that makes Kafka's mechanism throw an unexpected exception. The message is logged."""


class Mechanism(Protocol):
    """One authentication with one mechanism, on one connection."""

    is_token_authenticated: bool
    """Whether the client has logged in with a delegation token."""

    @property
    def principal(self) -> Principal | None:
        """The authenticated principal, or None if the client has to send another token."""

    @property
    def expires_ms(self) -> int | None:
        """The time at which the client's credentials expire, in milliseconds since 1970, or None."""

    def evaluate(self, token: bytes) -> bytes:
        """Return the response to a token of the client.

        Raises AuthenticationFailed, InvalidCredentials or BrokenExchange.
        """
