import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.live.refusals import Unreachable
from tests.oracle.apache_kafka import ApacheKafka, missing

from .scripted import ScriptedBroker

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'
PLAIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": JAAS.format("alice", "secret"),
}
HANDSHAKE = SaslHandshakeResponse(mechanisms=["PLAIN"])


@pytest.mark.parametrize(("mechanism", "user", "password"), [("PLAIN", "alice", "secret")])
def test_live_reader_logs_in_to_kafkalet(mechanism: str, user: str, password: str) -> None:
    """SCRAM and OAUTHBEARER are added with the broker's mechanisms."""
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";'
    config = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": mechanism,
        f"listener.name.sasl_plaintext.{mechanism.lower()}.sasl.jaas.config": jaas,
    }
    with (
        kafkalet.Broker(config=config, topics=["t"]) as broker,
        LiveBroker(broker.bootstrap_servers, PLAIN) as live,
    ):
        assert live.topics() == {"t": 1}


def test_other_mechanisms_are_rejected_immediately() -> None:
    with pytest.raises(InvalidProperty, match=r"CRAM-MD5 for configuration sasl.mechanism: supported mechanisms are"):
        LiveBroker("a:1", PLAIN | {"sasl.mechanism": "CRAM-MD5"})
    with pytest.raises(InvalidProperty, match="GSSAPI"):
        LiveBroker("a:1", {"security.protocol": "SASL_SSL"})


def test_client_authenticates_before_other_requests() -> None:
    with ScriptedBroker() as broker, LiveBroker(broker.bootstrap_servers, PLAIN) as live:
        broker.script(Api.SASL_HANDSHAKE, HANDSHAKE)
        broker.script(Api.SASL_AUTHENTICATE, SaslAuthenticateResponse(auth_bytes=b""))
        assert live.topics() == {"t": 3}
        assert [request.API for request, _ in broker.asked] == [
            Api.SASL_HANDSHAKE,
            Api.SASL_AUTHENTICATE,
            Api.METADATA,
        ]
        assert broker.requests(Api.SASL_HANDSHAKE)[0].mechanism == "PLAIN"
        assert broker.requests(Api.SASL_AUTHENTICATE)[0].auth_bytes == b"\0alice\0secret"


def test_wrong_password_is_not_retried() -> None:
    refusal = SaslAuthenticateResponse(
        error_code=Code.SASL_AUTHENTICATION_FAILED, error_message="Invalid username or password", auth_bytes=b""
    )
    with ScriptedBroker() as broker, LiveBroker(broker.bootstrap_servers, PLAIN) as live:
        broker.script(Api.SASL_HANDSHAKE, HANDSHAKE)
        broker.script(Api.SASL_AUTHENTICATE, refusal)
        with pytest.raises(KafkaError, match="Invalid username or password") as refused:
            live.topics()
        assert refused.value.code is Code.SASL_AUTHENTICATION_FAILED
        assert broker.connections == 1


def test_broker_without_the_mechanism_lists_its_own() -> None:
    answer = SaslHandshakeResponse(error_code=Code.UNSUPPORTED_SASL_MECHANISM, mechanisms=["GSSAPI", "SCRAM-SHA-512"])
    with ScriptedBroker() as broker, LiveBroker(broker.bootstrap_servers, PLAIN) as live:
        broker.script(Api.SASL_HANDSHAKE, answer)
        with pytest.raises(KafkaError, match="supports GSSAPI, SCRAM-SHA-512, not PLAIN"):
            live.topics()


# TLS


CERTIFICATE = Path(__file__).parent / "loopback.pem"
"""A self-signed certificate for 127.0.0.1, valid from 2020 to 2126, with its key."""
TLS = {
    "security.protocol": "SSL",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(CERTIFICATE),
    "retry.backoff.ms": "1",
    "default.api.timeout.ms": "200",
}


@pytest.fixture
def encrypted() -> Iterator[ScriptedBroker]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    with ScriptedBroker(tls=context) as broker:
        yield broker


def test_broker_with_trusted_certificate_is_accepted(encrypted: ScriptedBroker) -> None:
    with LiveBroker(encrypted.bootstrap_servers, TLS) as live:
        assert live.topics() == {"t": 3}


def test_certificates_may_be_inline(encrypted: ScriptedBroker) -> None:
    text = CERTIFICATE.read_text().partition("-----BEGIN PRIVATE")[0]
    inline = {"security.protocol": "SSL", "ssl.truststore.certificates": text}
    with LiveBroker(encrypted.bootstrap_servers, inline) as live:
        assert live.topics() == {"t": 3}


def test_broker_with_untrusted_certificate_is_rejected(encrypted: ScriptedBroker) -> None:
    result = {name: text for name, text in TLS.items() if "truststore" not in name}
    with (
        LiveBroker(encrypted.bootstrap_servers, result) as live,
        pytest.raises(Unreachable, match="CERTIFICATE_VERIFY"),
    ):
        live.topics()
    assert not encrypted.asked


def test_client_certificate_is_sent_on_request() -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(CERTIFICATE))
    context.load_cert_chain(CERTIFICATE)
    context.verify_mode = ssl.CERT_REQUIRED
    with ScriptedBroker(tls=context) as broker:
        shown = TLS | {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(CERTIFICATE)}
        with LiveBroker(broker.bootstrap_servers, shown) as live:
            assert live.topics() == {"t": 3}
        with LiveBroker(broker.bootstrap_servers, TLS) as stranger, pytest.raises(Unreachable):
            stranger.topics()


def test_plaintext_client_cannot_reach_tls_listener(encrypted: ScriptedBroker) -> None:
    result = {"retry.backoff.ms": "1", "default.api.timeout.ms": "200"}
    with LiveBroker(encrypted.bootstrap_servers, result) as live, pytest.raises((Unreachable, DecodeError)):
        live.topics()


# Apache Kafka


@pytest.mark.oracle
@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_apache_kafka_accepts_the_password(release: str) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    with ApacheKafka(release, acl=True) as kafka:
        admin = PLAIN | {"sasl.jaas.config": JAAS.format("admin", "admin")}
        with LiveBroker(kafka.bootstrap_servers, admin) as live:
            assert live.topics() == {}
        with LiveBroker(kafka.bootstrap_servers, PLAIN) as live, pytest.raises(KafkaError) as refused:
            live.topics()
        assert refused.value.code is Code.SASL_AUTHENTICATION_FAILED
