"""The tools that create keys and certificates for tests: the package `cryptography`, or the program `openssl`.

Keys are EC P-256. The certificates are valid for a year.
"""

import contextlib
import ipaddress
import os
import re
import shutil
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkalet.clock import SystemClock

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509 import CertificateBuilder

VALID_DAYS = 365
EARLIER_MINUTES = 60
"""Certificates become valid this long before their creation, for clients whose clock is slow.

`openssl` cannot do this.
"""
_OPENSSL_TIMEOUT_S = 60


class NoCertificates(Exception):
    """Certificates cannot be created."""


class Issued(NamedTuple):
    """A certificate with its private key (PKCS#8), both in PEM, and the files that they are in."""

    certificate: str
    key: str
    certificate_file: str
    key_file: str
    keystore_file: str
    """A PEM keystore as in Kafka: the key, followed by the certificate."""

    def __repr__(self) -> str:
        return f"Issued({self.keystore_file})"


def write_file(path: str, data: bytes) -> None:
    """Write a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)


def address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address in a string, or None if the string is not an address."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


class Tool(Protocol):
    """Creates keys and certificates, as strings in PEM format. `directory` is for temporary files."""

    def authority(self, directory: str, name: str) -> tuple[str, str]:
        """Return the key and the certificate of an authority."""

    def issue(self, directory: str, authority: Issued, name: str, hosts: list[str] | None) -> tuple[str, str]:
        """Return a key and its certificate: for a broker with these hosts or, if `hosts` is None, for a client."""


def available_tool() -> Tool:
    """Return `cryptography`, or else `openssl`. Raises NoCertificates if neither is installed."""
    try:
        import cryptography.x509  # noqa: F401
    except ImportError:
        return OpenSSL(_openssl())
    return Cryptography()


class Remembering:
    """A tool that creates each certificate only once, because it takes long, and each test with TLS needs some.

    One cluster after the other uses it (`take_tool`). Keys are kept in memory only. Threads can share the tool.
    """

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._lock = threading.Lock()
        self._made_ms = 0
        self._authority: tuple[str, str] | None = None
        self._issued: dict[object, tuple[str, str]] = {}

    def authority(self, directory: str, name: str) -> tuple[str, str]:
        """Return the key of the authority and its certificate. The first call determines its name.

        There is a new one once certificates are old, and if a test has changed the time of the process.
        """
        with self._lock:
            now_ms = SystemClock().now_ms()
            if self._authority is None or not 0 <= now_ms - self._made_ms < VALID_DAYS * 86_400_000 / 2:
                self._authority, self._made_ms = self._tool.authority(directory, name), now_ms
                self._issued.clear()
            return self._authority

    def issue(self, directory: str, authority: Issued, name: str, hosts: list[str] | None) -> tuple[str, str]:
        """Return a key and its certificate, as `Tool.issue` does."""
        wanted = authority.certificate, name, None if hosts is None else tuple(hosts)
        with self._lock:
            if wanted not in self._issued:
                self._issued[wanted] = self._tool.issue(directory, authority, name, hosts)
            return self._issued[wanted]


_unused: list[Remembering] = []


def take_tool() -> Remembering:
    """Return a tool for a cluster, which no other cluster uses until `give_back`. Raises NoCertificates.

    Clusters that run at the same time have different authorities.
    """
    try:
        return _unused.pop()
    except IndexError:
        return Remembering(available_tool())


def give_back(tool: Tool) -> None:
    """Allow another cluster to use a tool of `take_tool`."""
    assert isinstance(tool, Remembering)
    _unused.append(tool)


class Cryptography:
    """Creates certificates with the package `cryptography`."""

    def authority(self, directory: str, name: str) -> tuple[str, str]:
        """Return the key and the certificate of an authority."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(name, key, name, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        return self._signed(builder, key, key, signs=True)

    def issue(self, directory: str, authority: Issued, name: str, hosts: list[str] | None) -> tuple[str, str]:
        """Return a key and its certificate: for a broker with these hosts or, if `hosts` is None, for a client."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

        signer = load_pem_private_key(authority.key.encode(), None)
        assert isinstance(signer, ec.EllipticCurvePrivateKey)
        issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
        issuer_name = str(issuer.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(name, key, issuer_name, signer.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if hosts is not None:
            usages.insert(0, ExtendedKeyUsageOID.SERVER_AUTH)
            names = [
                x509.DNSName(host) if (address := address_of(host)) is None else x509.IPAddress(address)
                for host in hosts
            ]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return self._signed(builder, key, signer, signs=False)

    def _builder(
        self,
        name: str,
        key: "ec.EllipticCurvePrivateKey",
        issuer: str,
        issuer_key: "ec.EllipticCurvePublicKey",
    ) -> "CertificateBuilder":
        import datetime

        from cryptography import x509
        from cryptography.x509.oid import NameOID

        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=EARLIER_MINUTES))
            .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
        )

    def _signed(
        self,
        builder: "CertificateBuilder",
        key: "ec.EllipticCurvePrivateKey",
        signer: "ec.EllipticCurvePrivateKey",
        *,
        signs: bool,
    ) -> tuple[str, str]:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization

        unused = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
        ) | dict.fromkeys(("encipher_only", "decipher_only"), False)
        usage = x509.KeyUsage(digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, **unused)
        certificate = builder.add_extension(usage, critical=True).sign(signer, hashes.SHA256())
        key_text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return key_text.decode(), certificate.public_bytes(serialization.Encoding.PEM).decode()


_CONFIG = """
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always
[issued]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always
"""


class OpenSSL:
    """Creates certificates with the program `openssl`, which is run without a shell."""

    def __init__(self, program: str) -> None:
        self._program = program

    def authority(self, directory: str, name: str) -> tuple[str, str]:
        """Return the key and the certificate of an authority."""
        with _Scratch(directory) as scratch:
            scratch.write("config", _CONFIG)
            self._run(
                *("req", "-x509", *self._new_key(scratch), *self._subject(name), "-days", str(VALID_DAYS), "-sha256"),
                *("-set_serial", _serial(), "-extensions", "authority", "-out", scratch.path("certificate")),
            )
            return scratch.read("key"), scratch.read("certificate")

    def issue(self, directory: str, authority: Issued, name: str, hosts: list[str] | None) -> tuple[str, str]:
        """Return a key and its certificate: for a broker with these hosts or, if `hosts` is None, for a client."""
        with _Scratch(directory) as scratch:
            extensions = "extendedKeyUsage = clientAuth\n"
            if hosts is not None:
                kinds = ((host, "DNS" if address_of(host) is None else "IP") for host in hosts)
                listed = "\n".join(f"{kind}.{number} = {host}" for number, (host, kind) in enumerate(kinds))
                extensions = f"extendedKeyUsage = serverAuth, clientAuth\nsubjectAltName = @hosts\n[hosts]\n{listed}\n"
            scratch.write("config", _CONFIG + extensions)
            self._run("req", "-new", *self._new_key(scratch), *self._subject(name), "-out", scratch.path("request"))
            self._run(
                *("x509", "-req", "-in", scratch.path("request"), "-days", str(VALID_DAYS), "-sha256"),
                *("-CA", authority.certificate_file, "-CAkey", authority.key_file, "-set_serial", _serial()),
                *("-extfile", scratch.path("config"), "-extensions", "issued", "-out", scratch.path("certificate")),
            )
            return scratch.read("key"), scratch.read("certificate")

    def _new_key(self, scratch: "_Scratch") -> tuple[str, ...]:
        curve = (
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-pkeyopt",
            "ec_param_enc:named_curve",
            "-nodes",
        )
        return (*curve, "-keyout", scratch.path("key"), "-config", scratch.path("config"))

    def _subject(self, name: str) -> tuple[str, ...]:
        return ("-utf8", "-subj", "/CN=" + re.sub(r"([\\/+=])", r"\\\1", name))

    def _run(self, *arguments: str) -> None:
        try:
            subprocess.run(  # noqa: S603 - its arguments are not passed to a shell
                [self._program, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_OPENSSL_TIMEOUT_S,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", b"") or b""
            detail = said.decode("utf-8", "replace").strip().rpartition("\n")[2] or str(error)
            raise NoCertificates(f"{self._program} {arguments[0]} failed: {detail}") from None


def _serial() -> str:
    return str(1 << 126 | int.from_bytes(os.urandom(15)))


class _Scratch:
    """A temporary directory for the files of one call of `openssl`."""

    def __init__(self, directory: str) -> None:
        self._directory = tempfile.mkdtemp(prefix="scratch-", dir=directory)

    def __enter__(self) -> "_Scratch":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)

    def path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def write(self, name: str, text: str) -> None:
        write_file(self.path(name), text.encode())

    def read(self, name: str) -> str:
        with open(self.path(name), encoding="ascii") as file:
            return file.read()


def _openssl() -> str:
    """Return the path of the program `openssl`. Raises NoCertificates if it is missing or too old."""
    install = "install the package cryptography (pip install 'kafkalet[tls]'), or the program openssl (1.1.1 or newer)"
    program = shutil.which("openssl")
    if program is None:
        raise NoCertificates(f"certificates cannot be created: {install}, or give certificates as properties in PEM")
    version = ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        version = subprocess.run(  # noqa: S603 - found on the path
            [program, "version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()
    found = re.match(r"(OpenSSL|LibreSSL) (\d+)\.(\d+)\.(\d+)", version)
    if found is None or tuple(map(int, found.groups()[1:])) < ((1, 1, 1) if found[1] == "OpenSSL" else (3, 0, 0)):
        raise NoCertificates(f"{program} is {version or 'of an unknown version'}, which is too old: {install}")
    return program
