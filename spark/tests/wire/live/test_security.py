import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import kafkalet
from kafkalet.properties import InvalidProperty
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkalet.sasl_client import NotAuthenticated
from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.live.client_properties import Settings
from kafkalet_spark.live.refusals import Unreachable
from kafkalet_spark.live.security import Credentials, credentials, tls
from tests.oracle.apache_kafka import ApacheKafka, missing

from .scripted import ScriptedBroker

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'
PLAIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": JAAS.format("alice", "secret"),
}
HANDSHAKE = SaslHandshakeResponse(mechanisms=["PLAIN"])


def known_as(jaas: str) -> Credentials | None:
    return credentials(Settings.of(PLAIN | {"sasl.jaas.config": jaas}))


# SASL


SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required username=alice password=secret"
OAUTHBEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def settings_of(mechanism: str, jaas: str, **more: str) -> Settings:
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    return Settings.of(given | {name.replace("_", "."): value for name, value in more.items()})


def tokens_of(known: Credentials | None, answers: list[bytes]) -> list[bytes]:
    """Return the tokens that a client sends to a broker with these answers."""
    sent: list[bytes] = []

    def exchange(token: bytes) -> bytes:
        sent.append(token)
        return answers[len(sent) - 1]

    assert known is not None
    with suppress(NotAuthenticated):
        known.authenticate(exchange)
    return sent


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_sends_the_user_name_first(mechanism: str) -> None:
    (first,) = tokens_of(credentials(settings_of(mechanism, SCRAM + ";")), [b""])
    assert first.startswith(b"n,,n=alice,r=")


def test_delegation_token_is_announced_to_the_broker() -> None:
    (first,) = tokens_of(credentials(settings_of("SCRAM-SHA-256", SCRAM + ' tokenauth="true";')), [b""])
    assert first.endswith(b",tokenauth=true")


def test_oauthbearer_sends_an_unsecured_token_with_the_claims_of_the_options() -> None:
    jaas = OAUTHBEARER + ' unsecuredLoginStringClaim_sub="alice" unsecuredLoginStringClaim_scope="a b";'
    (first,) = tokens_of(credentials(settings_of("OAUTHBEARER", jaas)), [b""])
    token = first.removeprefix(b"n,,\x01auth=Bearer ").removesuffix(b"\x01\x01")
    header, claims, signature = token.split(b".")
    assert json.loads(base64.urlsafe_b64decode(header + b"==")) == {"alg": "none"}
    decoded = json.loads(base64.urlsafe_b64decode(claims + b"=="))
    assert (decoded["sub"], decoded["scope"], signature) == ("alice", "a b", b"")
    assert decoded["exp"] - decoded["iat"] == 3600


def test_refused_token_is_confirmed_as_the_protocol_demands() -> None:
    jaas = OAUTHBEARER + " unsecuredLoginStringClaim_sub=alice;"
    sent = tokens_of(credentials(settings_of("OAUTHBEARER", jaas)), [b'{"status":"invalid_token"}', b""])
    assert sent[1:] == [b"\x01"]


