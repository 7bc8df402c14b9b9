"""Tests of the short forms of security."""

from typing import Any

import pytest

from kafkalet.broker.config.release import Release
from kafkalet.broker.security.acl_text import parse_acls
from kafkalet.broker.security.scram_credentials import ScramMechanism, credential_of_password
from kafkalet.broker.security.short_forms import ShortForms

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def config(given: dict[str, str] | None = None, **forms: Any) -> dict[str, str]:
    return ShortForms.of(**forms).config(given or {}, "localhost", 9092, Release.of("3.9")).static


def test_users_become_mechanisms_and_passwords_of_a_listener() -> None:
    assert config(users={"alice": "secret"}) == {
        "listeners": "SASL_PLAINTEXT://localhost:9092",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} required user_alice="secret";',
    }


def test_given_properties_take_precedence() -> None:
    name = "listener.name.sasl_ssl.plain.sasl.jaas.config"
    given = {"listeners": "SASL_SSL://:0", "sasl.enabled.mechanisms": "PLAIN", name: "given"}
    assert config(given, users={"alice": "secret"}) == given


def test_address_with_colons_is_in_brackets() -> None:
    found = ShortForms.of({"a": "b"}).config({}, "::1", 0, Release.of("3.9"))
    assert found.static["listeners"] == "SASL_PLAINTEXT://[::1]:0"


def test_super_users_become_principals_and_switch_the_authorizer_on() -> None:
    found = ShortForms.of(super_users=["admin", "User:CN=root"]).properties()
    assert found["super.users"] == "User:admin;User:CN=root"
    assert found["authorizer.class.name"].endswith("StandardAuthorizer")


def test_super_users_with_passwords_can_log_in() -> None:
    forms = ShortForms.of({"alice": "1"}, {"admin": "2"})
    assert (dict(forms.users), forms.super_users) == ({"alice": "1", "admin": "2"}, ("User:admin",))


def test_acls_switch_the_authorizer_on() -> None:
    assert "authorizer.class.name" in ShortForms.of(acls=["alice:read:topic:t"]).properties()


def test_users_alone_do_not_switch_the_authorizer_on() -> None:
    assert "authorizer.class.name" not in ShortForms.of({"alice": "secret"}).properties()


def test_acls_are_texts_or_values() -> None:
    [acl] = parse_acls("alice:read:topic:t")
    assert ShortForms.of(acls=[acl, "alice:read,write:topic:t"]).acls == tuple(parse_acls("alice:read,write:topic:t"))


@pytest.mark.parametrize(
    ("given", "protocol"),
    [
        ({}, "PLAINTEXT"),
        ({"tls": True}, "SSL"),
        ({"users": {"a": "b"}}, "SASL_PLAINTEXT"),
        ({"users": {"a": "b"}, "tls": True}, "SASL_SSL"),
    ],
)
def test_default_protocol_follows_from_users_and_tls(given: dict[str, Any], protocol: str) -> None:
    assert ShortForms.of(**given).default_protocol == protocol


@pytest.mark.parametrize(
    ("given", "protocols", "wanted"),
    [
        ({"users": {"a": "b"}}, ["PLAINTEXT"], "sasl_plaintext://"),
        ({"users": {"a": "b"}}, ["PLAINTEXT", "SSL"], "sasl_ssl://"),
        ({"tls": True}, ["SASL_PLAINTEXT"], "ssl://"),
    ],
)
def test_listeners_that_lack_the_given_security_are_refused(
    given: dict[str, Any], protocols: list[str], wanted: str
) -> None:
    with pytest.raises(ValueError, match=wanted):
        ShortForms.of(**given).check_protocols(protocols)


def test_one_listener_with_sasl_is_enough() -> None:
    ShortForms.of({"a": "b"}).check_protocols(["PLAINTEXT", "SASL_PLAINTEXT"])


def test_users_have_scram_credentials() -> None:
    credentials = ShortForms.of({"alice": "secret"}).credentials()
    for mechanism in ScramMechanism:
        made = credentials["alice", mechanism]
        assert made == credential_of_password(mechanism, "secret", made.salt)


def test_properties_are_valid() -> None:
    forms = ShortForms.of({"alice": "secret"}, {"admin": "x"}, ["alice:read:topic:t"], tls=True)
    assert forms.config({}, "localhost", 0, Release.of("3.9")).unknown == []


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"users": "alice"}, TypeError),
        ({"users": ["alice"]}, TypeError),
        ({"users": {1: "secret"}}, TypeError),
        ({"users": {"alice": 1}}, TypeError),
        ({"users": {"alice": ""}}, ValueError),
        ({"users": {"alice": "a\0b"}}, ValueError),
        ({"users": {"": "secret"}}, ValueError),
        ({"users": {"User:alice": "secret"}}, ValueError),
        ({"super_users": "admin"}, TypeError),
        ({"super_users": [1]}, TypeError),
        ({"super_users": [""]}, ValueError),
        ({"super_users": ["a;b"]}, ValueError),
        ({"acls": "alice:read:topic:t"}, TypeError),
        ({"acls": [1]}, TypeError),
        ({"acls": ["alice"]}, ValueError),
        ({"tls": "yes"}, TypeError),
    ],
)
def test_invalid_argument_is_refused(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ShortForms.of(**given)


@pytest.mark.parametrize(
    "given", [{"users": {"alice": b"s3cret"}}, {"users": ["s3cret"]}, {"users": {"alice": "s3cret\0"}}]
)
def test_password_is_not_in_the_message(given: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as refused:
        ShortForms.of(**given)
    assert "s3cret" not in str(refused.value)


def test_repr_has_no_password() -> None:
    assert "s3cret" not in repr(ShortForms.of({"alice": "s3cret"}))
