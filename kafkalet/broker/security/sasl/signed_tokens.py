"""Access tokens with a signature (RS256, ES256), which is checked with the public keys in a file (JWKS, RFC 7517).

    sasl.oauthbearer.jwks.endpoint.url        file:///PATH; the file is read again when it changes
    sasl.oauthbearer.expected.audience        one of these must be in the claim aud
    sasl.oauthbearer.expected.issuer          the claim iss
    sasl.oauthbearer.clock.skew.seconds       how wrong the clocks may be; default: 30
    sasl.oauthbearer.sub.claim.name           the claim with the name of the principal; default: sub
    sasl.oauthbearer.scope.claim.name         the claim with the scope; default: scope

The package `cryptography` is needed, which is part of the extra `tls`.

Source: org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler and its
ValidatorAccessTokenValidator, ClaimValidationUtils and JwksFileVerificationKeyResolver; the rules of the library jose4j
that they use (KIP-768).
"""

import base64
import binascii
import json
import logging
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from kafkalet.broker.quoting import shown
from kafkalet.clock import Clock
from kafkalet.properties import InvalidProperty, Type

from .access_token import JWKS_URL, AccessToken, InvalidToken

_LOG = logging.getLogger(__name__)

_MIN_RSA_BITS = 2048
_KEY_TYPES = {"RS256": "RSA", "ES256": "EC"}
_MOST_FILE_BYTES = 1 << 20


