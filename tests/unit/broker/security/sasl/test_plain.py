"""PLAIN: tokens of the client, and who is authenticated."""

import pytest

from kafkalet.broker.security.principal import Principal
from kafkalet.broker.security.sasl.mechanism import AuthenticationFailed
from kafkalet.broker.security.sasl.plain import Plain, passwords_of
from kafkalet.jaas import LOGIN_MODULES, LoginModule

USERS = {"alice": "alice-secret", "bøb": "pässword"}


@pytest.mark.parametrize("token", ["\0alice\0alice-secret", "alice\0alice\0alice-secret"])
def test_right_password_authenticates(token: str) -> None:
    plain = Plain(USERS)
    assert plain.evaluate(token.encode()) == b""
    assert plain.principal == Principal("User", "alice")
    assert plain.expires_ms is None


def test_names_and_passwords_may_have_any_characters() -> None:
    plain = Plain(USERS)
    plain.evaluate("\0bøb\0pässword".encode())
    assert plain.principal == Principal("User", "bøb")


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0alice-secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0a\0b\0c", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0a\0b\0c\0d\0e", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0carol\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0\xff\0\xff", "Authentication failed: Invalid username or password"),
        (b"bob\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (
            b"bob\0alice\0alice-secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_token_is_refused_with_the_message_of_kafka(token: bytes, message: str) -> None:
    plain = Plain(USERS)
    with pytest.raises(AuthenticationFailed) as caught:
        plain.evaluate(token)
    assert str(caught.value) == message
    assert plain.principal is None


def test_users_are_options_of_kafkas_login_module() -> None:
    options = {"username": "admin", "password": "p", "user_admin": "p", "user_a b": "q"}
    assert passwords_of(LoginModule(LOGIN_MODULES["PLAIN"], options)) == {"admin": "p", "a b": "q"}
    assert passwords_of(LoginModule("com.example.Module", options)) == {}
