"""How connections to a judged broker are secured: TLS, and SASL with PLAIN or SCRAM.

The settings come from options of the command line or from a properties file of a Kafka client. Of key stores and trust
stores, only PEM is supported.
"""

import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalet.jaas import PASSWORD_MECHANISMS, MalformedJaas, parse_login_module
from kafkalet.properties import read_properties

if TYPE_CHECKING:
    import ssl

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ALIASES = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.certificate.location": "ssl.keystore.location",
}
"""librdkafka's names of properties that Kafka's Java client names differently."""
USED = {
    *("bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.jaas.config", "sasl.username", "sasl.password"),
    *("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates", "ssl.keystore.type"),
    *("ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.key.location"),
    *("ssl.key.password", "ssl.endpoint.identification.algorithm"),
}


class InvalidSecurity(ValueError):
    """The settings cannot be used. The message says which, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Security:
    """What every connection does before its first request. Without `mechanism`, it does not authenticate."""

    tls: "ssl.SSLContext | None" = None
    mechanism: str = ""
    user: str = ""
    password: str = ""

    def __post_init__(self) -> None:
        if self.mechanism and self.mechanism not in PASSWORD_MECHANISMS:
            raise InvalidSecurity(f"SASL mechanism {self.mechanism}: supported are {', '.join(PASSWORD_MECHANISMS)}")
        if self.mechanism and not self.user:
            raise InvalidSecurity(f"SASL mechanism {self.mechanism} needs a user and a password")

    def wrap(self, plain: socket.socket, host: str) -> socket.socket:
        """Return the socket with TLS, if it is used."""
        return plain if self.tls is None else self.tls.wrap_socket(plain, server_hostname=host)


PLAINTEXT = Security()


def tls_context(
    ca: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    key_password: str | None = None,
    *,
    ca_text: str | None = None,
    check_host: bool = True,
    insecure: bool = False,
) -> "ssl.SSLContext":
    """Return a TLS context. `insecure` accepts every certificate; without a CA, those of the system are trusted."""
    import ssl

    try:
        context = ssl.create_default_context(cafile=ca, cadata=ca_text)
        if certificate:
            context.load_cert_chain(certificate, key, key_password)
    except (OSError, ValueError) as error:
        names = ", ".join(name for name in (ca, certificate, key) if name) or "the certificates"
        raise InvalidSecurity(f"TLS: {names} cannot be read: {error}; expected are PEM files") from error
    context.check_hostname = check_host and not insecure
    if insecure:
        context.verify_mode = ssl.CERT_NONE
    return context


def from_properties(text: str) -> tuple[Security, str, list[str]]:
    """Read the properties of a Kafka client; return the security, `bootstrap.servers` or "", and ignored names.

    Raises InvalidSecurity for values that cannot be used.
    """
    given = {ALIASES.get(name, name): value for name, value in read_properties(text).items()}
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise InvalidSecurity(f"security.protocol={protocol}: expected one of {', '.join(PROTOCOLS)}")
    security = Security(
        tls=_tls_of(given) if protocol.endswith("SSL") else None,
        **(_sasl_of(given) if protocol.startswith("SASL") else {}),
    )
    return security, given.get("bootstrap.servers", ""), sorted(given.keys() - USED)


def _sasl_of(given: Mapping[str, str]) -> dict[str, str]:
    try:
        jaas = given.get("sasl.jaas.config", "")
        login = parse_login_module(jaas).options if jaas.strip() else {}
    except MalformedJaas as error:
        raise InvalidSecurity(f"sasl.jaas.config: {error}") from None
    return {
        "mechanism": given.get("sasl.mechanism", "GSSAPI"),
        "user": given.get("sasl.username", login.get("username", "")),
        "password": given.get("sasl.password", login.get("password", "")),
    }


def _tls_of(given: Mapping[str, str]) -> "ssl.SSLContext":
    for store in ("truststore", "keystore"):
        kind = given.get(f"ssl.{store}.type", "PEM")
        if kind.upper() != "PEM":
            raise InvalidSecurity(f"ssl.{store}.type={kind}: only PEM is supported; convert the store to PEM")
    chain, key = given.get("ssl.keystore.certificate.chain"), given.get("ssl.keystore.key")
    common = {
        "ca_text": given.get("ssl.truststore.certificates"),
        "check_host": given.get("ssl.endpoint.identification.algorithm", "https") != "",
    }
    ca, password = given.get("ssl.truststore.location"), given.get("ssl.key.password")
    if not (chain and key):
        location = given.get("ssl.keystore.location")
        return tls_context(ca, location, given.get("ssl.key.location"), password, **common)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "keystore.pem")
        file.touch(mode=0o600)
        file.write_text(f"{key}\n{chain}\n", encoding="utf-8")
        return tls_context(ca, str(file), None, password, **common)  # type: ignore[arg-type]
