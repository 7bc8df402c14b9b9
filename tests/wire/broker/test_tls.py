"""TLS listeners of a broker: users of certificates, and certificates that are replaced while clients are connected."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker.security.short_forms import AUTHORIZER
from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
from kafkalet.client_security import Security, tls_context
from kafkalet.protocol.errors import Code
from kafkalet.sasl_client import Credentials
from kafkalet_conformance.playing.connection import Closed, Connection

PREFIX = "listener.name.ssl."


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(str(tmp_path_factory.mktemp("certificates")))


@pytest.fixture(scope="module")
def other_authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(str(tmp_path_factory.mktemp("other certificates")))


@pytest.fixture
def broker(authority: CertificateAuthority) -> Iterator[kafkalet.Broker]:
    config = {"listeners": "SSL://127.0.0.1:0", **authority.broker_properties(PREFIX)}
    with kafkalet.Broker(config=config, topics=["t"]) as running:
        yield running


def connect(broker: kafkalet.Broker, authority: CertificateAuthority, user: str | None = None) -> Connection:
    certificate = "" if user is None else authority.client(user).keystore_file
    context = tls_context(ca=authority.ca_file, certificate=certificate)
    return Connection("localhost", broker.port, security=Security(context))


def alter(connection: Connection, **properties: str) -> tuple[int, str | None]:
    configs = [
        {"name": PREFIX + name.replace("_", "."), "config_operation": 0, "value": value}
        for name, value in properties.items()
    ]
    resource = {"resource_type": 4, "resource_name": "1", "configs": configs}
    (answer,) = connection.ask("IncrementalAlterConfigs", 1, {"resources": [resource]})["responses"]
    return answer["error_code"], answer["error_message"]


def serial(broker: kafkalet.Broker) -> str:
    """Return the certificate that the broker presents to new clients."""
    return ssl.get_server_certificate(("127.0.0.1", broker.port))


def test_client_with_the_authority_is_served(broker: kafkalet.Broker, authority: CertificateAuthority) -> None:
    connection = connect(broker, authority)
    assert connection.ask("Metadata", 9, {"topics": None})["topics"][0]["name"] == "t"
    connection.close()


def test_certificate_of_the_client_is_its_principal(authority: CertificateAuthority) -> None:
    config = {
        "listeners": "SSL://127.0.0.1:0",
        **authority.broker_properties(PREFIX),
        "ssl.client.auth": "required",
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:CN=alice",
    }
    with kafkalet.Broker(config=config, topics=["t"]) as broker:
        for user, topics in (("alice", ["t"]), ("bob", [])):
            connection = connect(broker, authority, user)
            answer = connection.ask("Metadata", 9, {"topics": None})
            assert [topic["name"] for topic in answer["topics"]] == topics
            connection.close()


def test_client_without_a_required_certificate_is_refused(
    authority: CertificateAuthority, caplog: pytest.LogCaptureFixture
) -> None:
    config = {
        "listeners": "SSL://127.0.0.1:0",
        **authority.broker_properties(PREFIX),
        "ssl.client.auth": "required",
    }
    with (
        kafkalet.Broker(config=config) as broker,
        closing(connect(broker, authority)) as connection,
        pytest.raises((OSError, Closed)),
    ):
        connection.ask("ApiVersions", 0, {})
    assert [message for message in caplog.messages if "sent no certificate" in message]


def test_certificate_that_no_rule_maps_closes_the_connection(
    authority: CertificateAuthority, caplog: pytest.LogCaptureFixture
) -> None:
    config = {
        "listeners": "SSL://127.0.0.1:0",
        **authority.broker_properties(PREFIX),
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=admin$/admin/",
    }
    with kafkalet.Broker(config=config) as broker:
        with closing(connect(broker, authority, "alice")) as alice, pytest.raises((OSError, Closed)):
            alice.ask("ApiVersions", 0, {})
        with closing(connect(broker, authority, "admin")) as admin:
            assert admin.ask("ApiVersions", 0, {})["error_code"] == 0
    assert [message for message in caplog.messages if "No rules apply to CN=alice" in message]


def test_new_certificate_replaces_the_old_one_at_run_time(
    broker: kafkalet.Broker, authority: CertificateAuthority, tmp_path: Path
) -> None:
    before = serial(broker)
    connection = connect(broker, authority)
    newer = CertificateAuthority(str(tmp_path / "newer"))
    assert alter(connection, ssl_keystore_location=newer.server.keystore_file) == (Code.NONE, None)
    assert serial(broker) not in (before, "")
    assert connection.ask("ApiVersions", 0, {})["error_code"] == 0  # open connections stay open
    connection.close()
    connect(broker, newer).close()


def test_invalid_keystore_is_refused_and_the_old_one_stays(
    broker: kafkalet.Broker, authority: CertificateAuthority, tmp_path: Path
) -> None:
    connection = connect(broker, authority)
    (tmp_path / "bad.pem").write_text("nothing")
    code, message = alter(connection, ssl_keystore_location=str(tmp_path / "bad.pem"))
    assert code == Code.INVALID_REQUEST
    assert message is not None
    assert "Validation of dynamic config update of SSLFactory failed" in message
    connect(broker, authority).close()
    connection.close()


def test_damaged_keystore_file_does_not_prevent_other_changes(authority: CertificateAuthority, tmp_path: Path) -> None:
    file = tmp_path / "server.pem"
    file.write_text(authority.server.key + authority.server.certificate)
    config = {
        "listeners": "SSL://127.0.0.1:0",
        **authority.broker_properties(PREFIX),
        PREFIX + "ssl.keystore.location": str(file),
    }
    with kafkalet.Broker(config=config) as broker:
        before = serial(broker)
        with closing(connect(broker, authority)) as connection:
            file.write_text("damaged")
            assert alter(connection, ssl_keystore_type="PEM") == (Code.NONE, None)
        assert serial(broker) == before


def test_invalid_client_auth_of_a_listener_is_refused(broker: kafkalet.Broker, authority: CertificateAuthority) -> None:
    with closing(connect(broker, authority)) as connection:
        code, message = alter(connection, ssl_client_auth="maybe")
    reason = "String must be one of: required, requested, none"
    assert (code, message) == (
        Code.INVALID_REQUEST,
        f"Invalid value maybe for configuration ssl.client.auth: {reason}",
    )


def test_plain_listener_works_beside_a_tls_listener(authority: CertificateAuthority) -> None:
    config = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        **authority.broker_properties(PREFIX),
    }
    with kafkalet.Broker(config=config) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port))) as plain:
            plain.sendall(b"\0\0\0\x0b\0\x12\0\0\0\0\0\1\0\1x")
            assert plain.recv(4)


SASL = {
    "listener.security.protocol.map": "SASL:SASL_SSL,SSL:SSL",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
    ),
}


def log_in(broker: kafkalet.Broker, authority: CertificateAuthority, certificate: str | None = None) -> Connection:
    file = "" if certificate is None else authority.client(certificate).keystore_file
    context = tls_context(ca=authority.ca_file, certificate=file)
    return Connection("localhost", broker.port, security=Security(context, Credentials("PLAIN", "alice", "secret")))


def test_sasl_listener_does_not_require_the_certificates_that_ssl_listeners_require(
    authority: CertificateAuthority,
) -> None:
    config = {**SASL, **authority.broker_properties(), "listeners": "SASL://127.0.0.1:0", "ssl.client.auth": "required"}
    with kafkalet.Broker(config=config) as broker, closing(log_in(broker, authority)) as alice:
        assert alice.ask("ApiVersions", 0, {})["error_code"] == 0


def test_sasl_listener_requires_certificates_with_its_prefix_and_does_not_map_their_names(
    authority: CertificateAuthority,
) -> None:
    config = {
        **SASL,
        **authority.broker_properties(),
        "listeners": "SASL://127.0.0.1:0",
        "listener.name.sasl.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=admin$/admin/",
    }
    with kafkalet.Broker(config=config) as broker:
        with pytest.raises((OSError, Closed)):
            log_in(broker, authority)
        with closing(log_in(broker, authority, "laptop")) as alice:
            assert alice.ask("ApiVersions", 0, {})["error_code"] == 0


def test_listener_without_keystore_does_not_start_and_is_named() -> None:
    config = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"}
    with (
        pytest.raises(ValueError, match=r"^listener SSL: ssl\.keystore\.location: .*has no keystore"),
        kafkalet.Broker(config=config),
    ):
        pass


def test_inter_broker_listener_must_trust_its_own_certificate(
    authority: CertificateAuthority, other_authority: CertificateAuthority
) -> None:
    config = {
        **authority.broker_properties(),
        "listeners": "SSL://127.0.0.1:0",
        "security.inter.broker.protocol": "SSL",
        "ssl.truststore.location": other_authority.ca_file,
    }
    with (
        pytest.raises(ValueError, match="can't connect to a server SSLEngine created with those settings"),
        kafkalet.Broker(config=config),
    ):
        pass
