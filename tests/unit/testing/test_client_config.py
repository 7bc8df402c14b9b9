"""Tests of the settings for clients. tests/clients/test_security.py connects clients with them."""

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from kafkalet.clock import ManualClock
from kafkalet.testing import client_config
from kafkalet.testing.client_access import Access
from kafkalet.testing.client_config import CLIENTS, properties_text

PASSWORD = 'x"\\;é'


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return Access("localhost:9092", "PLAINTEXT", ManualClock(1_000_000), lambda: str(tmp_path))


def of(access: Access, client: str, **changes: Any) -> dict[str, Any]:
    return CLIENTS[client](access._replace(**changes))


@pytest.mark.parametrize("client", CLIENTS)
def test_plain_listener_needs_only_the_address(access: Access, client: str) -> None:
    assert list(of(access, client).values()) == ["localhost:9092"]


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (
            "confluent-kafka",
            {
                "bootstrap.servers": "localhost:9092",
                "security.protocol": "sasl_plaintext",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "alice",
                "sasl.password": PASSWORD,
            },
        ),
        (
            "kafka-python",
            {
                "bootstrap_servers": "localhost:9092",
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "alice",
                "sasl_plain_password": PASSWORD,
            },
        ),
        (
            "aiokafka",
            {
                "bootstrap_servers": "localhost:9092",
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "alice",
                "sasl_plain_password": PASSWORD,
            },
        ),
        (
            "java",
            {
                "bootstrap.servers": "localhost:9092",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'username="alice" password="x\\"\\\\;é";',
            },
        ),
    ],
)
def test_user_logs_in_with_a_password(access: Access, client: str, expected: dict[str, Any]) -> None:
    found = of(access, client, protocol="SASL_PLAINTEXT", user="alice", password=PASSWORD, mechanism="PLAIN")
    assert found == expected


def test_librdkafka_and_java_get_certificates_as_text(access: Access) -> None:
    given = {"protocol": "SSL", "user": "alice", "ca": "CA", "certificate": "CERT", "key": "KEY"}
    found = of(access, "confluent-kafka", **given)
    assert (found["ssl.ca.pem"], found["ssl.certificate.pem"], found["ssl.key.pem"]) == ("CA", "CERT", "KEY")
    java = of(access, "java", **given)
    assert (java["ssl.truststore.type"], java["ssl.truststore.certificates"]) == ("PEM", "CA")
    assert (java["ssl.keystore.type"], java["ssl.keystore.key"]) == ("PEM", "KEY")
    assert java["ssl.keystore.certificate.chain"] == "CERT"


def test_kafka_python_gets_files_that_only_the_owner_can_read(access: Access) -> None:
    found = of(access, "kafka-python", protocol="SSL", user="a/b", ca="CA", certificate="CERT", key="KEY")
    paths = [Path(found[name]) for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile")]
    assert [path.read_text() for path in paths] == ["CA", "CERT", "KEY"]
    assert [path.parent for path in paths] == [Path(access.directory())] * 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}


def test_changed_certificate_replaces_the_file(access: Access) -> None:
    before = of(access, "kafka-python", protocol="SSL", ca="long CA")
    after = of(access, "kafka-python", protocol="SSL", ca="CA")
    assert before == after
    assert Path(after["ssl_cafile"]).read_text() == "CA"


def test_token_names_the_user_and_expires_by_the_clock_of_the_broker(access: Access) -> None:
    header, claims, signature = access._replace(user="alice").token().split(".")
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "none"}
    assert json.loads(base64.urlsafe_b64decode(claims + "==")) == {"sub": "alice", "iat": 1000.0, "exp": 4600.0}
    assert signature == ""


def test_java_gets_an_unsecured_token_from_its_login_module(access: Access) -> None:
    found = of(access, "java", protocol="SASL_PLAINTEXT", user="alice", mechanism="OAUTHBEARER")
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    assert found["sasl.jaas.config"] == f'{module} required unsecuredLoginStringClaim_sub="alice";'


def test_properties_file_has_escaped_values(access: Access) -> None:
    path = client_config.java_properties_file(access._replace(protocol="SSL", ca="line\nline\\"))
    assert "ssl.truststore.certificates=line\\nline\\\\\n" in Path(path).read_text()


def test_properties_text_is_ascii() -> None:
    assert properties_text({"a": "é", "b": " x", "c": "😀"}) == "a=\\u00e9\nb=\\ x\nc=\\ud83d\\ude00\n"


def test_repr_of_access_has_no_secret(access: Access) -> None:
    assert "s3cret" not in repr(access._replace(password="s3cret", key="s3cret"))
