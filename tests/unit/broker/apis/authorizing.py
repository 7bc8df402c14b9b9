"""Clusters with an authorizer, whose handlers are called without authentication: the client is User:ANONYMOUS."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafkalet.broker.security.acl import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.broker.security.short_forms import AUTHORIZER
from kafkalet.testing.cluster import Cluster

from .asking import Asking

WITH_AUTHORIZER = {"authorizer.class.name": AUTHORIZER}
SUPER_USER = {"super.users": "User:ANONYMOUS"}


@contextmanager
def authorizing(brokers: int = 1, *, config: Mapping[str, str] | None = None, **options: Any) -> Iterator[Asking]:
    """Run a cluster that denies everything by default."""
    with Cluster(brokers, config=WITH_AUTHORIZER | dict(config or {}), **options) as cluster:
        yield Asking(cluster)


def grant(
    ask: Asking,
    operation: Operation,
    resource_type: ResourceType = ResourceType.CLUSTER,
    name: str = CLUSTER_NAME,
    permission: Permission = Permission.ALLOW,
) -> Acl:
    """Allow the client an operation."""
    acl = Acl(resource_type, PatternType.LITERAL, name, "User:ANONYMOUS", "*", operation, permission)
    server = ask.cluster._server
    server.call(lambda: server.controller.create_acls([acl]))
    return acl
