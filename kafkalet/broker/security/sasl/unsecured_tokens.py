"""Access tokens without a signature (`"alg": "none"`), for development. Anyone can make them.

The options of the login module select the claims and add requirements:

    unsecuredValidatorPrincipalClaimName       the claim with the name of the principal; default: sub
    unsecuredValidatorScopeClaimName           the claim with the scope; default: scope
    unsecuredValidatorRequiredScope            scope values that a token must have, separated by spaces
    unsecuredValidatorAllowableClockSkewMs     how wrong the clocks may be; default: 0

Source: org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredJws,
OAuthBearerUnsecuredValidatorCallbackHandler, OAuthBearerValidationUtils.
"""

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from kafkalet.clock import Clock
from kafkalet.properties import InvalidProperty, Type

from .access_token import AccessToken, InvalidToken
from .mechanism import BrokenExchange

_PREFIX = "unsecuredValidator"
_SCOPE_ITEM = re.compile(r"[\x23-\x5b\x5d-\x7e\x21]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_MAX_LONG = 2**63 - 1


def _reject(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_JSON = json.JSONDecoder(parse_constant=_reject)


class UnsecuredTokens:
    """Validates unsecured tokens. `options` are the options of the login module.

    The parts of a token are base64, or base64url with `is_base64url`.
    """

    def __init__(self, options: Mapping[str, str], clock: Clock, *, is_base64url: bool) -> None:
        self._clock = clock
        self._decode = _base64url if is_base64url else _base64
        self._principal_claim = options.get(f"{_PREFIX}PrincipalClaimName", "").strip() or "sub"
        self._scope_claim = options.get(f"{_PREFIX}ScopeClaimName", "").strip() or "scope"
        self._required = [word for word in options.get(f"{_PREFIX}RequiredScope", "").strip().split(" ") if word]
        for word in self._required:
            if not _SCOPE_ITEM.fullmatch(word):
                raise InvalidProperty(f"{_PREFIX}RequiredScope", word, "it is not a valid scope")
        self._skew_ms = _skew_ms(options.get(f"{_PREFIX}AllowableClockSkewMs", "").strip())

    def validate(self, text: str) -> AccessToken:
        """Return the content of a token. Raises InvalidToken and BrokenExchange."""
        claims = _claims(text, self._decode)
        scope = _scope(claims, self._scope_claim)
        expires = _number(claims, "exp")
        if expires is None:
            raise InvalidToken("it has no expiration time")
        principal = claims.get(self._principal_claim)
        if not isinstance(principal, str) or not principal.strip():
            raise InvalidToken(f"its claim {self._principal_claim} is not a name")
        issued = _number(claims, "iat")
        now_ms = self._clock.now_ms()
        if issued is not None and 1000 * issued > now_ms + self._skew_ms:
            raise InvalidToken(f"it was issued at {issued:f} s, which is after now ({now_ms} ms)")
        if now_ms - self._skew_ms >= 1000 * expires:
            raise InvalidToken(f"it expired at {expires:f} s; now it is {now_ms} ms")
        if issued is not None and expires <= issued:
            raise InvalidToken(f"it expires at {expires:f} s, which is not after it was issued ({issued:f} s)")
        for word in self._required:
            if word not in scope:
                raise InvalidToken(f"its scope lacks {word}", scope=f"[{', '.join(self._required)}]")
        return AccessToken(principal, _java_round(expires * 1000))


def _skew_ms(text: str) -> int:
    name = f"{_PREFIX}AllowableClockSkewMs"
    if not text:
        return 0
    number = Type.LONG.parse(name, text)
    assert isinstance(number, int)
    if number < 0:
        raise InvalidProperty(name, text, "Allowable clock skew millis must not be negative")
    return number


def _claims(text: str, decode: Callable[[str], bytes]) -> dict[str, Any]:
    """Return the claims of a token in compact serialization."""
    if ".." in text:
        raise InvalidToken("Malformed compact serialization contains '..'")
    parts = text.rstrip(".").split(".") + ([""] if text.endswith(".") else [])
    if len(parts) != 3:
        raise InvalidToken("it does not have 3 parts separated by dots")
    header, claims = _decoded(parts[0], decode), _decoded(parts[1], decode)
    if "alg" not in header:  # Objects.requireNonNull throws
        raise BrokenExchange("the header of the token has no algorithm")
    if header["alg"] != "none":
        raise InvalidToken("its algorithm is not none, and this listener accepts only tokens without a signature")
    if parts[2]:
        raise InvalidToken("it has a signature")
    return claims


def _decoded(part: str, decode: Callable[[str], bytes]) -> dict[str, Any]:
    try:
        data = decode(part)
        if not data.strip():
            return {}
        value, _ = _JSON.raw_decode(data.decode().lstrip(" \t\r\n"))  # Jackson ignores what follows
    except (ValueError, RecursionError):
        raise InvalidToken("one of its parts is not JSON in base64") from None
    return {name: _converted(item) for name, item in value.items()} if isinstance(value, dict) else {}


def _base64(text: str) -> bytes:
    """Decode like java.util.Base64: the padding may be missing, but must not be incomplete."""
    digits = text.rstrip("=")
    if not _BASE64.fullmatch(text) or len(digits) % 4 == 1 or (digits != text and len(text) % 4):
        raise binascii.Error("not base64")
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def _base64url(text: str) -> bytes:
    if "+" in text or "/" in text:
        raise binascii.Error("not base64url")
    return _base64(text.replace("-", "+").replace("_", "/"))


def _converted(value: Any) -> Any:
    """Convert a claim as Kafka does: to a string, a number or a list of strings."""
    if isinstance(value, list):
        return [_text(item) for item in value]
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _text(value)


def _text(value: Any) -> str:
    """Convert a value like Jackson's JsonNode.asText."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return ""
    return json.dumps(value)


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, str | list):
        raise InvalidToken(f"its claim {name} is not a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _scope(claims: Mapping[str, Any], name: str) -> set[str]:
    value = claims.get(name)
    if isinstance(value, str):
        value = [value]
    if value is not None and not isinstance(value, list):
        raise InvalidToken(f"its claim {name} is neither a string nor a list")
    return {word.strip() for word in value or [] if word.strip()}


def _java_round(value: float) -> int:
    """Round like Java's Math.round. Results outside the range of a long are replaced by the nearest long."""
    return max(-_MAX_LONG - 1, min(_MAX_LONG, math.floor(value + 0.5))) if math.isfinite(value) else _MAX_LONG
