"""The users and ACLs of a running cluster, and the settings with which clients log in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kafkalet.broker import arguments
from kafkalet.broker.config.listeners import ListenerSettings, SecurityProtocol, listeners_of
from kafkalet.broker.security.acl_text import acl_text
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism, credential_of_password
from kafkalet.broker.security.short_forms import ShortForms, acls_of, check_password, check_user
from kafkalet.jaas import LOGIN_MODULES

if TYPE_CHECKING:
    from kafkalet.broker.security.acl import Acl
    from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority, Issued

    from .client_config import Access
    from .operations import ClusterOperations


_Key = tuple[str, ScramMechanism]
_SPECIAL = frozenset(',+"\\<>;#=')
"""Characters that are escaped in the name of a certificate (RFC 2253)."""


class Acls:
    """The ACLs of a cluster. An ACL is a text, as in `alice:read,describe:topic:orders*`, or a `kafkalet.Acl`."""

    def __init__(self, cluster: ClusterOperations) -> None:
        self._cluster = cluster

    def __repr__(self) -> str:
        return f"<ACLs: {', '.join(map(acl_text, self)) or 'none'}>"

    def __iter__(self) -> Iterator[Acl]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __contains__(self, acl: str | Acl) -> bool:
        return set(acls_of(acl)) <= set(self.all)

    @property
    def all(self) -> list[Acl]:
        """The ACLs, in the order of their creation."""
        return self._cluster.server.call(lambda: list(self._cluster.server.metadata.acls))

    @property
    def texts(self) -> list[str]:
        """The ACLs as texts, in the order of their creation."""
        return [acl_text(acl) for acl in self.all]

    def add(self, *acls: str | Acl) -> None:
        """Create ACLs. They apply to the next request of each client. Those that exist stay as they are.

        Raises RuntimeError if the cluster has no authorizer.
        """
        found = _all_of(acls)
        self._cluster.server.call(lambda: self._create(found))

    def remove(self, *acls: str | Acl) -> None:
        """Delete ACLs. Raises ValueError, and deletes nothing, if one of them does not exist."""
        found = _all_of(acls)
        self._cluster.server.call(lambda: self._delete(found))

    def _create(self, acls: list[Acl]) -> None:
        server = self._cluster.server
        if all(broker.authorizer is None for broker in server.brokers.values()):
            raise RuntimeError(
                "the cluster has no authorizer, so ACLs would have no effect; "
                'start it with super_users=["admin"], or with acls'
            )
        server.controller.create_acls(acls)

    def _delete(self, acls: list[Acl]) -> None:
        server = self._cluster.server
        if missing := [acl_text(acl) for acl in acls if acl not in server.metadata.acls]:
            known = ", ".join(map(acl_text, server.metadata.acls)) or "none"
            raise ValueError(f"the ACL {missing[0]} does not exist; the ACLs are {known}")
        server.controller.delete_acls(acls)


def _all_of(acls: Iterable[str | Acl]) -> list[Acl]:
    return [acl for given in acls for acl in acls_of(given)]


def _credentials(name: str, password: str) -> dict[_Key, ScramCredential]:
    return {(name, mechanism): credential_of_password(mechanism, password) for mechanism in ScramMechanism}


class Users:
    """The users of a cluster who can log in with a password."""

    def __init__(self, cluster: ClusterOperations) -> None:
        self._cluster = cluster

    def __repr__(self) -> str:
        return f"<users: {', '.join(self.names) or 'none'}>"

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    @property
    def names(self) -> list[str]:
        """The names of the users."""
        return self._cluster.server.call(lambda: list(self._cluster.server.users))

    def add(self, name: str, password: str) -> None:
        """Create a user who can log in with PLAIN and SCRAM, or change the password.

        Connections of the user stay open. Raises RuntimeError if no listener uses SASL.
        """
        check_user(name)
        check_password(name, password)
        credentials = _credentials(name, password)
        self._cluster.server.call(lambda: self._change(name, password, credentials))

    def remove(self, name: str) -> None:
        """Remove a user, who can no longer log in. Connections of the user stay open. Raises ValueError if unknown."""
        arguments.text("the name of a user", name)
        self._cluster.server.call(lambda: self._remove(name))

    def _remove(self, name: str) -> None:
        if name not in self._cluster.server.users:
            known = ", ".join(self._cluster.server.users) or "none"
            raise ValueError(f"there is no user {name}; the users are {known}")
        self._change(name, None, {(name, mechanism): None for mechanism in ScramMechanism})

    def _change(self, name: str, password: str | None, credentials: Mapping[_Key, ScramCredential | None]) -> None:
        """Set or remove the password of PLAIN and the credentials of SCRAM."""
        server = self._cluster.server
        listeners = [each.name for each in listeners_of(server.config) if each.protocol.has_sasl]
        if not listeners:
            raise RuntimeError(
                'no listener of the cluster uses SASL, so users cannot log in; start it with users={"alice": "secret"}'
            )
        if password is None:
            del server.users[name]
        else:
            server.users[name] = password
        given = ShortForms(server.users).passwords_of(listeners)
        server.config.static.update(given)
        for broker in server.brokers.values():
            broker.node.config.static.update(given)
            broker.passwords_changed()
        server.controller.change_scram_credentials(credentials)


def client_config(
    cluster: ClusterOperations, user: str | None, client: str, mechanism: str | None, listener: str | None
) -> dict[str, Any]:
    """Return the settings of a client; see `Cluster.client_config`."""
    from .client_config import CLIENTS

    if arguments.text("client", client) not in CLIENTS:
        raise ValueError(f"client is {client!r}; the clients are {', '.join(CLIENTS)}")
    return CLIENTS[client](access(cluster, user, mechanism, listener))


def java_properties_file(
    cluster: ClusterOperations, user: str | None, mechanism: str | None, listener: str | None
) -> str:
    """Write a properties file; see `Cluster.java_properties_file`."""
    from .client_config import java_properties_file

    return java_properties_file(access(cluster, user, mechanism, listener))


def access(cluster: ClusterOperations, user: str | None, mechanism: str | None, listener: str | None) -> Access:
    """Return what a client of a user needs to connect. Raises ValueError."""
    from .client_config import OAUTHBEARER, Access

    for what, value in (("user", user), ("mechanism", mechanism), ("listener", listener)):
        if value is not None:
            arguments.text(what, value)
    if not cluster.is_running:
        raise cluster.server.host.not_running()
    server = cluster.server
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
    from kafkalet.broker.security.tls.certificate_authority import NoCertificates

    if special := sorted(set(user) & _SPECIAL):
        raise ValueError(
            f"{user!r} cannot be the name in a certificate, because its name in ACLs would be another one; "
            f"choose a name without {' '.join(special)}"
        )
    try:
        return authority.client(user)
    except NoCertificates as error:
        raise ValueError(str(error)) from error


def _known(cluster: ClusterOperations) -> str:
    names = cluster.server.call(lambda: list(cluster.server.users))
    return f"one of {', '.join(names)}" if names else "after adding one with users.add()"


def _listener(
    cluster: ClusterOperations, user: str | None, mechanism: str | None, name: str | None
) -> ListenerSettings:
    """Return the listener with this name, or the first one that suits the user and the mechanism."""
    listeners = [each for each in listeners_of(cluster.server.config) if each.is_advertised]
    if name is not None:
        for each in listeners:
            if each.name == name.upper():
                return each
        raise ValueError(f"there is no listener {name}; the listeners are {', '.join(each.name for each in listeners)}")
    wants_sasl = mechanism is not None or (user is not None and user in cluster.server.users)
    suitable = [
        each
        for each in listeners
        if each.protocol.has_sasl or (not wants_sasl and (user is None or each.protocol.has_tls))
    ]
    return (suitable or listeners)[0]


def _mechanism(listener: ListenerSettings, mechanism: str | None) -> str:
    """Return the mechanism for a client: the one that is asked for, or the first enabled one."""
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