class SignedTokens:
    """Validates signed tokens. `values` are the properties of the listener. Raises InvalidProperty."""

    def __init__(self, values: Mapping[str, str], clock: Clock) -> None:
        self._clock = clock
        try:
            import cryptography  # noqa: F401
        except ImportError:
            raise InvalidProperty(
                JWKS_URL,
                values.get(JWKS_URL),
                "signatures are checked with the package cryptography: pip install 'kafkalet[tls]'",
            ) from None
        self._path = _path(values.get(JWKS_URL))
        self._issuer = values.get("sasl.oauthbearer.expected.issuer", "").strip() or None
        audience = values.get("sasl.oauthbearer.expected.audience", "")
        self._audiences = {word.strip() for word in audience.split(",") if word.strip()}
        self._sub_claim = _claim_name(values, "sasl.oauthbearer.sub.claim.name", "sub")
        self._scope_claim = _claim_name(values, "sasl.oauthbearer.scope.claim.name", "scope")
        self._skew_s = _skew_s(values)
        self._stamp = self._stamp_of_file()
        self._keys = self._read()

    def validate(self, text: str) -> AccessToken:
        """Return the content of a token. Raises InvalidToken."""
        parts = text.strip().split(".")
        if len(parts) != 3 or not all(parts):
            raise InvalidToken("it does not have a header, a payload and a signature")
        header = _json(parts[0], "header")
        self._reload()
        self._verify(header, f"{parts[0]}.{parts[1]}".encode(), _base64url(parts[2], "signature"))
        claims = _json(parts[1], "payload")
        expires = self._check_times(claims)
        self._check_claims(claims)
        _check_scope(claims.get(self._scope_claim), self._scope_claim)
        name = claims.get(self._sub_claim)
        if not isinstance(name, str) or not name.strip():
            raise InvalidToken(f"its claim {self._sub_claim} is not a name")
        return AccessToken(name.strip(), int(expires * 1000))

    # Keys

    def _reload(self) -> None:
        """Read the file again if it has changed. If it cannot be read, the old keys remain."""
        stamp = self._stamp_of_file()
        if stamp == self._stamp or stamp is None:
            return
        self._stamp = stamp
        try:
            self._keys = self._read()
        except InvalidProperty as problem:
            _LOG.warning("the previous keys remain in use: %s", shown(problem))

    def _stamp_of_file(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> list[dict[str, Any]]:
        try:
            with open(self._path, "rb") as file:
                content = json.loads(file.read(_MOST_FILE_BYTES))
            keys = [key for key in content["keys"] if isinstance(key, dict)]
        except OSError as error:
            raise InvalidProperty(JWKS_URL, self._path, f"the file cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InvalidProperty(JWKS_URL, self._path, 'the file is not a JSON Web Key Set: {"keys": [...]}') from None
        return keys

    def _verify(self, header: Mapping[str, Any], signed: bytes, signature: bytes) -> None:
        from cryptography.exceptions import InvalidSignature

        algorithm = header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in _KEY_TYPES:
            raise InvalidToken("its algorithm is none of RS256 and ES256")
        if "crit" in header:
            raise InvalidToken("its header has the member crit, which is not supported")
        key = self._key(header, algorithm)
        try:
            if algorithm == "RS256":
                _verify_rs256(key, signature, signed)
            else:
                _verify_es256(key, signature, signed)
        except InvalidSignature:
            raise InvalidToken("its signature is wrong") from None
        except (ValueError, KeyError, TypeError) as problem:
            raise InvalidToken(f"the key with the id {key.get('kid')!r} cannot be used: {problem}") from None

    def _key(self, header: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
        """Return the key of a token (jose4j's VerificationJwkSelector)."""
        kid = header.get("kid")
        for key in self._keys:
            if (
                (kid is None or key.get("kid") == kid)
                and key.get("kty") == _KEY_TYPES[algorithm]
                and key.get("use", "sig") == "sig"
                and key.get("alg", algorithm) == algorithm
                and (algorithm != "ES256" or key.get("crv") == "P-256")
            ):
                return key
        raise InvalidToken(f"no key in {self._path} is for its key id and algorithm ({algorithm})")

    # Claims

    def _check_times(self, claims: Mapping[str, Any]) -> float:
        now_s = self._clock.now_ms() // 1000
        expires, issued, begins = (_time(claims, name) for name in ("exp", "iat", "nbf"))
        if expires is None or issued is None:
            raise InvalidToken(f"its claim {'exp' if expires is None else 'iat'} is missing")
        if now_s - self._skew_s >= expires:
            raise InvalidToken(f"it expired at {expires:f} s; now it is {now_s} s")
        if expires < issued or (begins is not None and expires < begins):
            raise InvalidToken("it expires before it begins")
        if begins is not None and now_s + self._skew_s < begins:
            raise InvalidToken(f"it is not valid before {begins:f} s; now it is {now_s} s")
        if expires < 0 or issued < 0:
            raise InvalidToken("its times are negative")
        return expires

    def _check_claims(self, claims: Mapping[str, Any]) -> None:
        if self._issuer is not None and claims.get("iss") != self._issuer:
            raise InvalidToken("its issuer is not sasl.oauthbearer.expected.issuer")
        audience = claims.get("aud")
        if audience is None and not self._audiences:
            return
        audiences = [audience] if isinstance(audience, str) else audience
        if not isinstance(audiences, list) or not self._audiences & {
            each for each in audiences if isinstance(each, str)
        }:
            raise InvalidToken("its audience is not in sasl.oauthbearer.expected.audience")


def _check_scope(value: Any, name: str) -> None:
    """Check the scope (ClaimValidationUtils.validateScopes). Kafka requires no particular scope."""
    words = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    if not all(isinstance(word, str) and word.strip() for word in words):
        raise InvalidToken(f"its claim {name} has an empty value")
    if len({word.strip() for word in words}) < len(words):
        raise InvalidToken(f"its claim {name} has duplicates")


def _verify_rs256(key: Mapping[str, Any], signature: bytes, signed: bytes) -> None:
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256

    modulus, exponent = _integer(key["n"]), _integer(key["e"])
    if modulus.bit_length() < _MIN_RSA_BITS:
        raise ValueError(f"an RSA key needs at least {_MIN_RSA_BITS} bits")
    rsa.RSAPublicNumbers(exponent, modulus).public_key().verify(signature, signed, padding.PKCS1v15(), SHA256())


def _verify_es256(key: Mapping[str, Any], signature: bytes, signed: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, utils
    from cryptography.hazmat.primitives.hashes import SHA256

    if len(signature) != 64:
        raise InvalidSignature
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    numbers = ec.EllipticCurvePublicNumbers(_integer(key["x"]), _integer(key["y"]), ec.SECP256R1())
    numbers.public_key().verify(utils.encode_dss_signature(r, s), signed, ec.ECDSA(SHA256()))


def _integer(text: str) -> int:
    return int.from_bytes(_base64url(text, "key"), "big")


def _base64url(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise InvalidToken(f"its {what} is not base64url") from None


def _json(part: str, what: str) -> dict[str, Any]:
    try:
        value = json.loads(_base64url(part, what))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidToken(f"its {what} is not JSON")
    return value


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
        raise InvalidToken(f"its claim {name} is not a time")
    return float(value)


def _path(url: str | None) -> str:
    parts = urlsplit(url or "")
    if parts.scheme in ("http", "https"):
        raise InvalidProperty(JWKS_URL, url, "kafkalet does not download keys: save them, and set it to file:///PATH")
    if parts.scheme != "file" or not parts.path:
        raise InvalidProperty(JWKS_URL, url, "it must be the URL of a file with public keys: file:///PATH")
    return unquote(parts.path)


def _claim_name(values: Mapping[str, str], name: str, default: str) -> str:
    text = values.get(name, default)
    if not text.strip():
        raise InvalidProperty(name, text, "the name of a claim must not be empty")
    return text.strip()


def _skew_s(values: Mapping[str, str]) -> int:
    name = "sasl.oauthbearer.clock.skew.seconds"
    value = Type.INT.parse(name, values.get(name, "30"))
    assert isinstance(value, int)
    return value
