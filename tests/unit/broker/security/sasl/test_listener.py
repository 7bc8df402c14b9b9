"""The SASL settings of a listener."""

import logging

import pytest

from kafkalet.clock import ManualClock
from kafkalet.properties import InvalidProperty

from .sasl_settings import ALL, PLAIN, sasl_listener


def test_mechanisms_have_the_order_in_which_kafka_sends_them() -> None:
    assert sasl_listener(ALL).mechanisms == ["PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER"]


def test_gssapi_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert sasl_listener(PLAIN | {"sasl.enabled.mechanisms": "GSSAPI, PLAIN"}).mechanisms == ["PLAIN"]
    assert "GSSAPI is not enabled" in caplog.text


@pytest.mark.parametrize("text", ["GSSAPI", "", " , "])
def test_listener_without_a_supported_mechanism_is_refused(text: str) -> None:
    with pytest.raises(InvalidProperty, match="at least one mechanism that kafkalet supports: PLAIN, SCRAM"):
        sasl_listener({"sasl.enabled.mechanisms": text})


def test_default_mechanism_is_gssapi_and_refused() -> None:
    with pytest.raises(InvalidProperty, match="Kafka's default is GSSAPI"):
        sasl_listener({})


@pytest.mark.parametrize("text", ["PLAN", "plain", "PLAIN,DIGEST-MD5"])
def test_unknown_mechanism_is_refused(text: str) -> None:
    with pytest.raises(InvalidProperty, match="is not a mechanism that kafkalet supports"):
        sasl_listener(PLAIN | {"sasl.enabled.mechanisms": text})


def test_plain_without_users_is_refused() -> None:
    with pytest.raises(InvalidProperty, match="PLAIN is enabled, but it has no users"):
        sasl_listener({"sasl.enabled.mechanisms": "PLAIN"})


def test_malformed_users_are_refused_without_showing_them() -> None:
    with pytest.raises(InvalidProperty) as caught:
        sasl_listener(PLAIN | {"plain.sasl.jaas.config": 'Module required user_alice="hidden"'})
    assert "hidden" not in str(caught.value).replace("[hidden]", "")
    assert "not terminated by semi-colon" in str(caught.value)


@pytest.mark.parametrize("mechanism", ["plain", "scram-sha-256"])
def test_java_class_is_refused(mechanism: str) -> None:
    with pytest.raises(InvalidProperty, match="cannot run Java classes"):
        sasl_listener(ALL | {f"{mechanism}.sasl.server.callback.handler.class": "com.example.Handler"})


@pytest.mark.parametrize("name", ["sasl.server.max.receive.size", "plain.connections.max.reauth.ms"])
def test_text_that_is_not_a_number_is_refused(name: str) -> None:
    with pytest.raises(InvalidProperty, match=name):
        sasl_listener(PLAIN | {name: "many"})


def test_session_ends_with_the_credential_or_the_limit_of_its_mechanism() -> None:
    clock = ManualClock(1000)
    listener = sasl_listener(
        ALL | {"connections.max.reauth.ms": "500", "scram-sha-512.connections.max.reauth.ms": "0"}, clock
    )
    assert listener.lifetime_ms("PLAIN", None) == 500
    assert listener.lifetime_ms("PLAIN", 1400) == 400
    assert listener.lifetime_ms("PLAIN", 9000) == 500
    assert listener.lifetime_ms("PLAIN", 900) == 0
    assert listener.lifetime_ms("SCRAM-SHA-512", None) is None
    assert listener.lifetime_ms("SCRAM-SHA-512", 9000) == 8000


def test_defaults_are_those_of_kafka() -> None:
    listener = sasl_listener(PLAIN)
    assert (listener.max_receive_bytes, listener.failure_delay_ms) == (524_288, 100)
