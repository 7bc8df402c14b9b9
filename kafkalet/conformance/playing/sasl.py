"""SASL authentication: PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677), in the requests of KIP-152.

As in Kafka, user names and passwords are not normalized with SASLprep.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Generator

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MOST_ITERATIONS = 1_000_000
"""The maximum, so that a broker cannot keep the client busy for long; Kafka's maximum is 16384."""

Exchange = Callable[[bytes], bytes]
"""Sends a token to the broker, and returns its answer."""


class NotAuthenticated(PermissionError):
    """The broker refused to authenticate the user, or could not prove that it knows the password."""


def authenticate(mechanism: str, user: str, password: str, exchange: Exchange) -> None:
    """Authenticate. Raises NotAuthenticated."""
    if mechanism == "PLAIN":
        exchange(b"\0" + user.encode() + b"\0" + password.encode())
        return
    conversation = scram(HASHES[mechanism], user, password, secrets.token_urlsafe(18))
    answer = exchange(next(conversation))
    answer = exchange(conversation.send(answer))
    try:
        conversation.send(answer)
    except StopIteration:
        return


def scram(hash_name: str, user: str, password: str, nonce: str) -> Generator[bytes, bytes, None]:
    """Yield the messages of a SCRAM client; each answer is sent into the generator."""
    bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
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
    if attributes(last).get("v") != base64.b64encode(expected).decode():
        raise NotAuthenticated(f"the broker could not prove that it knows the password: {last!r}")


def attributes(message: bytes) -> dict[str, str]:
    """Return the attributes of a SCRAM message, such as `r` and `s`."""
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError as error:
        raise NotAuthenticated(f"the broker sent an invalid SCRAM message: {message!r}") from error
    return {name: value for name, equals, value in (part.partition("=") for part in parts) if equals}
