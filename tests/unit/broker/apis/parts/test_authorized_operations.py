"""Bit fields of authorized operations."""

from typing import cast

import pytest

from kafkalet.broker.apis.parts.authorized_operations import authorized_operations
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import CLUSTER_NAME, Operation, ResourceType
from kafkalet.broker.security.authorizer import Authorizer
from kafkalet.broker.security.principal import Principal
from kafkalet.testing.cluster import Cluster
from tests.unit.broker.apis.asking import NoClient

EVERY = {ResourceType.TOPIC: "t", ResourceType.GROUP: "g", ResourceType.CLUSTER: CLUSTER_NAME}


class StubAuthorizer:
    """Allows some operations on some names."""

    def __init__(self, *allowed: tuple[Operation, str]) -> None:
        self.allowed = allowed

    def authorizes(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        return (operation, name) in self.allowed


def operations(release: str, resource_type: ResourceType, authorizer: StubAuthorizer | None = None) -> int:
    with Cluster(version=release) as cluster:
        context = Context(cluster._server.brokers[1], NoClient(), ("127.0.0.1", 1), "PLAINTEXT")
        context.authorizer = cast("Authorizer | None", authorizer)
        return authorized_operations(context, resource_type, EVERY[resource_type])


@pytest.mark.parametrize(
    ("release", "resource_type", "expected"),
    [
        ("3.9", ResourceType.TOPIC, 3576),
        ("3.9", ResourceType.CLUSTER, 8096),
        ("3.9", ResourceType.GROUP, 328),
        ("4.4", ResourceType.GROUP, 3400),
    ],
)
def test_without_authorizer_all_operations_of_the_resource_type_are_authorized(
    release: str, resource_type: ResourceType, expected: int
) -> None:
    assert operations(release, resource_type) == expected


def test_only_allowed_operations_on_this_resource_are_authorized() -> None:
    authorizer = StubAuthorizer((Operation.READ, "g"), (Operation.DESCRIBE, "g"), (Operation.DELETE, "other"))
    assert operations("4.4", ResourceType.GROUP, authorizer) == 1 << Operation.READ | 1 << Operation.DESCRIBE


def test_operations_that_the_resource_type_does_not_support_are_left_out() -> None:
    authorizer = StubAuthorizer((Operation.READ, "g"), (Operation.WRITE, "g"), (Operation.ALL, "g"))
    assert operations("4.4", ResourceType.GROUP, authorizer) == 1 << Operation.READ
