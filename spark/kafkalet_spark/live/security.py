"""Set up TLS and SASL authentication for a connection.

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

import os
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlparse

from kafkalet.jaas import LOGIN_MODULES, MalformedJaas, parse_login_module
from kafkalet.properties import HIDDEN, InvalidProperty
from kafkalet.sasl_client import authenticate_with_password, authenticate_with_token, unsecured_token

from .client_properties import Settings

TOKEN_LIFETIME_S = 3600


class Credentials(NamedTuple):
    """What a client proves its identity with."""

    mechanism: str
    username: str = ""
    password: str = ""
    is_delegation_token: bool = False
    token: Callable[[], str] = str
    """Returns the JSON web token of OAUTHBEARER."""

    def authenticate(self, exchange: Callable[[bytes], bytes]) -> None:
        """Authenticate; `exchange` sends a token and returns the answer. Raises NotAuthenticated."""
        if self.mechanism == "OAUTHBEARER":
            authenticate_with_token(self.token(), exchange)
        else:
            name, password = self.username, self.password
            authenticate_with_password(
                self.mechanism, name, password, exchange, is_delegation_token=self.is_delegation_token
            )

    def __repr__(self) -> str:
        return f"Credentials({self.mechanism!r}, {self.username!r})"


def credentials(settings: Settings) -> Credentials | None:
    """Return the credentials, or None if the protocol does not use SASL. Raises InvalidProperty."""
    if not settings.security_protocol.startswith("SASL_"):
        return None
    mechanism = settings.sasl_mechanism
    if mechanism not in LOGIN_MODULES:
        allowed = ", ".join(LOGIN_MODULES)
        raise InvalidProperty("sasl.mechanism", mechanism, f"supported mechanisms are {allowed}")
    options = _login_options(mechanism, settings.sasl_jaas_config)
    if mechanism == "OAUTHBEARER":
        return Credentials(mechanism, token=_token_source(options, settings.sasl_oauthbearer_token_endpoint_url))
    try:
        name, password = options["username"], options["password"]
    except KeyError as missing:
        raise InvalidProperty("sasl.jaas.config", HIDDEN, f"{missing.args[0]} is missing") from None
    return Credentials(mechanism, name, password, options.get("tokenauth", "").lower() == "true")


def _login_options(mechanism: str, jaas: str) -> dict[str, str]:
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
    return dict(parsed.options)


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
    password = settings.ssl_key_password or None
    if settings.ssl_keystore_key and settings.ssl_keystore_certificate_chain:
        _load_text(context, f"{settings.ssl_keystore_key}\n{settings.ssl_keystore_certificate_chain}\n", password)
    elif settings.ssl_keystore_location:
        context.load_cert_chain(settings.ssl_keystore_location, password=password)
    return context


def _load_text(context: ssl.SSLContext, text: str, password: str | None) -> None:
    """Load a private key and certificates. They have to be in a file, which only this user can read."""
    descriptor, path = tempfile.mkstemp()  # mode 0600
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        context.load_cert_chain(path, password=password)
    finally:
        os.unlink(path)


def encrypted(plain: socket.socket, context: ssl.SSLContext | None, host: str) -> socket.socket:
    """Return the socket, wrapped in TLS if there is a context. If the handshake fails, close `plain` and raise
    OSError."""
    if context is None:
        return plain
    return context.wrap_socket(plain, server_hostname=host)
