"""The short forms of security for tests: users with passwords, super users, ACLs and TLS.

They are translated to properties of Kafka and, on every start, to contents of the metadata:

    users           properties of SASL/PLAIN for each listener, and SCRAM credentials
    super_users     `super.users`, and the authorizer
    acls            ACLs in the metadata, and the authorizer
    tls             certificates, as properties in PEM

Properties that are given explicitly take precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.broker import arguments
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.listeners import controller_listeners_of, listeners_of, prefix_of
from kafkalet.jaas import PASSWORD_MECHANISMS, login_module_text

from .acl import Acl
from .principal import user

if TYPE_CHECKING:
    from kafkalet.broker.config.release import Release

    from .scram_credentials import ScramCredential, ScramMechanism

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
NAME_OF_CERTIFICATE = "RULE:^CN=([^,+]+).*$/$1/,DEFAULT"
"""A mapping rule that turns the common name of a certificate into the user's name, so that ACLs can name `User:alice`.
"""


class ShortForms(NamedTuple):
    """The short forms that were given. `super_users` are principals, as in `User:admin`."""

    users: Mapping[str, str] = {}
    super_users: Sequence[str] = ()
    acls: Sequence[Acl] = ()
    tls: bool = False

    @classmethod
    def of(
        cls,
        users: Mapping[str, str] | None = None,
        super_users: Mapping[str, str] | Iterable[str] = (),
        acls: Iterable[str | Acl] = (),
        *,
        tls: bool = False,
    ) -> ShortForms:
        """Check the arguments of `Broker`. Raises TypeError or ValueError."""
        passwords = _passwords("users", users)
        if isinstance(super_users, Mapping):
            passwords |= _passwords("super_users", super_users)
        if not isinstance(tls, bool):
            raise TypeError(f"tls must be True or False, not {arguments.shown(tls)}")
        return cls(passwords, _principals(super_users), checked_acls(acls), tls)

    def __repr__(self) -> str:
        return f"ShortForms(users={list(self.users)}, super_users={self.super_users}, acls={self.acls}, tls={self.tls})"

    @property
    def default_protocol(self) -> str:
        """The security protocol of listeners for which none is given."""
        if self.users:
            return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"
        return "SSL" if self.tls else "PLAINTEXT"

    @property
    def has_authorizer(self) -> bool:
        return bool(self.super_users or self.acls)

    def check_protocols(self, protocols: Iterable[str]) -> None:
        """Raise ValueError if users or TLS are given, but no listener has a protocol that uses them."""
        given = list(protocols)
        if self.users and not any(protocol.startswith("SASL_") for protocol in given):
            wanted = "SASL_SSL" if self.tls or "SSL" in given else "SASL_PLAINTEXT"
            raise ValueError(
                f"users cannot log in at a listener with {', '.join(given)}; give a listener {wanted}, as in "
                f"{wanted.lower()}://127.0.0.1:0, or omit the protocol"
            )
        if self.tls and not any(protocol.endswith("SSL") for protocol in given):
            wanted = "SASL_SSL" if self.users else "SSL"
            raise ValueError(
                f"tls is given, but no listener uses it: {', '.join(given)}; give a listener {wanted}, as in "
                f"{wanted.lower()}://127.0.0.1:0, or omit the protocol"
            )

    def config(self, given: Mapping[str, str], host: str, port: int, release: Release) -> BrokerConfig:
        """Return the configuration of a cluster from the properties that are given, and the short forms.

        `host` and `port` are the address of the listener if `listeners` is not given. Raises ValueError if users or TLS
        are given, but no listener uses them.
        """
        properties = self.properties()
        if self.default_protocol != "PLAINTEXT":
            properties["listeners"] = f"{self.default_protocol}://{f'[{host}]' if ':' in host else host}:{port}"
        config = BrokerConfig({**properties, **given}, release)
        listeners = listeners_of(config) + controller_listeners_of(config)
        self.check_protocols(listener.protocol.name for listener in listeners)
        names = [listener.name for listener in listeners if listener.protocol.has_sasl]
        passwords = self.passwords_of(names) if self.users else {}
        if "OAUTHBEARER" in config.given().get("sasl.enabled.mechanisms", ""):
            unsecured = login_module_text("OAUTHBEARER", {})
            passwords |= {f"{prefix_of(name)}oauthbearer.sasl.jaas.config": unsecured for name in names}
        return config.for_broker({name: value for name, value in passwords.items() if name not in given})

    def properties(self) -> dict[str, str]:
        """Return the properties that apply to all listeners."""
        found: dict[str, str] = {}
        if self.users:
            found["sasl.enabled.mechanisms"] = ",".join(PASSWORD_MECHANISMS)
        if self.has_authorizer:
            found["authorizer.class.name"] = AUTHORIZER
        if self.super_users:
            found["super.users"] = ";".join(self.super_users)
        if self.tls:
            found["ssl.client.auth"] = "requested"
            found["ssl.principal.mapping.rules"] = NAME_OF_CERTIFICATE
        return found

    def passwords_of(self, listeners: Iterable[str]) -> dict[str, str]:
        """Return the properties with the passwords of SASL/PLAIN for listeners with these names."""
        config = login_module_text("PLAIN", {f"user_{name}": password for name, password in self.users.items()})
        return {f"{prefix_of(name)}plain.sasl.jaas.config": config for name in listeners}

    def credentials(self) -> dict[tuple[str, ScramMechanism], ScramCredential]:
        """Return the SCRAM credentials of the users."""
        if not self.users:
            return {}
        from .scram_credentials import credentials_of_user

        return {
            key: made
            for name, password in self.users.items()
            for key, made in credentials_of_user(name, password).items()
        }


def checked_acls(given: Iterable[str | Acl]) -> tuple[Acl, ...]:
    """Return the ACLs in strings and `Acl` values. Raises TypeError or ValueError."""
    if isinstance(given, (str, bytes, Acl)) or not isinstance(given, Iterable):
        raise TypeError(f'acls must be a list of ACLs, as in ["alice:read:topic:orders"], not {arguments.shown(given)}')
    found: dict[Acl, None] = {}
    for item in given:
        found.update(dict.fromkeys(acls_of(item)))
    return tuple(found)


def acls_of(given: str | Acl) -> list[Acl]:
    """Return the ACLs in a string, or an `Acl` as it is. Raises TypeError or ValueError."""
    if isinstance(given, Acl):
        return [given]
    from .acl_text import parse_acls

    return parse_acls(arguments.text('an ACL, as in "alice:read:topic:orders",', given))


def _passwords(what: str, given: Mapping[str, str] | None) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f'{what} must be a dict of passwords by name, as in {{"alice": "secret"}}, not {_kind(given)}')
    return {check_user(name): check_password(name, password) for name, password in given.items()}


def check_user(name: str) -> str:
    """Return the name of a user. Raises TypeError or ValueError if it is not a name that can log in."""
    if not arguments.text("the name of a user", name):
        raise ValueError("the name of a user is empty")
    if name == "*" or name.startswith("User:") or "\0" in name:
        raise ValueError(f"{name!r} is not the name of a user; give a name, as in alice")
    return name


def check_password(name: str, password: str) -> str:
    """Return the password of a user. The messages of errors do not contain it."""
    if not isinstance(password, str):
        raise TypeError(f"the password of {name} must be a str, not {_kind(password)}")
    if not password or "\0" in password:
        raise ValueError(f"the password of {name} {'has a null character' if password else 'is empty'}")
    return password


def _kind(value: object) -> str:
    """Describe a value that may be, or contain, a password."""
    return f"a value of type {type(value).__name__}"


def _principals(given: Mapping[str, str] | Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f'super_users must be a list of names, as in ["admin"], not {_kind(given)}')
    found = []
    for name in given:
        text = arguments.text("the name of a super user", name)
        if not text.removeprefix("User:") or ";" in text:
            raise ValueError(f"{text!r} is not the name of a super user; give a name, as in admin, without semicolons")
        found.append(str(user(text.removeprefix("User:"))))
    return tuple(dict.fromkeys(found))
