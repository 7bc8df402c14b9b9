"""How delegation tokens log in through SCRAM: what the mechanism asks the broker's tokens.

The client sends the id of the token as user name, and the HMAC of the token in base64 as password (KIP-48).
"""

from typing import Protocol

from kafkalet.broker.security.delegation_tokens import DelegationToken
from kafkalet.broker.security.principal import Principal
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism


class TokenCredentials(Protocol):
    """The delegation tokens of a cluster (org.apache.kafka.common.security.token.delegation.internals)."""

    def token_credential(self, mechanism: ScramMechanism, token_id: str) -> tuple[ScramCredential, Principal] | None:
        """Return the credential and the owner of a token, or None if the token does not exist."""

    def token(self, token_id: str) -> DelegationToken | None:
        """Return a token, or None if it does not exist."""
