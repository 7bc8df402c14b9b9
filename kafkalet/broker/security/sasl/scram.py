"""The SASL mechanisms SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802): the client proves that it knows the password.

    client    n,[a=AUTHORIZATION ID],n=USER,r=CLIENT NONCE[,tokenauth=true]
    broker    r=CLIENT NONCE + SERVER NONCE,s=SALT,i=ITERATIONS
    client    c=CHANNEL BINDING,r=CLIENT NONCE + SERVER NONCE,p=PROOF
    broker    v=SERVER SIGNATURE

Like Kafka, the broker does not check the channel binding, and computes the signed text from the parts that it has
parsed, not from the bytes that it has received. With the extension `tokenauth=true`, the user is the id of a delegation
token.

Source: org.apache.kafka.common.security.scram.internals.ScramSaslServer, ScramMessages, ScramFormatter.
"""

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Mapping

from kafkalet.broker.java_order import order_of_copy
from kafkalet.broker.security.delegation_tokens import DelegationTokens
from kafkalet.broker.security.principal import Principal, user
from kafkalet.broker.security.scram_credentials import MIN_ITERATIONS, ScramCredential, ScramMechanism

from .mechanism import SASL_NAME, AuthenticationFailed, BrokenExchange, InvalidCredentials

_TOKEN_AUTH = "tokenauth"  # noqa: S105 - the name of an extension
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NONCE_BITS = 130
_MOST_BYTES = 16 * 1024
"""The limit for a message of the client. Kafka has none, but megabytes of names would block the event loop."""

_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{SASL_NAME}))?,(?:m={_VALUE},)?"
    rf"n=(?P<name>{SASL_NAME}),r=(?P<nonce>{_PRINTABLE})(?P<extensions>{_EXTENSIONS})"
)
_CLIENT_FINAL = re.compile(rf"c=(?P<channel>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS},p=(?P<proof>{_BASE64})")


class Scram:
    """An authentication with SCRAM."""

    def __init__(
        self,
        kind: ScramMechanism,
        credentials: Mapping[tuple[str, ScramMechanism], ScramCredential],
        tokens: DelegationTokens | None = None,
    ) -> None:
        self._kind = kind
        self._credentials = credentials
        self._tokens = tokens
        self.principal: Principal | None = None
        self.expires_ms: int | None = None
        self.is_token_authenticated = False
        self._claimed: Principal | None = None
        self._credential: ScramCredential | None = None  # None before the first message
        self._nonce = ""
        self._signed = ""  # the signed text up to the final message of the client

    def evaluate(self, token: bytes) -> bytes:
        if len(token) > _MOST_BYTES:
            raise InvalidCredentials(f"a SCRAM message of {len(token)} bytes; the limit is {_MOST_BYTES}")
        message = token.decode(errors="replace")
        return self._first(message) if self._credential is None else self._final(message, self._credential)

    def _first(self, message: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            raise InvalidCredentials("Invalid SCRAM client first message format")
        extensions = _extensions(match["extensions"])
        name = match["name"].replace("=2C", ",").replace("=3D", "=")  # a saslname (RFC 5802)
        credential = self._token(name) if _is_true(extensions.get(_TOKEN_AUTH)) else self._password(name)
        if match["authorization_id"] not in (None, name):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if credential.iterations < MIN_ITERATIONS:
            raise InvalidCredentials(
                f"Iterations {credential.iterations} is less than the minimum {MIN_ITERATIONS} for {self._kind.name}"
            )
        self._credential = credential
        self._nonce = match["nonce"] + _random_text()
        salt = base64.b64encode(credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={credential.iterations}"
        bare = ",".join([f"n={match['name']}", f"r={match['nonce']}", *_in_java_order(extensions)])
        self._signed = f"{bare},{answer}"
        return answer.encode()

    def _password(self, name: str) -> ScramCredential:
        credential = self._credentials.get((name, self._kind))
        if credential is None:
            raise InvalidCredentials(f"user {name[:100]!r} has no credential for {self._kind.title}")
        self._claimed = user(name)
        return credential

    def _token(self, token_id: str) -> ScramCredential:
        found = None if self._tokens is None else self._tokens.token_credential(self._kind, token_id)
        if self._tokens is None or found is None:
            raise InvalidCredentials(f"Token Authentication failed: Invalid tokenId : {token_id[:100]}")
        credential, owner = found
        self._claimed = user(owner.name)  # DefaultKafkaPrincipalBuilder: always a user
        token = self._tokens.token(token_id)
        self.expires_ms = None if token is None else token.expires_ms
        self.is_token_authenticated = True
        return credential

    def _final(self, message: str, credential: ScramCredential) -> bytes:
        match = _CLIENT_FINAL.fullmatch(message)
        if match is None:
            raise InvalidCredentials("Invalid SCRAM client final message format")
        if not match["nonce"].endswith(self._nonce):
            raise InvalidCredentials("Invalid client nonce in the final client message.")
        channel = base64.b64encode(base64.b64decode(match["channel"])).decode()
        signed = f"{self._signed},c={channel},r={match['nonce']}".encode()
        signature = hmac.digest(credential.stored_key, signed, self._kind.hash_name)
        proof = base64.b64decode(match["proof"])
        if len(proof) != len(signature):  # ScramFormatter.xor throws IllegalArgumentException
            raise BrokenExchange(f"the proof has {len(proof)} bytes instead of {len(signature)}")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        stored_key = hashlib.new(self._kind.hash_name, client_key).digest()
        if not hmac.compare_digest(stored_key, credential.stored_key):
            raise InvalidCredentials("Invalid client credentials")
        self.principal = self._claimed
        server_signature = hmac.digest(credential.server_key, signed, self._kind.hash_name)
        return b"v=" + base64.b64encode(server_signature)


def _extensions(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {name: value for name, _, value in pairs}


def _in_java_order(extensions: Mapping[str, str]) -> list[str]:
    order = order_of_copy(extensions)
    return [f"{name}={extensions[name]}" for name in order]


def _is_true(text: str | None) -> bool:
    """Parse text like Java's Boolean.parseBoolean."""
    return text is not None and text.lower() == "true"


def _random_text() -> str:
    """Return a random number of 130 bits with the digits 0 to 9 and a to z, like ScramFormatter.secureRandomString."""
    number = int.from_bytes(os.urandom(17), "big") >> (17 * 8 - _NONCE_BITS)
    digits = []
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)) or "0"
