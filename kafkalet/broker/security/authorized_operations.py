"""Which operations a client may perform on a resource, as a bit field (KIP-430).

Bit n stands for the operation with number n. Only operations that make sense for the type of the resource are included.

Source: kafka.server.AuthHelper.authorizedOperations, org.apache.kafka.security.authorizer.AclEntry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .acl import Operation, ResourceType

if TYPE_CHECKING:
    from kafkalet.broker.context import Context

TOPIC_OPERATIONS = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))


def authorized_operations(context: Context, resource_type: ResourceType, name: str) -> int:
    """Return the operations that the client may perform on a topic, a group or the cluster."""
    if resource_type is ResourceType.GROUP:
        supported = context.release.group_operations
    else:
        supported = TOPIC_OPERATIONS if resource_type is ResourceType.TOPIC else CLUSTER_OPERATIONS
    if context.authorizer is None:
        return supported
    return sum(
        1 << operation
        for operation in Operation
        if supported >> operation & 1 and context.allows(operation, resource_type, name)
    )
