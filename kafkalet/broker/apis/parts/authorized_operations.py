"""The operations that a client may perform on a resource, as a bit field (KIP-430).

Bit n stands for the operation with number n. Only operations that make sense for the type of the resource are included.

Source: kafka.server.AuthHelper.authorizedOperations, org.apache.kafka.security.authorizer.AclEntry.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import OPERATIONS, Operation, ResourceType

_BITS = {kind: sum(1 << operation for operation in operations) for kind, operations in OPERATIONS.items()}
_CONFIGS = 1 << Operation.DESCRIBE_CONFIGS | 1 << Operation.ALTER_CONFIGS


def authorized_operations(context: Context, resource_type: ResourceType, name: str) -> int:
    """Return the operations that the client may perform on a topic, a group or the cluster."""
    supported = _BITS[resource_type]
    if resource_type is ResourceType.GROUP and not context.release.configures_groups:
        supported &= ~_CONFIGS
    if context.authorizer is None:
        return supported
    return sum(
        1 << operation
        for operation in Operation
        if supported >> operation & 1 and context.allows(operation, resource_type, name)
    )
