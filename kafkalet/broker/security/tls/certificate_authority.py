"""Certificates for tests: a certificate authority, a certificate for the brokers, and certificates for clients.

    authority = CertificateAuthority(directory, hosts=["kafka", "192.168.1.5"])
    authority.broker_properties()     the keystore and the truststore of the brokers, as properties
    authority.certificate             what clients have to trust, in PEM; also in the file `authority.ca_file`
    authority.client("alice")         a key and a certificate for CN=alice
    authority.close()                 removes the directory

Keys are EC P-256. The certificates are valid for a year. They are created with the package `cryptography` or, if it is
not installed, with the program `openssl`. Only the owner can read the files. The authority exists until its directory
is removed. Do not add it to the truststore of an operating system.
"""

import os
import re
import shutil
import socket
import threading
from collections.abc import Iterable

from .certificate_tools import Issued, NoCertificates, Tool, address_of, available_tool, write_file

ALWAYS = ("localhost", "127.0.0.1", "::1")
MAX_NAME_CHARACTERS = 64
"""The maximum length of a common name (RFC 5280, ub-common-name)."""
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})", re.ASCII)


class CertificateAuthority:
    """A certificate authority that exists only for the tests of one cluster. Threads can share it."""

    def __init__(self, directory: str, hosts: Iterable[str] = (), tool: Tool | None = None) -> None:
        """Create the authority and the certificate of the brokers, in `directory`, which is created if necessary.

        The certificate of the brokers is valid for localhost, this host's name, and the names and addresses in `hosts`.
        Empty names and wildcard addresses are ignored. Raises NoCertificates, or OSError if a file cannot be written.
        """
        self.directory = os.path.abspath(directory)
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        self.tool = tool or available_tool()
        self._lock = threading.Lock()
        self._clients: dict[str, Issued] = {}
        suffix = os.urandom(4).hex()
        self._authority = self._write("ca", *self.tool.authority(self.directory, f"kafkalet test authority {suffix}"))
        self.certificate: str = self._authority.certificate
        self.ca_file: str = self._authority.certificate_file
        """The file with the certificate of the authority. It is a PEM truststore as in Kafka."""
        names = _usable([*ALWAYS, socket.gethostname(), *hosts])
        self.server: Issued = self._issue("server", "localhost", names)

    def client(self, name: str) -> Issued:
        """Return the certificate of the client CN=name. It is created once. Raises NoCertificates."""
        if not 0 < len(name) <= MAX_NAME_CHARACTERS or not name.isprintable() or name != name.strip():
            raise NoCertificates(
                f"{name!r} cannot be the name in a certificate: 1 to {MAX_NAME_CHARACTERS} printable characters are "
                "allowed, without spaces around them"
            )
        with self._lock:
            if name not in self._clients:
                self._clients[name] = self._issue(f"client-{len(self._clients)}", name, None)
            return self._clients[name]

    def broker_properties(self, prefix: str = "") -> dict[str, str]:
        """Return the properties of the brokers. `prefix` may be a listener's prefix, `listener.name.NAME.`."""
        return {
            f"{prefix}ssl.keystore.type": "PEM",
            f"{prefix}ssl.keystore.location": self.server.keystore_file,
            f"{prefix}ssl.truststore.type": "PEM",
            f"{prefix}ssl.truststore.location": self.ca_file,
        }

    def client_properties(self, name: str | None = None) -> dict[str, str]:
        """Return the properties for Java clients (2.7 or newer). With a name, they include the client's certificate."""
        found = {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.ca_file}
        if name is not None:
            found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.client(name).keystore_file}
        return found

    def close(self) -> None:
        """Remove the directory with all files."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _issue(self, stem: str, name: str, hosts: list[str] | None) -> Issued:
        authority = self._authority
        return self._write(stem, *self.tool.issue(self.directory, authority, name, hosts))

    def _write(self, stem: str, key: str, certificate: str) -> Issued:
        path = os.path.join(self.directory, stem)
        issued = Issued(certificate, key, f"{path}.crt", f"{path}.key", f"{path}.pem")
        write_file(issued.certificate_file, certificate.encode())
        write_file(issued.key_file, key.encode())
        write_file(issued.keystore_file, (key + certificate).encode())
        return issued


def _usable(hosts: Iterable[str]) -> list[str]:
    """Return the hosts that a certificate can name, each once. Addresses are in their usual form."""
    found: dict[str, None] = {}
    for host in hosts:
        text = host.strip().strip("[]").partition("%")[0]
        address = address_of(text)
        if address is not None:
            if not address.is_unspecified:
                found[str(address)] = None
        elif _HOST.fullmatch(text):
            found[text.lower()] = None
    return list(found)
