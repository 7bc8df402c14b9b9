"""What goes before a connection's first request: TLS (SSL), and who the client is (SASL).

security.protocol   PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
SSL                 certificates as PEM, in files or in the property itself (KIP-651); without a truststore those
                    that the machine trusts. Java's own stores are not read.
SASL                the mechanism PLAIN, name and password in sasl.jaas.config as Java's clients take them. It is
                    told to the broker by SaslHandshake and SaslAuthenticate (KIP-152).

sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";
"""

from __future__ import annotations

import re
import socket
import ssl
from typing import NamedTuple

from kafkalet.properties import InvalidProperty

from .client_properties import Settings

MECHANISM = "PLAIN"

_JAAS = re.compile(r'\s*\S+\.PlainLoginModule\s+required\b((?:\s+\w+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s";]+))*)\s*;\s*')
_OPTION = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))')


class Credentials(NamedTuple):
    """Who the client is, for SASL/PLAIN."""

    username: str
    password: str

    @property
    def message(self) -> bytes:
        """What PLAIN sends (RFC 4616): no other identity to act as, the name, the password."""
        return f"\0{self.username}\0{self.password}".encode()

    def __repr__(self) -> str:
        return f"Credentials({self.username!r})"


def credentials(settings: Settings) -> Credentials | None:
    """The name and password to authenticate with; None where the protocol has no SASL. Raises InvalidProperty."""
    if not settings.security_protocol.startswith("SASL_"):
        return None
    if settings.sasl_mechanism != MECHANISM:
        raise InvalidProperty("sasl.mechanism", settings.sasl_mechanism, f"only {MECHANISM} is spoken here")
    if (found := _JAAS.fullmatch(settings.sasl_jaas_config)) is None:
        form = 'PlainLoginModule required username="" password="";'
        raise InvalidProperty("sasl.jaas.config", "[hidden]", f"it is not of the form ...{form}")
    options = {name: re.sub(r"\\(.)", r"\1", quoted) or bare for name, quoted, bare in _OPTION.findall(found[1])}
    try:
        return Credentials(options["username"], options["password"])
    except KeyError as missing:
        raise InvalidProperty("sasl.jaas.config", "[hidden]", f"it says no {missing.args[0]}") from None


def tls(settings: Settings) -> ssl.SSLContext | None:
    """How to encrypt; None where the protocol is not encrypted. Raises InvalidProperty, and OSError for the files."""
    if not settings.security_protocol.endswith("SSL"):
        return None
    for store in ("truststore", "keystore"):
        if getattr(settings, f"ssl_{store}_location") and getattr(settings, f"ssl_{store}_type") != "PEM":
            name = f"ssl.{store}.type"
            raise InvalidProperty(name, getattr(settings, f"ssl_{store}_type"), "certificates are read as PEM only")
    context = ssl.create_default_context(
        cafile=settings.ssl_truststore_location or None, cadata=settings.ssl_truststore_certificates or None
    )
    context.check_hostname = bool(settings.ssl_endpoint_identification_algorithm)
    if settings.ssl_keystore_location:
        context.load_cert_chain(settings.ssl_keystore_location, password=settings.ssl_key_password or None)
    return context


def encrypted(plain: socket.socket, context: ssl.SSLContext | None, host: str) -> socket.socket:
    """The socket to speak through; `plain` is closed when that fails, which is an OSError."""
    if context is None:
        return plain
    return context.wrap_socket(plain, server_hostname=host)
