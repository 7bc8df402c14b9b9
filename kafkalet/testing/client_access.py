"""What a client of a user needs to connect to a running cluster: address, login and certificates."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.broker import arguments
from kafkalet.broker.config.listeners import ListenerSettings, SecurityProtocol, listeners_of
from kafkalet.jaas import LOGIN_MODULES
from kafkalet.sasl_client import unsecured_token

if TYPE_CHECKING:
    from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
    from kafkalet.broker.security.tls.certificate_tools import Issued
    from kafkalet.clock import Clock
    from kafkalet.embedded import EmbeddedCluster

OAUTHBEARER = "OAUTHBEARER"
TOKEN_MS = 3_600_000
"""How long an unsecured token is valid."""
_SPECIAL = frozenset(',+"\\<>;#=')
"""Characters that are escaped in the name of a certificate (RFC 2253)."""


class Access(NamedTuple):
    """What a client needs to connect, in a form that does not depend on the client library."""

    bootstrap_servers: str
    protocol: str
    """The security protocol, as in `SASL_SSL`."""
    clock: Clock
    directory: Callable[[], str]
    """Returns the directory for files, and creates it."""
    user: str | None = None
    password: str | None = None
    mechanism: str | None = None
    """The SASL mechanism; None without SASL."""
    ca: str | None = None
    """The certificate of the authority that has signed those of the brokers, in PEM."""
    certificate: str | None = None
    """The certificate of the client, in PEM."""
    key: str | None = None
    """The private key of the client, in PEM (PKCS#8)."""

    def __repr__(self) -> str:
        return f"Access({self.bootstrap_servers}, {self.protocol}, user={self.user}, mechanism={self.mechanism})"

    def file(self, name: str, text: str) -> str:
        """Write a file that only its owner can read, unless it exists with this text. Return its path."""
        path = os.path.join(self.directory(), name)
        try:
            with open(path, encoding="utf-8") as found:
                if found.read() == text:
                    return path
        except FileNotFoundError:
            pass
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def token(self) -> str:
        """Return an unsecured token of the user (RFC 7515, Appendix A.5)."""
        now_s = self.clock.now_ms() / 1000
        return unsecured_token({"sub": self.user, "iat": now_s, "exp": now_s + TOKEN_MS / 1000})


def access_of(cluster: EmbeddedCluster, user: str | None, mechanism: str | None, listener: str | None) -> Access:
    """Return what a client of a user needs to connect. Raises ValueError."""
    for what, value in (("user", user), ("mechanism", mechanism), ("listener", listener)):
        arguments.optional(arguments.text, what, value)
    if not cluster.is_running:
        raise cluster._server.host.not_running()
    server = cluster._server
    chosen = _listener(cluster, user, mechanism, listener)
    protocol = chosen.protocol
    password = None
    if protocol.has_sasl:
        mechanism = _mechanism(chosen, mechanism)
        if user is None:
            raise ValueError(f"clients of listener {chosen.name} have to log in; name a user, {_known(cluster)}")
        if mechanism != OAUTHBEARER:
            password = server.call(lambda: server.users.get(user))
            if password is None:
                raise ValueError(f"user {user} has no known password; name a user, {_known(cluster)}")
    elif mechanism is not None:
        raise ValueError(f"listener {chosen.name} is {protocol.name}, so clients cannot log in with {mechanism}")
    elif user is not None and not protocol.has_tls:
        raise ValueError(
            f"clients of listener {chosen.name} are anonymous, because it is {protocol.name}; create the cluster with "
            f'users={{"{user}": "..."}} or tls=True, or omit the user'
        )
    ca, certificate, key = _certificates(server.authority, user, protocol)
    return Access(
        cluster.bootstrap_servers_of(chosen.name),
        protocol.name,
        server.clock,
        server.client_directory,
        user,
        password,
        mechanism,
        ca,
        certificate,
        key,
    )


def _certificates(
    authority: CertificateAuthority | None, user: str | None, protocol: SecurityProtocol
) -> tuple[str | None, str | None, str | None]:
    """Return the certificate to trust and, for a user who does not log in with SASL, a certificate and its key."""
    if not protocol.has_tls:
        return None, None, None
    needs_own = user is not None and not protocol.has_sasl
    if authority is None:
        if needs_own:
            raise ValueError(
                f"kafkalet can only create a certificate for {user} if it has created those of the brokers (tls=True)"
            )
        return None, None, None
    if not needs_own or user is None:
        return authority.certificate, None, None
    issued = _issued(authority, user)
    return authority.certificate, issued.certificate, issued.key


def _issued(authority: CertificateAuthority, user: str) -> Issued:
    from kafkalet.broker.security.tls.certificate_tools import NoCertificates

    if special := sorted(set(user) & _SPECIAL):
        raise ValueError(
            f"{user!r} cannot be the name in a certificate, because its name in ACLs would be another one; "
            f"choose a name without {' '.join(special)}"
        )
    try:
        return authority.client(user)
    except NoCertificates as error:
        raise ValueError(str(error)) from error


def _known(cluster: EmbeddedCluster) -> str:
    names = cluster._server.call(lambda: list(cluster._server.users))
    return f"one of {', '.join(names)}" if names else "after adding one with users.add()"


def _listener(cluster: EmbeddedCluster, user: str | None, mechanism: str | None, name: str | None) -> ListenerSettings:
    """Return the listener with this name, or the first one that suits the user and the mechanism."""
    listeners = [each for each in listeners_of(cluster._server.config) if each.is_advertised]
    if name is not None:
        for each in listeners:
            if each.name == name.upper():
                return each
        raise ValueError(f"there is no listener {name}; the listeners are {', '.join(each.name for each in listeners)}")
    wants_sasl = mechanism is not None or (user is not None and user in cluster._server.users)
    suitable = [
        each
        for each in listeners
        if each.protocol.has_sasl or (not wants_sasl and (user is None or each.protocol.has_tls))
    ]
    return (suitable or listeners)[0]


def _mechanism(listener: ListenerSettings, mechanism: str | None) -> str:
    """Return the mechanism for a client: the requested one, or the first enabled one."""
    enabled = [word.strip() for word in listener.values.get("sasl.enabled.mechanisms", "").split(",")]
    known = [each for each in LOGIN_MODULES if each in enabled]
    if mechanism is None and known:
        return known[0]
    if mechanism is None or mechanism.upper() not in known:
        raise ValueError(
            f"mechanism {mechanism} is not enabled on listener {listener.name}; "
            f"the enabled mechanisms are {', '.join(known) or 'none'}"
        )
    return mechanism.upper()
