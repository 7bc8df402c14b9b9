"""The options of `kafkalet conform` for TLS and SASL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalet.commands.command_line import Failure, Option, UsageError, print_error

if TYPE_CHECKING:
    from kafkalet.client_security import Security

PASSWORD = "KAFKALET_CONFORM_PASSWORD"  # noqa: S105 - the name of an environment variable
OPTIONS = (
    Option("--config", "FILE", "read security and bootstrap.servers from a properties file of a Kafka client"),
    Option("--tls", "", "connect with TLS"),
    Option("--ca", "FILE", "trust the certificates in this PEM file instead of those of the system"),
    Option("--cert", "FILE", "the certificate of the client (PEM)"),
    Option("--key", "FILE", "the private key of the certificate, if it is in another file"),
    Option("--insecure", "", "accept every certificate of the broker"),
    Option("--sasl", "MECHANISM", "authenticate with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"),
    Option("--user", "NAME", "the user to authenticate"),
    Option("--password", "TEXT", f"the password; safer: --password-file, or {PASSWORD} in the environment"),
    Option("--password-file", "FILE", "a file with the password"),
)
OF_TLS = ("ca", "cert", "key", "insecure")
OF_SASL = ("user", "password", "password-file")


def security_of(given: Mapping[str, list[str]]) -> tuple[Security, str]:
    """Return the security of connections, and `bootstrap.servers` of the properties file or "".

    Raises UsageError for options that cannot be used together, and for files that cannot be read.
    """
    from kafkalet.client_security import Security, UnreadableCertificate, tls_context
    from kafkalet.jaas import PASSWORD_MECHANISMS
    from kafkalet.properties import InvalidProperty
    from kafkalet.sasl_client import Credentials

    one = {name: values[0] for name, values in given.items()}
    try:
        if "config" in one:
            return _from_file(one)
        if misplaced := [name for name in OF_TLS if name in one and "tls" not in one]:
            raise UsageError(f"--{misplaced[0]} has an effect only with --tls; add --tls")
        if misplaced := [name for name in OF_SASL if name in one and "sasl" not in one]:
            raise UsageError(f"--{misplaced[0]} has an effect only with --sasl; add --sasl MECHANISM")
        tls = None
        if "tls" in one:
            tls = tls_context(one.get("ca", ""), one.get("cert", ""), one.get("key", ""), insecure="insecure" in one)
        if "sasl" not in one:
            return Security(tls), ""
        if (mechanism := one["sasl"].upper()) not in PASSWORD_MECHANISMS:
            raise UsageError(f"--sasl {mechanism}: supported are {', '.join(PASSWORD_MECHANISMS)}")
        if not one.get("user"):
            raise UsageError(f"--sasl {mechanism} needs a user; add --user NAME")
        return Security(tls, Credentials(mechanism, one["user"], _password(one))), ""
    except (InvalidProperty, UnreadableCertificate) as error:
        raise UsageError(str(error)) from error


def _from_file(one: Mapping[str, str]) -> tuple[Security, str]:
    from kafkalet_conformance.playing.security import from_properties

    if others := [name for name in ("tls", "sasl", *OF_TLS, *OF_SASL) if name in one]:
        raise UsageError(f"--config and --{others[0]} exclude each other; put all security settings into the file")
    security, bootstrap, ignored = from_properties(_read("--config", one["config"]))
    if ignored:
        print_error(Failure(f"--config {one['config']}: ignored: {', '.join(ignored)}"), 0)
    return security, bootstrap


def _password(one: Mapping[str, str]) -> str:
    if "password" in one and "password-file" in one:
        raise UsageError("--password and --password-file exclude each other; use one of them")
    if "password-file" in one:
        return _read("--password-file", one["password-file"]).rstrip("\r\n")
    found = one.get("password", os.environ.get(PASSWORD))
    if found is None:
        raise UsageError(f"--sasl needs a password: --password-file FILE, or {PASSWORD} in the environment")
    return found


def _read(option: str, file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{option} {file}: the file cannot be read: {error}") from error
