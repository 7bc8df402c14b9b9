"""The SASL mechanism PLAIN (RFC 4616): the client sends its user name and password.

    [authorization id] NUL user NUL password

The users are options of the JAAS configuration: `user_alice="alice-secret"`.

Source: org.apache.kafka.common.security.plain.internals.PlainSaslServer, PlainServerCallbackHandler.
"""

import hmac
from collections.abc import Mapping

from kafkalet.broker.security.principal import Principal, user
from kafkalet.jaas import LOGIN_MODULES, LoginModule

from .mechanism import AuthenticationFailed

_USER = "user_"
_MOST_TOKENS = 4  # Kafka does not count further


def passwords_of(module: LoginModule) -> dict[str, str]:
    """Return the users' passwords, keyed by name. As in Kafka, only PlainLoginModule defines users."""
    if module.name != LOGIN_MODULES["PLAIN"]:
        return {}
    return {name[len(_USER) :]: password for name, password in module.options.items() if name.startswith(_USER)}


class Plain:
    """An authentication with PLAIN. `passwords` maps user names to passwords."""

    is_token_authenticated = False
    expires_ms = None

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.principal: Principal | None = None

    def evaluate(self, token: bytes) -> bytes:
        parts = token.decode(errors="replace").split("\0", _MOST_TOKENS - 1)
        if len(parts) != 3:
            raise AuthenticationFailed(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, name, password = parts
        if not name:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        expected = self._passwords.get(name)
        is_equal = hmac.compare_digest((expected or "").encode(), password.encode())
        if expected is None or not is_equal:
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.principal = user(name)
        return b""
