"""JAAS configurations, as org.apache.kafka.common.security.JaasConfig parses them."""

import pytest

from kafkalet.jaas import LoginModule, MalformedJaas, login_module_text, parse_login_module


def options(text: str) -> dict[str, str]:
    return dict(parse_login_module(f"some.Module required {text};").options)


def test_module_has_a_name_and_options() -> None:
    text = """org.apache.kafka.common.security.plain.PlainLoginModule required
        username="admin" password="admin-secret"
        user_alice='alice-secret';"""
    module = parse_login_module(text)
    assert module.name == "org.apache.kafka.common.security.plain.PlainLoginModule"
    assert dict(module.options) == {"username": "admin", "password": "admin-secret", "user_alice": "alice-secret"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"a b;c=d"', "a b;c=d"),
        ("'it is \"quoted\"'", 'it is "quoted"'),
        (r'"a\"b"', 'a"b'),
        (r'"a\\b"', "a\\b"),
        (r'"\t\n\x"', "\t\nx"),
        (r'"\101\1012\7"', "AA2\7"),
        (r'"\477"', "\x277"),
        ("word-with_$1.5", "word-with_$1.5"),
        ('""', ""),
        ('"/* no comment */ // none"', "/* no comment */ // none"),
        ("pässword", "pässword"),
    ],
)
def test_value_is_a_word_or_a_string_with_escapes(text: str, value: str) -> None:
    assert options(f"k={text}") == {"k": value}


@pytest.mark.parametrize("comment", ["/* a * b */", "// a\n", "/ a\n", "\t\r\n"])
def test_comments_and_whitespace_separate_options(comment: str) -> None:
    assert options(f"{comment}a = b{comment}c{comment}=d{comment}") == {"a": "b", "c": "d"}


def test_later_option_with_the_same_name_replaces_an_earlier_one() -> None:
    assert options("a=x a=b") == {"a": "b"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Login module not specified in JAAS config"),
        ("some.Module", "Login module control flag not specified in JAAS config"),
        ("some.Module 5;", "Login module control flag is not available in the JAAS config"),
        ("some.Module needed;", "Invalid login module control flag in JAAS config"),
        ("some.Module required", "JAAS config entry not terminated by semi-colon"),
        ("some.Module required a=b", "JAAS config entry not terminated by semi-colon"),
        ("some.Module required a;", "Value not specified for option 1"),
        ("some.Module required a=;", "Value not specified for option 1"),
        ("some.Module required a=b c=12;", "Value not specified for option 2"),
        ("some.Module required a=b c=-;", "Value not specified for option 2"),
        ("a.B required; c.D required;", "JAAS config property contains 2 login modules, should be 1 module"),
        ("{}", "an entry must begin with the name of a login module"),
        ("/* open", "Login module not specified in JAAS config"),
    ],
)
def test_malformed_text_is_refused(text: str, problem: str) -> None:
    with pytest.raises(MalformedJaas, match=problem):
        parse_login_module(text)


def test_control_flag_may_be_in_upper_case() -> None:
    assert parse_login_module("a.B REQUIRED;") == LoginModule("a.B", {})


def test_error_and_repr_contain_no_value() -> None:
    with pytest.raises(MalformedJaas) as caught:
        parse_login_module('a.B required password="pass"word-"rest;')
    assert "word-" not in str(caught.value)
    assert "secret" not in repr(parse_login_module('a.B required password="secret";'))


def test_text_of_a_login_module_can_be_parsed() -> None:
    options = {"username": 'a"b', "user_a@b": "x\\;", "user_c": "\r\n'", "user_d": ""}
    text = login_module_text("PLAIN", options)
    assert text.startswith(
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="a\\"b" "user_a@b"='
    )
    assert parse_login_module(text).options == options


def test_text_of_a_login_module_without_options() -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    assert login_module_text("OAUTHBEARER", {}) == f"{module} required;"
