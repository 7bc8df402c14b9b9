"""SASL authentication: the examples of RFC 5802 and RFC 7677, and brokers that cheat."""

from collections.abc import Iterator

import pytest

from kafkalet.sasl_client import NotAuthenticated, authenticate_with_password, scram

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = f"{NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FIRST = f"r={SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()


def test_example_of_rfc_7677() -> None:
    conversation = scram("sha256", "user", "pencil", NONCE)
    assert next(conversation) == f"n,,n=user,r={NONCE}".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert conversation.send(FIRST) == f"c=biws,r={SERVER_NONCE},p={proof}".encode()
    with pytest.raises(StopIteration):
        conversation.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_example_of_rfc_5802() -> None:
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
def test_invalid_first_answer_is_refused(first: bytes) -> None:
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

    authenticate_with_password("PLAIN", "alice", "s3cret", exchange)
    assert sent == [b"\0alice\0s3cret"]


def test_scram_uses_a_new_nonce_each_time() -> None:
    sent: list[bytes] = []

    def exchange(token: bytes) -> bytes:
        sent.append(token)
        return b""

    for _ in range(2):
        with pytest.raises(NotAuthenticated):
            authenticate_with_password("SCRAM-SHA-512", "alice", "s3cret", exchange)
    assert sent[0].startswith(b"n,,n=alice,r=")
    assert sent[0] != sent[1]
