"""Keystores of Java's keytool are read, or converted with the commands that the error names."""

import re
import shlex
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalet.broker.security.tls.key_stores import KeyStore, key_store_of, trust_store_of
from kafkalet.properties import InvalidProperty

pytestmark = pytest.mark.oracle

KEY_STORE = {"ssl.keystore.password": "secret-1"}
TRUST_STORE = {"ssl.truststore.password": "secret-1"}


@pytest.fixture
def keytool(tmp_path: Path) -> Callable[..., str]:
    """Run keytool with a store of this name, and return the path of the store."""
    program = shutil.which("keytool")
    if program is None:
        pytest.skip("needs keytool, which is part of Java")

    def run(store: str, *arguments: str) -> str:
        path = str(tmp_path / store)
        command = [program, *arguments, "-keystore", path, "-storepass", "secret-1", "-noprompt"]
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        return path

    return run


def new_key(kind: str) -> tuple[str, ...]:
    name = ("-alias", "broker", "-dname", "CN=localhost,O=Example", "-ext", "SAN=DNS:localhost")
    return ("-genkeypair", "-keyalg", "RSA", "-keysize", "2048", *name, "-storetype", kind)


def loaded(values: dict[str, str]) -> KeyStore:
    store = key_store_of(values)
    assert store is not None
    store.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    return store


def convert(message: str) -> dict[str, str]:
    """Run the commands in a message, and return the properties that the message recommends."""
    for command in re.findall("`([^`]*)`", message):
        program, *arguments = shlex.split(command)
        if program == "keytool":
            arguments += ["-srcstorepass", "secret-1", "-deststorepass", "secret-1"]
        else:
            arguments += ["-passin", "pass:secret-1"]
        subprocess.run([program, *arguments], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return dict(re.findall(r"(ssl\.\w+\.(?:type|location))=([^ ,]+)", message))


def test_pkcs12_keystore_is_read(keytool: Callable[..., str]) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    path = keytool("server.p12", *new_key("PKCS12"))
    assert len(loaded({"ssl.keystore.type": "PKCS12", "ssl.keystore.location": path, **KEY_STORE}).chain) == 1


def test_pkcs12_truststore_is_read(keytool: Callable[..., str], tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    keytool("server.p12", *new_key("PKCS12"))
    certificate = str(tmp_path / "certificate")
    keytool("server.p12", "-exportcert", "-alias", "broker", "-file", certificate)
    path = keytool("trust.p12", "-importcert", "-alias", "ca", "-file", certificate, "-storetype", "PKCS12")
    trusted = trust_store_of({"ssl.truststore.type": "PKCS12", "ssl.truststore.location": path, **TRUST_STORE})
    assert trusted == (Path(certificate).read_bytes(),)


def test_java_keystore_is_converted_with_the_commands_of_the_error(keytool: Callable[..., str]) -> None:
    path = keytool("server.jks", *new_key("JKS"), "-keypass", "secret-1")
    with pytest.raises(InvalidProperty, match="is a Java keystore") as raised:
        key_store_of({"ssl.keystore.location": path, **KEY_STORE})
    assert len(loaded(convert(str(raised.value))).chain) == 1


def test_java_truststore_is_converted_with_the_commands_of_the_error(
    keytool: Callable[..., str], tmp_path: Path
) -> None:
    keytool("server.p12", *new_key("PKCS12"))
    certificate = str(tmp_path / "certificate")
    keytool("server.p12", "-exportcert", "-alias", "broker", "-file", certificate)
    path = keytool("trust.jks", "-importcert", "-alias", "ca", "-file", certificate, "-storetype", "JKS")
    with pytest.raises(InvalidProperty, match="is a Java keystore") as raised:
        trust_store_of({"ssl.truststore.location": path, **TRUST_STORE})
    assert trust_store_of(convert(str(raised.value))) == (Path(certificate).read_bytes(),)
