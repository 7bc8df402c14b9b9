"""Authenticates the clients of a listener with SASL.

A client sends SaslHandshake with the name of a mechanism, then the tokens of the mechanism in SaslAuthenticate
requests. Until it is authenticated, it may send no other request except ApiVersions.

Source: org.apache.kafka.common.security.authenticator.SaslServerAuthenticator (KIP-43, KIP-152, KIP-368).
"""

import re
from collections.abc import Mapping

from kafkalet.broker.security.principal import Principal
from kafkalet.protocol.api import Api

from .mechanism import Mechanism
from .plain import Plain

_USERS = re.compile(r'user_(\w+)\s*=\s*"([^"]*)"')
BEFORE_AUTHENTICATION = (Api.API_VERSIONS, Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE)


class SaslListener:
    """What the connections of a listener with SASL share. `values` are the properties of the listener."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.mechanisms = [word.strip() for word in values.get("sasl.enabled.mechanisms", "GSSAPI").split(",")]
        self.passwords = dict(_USERS.findall(values.get("plain.sasl.jaas.config", "")))

    def authenticator(self) -> "Authenticator":
        """Return the authenticator of a new connection."""
        return Authenticator(self)

    def mechanism(self, name: str) -> Mechanism:
        return Plain(self.passwords)


class Authenticator:
    """The authentication of one connection."""

    def __init__(self, listener: SaslListener) -> None:
        self.listener = listener
        self.mechanism: Mechanism | None = None
        self.principal: Principal | None = None
        """The authenticated principal."""

    def allows(self, api: Api) -> bool:
        """Return whether the client may send a request to this API now."""
        return self.principal is not None or api in BEFORE_AUTHENTICATION
