"""The client's side of SASL: PLAIN (RFC 4616), SCRAM (RFC 5802, RFC 7677) and OAUTHBEARER (RFC 7628).

The caller sends the requests, and returns their responses. As in Kafka, user names and passwords are not normalized
with SASLprep.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from .protocol.errors import Code, KafkaError, code_of
from .protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from .protocol.messages.sasl_handshake import SaslHandshakeRequest
from .protocol.schema import Request

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MOST_ITERATIONS = 1_000_000
"""The maximum number of iterations that a broker can demand. It limits the client's work; Kafka's maximum is 16384."""

Exchange = Callable[[bytes], bytes]
"""Sends a token to the broker, and returns its response."""


class NotAuthenticated(PermissionError):
    """The broker refused to authenticate the user, or could not prove that it knows the password."""


class Credentials(NamedTuple):
    """The credentials with which a client proves its identity."""

    mechanism: str
    username: str = ""
    password: str = ""
    is_delegation_token: bool = False
    """Whether the user is the id of a delegation token, and the password its HMAC (SCRAM only, KIP-48)."""
    token: Callable[[], str] = str
    """Returns the JSON web token of OAUTHBEARER."""

    def log_in(self, ask: Callable[[Request, int], Any]) -> None:
        """Log in with SaslHandshake and SaslAuthenticate requests (KIP-152). Raises KafkaError.

        `ask` sends a request, in the given version or a later one, and returns the response.
        """
        chosen = ask(SaslHandshakeRequest(mechanism=self.mechanism), 1)
        if chosen.error_code:
            supported = ", ".join(chosen.mechanisms) or "no mechanism"
            raise KafkaError(code_of(chosen.error_code), f"the broker supports {supported}, not {self.mechanism}")

        def exchange(token: bytes) -> bytes:
            answer = ask(SaslAuthenticateRequest(auth_bytes=token), 0)
            if answer.error_code:
                raise KafkaError(code_of(answer.error_code), answer.error_message)
            return bytes(answer.auth_bytes)

        try:
            self.authenticate(exchange)
        except NotAuthenticated as error:
            raise KafkaError(Code.SASL_AUTHENTICATION_FAILED, str(error)) from error

    def authenticate(self, exchange: Exchange) -> None:
        """Authenticate; `exchange` sends a token and returns the response. Raises NotAuthenticated."""
        if self.mechanism == "PLAIN":
            exchange(f"\0{self.username}\0{self.password}".encode())
        elif self.mechanism == "OAUTHBEARER":
            problem = exchange(f"n,,\x01auth=Bearer {self.token()}\x01\x01".encode())
            if problem:  # the broker fails the authentication when it gets the next message
                exchange(b"\x01")
                raise NotAuthenticated(f"the broker refused the token: {problem.decode(errors='replace')}")
        else:
            nonce = base64.b64encode(os.urandom(18)).decode()
            extensions = ",tokenauth=true" if self.is_delegation_token else ""
            conversation = scram(HASHES[self.mechanism], self.username, self.password, nonce, extensions)
            answer = exchange(next(conversation))
            answer = exchange(conversation.send(answer))
            with suppress(StopIteration):
                conversation.send(answer)

    def __repr__(self) -> str:
        return f"Credentials({self.mechanism!r}, {self.username!r})"


def unsecured_token(claims: Mapping[str, object]) -> str:
    """Return a JSON web token without a signature, as accepted by brokers for tests (RFC 7515, appendix A.5)."""
    parts = [json.dumps(part, separators=(",", ":")).encode() for part in ({"alg": "none"}, claims)]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), ""])


def scram(hash_name: str, user: str, password: str, nonce: str, extensions: str = "") -> Generator[bytes, bytes, None]:
    """Yield the messages of a SCRAM client; each response is sent into the generator."""
    bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}{extensions}"
    first = yield f"n,,{bare}".encode()
    fields = attributes(first)
    try:
        salt, iterations = base64.b64decode(fields["s"], validate=True), int(fields["i"])
    except (KeyError, ValueError, binascii.Error) as error:
        raise NotAuthenticated(f"the broker sent an invalid SCRAM message: {first!r}") from error
    if not fields.get("r", "").startswith(nonce) or not 1 <= iterations <= MOST_ITERATIONS:
        raise NotAuthenticated(f"the broker sent an invalid SCRAM nonce or number of iterations: {first!r}")
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    stored_key = hashlib.new(hash_name, client_key).digest()
    without_proof = f"c=biws,r={fields['r']}"
    message = f"{bare},{first.decode()},{without_proof}".encode()
    signature = hmac.digest(stored_key, message, hash_name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    last = yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", hash_name), message, hash_name)
    if not hmac.compare_digest(attributes(last).get("v", "").encode(), base64.b64encode(expected)):
        raise NotAuthenticated(f"the broker could not prove that it knows the password: {last!r}")


def attributes(message: bytes) -> dict[str, str]:
    """Return the attributes of a SCRAM message, such as `r` and `s`."""
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError as error:
        raise NotAuthenticated(f"the broker sent an invalid SCRAM message: {message!r}") from error
    return {name: value for name, equals, value in (part.partition("=") for part in parts) if equals}
