"""Set up TLS and SASL authentication for a connection.

security.protocol   PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
SSL                 certificates in PEM format, as files or in the property itself (KIP-651). Without a truststore, the
                    system's certificates are trusted. Java keystores are not supported.
SASL                mechanism PLAIN; user name and password are given in sasl.jaas.config as for Java clients, and sent
                    with SaslHandshake and SaslAuthenticate (KIP-152).

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
    """The user name and password for SASL/PLAIN."""

    username: str
    password: str

    @property
    def message(self) -> bytes:
        """The PLAIN message (RFC 4616), which consists of an empty authorization identity, the user name and the
        password."""
        return f"\0{self.username}\0{self.password}".encode()

    def __repr__(self) -> str:
        return f"Credentials({self.username!r})"


def credentials(settings: Settings) -> Credentials | None:
    """Return the credentials, or None if the protocol does not use SASL. Raises InvalidProperty."""
    if not settings.security_protocol.startswith("SASL_"):
        return None
    if settings.sasl_mechanism != MECHANISM:
        raise InvalidProperty("sasl.mechanism", settings.sasl_mechanism, f"only {MECHANISM} is supported")
    if (found := _JAAS.fullmatch(settings.sasl_jaas_config)) is None:
        form = 'PlainLoginModule required username="" password="";'
        raise InvalidProperty("sasl.jaas.config", "[hidden]", f"it must have the form ...{form}")
    options = {name: re.sub(r"\\(.)", r"\1", quoted) or bare for name, quoted, bare in _OPTION.findall(found[1])}
    try:
        return Credentials(options["username"], options["password"])
    except KeyError as missing:
        raise InvalidProperty("sasl.jaas.config", "[hidden]", f"{missing.args[0]} is missing") from None


def tls(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context, or None if the protocol is not encrypted. Raises InvalidProperty, or OSError if a file
    cannot be read."""
    if not settings.security_protocol.endswith("SSL"):
        return None
    for store in ("truststore", "keystore"):
        if getattr(settings, f"ssl_{store}_location") and getattr(settings, f"ssl_{store}_type") != "PEM":
            name = f"ssl.{store}.type"
            raise InvalidProperty(name, getattr(settings, f"ssl_{store}_type"), "only PEM certificates are supported")
    context = ssl.create_default_context(
        cafile=settings.ssl_truststore_location or None, cadata=settings.ssl_truststore_certificates or None
    )
    context.check_hostname = bool(settings.ssl_endpoint_identification_algorithm)
    if settings.ssl_keystore_location:
        context.load_cert_chain(settings.ssl_keystore_location, password=settings.ssl_key_password or None)
    return context


def encrypted(plain: socket.socket, context: ssl.SSLContext | None, host: str) -> socket.socket:
    """Return the socket, wrapped in TLS if there is a context. If the handshake fails, close `plain` and raise
    OSError."""
    if context is None:
        return plain
    return context.wrap_socket(plain, server_hostname=host)
