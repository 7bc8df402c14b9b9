"""The security of a client's connections, from its properties: TLS and SASL.

security.protocol   PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
SSL                 certificates in PEM format, as files or in the property itself (KIP-651). Without a truststore, the
                    system's certificates are trusted. Java keystores are not supported.
SASL                mechanism PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. The credentials are given in
                    sasl.jaas.config as for Java clients, and sent with SaslHandshake and SaslAuthenticate (KIP-152).

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";
    org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="b";
    org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="a";

A delegation token is given as user name and password of SCRAM, with the option tokenauth="true". With OAUTHBEARER and
sasl.oauthbearer.token.endpoint.url=file:/path, the token is read from that file for each connection.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlparse

from .jaas import LOGIN_MODULES, MalformedJaas, parse_login_module
from .properties import HIDDEN, InvalidProperty, Property, PropertySet, Type, one_of
from .sasl_client import Credentials, unsecured_token

if TYPE_CHECKING:
    import socket
    import ssl

SECURITY_PROPERTIES = PropertySet(
    (
        Property(
            "security.protocol",
            Type.STRING,
            "PLAINTEXT",
            one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        ),
        Property("sasl.mechanism", Type.STRING, "GSSAPI"),
        Property("sasl.jaas.config", Type.PASSWORD, ""),
        Property("sasl.oauthbearer.token.endpoint.url", Type.STRING, ""),
        Property("ssl.truststore.type", Type.STRING, "JKS"),
        Property("ssl.truststore.location", Type.STRING, ""),
        Property("ssl.truststore.certificates", Type.PASSWORD, ""),
        Property("ssl.keystore.type", Type.STRING, "JKS"),
        Property("ssl.keystore.location", Type.STRING, ""),
        Property("ssl.keystore.certificate.chain", Type.PASSWORD, ""),
        Property("ssl.keystore.key", Type.PASSWORD, ""),
        Property("ssl.key.location", Type.STRING, ""),  # of librdkafka: the file of a key that is not in the keystore
        Property("ssl.key.password", Type.PASSWORD, ""),
        Property("ssl.endpoint.identification.algorithm", Type.STRING, "https", one_of("https", "")),
    )
)
TOKEN_LIFETIME_S = 3600


class UnreadableCertificate(ValueError):
    """A certificate or key cannot be read. The message has the names of the files."""


class Security(NamedTuple):
    """What a client does before its first request: it encrypts with `tls`, and logs in with `credentials`."""

    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Security:
        """Return the security that the properties of a client describe. Properties of other kinds are ignored.

        Raises InvalidProperty for a value that cannot be used.
        """
        parsed = SECURITY_PROPERTIES.parse(properties)
        given = {each.name: str(parsed.get(each.name, each.default)) for each in SECURITY_PROPERTIES}
        protocol = given["security.protocol"]
        try:
            context = _tls(given) if protocol.endswith("SSL") else None
        except UnreadableCertificate as error:
            raise InvalidProperty("security.protocol", protocol, str(error)) from error
        return cls(context, _credentials(given) if protocol.startswith("SASL") else None)

    def wrap(self, plain: socket.socket, host: str) -> socket.socket:
        """Return the socket, with TLS if it is used. If the handshake fails, close the socket and raise OSError."""
        return plain if self.tls is None else self.tls.wrap_socket(plain, server_hostname=host)


PLAINTEXT = Security()


def _credentials(given: Mapping[str, str]) -> Credentials:
    mechanism = given["sasl.mechanism"]
    if mechanism not in LOGIN_MODULES:
        allowed = ", ".join(LOGIN_MODULES)
        raise InvalidProperty("sasl.mechanism", mechanism, f"supported mechanisms are {allowed}")
    options = _login_options(mechanism, given["sasl.jaas.config"])
    if mechanism == "OAUTHBEARER":
        return Credentials(mechanism, token=_token_source(options, given["sasl.oauthbearer.token.endpoint.url"]))
    try:
        name, password = options["username"], options["password"]
    except KeyError as missing:
        raise InvalidProperty("sasl.jaas.config", HIDDEN, f"{missing.args[0]} is missing") from None
    return Credentials(mechanism, name, password, options.get("tokenauth", "").lower() == "true")


def _login_options(mechanism: str, jaas: str) -> Mapping[str, str]:
    """Return the options of the mechanism's login module."""
    module = LOGIN_MODULES[mechanism].rpartition(".")[2]
    try:
        parsed = parse_login_module(jaas)
        if parsed.name.rpartition(".")[2] != module:
            raise MalformedJaas("it has another login module")
    except MalformedJaas as error:
        form = f"...{module} required " + ("" if mechanism == "OAUTHBEARER" else 'username="" password=""') + ";"
        reason = f"for {mechanism}, it must have the form {form} ({error})"
        raise InvalidProperty("sasl.jaas.config", HIDDEN, reason) from None
    return parsed.options


