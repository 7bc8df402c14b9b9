"""Decides which operations clients may perform.

Source: org.apache.kafka.metadata.authorizer.StandardAuthorizerData.
"""

from collections.abc import Collection

from .acl import WILDCARD, Acl, Operation, PatternType, Permission, ResourceType
from .principal import Principal


class Authorizer:
    """The authorizer of one broker. `acls` are the ACLs of the cluster, which may change at any time."""

    def __init__(
        self, acls: Collection[Acl], super_users: Collection[Principal] = (), *, allows_without_acl: bool = False
    ) -> None:
        self._acls = acls
        self._super_users = frozenset(super_users)
        self._allows_without_acl = allows_without_acl

    def authorizes(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Return whether the principal may perform an operation on a resource, from this address."""
        if principal in self._super_users:
            return True
        allowed = found = False
        for acl in self._acls:
            if not _is_of(acl, resource_type, name):
                continue
            found = True
            if acl.principal not in (str(principal), "User:*") or acl.host not in (host, WILDCARD):
                continue
            if acl.operation in (operation, Operation.ALL):
                if acl.permission is Permission.DENY:
                    return False
                allowed = True
            elif acl.permission is Permission.ALLOW and acl.operation in _IMPLIED_BY.get(operation, ()):
                allowed = True
        return allowed or (self._allows_without_acl and not found)

    def authorizes_any(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Return whether the principal may perform an operation on at least one resource of this type (KIP-679)."""
        return any(
            self.authorizes(principal, host, operation, resource_type, acl.resource_name)
            for acl in self._acls
            if acl.resource_type is resource_type
        )


_IMPLIED_BY = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}


def _is_of(acl: Acl, resource_type: ResourceType, name: str) -> bool:
    if acl.resource_type is not resource_type:
        return False
    if acl.pattern_type is PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, WILDCARD)
