"""OAUTHBEARER: the messages of the client, and which validator a listener has."""

import logging

import pytest

from kafkalet.broker.security.principal import Principal
from kafkalet.broker.security.sasl.access_token import AccessToken, InvalidToken
from kafkalet.broker.security.sasl.mechanism import AuthenticationFailed, BrokenExchange, InvalidCredentials
from kafkalet.broker.security.sasl.oauthbearer import JWKS_URL, OAuthBearer, validator_of
from kafkalet.clock import ManualClock
from kafkalet.properties import InvalidProperty


def validate(text: str) -> AccessToken:
    if text == "scope":
        raise InvalidToken("its scope lacks b", scope="[a, b]")
    if text != "good":
        raise InvalidToken("it is not good")
    return AccessToken("olga", 5000)


def test_valid_token_authenticates_until_it_expires() -> None:
    bearer = OAuthBearer(validate)
    assert bearer.evaluate(b"n,,\x01auth=Bearer good\x01\x01") == b""
    assert (bearer.principal, bearer.expires_ms) == (Principal("User", "olga"), 5000)


@pytest.mark.parametrize(
    "message",
    [
        b"n,a=olga,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=bearer   good\x01\x01",
        b"n,,\x01a=b\x01auth=Bearer good\x01trace=x=y z\x01\x01",
    ],
)
def test_message_may_have_authorization_id_and_extensions(message: bytes) -> None:
    assert OAuthBearer(validate).evaluate(message) == b""


@pytest.mark.parametrize(
    ("token", "answer"),
    [
        ("bad", b'{"status":"invalid_token"}'),
        ("scope", b'{"status":"insufficient_scope", "scope":"[a, b]"}'),
    ],
)
def test_invalid_token_gets_json_and_fails_after_the_acknowledgement(token: str, answer: bytes) -> None:
    bearer = OAuthBearer(validate)
    assert bearer.evaluate(f"n,,\x01auth=Bearer {token}\x01\x01".encode()) == answer
    assert bearer.principal is None
    with pytest.raises(AuthenticationFailed) as caught:
        bearer.evaluate(b"\x01")
    assert str(caught.value).encode() == answer


def test_client_may_try_another_token_after_an_error() -> None:
    bearer = OAuthBearer(validate)
    bearer.evaluate(b"n,,\x01auth=Bearer bad\x01\x01")
    assert bearer.evaluate(b"n,,\x01auth=Bearer good\x01\x01") == b""
    assert bearer.principal is not None


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b"", "Invalid OAUTHBEARER client first message"),
        (b"\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01auth=Bearer good\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01f1=x\x01auth=Bearer good\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01a=b\x01\x01", "'auth' not specified"),
        (b"n,,\x01auth=Bearer \x01\x01", "invalid 'auth' format"),
        (b"n,,\x01auth=good\x01\x01", "invalid 'auth' format"),
    ],
)
def test_malformed_message_is_refused(message: bytes, problem: str) -> None:
    with pytest.raises(InvalidCredentials, match=problem):
        OAuthBearer(validate).evaluate(message)


def test_other_scheme_breaks_the_exchange() -> None:
    with pytest.raises(BrokenExchange, match="not Bearer"):
        OAuthBearer(validate).evaluate(b"n,,\x01auth=Basic good\x01\x01")


def test_authorization_id_must_be_the_principal() -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        OAuthBearer(validate).evaluate(b"n,a=eve,\x01auth=Bearer good\x01\x01")
    assert str(caught.value) == (
        "Authentication failed: Client requested an authorization id (eve) that is different from the token's "
        "principal name (olga)"
    )


def test_jwks_file_without_its_handler_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        validator_of(None, None, {JWKS_URL: "file:///keys.json"}, ManualClock(), is_base64url=True)
    assert "tokens without a signature are accepted" in caplog.text


def test_other_handler_is_refused() -> None:
    with pytest.raises(InvalidProperty, match="kafkalet cannot run Java classes"):
        validator_of(None, "com.example.Handler", {}, ManualClock(), is_base64url=True)


def test_name_with_half_of_a_surrogate_pair_can_be_written() -> None:
    bearer = OAuthBearer(lambda text: AccessToken("o\ud800", 5000))
    assert bearer.evaluate(b"n,,\x01auth=Bearer good\x01\x01") == b""
    assert bearer.principal == Principal("User", "o?")
