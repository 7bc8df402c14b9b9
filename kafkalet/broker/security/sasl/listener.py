"""What the connections of a listener with SASL share: the enabled mechanisms and their users.

The settings are properties of the listener. Those of one mechanism begin with its name, as in
`listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config`.

Source: org.apache.kafka.common.network.SaslChannelBuilder, BrokerSecurityConfigs.
"""

import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

from kafkalet.broker.config.release import Release
from kafkalet.broker.java_order import order_of_strings
from kafkalet.broker.purgatory import Purgatory
from kafkalet.broker.security.delegation_tokens import DelegationTokens
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism
from kafkalet.clock import Clock
from kafkalet.jaas import LOGIN_MODULES, LoginModule, MalformedJaas, parse_login_module
from kafkalet.properties import HIDDEN, InvalidProperty, Type
from kafkalet.tasks.delayed import Delayed

from .mechanism import Mechanism

_LOG = logging.getLogger(__name__)

GSSAPI = "GSSAPI"
_FAILURE = "failure"  # the key of delayed responses, which is never touched

T = TypeVar("T")


class SaslListener:
    """The SASL settings of a listener. `values` are its properties."""

    def __init__(
        self,
        values: Mapping[str, str],
        credentials: Mapping[tuple[str, ScramMechanism], ScramCredential],
        clock: Clock,
        call_soon: Callable[[Callable[[], None]], object],
        rules: Release,
        tokens: DelegationTokens | None = None,
    ) -> None:
        """`clock` is the clock of client time. Raises InvalidProperty."""
        self._values = values
        self.clock = clock
        self.rules = rules
        self.call_soon = call_soon
        self.failures = Purgatory(clock, call_soon)
        """The responses to clients that have failed to authenticate, which are delayed."""
        self.max_receive_bytes = self._number("sasl.server.max.receive.size", 524_288)
        self.failure_delay_ms = self._number("connection.failed.authentication.delay.ms", 100)
        self._credentials = credentials
        self._tokens = tokens
        self.mechanisms = _enabled(values)
        """The enabled mechanisms, in the order in which clients see them."""
        self._factories = {name: self._factory(name) for name in self.mechanisms}
        self._max_reauth_ms = {name: self._max_reauth(name) for name in self.mechanisms}

    def begin(self, mechanism: str) -> Mechanism:
        """Begin an authentication with an enabled mechanism."""
        return self._factories[mechanism]()

    def passwords_changed(self, values: Mapping[str, str]) -> None:
        """Use the passwords in these properties of the listener for authentications that begin from now on."""
        self._values = values
        self._factories = {name: self._factory(name) for name in self.mechanisms}

    def delay(self, respond: Callable[[], T]) -> Delayed[T]:
        """Delay the response to a client that has failed to authenticate. `respond` may raise an error."""
        return self.failures.park((_FAILURE,), self.failure_delay_ms, lambda: None, respond)

    def lifetime_ms(self, mechanism: str, expires_ms: int | None) -> int | None:
        """Return how long a session may last from now on, or None if there is no limit.

        `expires_ms` is the time at which the client's credentials expire.
        """
        limits = [expires_ms - self.clock.now_ms()] if expires_ms is not None else []
        if (most := self._max_reauth_ms[mechanism]) > 0:
            limits.append(most)
        return max(0, min(limits)) if limits else None

    def _number(self, name: str, default: int, type_: Type = Type.INT) -> int:
        text = self._values.get(name)
        if text is None:
            return default
        number = type_.parse(name, text)
        assert isinstance(number, int)
        return number

    def _max_reauth(self, mechanism: str) -> int:
        name = "connections.max.reauth.ms"
        return self._number(f"{mechanism.lower()}.{name}", self._number(name, 0, Type.LONG), Type.LONG)

    def _login_module(self, mechanism: str) -> LoginModule | None:
        name = f"{mechanism.lower()}.sasl.jaas.config"
        text = self._values.get(name)
        if text is None:
            if "sasl.jaas.config" in self._values:
                _LOG.warning("sasl.jaas.config has no effect on brokers: set listener.name.NAME.%s", name)
            return None
        try:
            return parse_login_module(text)
        except MalformedJaas as problem:
            raise InvalidProperty(name, HIDDEN, str(problem)) from None

    def _factory(self, mechanism: str) -> Callable[[], Mechanism]:
        """Return a function that begins an authentication. The modules of the mechanisms are imported here."""
        module = self._login_module(mechanism)
        handler = self._values.get(f"{mechanism.lower()}.sasl.server.callback.handler.class")
        if mechanism == "PLAIN":
            self._refuse_handler(mechanism, handler)
            return self._plain(module)
        if mechanism == "OAUTHBEARER":
            from .oauthbearer import OAuthBearer, validator_of

            validate = validator_of(
                module,
                handler,
                self._values,
                self.clock,
                is_base64url=self.rules.reads_unsecured_tokens_as_base64url,
            )
            return lambda: OAuthBearer(validate)
        self._refuse_handler(mechanism, handler)
        from .scram import Scram

        kind = ScramMechanism[mechanism.replace("-", "_")]
        return lambda: Scram(kind, self._credentials, self._tokens)

    def _plain(self, module: LoginModule | None) -> Callable[[], Mechanism]:
        from .plain import Plain, passwords_of

        if module is None:
            raise InvalidProperty(
                "plain.sasl.jaas.config",
                None,
                "PLAIN is enabled, but it has no users: set listener.name.NAME.plain.sasl.jaas.config to "
                "'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice=\"PASSWORD\";'",
            )
        passwords = passwords_of(module)
        return lambda: Plain(passwords)

    def _refuse_handler(self, mechanism: str, handler: str | None) -> None:
        if handler is not None:
            raise InvalidProperty(
                f"{mechanism.lower()}.sasl.server.callback.handler.class",
                handler,
                "kafkalet cannot run Java classes: remove the property",
            )


def _enabled(values: Mapping[str, str]) -> list[str]:
    """Return the enabled mechanisms. Raises InvalidProperty if one is unknown, or if none is left."""
    name, supported = "sasl.enabled.mechanisms", ", ".join(LOGIN_MODULES)
    text = values.get(name, GSSAPI)
    asked = [word for word in (part.strip() for part in text.split(",")) if word]
    for mechanism in asked:
        if mechanism not in (*LOGIN_MODULES, GSSAPI):
            raise InvalidProperty(name, text, f"{mechanism} is not a mechanism that kafkalet supports: {supported}")
    found = [mechanism for mechanism in asked if mechanism != GSSAPI]
    if not found:
        reason = f"{name} must contain at least one mechanism that kafkalet supports: {supported}"
        raise InvalidProperty(name, text, reason + ("" if name in values else "; Kafka's default is GSSAPI"))
    if GSSAPI in asked:
        _LOG.warning("%s=%s: GSSAPI is not enabled, because kafkalet does not support it", name, text)
    return order_of_strings(dict.fromkeys(found))
