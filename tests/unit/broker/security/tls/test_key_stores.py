"""Keystores and truststores from properties."""

import base64
import builtins
import os
import re
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
from kafkalet.broker.security.tls.certificate_tools import Issued
from kafkalet.broker.security.tls.key_stores import MAX_STORE_BYTES, KeyStore, key_store_of, trust_store_of
from kafkalet.properties import InvalidProperty

KEY, CHAIN, LOCATION = "ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.keystore.location"
TYPE, PASSWORD, KEY_PASSWORD = "ssl.keystore.type", "ssl.keystore.password", "ssl.key.password"
TRUST_TYPE, TRUST_LOCATION = "ssl.truststore.type", "ssl.truststore.location"
TRUSTED, TRUST_PASSWORD = "ssl.truststore.certificates", "ssl.truststore.password"


@pytest.fixture
def issued(authority: CertificateAuthority) -> Issued:
    return authority.client("alice")


def load(values: Mapping[str, str]) -> KeyStore:
    store = key_store_of(values)
    assert store is not None
    store.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    return store


def openssl(*arguments: str) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs the program openssl")
    subprocess.run([program, *arguments], check=True, capture_output=True, stdin=subprocess.DEVNULL)


def convert_key(issued: Issued, directory: Path, *arguments: str) -> str:
    """Return the private key as `openssl ARGUMENTS` writes it."""
    path = directory / "converted.pem"
    openssl(*arguments, "-in", issued.key_file, "-out", str(path))
    return path.read_text()


def der(certificate: str) -> bytes:
    return ssl.PEM_cert_to_DER_cert(certificate)


# PEM


def test_pem_file_has_key_and_chain(issued: Issued) -> None:
    store = load({TYPE: "PEM", LOCATION: issued.keystore_file})
    assert store.chain == (der(issued.certificate),)


def test_pem_texts_are_a_keystore(issued: Issued, authority: CertificateAuthority) -> None:
    store = load({TYPE: "PEM", KEY: issued.key, CHAIN: issued.certificate + authority.certificate})
    assert store.chain == (der(issued.certificate), der(authority.certificate))


def test_pem_text_may_be_on_one_line(issued: Issued) -> None:
    """As in a properties file."""
    load({TYPE: "PEM", KEY: issued.key.replace("\n", " "), CHAIN: issued.certificate.replace("\n", " ")})


def test_text_around_pem_entries_is_ignored(issued: Issued, tmp_path: Path) -> None:
    """As written by `openssl pkcs12 -nodes`."""
    file = tmp_path / "store.pem"
    file.write_text(
        f"Bag Attributes\n    friendlyName: a\nKey Attributes: <No>\n{issued.key}subject=CN = é\n\n{issued.certificate}"
    )
    load({TYPE: "PEM", LOCATION: str(file)})


def test_encrypted_key_is_decrypted_with_its_password(issued: Issued, tmp_path: Path) -> None:
    key = convert_key(issued, tmp_path, "pkcs8", "-topk8", "-passout", "pass:secret")
    load({TYPE: "PEM", KEY: key, CHAIN: issued.certificate, KEY_PASSWORD: "secret"})


def test_wrong_key_password_is_refused_without_its_value(issued: Issued, tmp_path: Path) -> None:
    key = convert_key(issued, tmp_path, "pkcs8", "-topk8", "-passout", "pass:secret")
    with pytest.raises(InvalidProperty, match=r"cannot be decrypted with ssl\.key\.password") as raised:
        load({TYPE: "PEM", KEY: key, CHAIN: issued.certificate, KEY_PASSWORD: "hunter2"})
    assert "hunter2" not in str(raised.value)
    assert raised.value.value == "[hidden]"


def test_encrypted_key_without_password_is_refused(issued: Issued, tmp_path: Path) -> None:
    key = convert_key(issued, tmp_path, "pkcs8", "-topk8", "-passout", "pass:secret")
    with pytest.raises(InvalidProperty, match=r"it is encrypted, and ssl\.key\.password is not set"):
        load({TYPE: "PEM", KEY: key, CHAIN: issued.certificate})


def test_password_for_a_key_that_is_not_encrypted_is_refused(issued: Issued) -> None:
    with pytest.raises(InvalidProperty, match=r"the private key is not encrypted, but ssl\.key\.password is set"):
        load({TYPE: "PEM", KEY: issued.key, CHAIN: issued.certificate, KEY_PASSWORD: "secret"})


