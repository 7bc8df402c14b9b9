"""A cluster with an authorizer that denies by default, and a client with the rights that a test grants it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafkalet.broker.security.acl import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.broker.security.short_forms import AUTHORIZER
from kafkalet.testing.cluster import Cluster
from tests.wire.brokers import Plain, Wire

CONFIG = {
    "authorizer.class.name": AUTHORIZER,
    "group.initial.rebalance.delay.ms": "0",
}
RESOURCE_TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.CLUSTER,
}


class Rights:
    """The rights of User:ANONYMOUS, and its requests to a cluster with the topics "t" and "u"."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def ask(self, api: str, version: int, **body: Any) -> Plain:
        return self.wire.ask(api, version, body)

    def grant(self, *rights: str) -> None:
        """Allow operations, as in "read group g" or "alter cluster"."""
        server = self.wire.cluster._server
        server.call(lambda: server.controller.create_acls([_acl(right) for right in rights]))

    def revoke(self, *rights: str) -> None:
        server = self.wire.cluster._server
        server.call(lambda: server.controller.delete_acls([_acl(right) for right in rights]))

    @contextmanager
    def all(self) -> Iterator[None]:
        """Allow everything for a while, to prepare a test."""
        rights = [f"all {kind} *" for kind in ("topic", "group", "transactional id")] + ["all cluster"]
        self.grant(*rights)
        yield
        self.revoke(*rights)


def _acl(right: str) -> Acl:
    operation, _, resource = right.partition(" ")
    [kind] = [kind for kind in RESOURCE_TYPES if resource.startswith(kind)]
    name = resource.removeprefix(kind).strip() or CLUSTER_NAME
    return Acl(
        RESOURCE_TYPES[kind],
        PatternType.LITERAL,
        name,
        "User:ANONYMOUS",
        "*",
        Operation[operation.upper()],
        Permission.ALLOW,
    )


@contextmanager
def without_rights(release: str = "newest", more: Mapping[str, str] | None = None) -> Iterator[Rights]:
    """Run a cluster with these properties, and yield a client that may do nothing."""
    with Cluster(version=release, config=CONFIG | dict(more or {})) as cluster:
        cluster.topic("t").create(1)
        cluster.topic("u").create(1)
        wire = Wire(cluster)
        try:
            yield Rights(wire)
        finally:
            wire.close()
