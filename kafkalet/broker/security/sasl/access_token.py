"""Access tokens of OAUTHBEARER: what their validators return and raise."""

from collections.abc import Callable
from typing import NamedTuple

JWKS_URL = "sasl.oauthbearer.jwks.endpoint.url"


class AccessToken(NamedTuple):
    """A valid token: the name of its principal, and when it expires, in milliseconds since 1970."""

    principal_name: str
    expires_ms: int


class InvalidToken(Exception):
    """A token is not valid. The message is logged; it contains no part of the token.

    `scope` is the required scope if the token lacks it.
    """

    def __init__(self, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.scope = scope


Validate = Callable[[str], AccessToken]
"""Returns the content of a token. Raises InvalidToken, or BrokenExchange if Kafka throws an unexpected exception."""
