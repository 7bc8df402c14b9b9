"""SASL authentication: the examples of RFC 5802 and RFC 7677, and brokers that cheat."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkalet.protocol.schema import Request, Response
from kafkalet.sasl_client import Credentials, NotAuthenticated, scram

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = f"{NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FIRST = f"r={SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()


def test_exchange_of_rfc_7677_succeeds() -> None:
    conversation = scram("sha256", "user", "pencil", NONCE)
    assert next(conversation) == f"n,,n=user,r={NONCE}".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert conversation.send(FIRST) == f"c=biws,r={SERVER_NONCE},p={proof}".encode()
    with pytest.raises(StopIteration):
        conversation.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_exchange_of_rfc_5802_succeeds() -> None:
    conversation = scram("sha1", "user", "pencil", "fyko+d2lbbFgONRv9qkxdawL")
    next(conversation)
    nonce = "fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j"
    answer = conversation.send(f"r={nonce},s=QSXCR+Q6sek8bf92,i=4096".encode())
    assert answer == f"c=biws,r={nonce},p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=".encode()
    with pytest.raises(StopIteration):
        conversation.send(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")


def test_user_name_is_escaped() -> None:
    assert next(scram("sha512", "a=b,c", "p", "n")) == b"n,,n=a=3Db=2Cc,r=n"


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\xff",
        b"e=unknown-user",
        FIRST.replace(b"4096", b"0"),
        FIRST.replace(b"4096", b"2000000000"),
        FIRST.replace(b"4096", b"many"),
        FIRST.replace(b"W22Z", b"!!!!"),
        FIRST.replace(NONCE.encode(), b"x"),
    ],
)
def test_invalid_first_response_is_refused(first: bytes) -> None:
    conversation = scram("sha256", "user", "pencil", NONCE)
    next(conversation)
    with pytest.raises(NotAuthenticated, match="the broker sent an invalid SCRAM"):
        conversation.send(first)


@pytest.mark.parametrize("last", [b"", b"e=other-error", b"v=AAAA"])
def test_broker_that_does_not_know_the_password_is_refused(last: bytes) -> None:
    conversation = scram("sha256", "user", "pencil", NONCE)
    next(conversation)
    conversation.send(FIRST)
    with pytest.raises(NotAuthenticated, match="could not prove that it knows the password"):
        conversation.send(last)


def test_plain_sends_user_and_password_once() -> None:
    sent: list[bytes] = []
    answers: Iterator[bytes] = iter([b""])

    def exchange(token: bytes) -> bytes:
        sent.append(token)
        return next(answers)

    Credentials("PLAIN", "alice", "s3cret").authenticate(exchange)
    assert sent == [b"\0alice\0s3cret"]


def test_scram_uses_a_new_nonce_each_time() -> None:
    sent: list[bytes] = []

    def exchange(token: bytes) -> bytes:
        sent.append(token)
        return b""

    for _ in range(2):
        with pytest.raises(NotAuthenticated):
            Credentials("SCRAM-SHA-512", "alice", "s3cret").authenticate(exchange)
    assert sent[0].startswith(b"n,,n=alice,r=")
    assert sent[0] != sent[1]


def test_delegation_token_is_announced_to_the_broker() -> None:
    sent: list[bytes] = []

    def exchange(token: bytes) -> bytes:
        sent.append(token)
        return b""

    with pytest.raises(NotAuthenticated):
        Credentials("SCRAM-SHA-256", "id", "hmac", is_delegation_token=True).authenticate(exchange)
    [first] = sent
    assert first.endswith(b",tokenauth=true")


def test_refusal_of_a_token_is_confirmed_as_the_protocol_demands() -> None:
    sent: list[bytes] = []
    answers: Iterator[bytes] = iter([b'{"status":"invalid_token"}', b""])

    def exchange(token: bytes) -> bytes:
        sent.append(token)
        return next(answers)

    with pytest.raises(NotAuthenticated, match="invalid_token"):
        Credentials("OAUTHBEARER", token=lambda: "a.b.").authenticate(exchange)
    assert sent == [b"n,,\x01auth=Bearer a.b.\x01\x01", b"\x01"]


def test_passwords_are_not_shown() -> None:
    assert "secret" not in repr(Credentials("PLAIN", "alice", "secret"))


# Logging in

CREDENTIALS = Credentials("PLAIN", "alice", "secret")
CHOSEN = SaslHandshakeResponse(mechanisms=["PLAIN"])


def logged_in(*answers: Response) -> list[tuple[Request, int]]:
    """Log in to a broker that sends these responses, and return the requests with their versions."""
    asked: list[tuple[Request, int]] = []

    def ask(request: Request, version: int) -> Response:
        asked.append((request, version))
        return answers[len(asked) - 1]

    CREDENTIALS.log_in(ask)
    return asked


def test_client_chooses_a_mechanism_and_sends_its_tokens() -> None:
    (handshake, one), (authenticate, zero) = logged_in(CHOSEN, SaslAuthenticateResponse(auth_bytes=b""))
    assert (handshake.mechanism, one) == ("PLAIN", 1)  # type: ignore[attr-defined]
    assert (authenticate.auth_bytes, zero) == (b"\0alice\0secret", 0)  # type: ignore[attr-defined]


def test_mechanisms_of_the_broker_are_named_if_it_lacks_that_of_the_client() -> None:
    answer = SaslHandshakeResponse(error_code=Code.UNSUPPORTED_SASL_MECHANISM, mechanisms=["GSSAPI", "OAUTHBEARER"])
    with pytest.raises(KafkaError, match="the broker supports GSSAPI, OAUTHBEARER, not PLAIN") as caught:
        logged_in(answer)
    assert caught.value.code is Code.UNSUPPORTED_SASL_MECHANISM


def test_refusal_has_the_message_of_the_broker() -> None:
    refusal = SaslAuthenticateResponse(
        error_code=Code.SASL_AUTHENTICATION_FAILED, error_message="Invalid username or password", auth_bytes=b""
    )
    with pytest.raises(KafkaError, match="Invalid username or password") as caught:
        logged_in(CHOSEN, refusal)
    assert caught.value.code is Code.SASL_AUTHENTICATION_FAILED


def test_broker_that_proves_nothing_is_refused() -> None:
    answers: Iterator[Response] = iter([CHOSEN, SaslAuthenticateResponse(auth_bytes=b"")])
    with pytest.raises(KafkaError, match="the broker sent an invalid SCRAM") as caught:
        Credentials("SCRAM-SHA-256", "alice", "secret").log_in(lambda request, version: next(answers))
    assert caught.value.code is Code.SASL_AUTHENTICATION_FAILED
