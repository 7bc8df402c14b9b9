"""Delegation tokens, which a user passes to other clients so that they can log in as this user (KIP-48, KIP-373).

A token has a public id and a secret, which is the HMAC of the id with the key that all brokers share. Clients log in
with the id as user name and the secret, in base64, as password of a SCRAM mechanism. The secret is not stored.

    issued_ms <= expires_ms <= max_ms       the owner and the renewers can move `expires_ms`

Source: org.apache.kafka.controller.DelegationTokenControlManager, kafka.server.DelegationTokenManager; for releases
with ZooKeeper, kafka.server.DelegationTokenManagerZk.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Self

from kafkalet.broker.config.release import Release
from kafkalet.clock import Clock
from kafkalet.properties import Property, Type, at_least
from kafkalet.protocol.errors import Code, KafkaError

from .principal import Principal, user
from .scram_credentials import ScramCredential, ScramMechanism, credential_of_password

MAX_INT64 = (1 << 63) - 1
DAY_MS = 24 * 60 * 60 * 1000
HOUR_MS = 60 * 60 * 1000


class DelegationToken(NamedTuple):
    """A token. `requester` is the principal that created it; times are in milliseconds since the epoch."""

    token_id: str
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issued_ms: int
    max_ms: int
    expires_ms: int

    def has_expired(self, now_ms: int) -> bool:
        return self.max_ms < now_ms or self.expires_ms < now_ms

    def may_be_renewed_by(self, principal: Principal) -> bool:
        """Return whether a principal is the owner or a renewer. Requesting a token for another user is not enough."""
        return principal == self.owner or principal in self.renewers


class TokenSettings(NamedTuple):
    """The properties of delegation tokens. Without a secret key, tokens are disabled."""

    secret_key: str = ""
    max_lifetime_ms: int = 7 * DAY_MS
    renewal_ms: int = DAY_MS
    check_interval_ms: int = HOUR_MS

    def __repr__(self) -> str:
        return f"TokenSettings(enabled={bool(self.secret_key)})"

    @classmethod
    def of(cls, given: Mapping[str, str], *, knows_master_key: bool) -> Self:
        """Return the settings in the properties of a cluster. Raises InvalidProperty."""
        key = given.get("delegation.token.secret.key")
        if key is None and knows_master_key:
            key = given.get("delegation.token.master.key")
        return cls(
            key or "",
            _period(given, "delegation.token.max.lifetime.ms", 7 * DAY_MS),
            _period(given, "delegation.token.expiry.time.ms", DAY_MS),
            _period(given, "delegation.token.expiry.check.interval.ms", HOUR_MS),
        )


def _period(given: Mapping[str, str], name: str, default: int) -> int:
    value = Property(name, Type.LONG, None, at_least(1)).parse(given.get(name, str(default)))
    assert isinstance(value, int)
    return value


class DelegationTokens:
    """The tokens of a cluster. `change` stores tokens by id, and removes ids whose token is None."""

    def __init__(
        self,
        tokens: Mapping[str, DelegationToken],
        settings: TokenSettings,
        clock: Clock,
        rules: Release,
        change: Callable[[Mapping[str, DelegationToken | None]], None],
    ) -> None:
        self.settings = settings
        self._tokens = tokens
        self._clock = clock
        self._rules = rules
        self._change = change
        self._secrets: dict[str, bytes] = {}
        self._credentials: dict[tuple[str, ScramMechanism], ScramCredential] = {}

    @property
    def are_enabled(self) -> bool:
        return bool(self.settings.secret_key)

    def all(self) -> list[DelegationToken]:
        """Return all tokens, including those that have expired and have not been removed yet."""
        return list(self._tokens.values())

    def token(self, token_id: str) -> DelegationToken | None:
        return self._tokens.get(token_id)

    def secret(self, token_id: str) -> bytes:
        """Return the secret of the token with this id: its HMAC."""
        secret = self._secrets.get(token_id)
        if secret is None:
            import hmac

            secret = hmac.digest(self.settings.secret_key.encode(), token_id.encode(), "sha512")
            self._secrets[token_id] = secret
        return secret

    def token_credential(self, mechanism: ScramMechanism, token_id: str) -> tuple[ScramCredential, Principal] | None:
        """Return the credential of clients that log in with a token, and their principal; None if there is none.

        A token that has expired is accepted until it is removed. The principal is always a user, even if the owner has
        another type (SaslServerAuthenticator.principal).
        """
        token = self._tokens.get(token_id)
        if token is None or not self.are_enabled:
            return None
        credential = self._credentials.get((token_id, mechanism))
        if credential is None:
            from base64 import b64encode

            credential = credential_of_password(mechanism, b64encode(self.secret(token_id)).decode())
            self._credentials[token_id, mechanism] = credential
        return credential, user(token.owner.name)

    def create(
        self, token_id: str, owner: Principal, requester: Principal, renewers: Iterable[Principal], max_lifetime_ms: int
    ) -> DelegationToken:
        """Create a token. A `max_lifetime_ms` of 0 or less stands for the maximum of the cluster."""
        self._check_enabled()
        now_ms = self._clock.now_ms()
        lifetime_ms = self.settings.max_lifetime_ms
        if max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, max_lifetime_ms)
        max_ms = self._sum(now_ms, lifetime_ms)
        expires_ms = min(max_ms, self._sum(now_ms, self.settings.renewal_ms))
        token = DelegationToken(token_id, owner, requester, tuple(renewers), now_ms, max_ms, expires_ms)
        self._change({token_id: token})
        return token

    def renew(self, secret: bytes, principal: Principal, period_ms: int) -> int:
        """Let a token expire after a period, and return the new time. Raises KafkaError."""
        self._check_enabled()
        token = self._of_secret(secret)
        now_ms = self._clock.now_ms()
        if self._rules.checks_token_owners_first:
            _check_owner(token, principal)
        if token.has_expired(now_ms):
            raise KafkaError(Code.DELEGATION_TOKEN_EXPIRED)
        _check_owner(token, principal)
        longest_ms = self.settings.renewal_ms
        if self._rules.renews_tokens_for_any_time:
            period_ms = longest_ms if period_ms < 0 else period_ms
        else:
            period_ms = min(period_ms, longest_ms) if period_ms > 0 else longest_ms
        return self._let_expire(token, self._sum(now_ms, period_ms))

    def expire(self, secret: bytes, principal: Principal, period_ms: int) -> int:
        """Let a token expire after a period, or remove it if the period is negative. Return the time.

        Raises KafkaError.
        """
        self._check_enabled()
        token = self._of_secret(secret)
        now_ms = self._clock.now_ms()
        _check_owner(token, principal)
        if token.has_expired(now_ms) and (period_ms >= 0 or self._rules.keeps_expired_tokens):
            raise KafkaError(Code.DELEGATION_TOKEN_EXPIRED)
        if period_ms < 0:
            self._remove([token.token_id])
            return now_ms
        return self._let_expire(token, self._sum(now_ms, period_ms))

    def remove_expired(self) -> None:
        """Remove the tokens that have expired."""
        now_ms = self._clock.now_ms()
        self._remove([token.token_id for token in self._tokens.values() if token.has_expired(now_ms)])

    def quiet_ms(self) -> float:
        """Return the time until the first of the current tokens expires."""
        now_ms = self._clock.now_ms()
        ends_ms = (min(token.max_ms, token.expires_ms) for token in self._tokens.values())
        return max(0, min(ends_ms, default=math.inf) - now_ms)

    def _let_expire(self, token: DelegationToken, expires_ms: int) -> int:
        expires_ms = min(token.max_ms, expires_ms)
        self._change({token.token_id: token._replace(expires_ms=expires_ms)})
        return expires_ms

    def _remove(self, token_ids: list[str]) -> None:
        if not token_ids:
            return
        self._change(dict.fromkeys(token_ids))
        for token_id in token_ids:
            self._secrets.pop(token_id, None)
            for mechanism in ScramMechanism:
                self._credentials.pop((token_id, mechanism), None)

    def _check_enabled(self) -> None:
        if not self.are_enabled:
            raise KafkaError(Code.DELEGATION_TOKEN_AUTH_DISABLED)

    def _of_secret(self, secret: bytes) -> DelegationToken:
        """Return the token with this secret. The time that this takes does not depend on the bytes of the secrets."""
        import hmac

        found = None
        for token_id, token in self._tokens.items():
            if hmac.compare_digest(self.secret(token_id), secret):
                found = token
        if found is None:
            raise KafkaError(Code.DELEGATION_TOKEN_NOT_FOUND)
        return found

    def _sum(self, now_ms: int, duration_ms: int) -> int:
        total = now_ms + duration_ms
        if total <= MAX_INT64:
            return total
        return total - (1 << 64) if self._rules.wraps_token_times else MAX_INT64


def _check_owner(token: DelegationToken, principal: Principal) -> None:
    if not token.may_be_renewed_by(principal):
        raise KafkaError(Code.DELEGATION_TOKEN_OWNER_MISMATCH)
