"""Certificates for tests, created with the package `cryptography` and with the program `openssl`."""

import builtins
import os
import shutil
import socket
import ssl
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.security.tls import certificate_authority
from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
from kafkalet.broker.security.tls.certificate_tools import (
    Cryptography,
    Issued,
    NoCertificates,
    OpenSSL,
    Remembering,
    Tool,
    available_tool,
)
from kafkalet.broker.security.tls.distinguished_names import read_certificate
from kafkalet.clock import SystemClock

from .handshakes import client_context, handshake, settings


def tool_named(name: str) -> Tool:
    if name == "cryptography":
        pytest.importorskip("cryptography", reason="needs the extra tls")
        return Cryptography()
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs the program openssl")
    return OpenSSL(program)


@pytest.fixture(params=["cryptography", "openssl"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(str(tmp_path / "authority"), ["Kafka", "10.1.2.3", "[::2]"], tool_named(request.param))


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "::1", "kafka", "10.1.2.3", "::2", socket.gethostname().lower()]
)
def test_certificate_of_the_brokers_is_valid_for_each_host(made: CertificateAuthority, host: str) -> None:
    assert handshake(settings(made).context, client_context(made), host).version() == "TLSv1.3"


def test_certificate_of_the_brokers_is_not_valid_for_other_hosts(made: CertificateAuthority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(settings(made).context, client_context(made), "elsewhere.example")


@pytest.mark.parametrize("name", ["alice", "Ä/ö", "a,b+c=d\\", "-x", "#1 <\"';>", "CN=a/CN=b", "x" * 64])
def test_client_is_known_by_its_name(made: CertificateAuthority, name: str) -> None:
    requires = settings(made, {"ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/"})
    tls = handshake(requires.context, client_context(made, made.client(name)))
    subject = tls.getpeercert()
    assert subject is not None
    assert subject["subject"] == ((("commonName", name),),)


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb", "a\0b", " a", "a "])
def test_name_that_a_certificate_cannot_have_is_refused(authority: CertificateAuthority, name: str) -> None:
    with pytest.raises(NoCertificates, match="cannot be the name in a certificate: 1 to 64 printable characters"):
        authority.client(name)


def test_client_keeps_its_certificate(authority: CertificateAuthority) -> None:
    assert authority.client("bob") is authority.client("bob")
    assert authority.client("bob") != authority.client("Bob")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_the_owner_can_read_the_files(made: CertificateAuthority) -> None:
    made.client("alice")
    assert stat.S_IMODE(os.stat(made.directory).st_mode) == 0o700
    for entry in os.scandir(made.directory):
        assert entry.is_file(), entry.name
        assert stat.S_IMODE(entry.stat().st_mode) == 0o600, entry.name


def test_client_properties_name_files_for_java(authority: CertificateAuthority) -> None:
    properties = authority.client_properties("carol")
    assert properties["ssl.keystore.type"] == properties["ssl.truststore.type"] == "PEM"
    with open(properties["ssl.keystore.location"], encoding="ascii") as file:
        assert file.read() == authority.client("carol").key + authority.client("carol").certificate
    with open(properties["ssl.truststore.location"], encoding="ascii") as file:
        assert file.read() == authority.certificate


def test_repr_has_no_key(authority: CertificateAuthority) -> None:
    assert "PRIVATE" not in repr(authority.client("alice"))


def test_each_authority_has_another_name(authority: CertificateAuthority, stranger: CertificateAuthority) -> None:
    names = {read_certificate(ssl.PEM_cert_to_DER_cert(each.certificate)).name for each in (authority, stranger)}
    assert len(names) == 2
    assert all(name.startswith("CN=kafkalet test authority ") for name in names)


def test_wildcard_addresses_and_invalid_hosts_are_left_out() -> None:
    hosts = ["", "0.0.0.0", "::", "fe80::1%eth0", "[::1]", "::1", "a b", "x\nDNS.9=evil", "*.test", "A"]
    assert certificate_authority._usable(hosts) == ["fe80::1", "::1", "*.test", "a"]


def test_close_removes_the_directory(tmp_path: Path) -> None:
    authority = CertificateAuthority(str(tmp_path / "authority"))
    authority.close()
    assert not os.path.exists(authority.directory)


@pytest.fixture
def without_cryptography(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def missing(name: str, *arguments: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", missing)


def program_that_says(version: str, directory: Path) -> str:
    program = directory / "openssl"
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o700)
    return str(program)


@pytest.mark.usefixtures("without_cryptography")
def test_missing_tools_are_both_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NoCertificates, match=r"pip install 'kafkalet\[tls\]'\), or the program openssl \(1\.1\.1 or"):
        available_tool()


@pytest.mark.usefixtures("without_cryptography")
@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
@pytest.mark.parametrize("version", ["OpenSSL 1.0.2u  20 Dec 2019", "LibreSSL 2.8.3", "something else"])
def test_old_program_is_refused(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_that_says(version, tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: program)
    with pytest.raises(NoCertificates, match=f"{version}, which is too old|an unknown version"):
        available_tool()


@pytest.mark.usefixtures("without_cryptography")
@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
@pytest.mark.parametrize("version", ["OpenSSL 1.1.1w  11 Sep 2023", "LibreSSL 3.3.6", "OpenSSL 3.0.19 27 Jan 2026"])
def test_newer_program_is_used(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_that_says(version, tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: program)
    assert isinstance(available_tool(), OpenSSL)


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_failure_of_the_program_is_reported_with_its_output(tmp_path: Path) -> None:
    program = tmp_path / "openssl"
    program.write_text("#!/bin/sh\necho 'no entropy left' >&2\nexit 1\n")
    program.chmod(0o700)
    with pytest.raises(NoCertificates, match="req failed: no entropy left"):
        CertificateAuthority(str(tmp_path / "authority"), (), OpenSSL(str(program)))


def test_program_accepts_the_certificates(made: CertificateAuthority) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs the program openssl")
    command = [program, "verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", made.ca_file]
    files = [made.client("alice").certificate_file, made.server.certificate_file]
    assert subprocess.run([*command, *files], capture_output=True, check=False).returncode == 0


class Counting:
    """A tool whose certificates are numbers."""

    def __init__(self) -> None:
        self.made = 0

    def authority(self, directory: str, name: str) -> tuple[str, str]:
        self.made += 1
        return f"key {self.made}", f"authority {self.made}"

    def issue(self, directory: str, authority: Issued, name: str, hosts: list[str] | None) -> tuple[str, str]:
        self.made += 1
        return f"key {self.made}", f"{name} {self.made}"


def test_certificates_for_the_same_names_and_hosts_are_created_once(tmp_path: Path) -> None:
    tool = Counting()
    shared = Remembering(tool)

    def made(directory: str, hosts: list[str]) -> list[str]:
        authority = CertificateAuthority(str(tmp_path / directory), hosts, shared)
        certificates = [authority.certificate, authority.server.certificate, authority.client("alice").certificate]
        assert Path(authority.client("alice").certificate_file).read_text() == certificates[-1]
        authority.close()
        return certificates

    assert made("a", ["kafka"]) == made("b", ["kafka"]) == ["authority 1", "localhost 2", "alice 3"]
    assert made("c", ["other"]) == ["authority 1", "localhost 4", "alice 3"]


@pytest.mark.parametrize("days", [-400, 200, 4000])
def test_certificates_are_made_again_after_a_change_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    shared = Remembering(Counting())
    assert CertificateAuthority(str(tmp_path / "a"), (), shared).certificate == "authority 1"
    now_ms = SystemClock().now_ms()
    monkeypatch.setattr(SystemClock, "now_ms", lambda self: now_ms + days * 86_400_000)
    later = CertificateAuthority(str(tmp_path / "b"), (), shared)
    assert (later.certificate, later.server.certificate) == ("authority 3", "localhost 4")
