"""TLS and SASL of a client, from its properties."""

import base64
import json
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from kafkalet.client_security import Security
from kafkalet.properties import InvalidProperty
from kafkalet.sasl_client import Credentials, NotAuthenticated

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required username=alice password=secret"
OAUTHBEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def credentials(mechanism: str, jaas: str, **more: str) -> Credentials:
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    found = Security.of(given | {name.replace("_", "."): value for name, value in more.items()}).credentials
    assert found is not None
    return found


def first_token(credentials: Credentials) -> bytes:
    """Return the first token that a client sends."""
    sent: list[bytes] = []

    def exchange(token: bytes) -> bytes:
        sent.append(token)
        return b""

    with suppress(NotAuthenticated):
        credentials.authenticate(exchange)
    return sent[0]


# SASL


def test_nothing_is_secured_by_default() -> None:
    assert Security.of({}) == Security(None, None)


def test_credentials_without_sasl_are_not_used() -> None:
    assert Security.of({"security.protocol": "SSL", "sasl.mechanism": "PLAIN"}).credentials is None


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
    assert credentials("PLAIN", jaas) == Credentials("PLAIN", username, password)


def test_delegation_token_is_marked_by_an_option() -> None:
    found = credentials("SCRAM-SHA-256", SCRAM + ' tokenauth="true";')
    assert found == Credentials("SCRAM-SHA-256", "alice", "secret", is_delegation_token=True)


def test_oauthbearer_sends_an_unsecured_token_with_the_claims_of_the_options() -> None:
    jaas = OAUTHBEARER + ' unsecuredLoginStringClaim_sub="alice" unsecuredLoginStringClaim_scope="a b";'
    token = first_token(credentials("OAUTHBEARER", jaas)).removeprefix(b"n,,\x01auth=Bearer ").removesuffix(b"\x01\x01")
    header, claims, signature = token.split(b".")
    assert json.loads(base64.urlsafe_b64decode(header + b"==")) == {"alg": "none"}
    decoded = json.loads(base64.urlsafe_b64decode(claims + b"=="))
    assert (decoded["sub"], decoded["scope"], signature) == ("alice", "a b", b"")
    assert decoded["exp"] - decoded["iat"] == 3600


def test_oauthbearer_reads_the_token_from_a_file_for_each_connection(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    found = credentials("OAUTHBEARER", OAUTHBEARER + ";", sasl_oauthbearer_token_endpoint_url=file.as_uri())
    for token in ("one", "two"):
        file.write_text(token + "\n")
        assert first_token(found) == f"n,,\x01auth=Bearer {token}\x01\x01".encode()


def test_missing_token_file_is_named(tmp_path: Path) -> None:
    url = (tmp_path / "none").as_uri()
    found = credentials("OAUTHBEARER", OAUTHBEARER + ";", sasl_oauthbearer_token_endpoint_url=url)
    with pytest.raises(
        InvalidProperty, match=r"none for configuration sasl\.oauthbearer\.token\.endpoint\.url: No such file"
    ):
        first_token(found)


def test_token_server_is_rejected() -> None:
    with pytest.raises(InvalidProperty, match="only file: is supported"):
        credentials("OAUTHBEARER", OAUTHBEARER + ";", sasl_oauthbearer_token_endpoint_url="https://idp/token")


def test_oauthbearer_without_a_subject_is_rejected() -> None:
    with pytest.raises(InvalidProperty, match="unsecuredLoginStringClaim_sub"):
        credentials("OAUTHBEARER", OAUTHBEARER + ";")


@pytest.mark.parametrize("mechanism", ["CRAM-MD5", "GSSAPI"])
def test_other_mechanisms_are_rejected(mechanism: str) -> None:
    with pytest.raises(InvalidProperty, match=f"{mechanism} for configuration sasl.mechanism: supported"):
        credentials(mechanism, "")


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
        credentials("PLAIN", jaas)


@pytest.mark.parametrize(("jaas", "missing"), [("username=a", "password"), ("password=a", "username")])
def test_missing_jaas_option_is_named(jaas: str, missing: str) -> None:
    with pytest.raises(InvalidProperty, match=f"{missing} is missing"):
        credentials("PLAIN", f"x.PlainLoginModule required {jaas};")


# TLS


def test_certificates_and_host_names_are_verified_by_default() -> None:
    context = Security.of({"security.protocol": "SSL"}).tls
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_host_name_need_not_be_verified() -> None:
    context = Security.of({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}).tls
    assert context is not None
    assert not context.check_hostname


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_java_keystores_are_rejected(store: str) -> None:
    with pytest.raises(InvalidProperty, match=rf"JKS for configuration ssl.{store}.type: only PEM"):
        Security.of({"security.protocol": "SSL", f"ssl.{store}.location": "x.jks"})


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/no/such"}, "TLS: /no/such cannot be read"),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.location": "/no/such"}, "TLS: /no/such cannot be read"),
        ({"ssl.truststore.certificates": "nonsense"}, "TLS: the certificates cannot be read"),
    ],
)
def test_certificates_that_cannot_be_read_are_named(properties: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidProperty, match=reason):
        Security.of({"security.protocol": "SSL"} | properties)
