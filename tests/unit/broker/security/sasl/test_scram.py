"""SCRAM: the messages of the client, and who is authenticated."""

import base64
import hashlib
import hmac

import pytest

from kafkalet.broker.security.delegation_tokens import DelegationToken, DelegationTokens
from kafkalet.broker.security.principal import Principal
from kafkalet.broker.security.sasl.mechanism import AuthenticationFailed, BrokenExchange, InvalidCredentials
from kafkalet.broker.security.sasl.scram import Scram
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism, credential_of_password

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
PASSWORD = "sam-secret"
SALT = b"0123456789abcdef"
CREDENTIALS = {
    (name, kind): credential_of_password(kind, PASSWORD, SALT) for name in ("sam", "a,b=c") for kind in ScramMechanism
}


class Tokens(DelegationTokens):
    """One delegation token, with the id `token-1` and the password of the users."""

    def __init__(self) -> None:
        """Do nothing, because the methods below need no state."""

    def token_credential(self, mechanism: ScramMechanism, token_id: str) -> tuple[ScramCredential, Principal] | None:
        if token_id != "token-1":
            return None
        return credential_of_password(mechanism, PASSWORD, SALT), Principal("User", "owner")

    def token(self, token_id: str) -> DelegationToken | None:
        owner = Principal("User", "owner")
        return DelegationToken(token_id, owner, owner, (), 0, 99999, 12345)


def proof(kind: ScramMechanism, signed: str, password: str = PASSWORD) -> bytes:
    salted = hashlib.pbkdf2_hmac(kind.hash_name, password.encode(), SALT, 4096)
    client_key = hmac.digest(salted, b"Client Key", kind.hash_name)
    stored_key = hashlib.new(kind.hash_name, client_key).digest()
    signature = hmac.digest(stored_key, signed.encode(), kind.hash_name)
    return bytes(a ^ b for a, b in zip(client_key, signature, strict=True))


def log_in(
    scram: Scram,
    kind: ScramMechanism = SHA_256,
    *,
    name: str = "sam",
    extensions: str = "",
    password: str = PASSWORD,
    signed_extensions: str | None = None,
) -> bytes:
    """Exchange all messages and return the last one of the broker."""
    bare = f"n={name},r=abc"
    first = scram.evaluate(f"n,,{bare}{extensions}".encode()).decode()
    nonce = first.partition(",")[0]
    signed_extensions = extensions if signed_extensions is None else signed_extensions
    signed = f"{bare}{signed_extensions},{first},c=biws,{nonce}"
    sent = base64.b64encode(proof(kind, signed, password)).decode()
    return scram.evaluate(f"c=biws,{nonce},p={sent}".encode())


@pytest.mark.parametrize("kind", [SHA_256, SHA_512])
def test_right_password_authenticates_and_the_broker_proves_its_key(kind: ScramMechanism) -> None:
    scram = Scram(kind, CREDENTIALS)
    first = scram.evaluate(b"n,,n=sam,r=abc").decode()
    nonce, salt, iterations = first.split(",")
    assert nonce.startswith("r=abc")
    assert len(nonce) > 20
    assert (salt, iterations) == (f"s={base64.b64encode(SALT).decode()}", "i=4096")
    signed = f"n=sam,r=abc,{first},c=biws,{nonce}"
    last = scram.evaluate(f"c=biws,{nonce},p={base64.b64encode(proof(kind, signed)).decode()}".encode())
    salted = hashlib.pbkdf2_hmac(kind.hash_name, PASSWORD.encode(), SALT, 4096)
    server_key = hmac.digest(salted, b"Server Key", kind.hash_name)
    assert last == b"v=" + base64.b64encode(hmac.digest(server_key, signed.encode(), kind.hash_name))
    assert scram.principal == Principal("User", "sam")


def test_escaped_user_name_is_unescaped() -> None:
    scram = Scram(SHA_256, CREDENTIALS)
    log_in(scram, name="a=2Cb=3Dc")
    assert scram.principal == Principal("User", "a,b=c")


def test_nonces_differ() -> None:
    assert len({Scram(SHA_256, CREDENTIALS).evaluate(b"n,,n=sam,r=abc") for _ in range(20)}) == 20


def test_wrong_password_is_refused() -> None:
    scram = Scram(SHA_256, CREDENTIALS)
    with pytest.raises(InvalidCredentials, match="Invalid client credentials"):
        log_in(scram, password="wrong")
    assert scram.principal is None