def test_key_that_is_not_in_pkcs8_is_refused_with_the_command_that_converts_it(issued: Issued, tmp_path: Path) -> None:
    key = convert_key(issued, tmp_path, "ec")
    assert "BEGIN EC PRIVATE KEY" in key
    with pytest.raises(InvalidProperty, match="Convert it with: openssl pkcs8 -topk8 -nocrypt"):
        load({TYPE: "PEM", KEY: key, CHAIN: issued.certificate})


def test_kind_of_key_that_kafka_does_not_support_is_refused(issued: Issued, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    openssl("genpkey", "-algorithm", "ed25519", "-out", str(path))
    with pytest.raises(InvalidProperty, match="Kafka supports RSA, DSA and EC keys"):
        load({TYPE: "PEM", KEY: path.read_text(), CHAIN: issued.certificate})


def test_key_of_another_certificate_is_refused(issued: Issued, authority: CertificateAuthority) -> None:
    with pytest.raises(InvalidProperty, match="the private key does not belong to the first certificate"):
        load({TYPE: "PEM", KEY: authority.client("bob").key, CHAIN: issued.certificate})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {LOCATION: "missing.p12", PASSWORD: "secret"},
            "Failed to load SSL keystore missing.p12 of type JKS: the file",
        ),
        ({KEY: "{key}", CHAIN: "{chain}"}, "SSL private key can be specified only for PEM, but key store type is JKS"),
        ({TYPE: "PEM", KEY: "{key}"}, "SSL private key is specified, but certificate chain is not specified"),
        ({TYPE: "PEM", CHAIN: "{chain}"}, "SSL certificate chain is specified, but private key is not specified"),
        (
            {TYPE: "PEM", KEY: "{key}", CHAIN: "{chain}", LOCATION: "x"},
            "Both SSL key store location and separate private key are specified",
        ),
        (
            {TYPE: "PEM", KEY: "{key}", CHAIN: "{chain}", PASSWORD: "secret"},
            "SSL key store password cannot be specified with PEM format, only key password may be specified",
        ),
        (
            {TYPE: "PEM", LOCATION: "{file}", PASSWORD: "secret"},
            "SSL key store password cannot be specified with PEM format, only key password may be specified",
        ),
        ({PASSWORD: "secret"}, "SSL key store is not specified, but key store password is specified"),
        ({LOCATION: "{file}"}, "SSL key store is specified, but key store password is not specified"),
        (
            {TYPE: "PEM", LOCATION: "missing.pem"},
            "Failed to load PEM SSL keystore missing.pem: the file cannot be read: No such file or directory",
        ),
        (
            {TYPE: "PEM", LOCATION: "a\0b"},
            "Failed to load PEM SSL keystore a\0b: the file cannot be read: embedded null",
        ),
        ({TYPE: "PEM", KEY: "{chain}", CHAIN: "{chain}"}, "No matching PRIVATE KEY entries in PEM file"),
        ({TYPE: "PEM", KEY: "{key}", CHAIN: "{key}"}, "No matching CERTIFICATE entries in PEM file"),
        ({TYPE: "PEM", KEY: "{key}{key}", CHAIN: "{chain}"}, "Expected one private key, but found 2"),
        ({TYPE: "PEM", KEY: "{key}", CHAIN: "-----BEGIN CERTIFICATE-----\nMIIB\n"}, "the entry CERTIFICATE has no end"),
        (
            {TYPE: "PEM", KEY: "{key}", CHAIN: "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----"},
            "the entry CERTIFICATE is not valid base64",
        ),
        (
            {TYPE: "PEM", KEY: "{key}", CHAIN: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"},
            "a CERTIFICATE entry is not an X.509 certificate",
        ),
        ({TYPE: "pem", LOCATION: "{file}", PASSWORD: "secret"}, "String must be one of: PEM, PKCS12, JKS"),
    ],
)
def test_invalid_keystore_is_refused(values: dict[str, str], message: str, issued: Issued) -> None:
    texts = {"{key}": issued.key, "{chain}": issued.certificate, "{file}": issued.keystore_file}
    filled = {}
    for name, value in values.items():
        for place, text in texts.items():
            value = value.replace(place, text)
        filled[name] = value
    with pytest.raises(InvalidProperty, match=re.escape(message)) as raised:
        key_store_of(filled)
    assert "secret" not in str(raised.value)
    assert issued.key.splitlines()[1] not in str(raised.value)


