"""Access tokens without a signature. The responses were compared with those of Apache Kafka 3.9."""

import base64
import json
from typing import Any

import pytest

from kafkalet.broker.security.sasl.access_token import AccessToken, InvalidToken
from kafkalet.broker.security.sasl.mechanism import BrokenExchange
from kafkalet.broker.security.sasl.unsecured_tokens import UnsecuredTokens
from kafkalet.clock import ManualClock
from kafkalet.properties import InvalidProperty

NOW_S = 1_000
NONE = {"alg": "none"}


def part(content: Any) -> str:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.b64encode(data).decode().rstrip("=")


def token(header: Any = NONE, claims: Any = None, signature: str = "", **more: Any) -> str:
    if claims is None:
        claims = {"sub": "olga", "exp": NOW_S + 60, "iat": NOW_S} | more
    return f"{part(header)}.{part(claims)}.{signature}"


def validated(text: str, *, is_base64url: bool = True, **options: str) -> AccessToken:
    given = {f"unsecuredValidator{name}": value for name, value in options.items()}
    return UnsecuredTokens(given, ManualClock(NOW_S * 1000), is_base64url=is_base64url).validate(text)


def test_claims_become_principal_and_expiration() -> None:
    assert validated(token(exp=NOW_S + 60.5)) == AccessToken("olga", 1_060_500)
    assert validated(token(user="eve"), PrincipalClaimName=" user ") == AccessToken("eve", 1_060_000)


@pytest.mark.parametrize(
    "text",
    [
        "a.b",
        "a..b",
        "a.b.c.d",
        token({"alg": "RS256"}),
        token(signature="c2ln"),
        token(exp=NOW_S),
        token(exp="2000"),
        token(claims={"sub": "olga"}),
        token(claims={"exp": 2000}),
        token(sub=5),
        token(sub=" "),
        token(sub={}),
        token(iat="1"),
        token(iat=NOW_S + 1),
        token(exp=NOW_S + 1, iat=NOW_S + 1),
        token(scope=5),
        token(claims=b"[1]"),
        token(claims=b'{"exp":NaN,"sub":"x"}'),
        token(claims=b"{"),
        token(claims=b"[" * 100_000),
        token(claims=b'{"exp":' + b"9" * 5000 + b',"sub":"x"}'),
        token(claims=b"\xff{}"),
        f"{part(NONE)}=.{part({})}.",
    ],
)
def test_invalid_token_is_refused(text: str) -> None:
    with pytest.raises(InvalidToken):
        validated(text)


@pytest.mark.parametrize("text", [token({}), "." + token().partition(".")[2]])
def test_header_without_algorithm_breaks_the_exchange(text: str) -> None:
    with pytest.raises(BrokenExchange):
        validated(text)


@pytest.mark.parametrize(("claim", "name"), [(True, "true"), (None, "null")], ids=["true", "null"])
def test_name_that_is_not_a_string_is_converted_as_by_jackson(claim: object, name: str) -> None:
    assert validated(token(sub=claim)).principal_name == name


def test_text_after_the_json_is_ignored() -> None:
    assert validated(token(claims=b' {"exp":1,"exp":2000,"sub":"x"} y')) == AccessToken("x", 2_000_000)


def test_clock_skew_is_allowed_on_both_sides() -> None:
    assert validated(token(iat=NOW_S + 2, exp=NOW_S + 3), AllowableClockSkewMs="2000")
    assert validated(token(iat=NOW_S - 5, exp=NOW_S - 1), AllowableClockSkewMs="2000")
    with pytest.raises(InvalidToken):
        validated(token(iat=NOW_S - 5, exp=NOW_S - 2), AllowableClockSkewMs="2000")


@pytest.mark.parametrize("scope", [["a", " b "], ["b", "c", "a", ""]])
def test_token_with_the_required_scope_is_valid(scope: object) -> None:
    assert validated(token(scope=scope), RequiredScope="a b")


@pytest.mark.parametrize("scope", [None, "a b", ["a"], []])
def test_token_without_the_required_scope_is_refused_with_the_scope(scope: object) -> None:
    with pytest.raises(InvalidToken) as caught:
        validated(token(scope=scope), RequiredScope=" a  b ")
    assert caught.value.scope == "[a, b]"


def test_scope_may_have_another_claim() -> None:
    assert validated(token(scp="a"), ScopeClaimName="scp", RequiredScope="a")


@pytest.mark.parametrize(
    "options", [{"AllowableClockSkewMs": "x"}, {"AllowableClockSkewMs": "-1"}, {"RequiredScope": 'a"b'}]
)
def test_malformed_option_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidProperty):
        validated(token(), **options)


def test_error_contains_no_part_of_the_token() -> None:
    text = token(sub="", secret="hidden-claim")
    with pytest.raises(InvalidToken) as caught:
        validated(text)
    assert "hidden" not in str(caught.value)
    assert text[:10] not in str(caught.value)


@pytest.mark.parametrize("is_base64url", [False, True])
def test_parts_have_the_alphabet_of_the_release(is_base64url: bool) -> None:
    text = token(claims=b'{"exp":2000,"sub":"x","y":"\xc3\xbf\xc3\xbf??>>"}')
    assert set("+/") & set(text)
    other = text.replace("+", "-").replace("/", "_")
    valid, invalid = (other, text) if is_base64url else (text, other)
    assert validated(valid, is_base64url=is_base64url).principal_name == "x"
    with pytest.raises(InvalidToken):
        validated(invalid, is_base64url=is_base64url)
