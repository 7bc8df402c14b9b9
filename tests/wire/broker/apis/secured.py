"""Brokers whose clients log in with SASL/PLAIN, with an authorizer and with delegation tokens."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import kafkalet
from kafkalet.broker.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.broker.security.short_forms import AUTHORIZER
from kafkalet.client_security import Security
from kafkalet.sasl_client import Credentials
from kafkalet_conformance.playing.connection import Connection

SECURED = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_admin="admin" user_alice="alice" user_bob="bob";'
    ),
    "authorizer.class.name": AUTHORIZER,
    "super.users": "User:admin",
    "connections.max.idle.ms": "-1",
    "connection.failed.authentication.delay.ms": "0",
}
"""The properties of a broker with the users admin, alice and bob, whose passwords are their names."""
SECRET_KEY = "the key of all brokers"
WITH_TOKENS = SECURED | {"delegation.token.secret.key": SECRET_KEY}


class Users:
    """The connections of users to a broker, opened on first use."""

    def __init__(self, cluster: kafkalet.Cluster) -> None:
        self.cluster = cluster
        self._connections: dict[str, Connection] = {}

    def __call__(self, user: str, api: str, version: int, **body: Any) -> dict[str, Any]:
        """Send a request for a user, and return the response. The user "" does not log in."""
        if user not in self._connections:
            host, _, port = self.cluster.bootstrap_servers.rpartition(":")
            self._connections[user] = Connection(host, int(port), user or None, timeout_s=10)
        return self._connections[user].ask(api, version, body)

    def log_in_with(self, token: dict[str, Any], mechanism: str, as_user: str) -> None:
        """Log in with a delegation token. `as_user` is the name of the connection in later calls."""
        host, _, port = self.cluster.bootstrap_servers.rpartition(":")
        password = b64encode(bytes.fromhex(token["hmac"]["hex"])).decode()
        credentials = Credentials(mechanism, token["token_id"], password, is_delegation_token=True)
        self._connections[as_user] = Connection(
            host, int(port), timeout_s=10, security=Security(credentials=credentials)
        )

    def allow(self, user: str, operation: Operation, kind: ResourceType, name: str) -> None:
        """Allow a user an operation on a resource."""
        acl = Acl(kind, PatternType.LITERAL, name, f"User:{user}", "*", operation, Permission.ALLOW)
        controller = self.cluster._server.controller
        self.cluster._server.call(lambda: controller.create_acls([acl]))

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()


@contextmanager
def users_of(cluster: kafkalet.Cluster) -> Iterator[Users]:
    """Provide the users of a cluster that is running."""
    users = Users(cluster)
    try:
        yield users
    finally:
        users.close()


@contextmanager
def secured(config: dict[str, str] | None = None, **options: Any) -> Iterator[Users]:
    """Run a broker, by default with delegation tokens, and provide its users."""
    config = WITH_TOKENS if config is None else config
    with kafkalet.Cluster(1, config=config, **options) as cluster, users_of(cluster) as users:
        yield users


def created(users: Users, user: str, renewers: Iterable[str] = (), max_lifetime_ms: int = -1, owner: str = "") -> Any:
    """Create a delegation token, and return the response."""
    body = {
        "renewers": [{"principal_type": "User", "principal_name": name} for name in renewers],
        "max_lifetime_ms": max_lifetime_ms,
        "owner_principal_type": "User",
        "owner_principal_name": owner,
    }
    return users(user, "CreateDelegationToken", 3, **body)


def described(users: Users, user: str, owners: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Return the tokens that a user sees: all, or those of these owners."""
    named = None if owners is None else [{"principal_type": "User", "principal_name": name} for name in owners]
    answer = users(user, "DescribeDelegationToken", 3, owners=named)
    assert answer["error_code"] == 0
    tokens: list[dict[str, Any]] = answer["tokens"]
    return tokens