def test_keystore_is_none_without_properties() -> None:
    assert key_store_of({"ssl.client.auth": "none"}) is None
    assert trust_store_of({}) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_pipe_is_refused_and_does_not_block(tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    for path in (pipe, str(tmp_path), os.devnull):
        with pytest.raises(InvalidProperty, match="it is not a regular file"):
            key_store_of({TYPE: "PEM", LOCATION: path})


def test_large_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.pem"
    file.write_bytes(b"-" * (MAX_STORE_BYTES + 1))
    with pytest.raises(InvalidProperty, match=f"has more than {MAX_STORE_BYTES} bytes"):
        key_store_of({TYPE: "PEM", LOCATION: str(file)})
    with pytest.raises(InvalidProperty, match=f"more than {MAX_STORE_BYTES} characters"):
        trust_store_of({TRUST_TYPE: "PEM", TRUSTED: "-" * (MAX_STORE_BYTES + 1)})


def test_no_file_with_the_key_remains(issued: Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    load({TYPE: "PEM", KEY: issued.key, CHAIN: issued.certificate})
    with pytest.raises(InvalidProperty):
        load({TYPE: "PEM", KEY: issued.key, CHAIN: issued.certificate, KEY_PASSWORD: "x"})
    assert os.listdir(tmp_path) == []


def test_repr_has_neither_key_nor_password(issued: Issued, tmp_path: Path) -> None:
    key = convert_key(issued, tmp_path, "pkcs8", "-topk8", "-passout", "pass:secret")
    store = load({TYPE: "PEM", KEY: key, CHAIN: issued.certificate, KEY_PASSWORD: "secret"})
    assert repr(store) == "KeyStore(source='ssl.keystore.key', certificates=1)"


@given(st.text(st.sampled_from("-BEGIN CERTIFATPVKY\n:AQ=")) | st.binary(max_size=60))
def test_any_text_is_refused_with_the_property(text: str | bytes) -> None:
    if isinstance(text, bytes):
        text = f"-----BEGIN CERTIFICATE-----\n{base64.b64encode(text).decode()}\n-----END CERTIFICATE-----"
    with pytest.raises(InvalidProperty, match=r"ssl\.truststore\.certificates"):
        trust_store_of({TRUST_TYPE: "PEM", TRUSTED: text})


# Truststores


def test_truststore_has_all_certificates(authority: CertificateAuthority, stranger: CertificateAuthority) -> None:
    expected = (der(authority.certificate), der(stranger.certificate))
    assert trust_store_of({TRUST_TYPE: "PEM", TRUSTED: authority.certificate + stranger.certificate}) == expected
    assert trust_store_of({TRUST_TYPE: "PEM", TRUST_LOCATION: authority.ca_file}) == expected[:1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({TRUSTED: "x"}, "SSL trust store certs can be specified only for PEM, but trust store type is JKS"),
        (
            {TRUST_TYPE: "PEM", TRUSTED: "x", TRUST_LOCATION: "y"},
            "Both SSL trust store location and separate trust certificates are specified",
        ),
        (
            {TRUST_TYPE: "PEM", TRUSTED: "x", TRUST_PASSWORD: "secret"},
            "SSL trust store password cannot be specified with PEM format",
        ),
        (
            {TRUST_TYPE: "PEM", TRUST_LOCATION: "x", TRUST_PASSWORD: "secret"},
            "SSL trust store password cannot be specified with PEM format",
        ),
        ({TRUST_PASSWORD: "secret"}, "SSL trust store is not specified, but trust store password is specified"),
        ({TRUST_TYPE: "PEM", TRUSTED: "x"}, "No matching CERTIFICATE entries in PEM file"),
        (
            {TRUST_TYPE: "PEM", TRUST_LOCATION: "missing.pem"},
            "Failed to load PEM SSL keystore missing.pem: the file cannot be read",
        ),
    ],
)
def test_invalid_truststore_is_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidProperty, match=re.escape(message)) as raised:
        trust_store_of(values)
    assert "secret" not in str(raised.value)


# PKCS#12


@pytest.fixture
def p12(authority: CertificateAuthority, issued: Issued) -> str:
    path = issued.keystore_file.removesuffix(".pem") + ".p12"
    chain = ["-in", issued.certificate_file, "-inkey", issued.key_file, "-certfile", authority.ca_file]
    openssl("pkcs12", "-export", *chain, "-passout", "pass:secret", "-out", path)
    return path


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_pkcs12_keystore_has_key_and_chain(
    kind: str, p12: str, issued: Issued, authority: CertificateAuthority
) -> None:
    """Java reads PKCS#12 files also if they are called JKS, which is the default."""
    pytest.importorskip("cryptography", reason="needs the extra tls")
    store = load({TYPE: kind, LOCATION: p12, PASSWORD: "secret", KEY_PASSWORD: "secret"})
    assert store.chain == (der(issued.certificate), der(authority.certificate))