def _token_source(options: Mapping[str, str], endpoint: str) -> Callable[[], str]:
    """Return a function that returns a token: from a file, or an unsecured one with the claims of the options.

    Source: org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler,
    FileTokenRetriever.
    """
    if endpoint:
        url = urlparse(endpoint)
        if url.scheme != "file":
            raise InvalidProperty("sasl.oauthbearer.token.endpoint.url", endpoint, "only file: is supported")
        path = Path(unquote(url.path))
        return lambda: _read_token(path)
    texts = {name.partition("_")[2]: text for name, text in options.items() if name.startswith("unsecuredLoginString")}
    if "sub" not in texts:
        needed = 'unsecuredLoginStringClaim_sub="USER", or sasl.oauthbearer.token.endpoint.url=file:/PATH'
        raise InvalidProperty("sasl.jaas.config", HIDDEN, f"OAUTHBEARER needs {needed}")

    def token() -> str:
        now_s = int(time.time())
        return unsecured_token({"iat": now_s, "exp": now_s + TOKEN_LIFETIME_S, **texts})

    return token


def _read_token(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InvalidProperty("sasl.oauthbearer.token.endpoint.url", f"file:{path}", str(error.strerror)) from error


def _tls(given: Mapping[str, str]) -> ssl.SSLContext:
    for store in ("truststore", "keystore"):
        kind = given[f"ssl.{store}.type"]
        if given[f"ssl.{store}.location"] and kind != "PEM":
            raise InvalidProperty(f"ssl.{store}.type", kind, "only PEM is supported; convert the store to PEM")
    context = partial(
        tls_context,
        given["ssl.truststore.location"],
        ca_text=given["ssl.truststore.certificates"],
        key_password=given["ssl.key.password"],
        check_host=bool(given["ssl.endpoint.identification.algorithm"]),
    )
    key, chain = given["ssl.keystore.key"], given["ssl.keystore.certificate.chain"]
    if not (key and chain):
        return context(certificate=given["ssl.keystore.location"], key=given["ssl.key.location"])
    with tempfile.TemporaryDirectory() as directory:  # `ssl` reads keys only from files; only this user sees this one
        file = Path(directory, "keystore.pem")
        file.write_text(f"{key}\n{chain}\n", encoding="utf-8")
        return context(certificate=str(file))


def tls_context(
    ca: str = "",
    certificate: str = "",
    key: str = "",
    key_password: str = "",
    *,
    ca_text: str = "",
    check_host: bool = True,
    insecure: bool = False,
) -> ssl.SSLContext:
    """Return a TLS context. `insecure` accepts every certificate. Without a CA, the CAs of the system are trusted.

    Raises UnreadableCertificate.
    """
    import ssl

    try:
        context = ssl.create_default_context(cafile=ca or None, cadata=ca_text or None)
        if certificate:
            context.load_cert_chain(certificate, key or None, key_password or None)
    except (OSError, ValueError) as error:
        names = ", ".join(name for name in (ca, certificate, key) if name) or "the certificates"
        raise UnreadableCertificate(f"TLS: {names} cannot be read: {error}; expected are PEM files") from error
    context.check_hostname = check_host and not insecure
    if insecure:
        context.verify_mode = ssl.CERT_NONE
    return context
