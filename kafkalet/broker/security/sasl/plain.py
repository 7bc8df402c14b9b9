"""The SASL mechanism PLAIN (RFC 4616): the client sends its user name and password.

Source: org.apache.kafka.common.security.plain.internals.PlainSaslServer.
"""

import hmac
from collections.abc import Mapping

from kafkalet.broker.security.principal import Principal, user

from .mechanism import AuthenticationFailed


class Plain:
    """An authentication with PLAIN. `passwords` maps user names to passwords."""

    expires_ms = None

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.principal: Principal | None = None

    def evaluate(self, token: bytes) -> bytes:
        _, name, password = token.decode().split("\0")
        expected = self._passwords.get(name)
        if expected is None or not hmac.compare_digest(expected.encode(), password.encode()):
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        self.principal = user(name)
        return b""