def test_pkcs12_truststore_has_its_certificates(p12: str, authority: CertificateAuthority) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    trusted = trust_store_of({TRUST_TYPE: "PKCS12", TRUST_LOCATION: p12, TRUST_PASSWORD: "secret"})
    assert trusted is not None
    assert der(authority.certificate) in trusted


@pytest.mark.parametrize("password", ["hunter2", ""])
def test_wrong_password_of_a_pkcs12_file_is_refused(p12: str, password: str) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    with pytest.raises(InvalidProperty, match=r"is ssl\.keystore\.password right\?") as raised:
        load({TYPE: "PKCS12", LOCATION: p12, PASSWORD: password})
    assert "hunter2" not in str(raised.value)


def test_other_key_password_of_a_pkcs12_file_is_refused(p12: str) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    with pytest.raises(InvalidProperty, match=r"the same as ssl\.keystore\.password"):
        load({TYPE: "PKCS12", LOCATION: p12, PASSWORD: "secret", KEY_PASSWORD: "other"})


def test_pkcs12_file_without_key_is_refused(authority: CertificateAuthority, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    path = str(tmp_path / "no key.p12")
    openssl("pkcs12", "-export", "-nokeys", "-in", authority.ca_file, "-passout", "pass:secret", "-out", path)
    with pytest.raises(InvalidProperty, match="has no private key"):
        load({TYPE: "PKCS12", LOCATION: path, PASSWORD: "secret"})


def test_damaged_pkcs12_file_is_refused(p12: str, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    data = Path(p12).read_bytes()
    path = tmp_path / "damaged.p12"
    for end in (2, 30, len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(InvalidProperty, match="Failed to load SSL keystore"):
            load({TYPE: "PKCS12", LOCATION: str(path), PASSWORD: "secret"})


def test_pkcs12_without_cryptography_is_refused_with_the_remedy(p12: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def missing(name: str, *arguments: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", missing)
    pem = p12.removesuffix(".p12") + ".pem"
    expected = rf"pip install 'kafkalet\[tls\]'.*`openssl pkcs12 -in {p12} -nodes -out {pem}`.*location={pem}"
    with pytest.raises(InvalidProperty, match=expected):
        key_store_of({TYPE: "PKCS12", LOCATION: p12, PASSWORD: "secret"})


def test_text_called_pkcs12_is_refused(issued: Issued, tmp_path: Path) -> None:
    with pytest.raises(InvalidProperty, match=r"it is in PEM; set ssl\.keystore\.type=PEM"):
        key_store_of({LOCATION: issued.keystore_file, PASSWORD: "secret"})
    other = tmp_path / "other"
    other.write_bytes(b"")
    with pytest.raises(InvalidProperty, match=r"it is not a PKCS#12 file"):
        key_store_of({LOCATION: str(other), PASSWORD: "secret"})


# JKS


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_java_keystore_is_refused_with_the_commands_that_convert_it(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "my server.jks"
    path.write_bytes(b"\xfe\xed\xfe\xed" + bytes(40))
    with pytest.raises(InvalidProperty) as raised:
        key_store_of({TYPE: kind, LOCATION: str(path), PASSWORD: "secret"})
    stem = str(path).removesuffix(".jks")
    assert str(raised.value) == (
        f"ssl.keystore.location: {path} is a Java keystore (JKS). Convert it with "
        f"`keytool -importkeystore -srckeystore '{path}' -destkeystore '{stem}.p12' -deststoretype PKCS12` and "
        f"`openssl pkcs12 -in '{stem}.p12' -nodes -out '{stem}.pem'`, set ssl.keystore.type=PEM and "
        f"ssl.keystore.location={stem}.pem, and remove ssl.keystore.password and ssl.key.password"
    )


def test_java_truststore_is_refused_with_the_commands_that_convert_it(tmp_path: Path) -> None:
    path = tmp_path / "trust.jks"
    path.write_bytes(b"\xfe\xed\xfe\xed" + bytes(40))
    with pytest.raises(InvalidProperty, match=r"-nokeys -out .*trust\.pem`.* remove ssl\.truststore\.password$"):
        trust_store_of({TRUST_LOCATION: str(path), TRUST_PASSWORD: "secret"})
