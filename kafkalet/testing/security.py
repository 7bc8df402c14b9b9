"""The users and ACLs of a running cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from kafkalet.broker import arguments
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism, credentials_of_user
from kafkalet.broker.security.short_forms import ShortForms, acls_of, check_password, check_user

if TYPE_CHECKING:
    from kafkalet.broker.security.acl import Acl
    from kafkalet.embedded import EmbeddedCluster


_Key = tuple[str, ScramMechanism]


ACLS_PER_TURN = 2000
"""How many ACLs are created before the event loop does other work; this takes about 20 ms."""


class Acls:
    """The ACLs of a cluster, in the order of their creation.

    Methods take strings, as in `alice:read,describe:topic:orders*`, and `kafkalet.Acl` values. Iteration yields
    `kafkalet.Acl` values, one for each operation; `str` converts them to strings.
    """

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster

    def __repr__(self) -> str:
        return f"<ACLs: {', '.join(map(str, self)) or 'none'}>"

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __contains__(self, acl: str | Acl) -> bool:
        return set(acls_of(acl)) <= set(self._read())

    def _read(self) -> list[Acl]:
        return self._cluster._server.call(lambda: list(self._cluster._server.metadata.acls))

    def add(self, *acls: str | Acl) -> None:
        """Create ACLs. They apply to the next request of each client. Those that exist stay as they are.

        Raises RuntimeError if the cluster has no authorizer.
        """
        found = _all_of(acls)
        for start in range(0, len(found), ACLS_PER_TURN):
            part = found[start : start + ACLS_PER_TURN]
            self._cluster._server.call(lambda part=part: self._create(part))  # type: ignore[misc]

    def remove(self, *acls: str | Acl) -> None:
        """Delete ACLs. Raises ValueError, and deletes nothing, if one of them does not exist."""
        found = _all_of(acls)
        self._cluster._server.call(lambda: self._delete(found))

    def _create(self, acls: list[Acl]) -> None:
        server = self._cluster._server
        if all(broker.authorizer is None for broker in server.brokers.values()):
            raise RuntimeError(
                "the cluster has no authorizer, so ACLs would have no effect; "
                'start it with super_users=["admin"], or with acls'
            )
        server.controller.create_acls(acls)

    def _delete(self, acls: list[Acl]) -> None:
        server = self._cluster._server
        if missing := [str(acl) for acl in acls if acl not in server.metadata.acls]:
            known = ", ".join(map(str, server.metadata.acls)) or "none"
            raise ValueError(f"the ACL {missing[0]} does not exist; the ACLs are {known}")
        server.controller.delete_acls(acls)


def _all_of(acls: Iterable[str | Acl]) -> list[Acl]:
    return [acl for given in acls for acl in acls_of(given)]


class Users:
    """The names of the users who can log in with a password."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster

    def __repr__(self) -> str:
        return f"<users: {', '.join(self) or 'none'}>"

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __contains__(self, name: str) -> bool:
        return name in self._read()

    def _read(self) -> list[str]:
        return self._cluster._server.call(lambda: list(self._cluster._server.users))

    def add(self, name: str, password: str) -> None:
        """Create a user who can log in with PLAIN and SCRAM, or change the password.

        Connections of the user stay open. Raises RuntimeError if no listener uses SASL.
        """
        check_user(name)
        check_password(name, password)
        credentials = credentials_of_user(name, password)
        self._cluster._server.call(lambda: self._change(name, password, credentials))

    def remove(self, name: str) -> None:
        """Remove a user, who can no longer log in. Connections of the user stay open. Raises ValueError if unknown."""
        arguments.text("the name of a user", name)
        self._cluster._server.call(lambda: self._remove(name))

    def _remove(self, name: str) -> None:
        if name not in self._cluster._server.users:
            known = ", ".join(self._cluster._server.users) or "none"
            raise ValueError(f"there is no user {name}; the users are {known}")
        self._change(name, None, {(name, mechanism): None for mechanism in ScramMechanism})

    def _change(self, name: str, password: str | None, credentials: Mapping[_Key, ScramCredential | None]) -> None:
        """Set or remove the password of PLAIN and the credentials of SCRAM."""
        server = self._cluster._server
        listeners = [each.name for each in server.listener_settings if each.protocol.has_sasl]
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
        for each in server.servers:
            each.node.config.static.update(given)
            each.passwords_changed()
        server.controller.change_scram_credentials(credentials)
