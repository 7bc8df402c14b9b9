"""Which operations a client may perform on a resource, as a bit field (KIP-430).

Bit n stands for the operation with number n. Only operations that make sense for the type of the resource are included.

Source: kafka.server.AuthHelper.authorizedOperations, org.apache.kafka.security.authorizer.AclEntry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .acl import OPERATIONS, Operation, ResourceType

if TYPE_CHECKING:
    from kafkalet.broker.context import Context


_BITS = {
    kind: sum(1 << operation for operation in OPERATIONS[kind]) for kind in (ResourceType.TOPIC, ResourceType.CLUSTER)
}


def authorized_operations(context: Context, resource_type: ResourceType, name: str) -> int:
    """Return the operations that the client may perform on a topic, a group or the cluster."""
    supported = context.release.group_operations if resource_type is ResourceType.GROUP else _BITS[resource_type]
    if context.authorizer is None:
        return supported
    return sum(
        1 << operation
        for operation in Operation
        if supported >> operation & 1 and context.allows(operation, resource_type, name)
    )