def test_oauthbearer_reads_the_token_from_a_file_for_each_connection(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    url = file.as_uri()
    known = credentials(settings_of("OAUTHBEARER", OAUTHBEARER + ";", sasl_oauthbearer_token_endpoint_url=url))
    for token in ("one", "two"):
        file.write_text(token + "\n")
        assert tokens_of(known, [b""]) == [f"n,,\x01auth=Bearer {token}\x01\x01".encode()]


def test_missing_token_file_is_named(tmp_path: Path) -> None:
    url = (tmp_path / "none").as_uri()
    known = credentials(settings_of("OAUTHBEARER", OAUTHBEARER + ";", sasl_oauthbearer_token_endpoint_url=url))
    with pytest.raises(
        InvalidProperty, match=r"none for configuration sasl\.oauthbearer\.token\.endpoint\.url: No such file"
    ):
        tokens_of(known, [b""])


def test_token_server_is_rejected() -> None:
    jaas, url = OAUTHBEARER + ";", "https://idp/token"
    with pytest.raises(InvalidProperty, match="only file: is supported"):
        credentials(settings_of("OAUTHBEARER", jaas, sasl_oauthbearer_token_endpoint_url=url))


def test_oauthbearer_without_a_subject_is_rejected() -> None:
    with pytest.raises(InvalidProperty, match="unsecuredLoginStringClaim_sub"):
        credentials(settings_of("OAUTHBEARER", OAUTHBEARER + ";"))


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


def test_no_credentials_without_sasl() -> None:
    assert credentials(Settings.of({})) is None
    assert credentials(Settings.of({"security.protocol": "SSL"})) is None


@pytest.mark.parametrize(
    ("jaas", "username", "password"),
    [
        (JAAS.format("alice", "secret"), "alice", "secret"),
        (JAAS.format("a b", r"quote \" and \\ and ;"), "a b", 'quote " and \\ and ;'),
        ("x.PlainLoginModule required username=alice password=secret ;", "alice", "secret"),
        ('\n x.PlainLoginModule   required\n password = "p"\n username = "u"\n serviceName=k;\n', "u", "p"),
        (JAAS.format("", ""), "", ""),
    ],
)
def test_credentials_are_read_from_jaas_config(jaas: str, username: str, password: str) -> None:
    assert known_as(jaas) == Credentials("PLAIN", username, password)


@pytest.mark.parametrize(
    "jaas",
    [
        "",
        JAAS.format("alice", "secret")[:-1],
        "org.apache.kafka.common.security.scram.ScramLoginModule required username=alice password=secret;",
        'x.PlainLoginModule required username="alice;',
    ],
)
def test_invalid_jaas_config_is_rejected_without_showing_it(jaas: str) -> None:
    with pytest.raises(
        InvalidProperty, match=r"\[hidden\] for configuration sasl.jaas.config: for PLAIN, it must have the form"
    ):
        known_as(jaas)


@pytest.mark.parametrize(("jaas", "missing"), [("username=a", "password"), ("password=a", "username")])
def test_missing_jaas_option_is_named(jaas: str, missing: str) -> None:
    with pytest.raises(InvalidProperty, match=f"{missing} is missing"):
        known_as(f"x.PlainLoginModule required {jaas};")


def test_other_mechanisms_are_rejected_immediately() -> None:
    with pytest.raises(InvalidProperty, match=r"CRAM-MD5 for configuration sasl.mechanism: supported mechanisms are"):
        LiveBroker("a:1", PLAIN | {"sasl.mechanism": "CRAM-MD5"})
    with pytest.raises(InvalidProperty, match="GSSAPI"):
        LiveBroker("a:1", {"security.protocol": "SASL_SSL"})


def test_passwords_are_not_shown() -> None:
    assert "secret" not in repr(Credentials("PLAIN", "alice", "secret"))


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


def test_without_ssl_nothing_is_encrypted() -> None:
    assert tls(Settings.of({})) is None
    assert tls(Settings.of(PLAIN)) is None


def test_certificates_and_host_names_are_verified_by_default() -> None:
    context = tls(Settings.of({"security.protocol": "SSL"}))
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    context = tls(Settings.of({"security.protocol": "SASL_SSL", "ssl.endpoint.identification.algorithm": ""}))
    assert context is not None
    assert not context.check_hostname


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_java_keystores_are_rejected(store: str) -> None:
    settings = Settings.of({"security.protocol": "SSL", f"ssl.{store}.location": "x.jks"})
    with pytest.raises(InvalidProperty, match=rf"JKS for configuration ssl.{store}.type: only PEM"):
        tls(settings)


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


def test_missing_certificate_file_is_named() -> None:
    with (
        LiveBroker("127.0.0.1:1", TLS | {"ssl.truststore.location": "/nowhere.pem"}) as live,
        pytest.raises(FileNotFoundError),
    ):
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
