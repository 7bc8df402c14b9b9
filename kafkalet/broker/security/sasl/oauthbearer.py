"""The SASL mechanism OAUTHBEARER (RFC 7628): the client sends an access token.

    client    n,[a=AUTHORIZATION ID],\\x01auth=Bearer TOKEN\\x01[NAME=VALUE\\x01...]\\x01
    broker    an empty token, or {"status":"invalid_token"}
    client    after an error: \\x01

A validator decides about the token: `unsecured_tokens` accepts tokens without a signature, for development, as Kafka
does by default; `signed_tokens` checks signatures with the keys of a file (KIP-768).

Source: org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerSaslServer, OAuthBearerClientInitialResponse.
"""

import logging
import re
from collections.abc import Mapping

from kafkalet.broker.quoting import shown
from kafkalet.broker.security.principal import Principal, user
from kafkalet.clock import Clock
from kafkalet.jaas import LoginModule
from kafkalet.properties import InvalidProperty

from .access_token import JWKS_URL, InvalidToken, Validate
from .mechanism import SASL_NAME, AuthenticationFailed, BrokenExchange, InvalidCredentials

_LOG = logging.getLogger(__name__)

_PACKAGE = "org.apache.kafka.common.security.oauthbearer"
UNSECURED_HANDLER = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
SIGNED_HANDLERS = (
    f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler",
    f"{_PACKAGE}.secured.OAuthBearerValidatorCallbackHandler",
)
_HANDLER = "sasl.server.callback.handler.class"

_CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{SASL_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_AFTER_ERROR = b"\x01"


class OAuthBearer:
    """An authentication with OAUTHBEARER."""

    is_token_authenticated = False

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self.principal: Principal | None = None
        self.expires_ms: int | None = None
        self._error: str | None = None  # the JSON text that the client has received

    def evaluate(self, token: bytes) -> bytes:
        if token == _AFTER_ERROR and self._error is not None:
            raise AuthenticationFailed(self._error)
        self._error = None
        authorization_id, text = _parse(token.decode(errors="replace"))
        try:
            found = self._validate(text)
        except InvalidToken as problem:
            _LOG.info("OAUTHBEARER: the token is not valid: %s", shown(problem))
            status = "invalid_token" if problem.scope is None else "insufficient_scope"
            scope = "" if problem.scope is None else f', "scope":"{problem.scope}"'
            self._error = f'{{"status":"{status}"{scope}}}'
            return self._error.encode()
        # JSON can contain half of a surrogate pair, which UTF-8 cannot encode. Java writes a question mark instead.
        name = found.principal_name.encode(errors="replace").decode()
        if authorization_id not in ("", name):
            raise AuthenticationFailed(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different "
                f"from the token's principal name ({name})"
            )
        self.principal = user(name)
        self.expires_ms = found.expires_ms
        return b""


def _parse(message: str) -> tuple[str, str]:
    """Return the authorization id and the access token in the first message of a client."""
    match = _CLIENT_FIRST.fullmatch(message)
    if match is None:
        raise InvalidCredentials("Invalid OAUTHBEARER client first message")
    pairs = (part.partition("=") for part in match["pairs"].split("\x01") if part)
    properties = {name: value for name, _, value in pairs}
    auth = properties.get("auth")
    if auth is None:
        raise InvalidCredentials("Invalid OAUTHBEARER client first message: 'auth' not specified")
    bearer = _AUTH.fullmatch(auth)
    if bearer is None:
        raise InvalidCredentials("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    if bearer["scheme"].lower() != "bearer":  # Kafka's message is built from the wrong match, which throws
        raise BrokenExchange("the scheme in the OAUTHBEARER client first message is not Bearer")
    return match["authorization_id"] or "", bearer["token"]


def validator_of(
    module: LoginModule | None, handler: str | None, values: Mapping[str, str], clock: Clock, *, is_base64url: bool
) -> Validate:
    """Return the validator of a listener, selected by the name of a Kafka class. Raises InvalidProperty.

    `handler` is the name of the class, and `values` are the properties of the listener. `module` has the options of
    unsecured tokens; `is_base64url` tells how the parts of these tokens are encoded.
    """
    if handler in SIGNED_HANDLERS:
        from .signed_tokens import SignedTokens

        return SignedTokens(values, clock).validate
    if handler not in (None, UNSECURED_HANDLER):
        raise InvalidProperty(
            f"oauthbearer.{_HANDLER}",
            handler,
            f"kafkalet cannot run Java classes; it has its own code for {UNSECURED_HANDLER} and {SIGNED_HANDLERS[0]}",
        )
    if JWKS_URL in values:
        _LOG.warning(
            "%s has no effect: tokens without a signature are accepted. To check signatures, set "
            "listener.name.NAME.oauthbearer.%s=%s, as in Kafka",
            *(JWKS_URL, _HANDLER, SIGNED_HANDLERS[0]),
        )
    from .unsecured_tokens import UnsecuredTokens

    return UnsecuredTokens({} if module is None else module.options, clock, is_base64url=is_base64url).validate