@pytest.mark.parametrize(
    "message", ["", "x", "y,,n=sam,r=abc", "n,,n=,r=abc", "n,,n=sam,r=", "n,,n=s=2X,r=a", "n,,n=é,r=a"]
)
def test_malformed_first_message_is_refused(message: str) -> None:
    with pytest.raises(InvalidCredentials, match="Invalid SCRAM client first message format"):
        Scram(SHA_256, CREDENTIALS).evaluate(message.encode())


def test_unknown_user_is_refused() -> None:
    with pytest.raises(InvalidCredentials, match="user 'nobody' has no credential for SCRAM-SHA-256"):
        Scram(SHA_256, CREDENTIALS).evaluate(b"n,,n=nobody,r=abc")


def test_authorization_id_must_be_the_user() -> None:
    Scram(SHA_256, CREDENTIALS).evaluate(b"n,a=sam,n=sam,r=abc")
    with pytest.raises(AuthenticationFailed, match="authorization id that is different from username"):
        Scram(SHA_256, CREDENTIALS).evaluate(b"n,a=eve,n=sam,r=abc")


def test_credential_with_too_few_iterations_is_refused() -> None:
    weak = CREDENTIALS["sam", SHA_256]._replace(iterations=4095)
    with pytest.raises(InvalidCredentials, match="Iterations 4095 is less than the minimum 4096"):
        Scram(SHA_256, {("sam", SHA_256): weak}).evaluate(b"n,,n=sam,r=abc")


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        ("x", "Invalid SCRAM client final message format"),
        ("c=biws,{nonce}", "Invalid SCRAM client final message format"),
        ("c=biws,r=other,p=YWJj", "Invalid client nonce in the final client message."),
    ],
)
def test_bad_final_message_is_refused(last: str, problem: str) -> None:
    scram = Scram(SHA_256, CREDENTIALS)
    nonce = scram.evaluate(b"n,,n=sam,r=abc").decode().partition(",")[0]
    with pytest.raises(InvalidCredentials, match=problem):
        scram.evaluate(last.format(nonce=nonce).encode())


def test_proof_of_another_length_breaks_the_exchange() -> None:
    scram = Scram(SHA_256, CREDENTIALS)
    nonce = scram.evaluate(b"n,,n=sam,r=abc").decode().partition(",")[0]
    with pytest.raises(BrokenExchange, match="the proof has 3 bytes instead of 32"):
        scram.evaluate(f"c=biws,{nonce},p=YWJj".encode())


def test_several_extensions_are_signed_in_the_order_of_a_java_hash_map() -> None:
    log_in(Scram(SHA_256, CREDENTIALS), extensions=",tokenauth=false,foo=bar")
    log_in(
        Scram(SHA_256, CREDENTIALS), extensions=",foo=bar,tokenauth=false", signed_extensions=",tokenauth=false,foo=bar"
    )
    log_in(Scram(SHA_256, CREDENTIALS), extensions=",a=1,a=2", signed_extensions=",a=2")


def test_delegation_token_authenticates_its_owner_until_it_expires() -> None:
    scram = Scram(SHA_256, CREDENTIALS, Tokens())
    log_in(scram, name="token-1", extensions=",tokenauth=true")
    assert (scram.principal, scram.expires_ms) == (Principal("User", "owner"), 12345)
    assert scram.is_token_authenticated


@pytest.mark.parametrize("tokens", [None, Tokens()])
def test_unknown_delegation_token_is_refused(tokens: Tokens | None) -> None:
    with pytest.raises(InvalidCredentials, match="Token Authentication failed: Invalid tokenId : sam"):
        Scram(SHA_256, CREDENTIALS, tokens).evaluate(b"n,,n=sam,r=abc,tokenauth=TRUE")


def test_large_message_is_parsed_in_linear_time() -> None:
    for message in (b"n,,n=" + b"=2C" * 150_000, b"n,,n=a,r=b" + b",a=b" * 120_000 + b",", b"n,,m=" + b"a" * 500_000):
        with pytest.raises(InvalidCredentials):
            Scram(SHA_256, CREDENTIALS).evaluate(message)


@pytest.mark.parametrize("field", ["name", "nonce", "extensions"])
def test_long_message_is_refused(field: str) -> None:
    parts = {"name": "sam", "nonce": "abc", "extensions": ""}
    parts[field] += ",x=y" * 5000 if field == "extensions" else "a" * 20_000
    message = f"n,,n={parts['name']},r={parts['nonce']}{parts['extensions']}".encode()
    with pytest.raises(InvalidCredentials, match=f"a SCRAM message of {len(message)} bytes; the limit is 16384"):
        Scram(SHA_256, CREDENTIALS).evaluate(message)
