"""Decides which operations clients may perform.

Source: org.apache.kafka.metadata.authorizer.StandardAuthorizerData and, for releases that run with ZooKeeper,
kafka.security.authorizer.AclAuthorizer.
"""

from collections.abc import Collection

from .acl import EVERY_USER, WILDCARD, Acl, Acls, Operation, PatternType, Permission, ResourceType
from .principal import Principal

AUTHORIZERS = (
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "kafka.security.authorizer.AclAuthorizer",
    "kafka.security.auth.SimpleAclAuthorizer",
)
"""Kafka's own authorizers, which decide in the same way."""
MOST_DECISIONS = 20_000
"""How many decisions are remembered until the ACLs change."""
LONGEST_REMEMBERED_NAME = 255
"""Decisions about longer names are not remembered, because a client could fill the memory. Topic names are shorter."""
ANY_RESOURCE = "hardcode"
"""A resource that stands for any other one (Authorizer.authorizeByResourceType). ACLs may name it."""

_IMPLIED_BY = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}
"""The operations that imply another one if they are allowed. Denying an operation does not deny others."""


class Authorizer:
    """The authorizer of one broker. `acls` are the ACLs of the cluster, which may change at any time.

    With `asks_for_any_resource_first`, a client that may use a resource without ACLs counts as authorized for at least
    one resource.
    """

    def __init__(
        self,
        acls: Acls,
        super_users: Collection[Principal] = (),
        *,
        allows_without_acl: bool = False,
        asks_for_any_resource_first: bool = True,
    ) -> None:
        self._acls = acls
        self._super_users = frozenset(super_users)
        self._allows_without_acl = allows_without_acl
        self._asks_for_any_resource_first = asks_for_any_resource_first
        self._decisions: dict[tuple[Principal, str, Operation, ResourceType, str | None], bool] = {}
        self._decided_in = acls.version
        """The version of the ACLs from which the decisions were made."""

    def authorizes(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Return whether the principal may perform an operation on a resource, from this address."""
        if principal in self._super_users:
            return True
        if self._decided_in != self._acls.version:
            self._forget()
        key = principal, host, operation, resource_type, name
        decision = self._decisions.get(key)
        if decision is None:
            decision = self._decide(str(principal), host, operation, resource_type, name)
            if len(name) <= LONGEST_REMEMBERED_NAME:
                self._remember(key, decision)
        return decision

    def authorizes_any(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Return whether the principal may perform an operation on at least one resource of this type (KIP-679)."""
        if principal in self._super_users:
            return True
        if self._decided_in != self._acls.version:
            self._forget()
        key = principal, host, operation, resource_type, None
        decision = self._decisions.get(key)
        if decision is None:
            decision = self._decide_any(str(principal), host, operation, resource_type)
            self._remember(key, decision)
        return decision

    def _forget(self) -> None:
        self._decisions.clear()
        self._decided_in = self._acls.version

    def _remember(self, key: tuple[Principal, str, Operation, ResourceType, str | None], decision: bool) -> None:
        if len(self._decisions) >= MOST_DECISIONS:
            self._decisions.clear()
        self._decisions[key] = decision

    def _decide(self, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        patterns = self._acls.of_resource(resource_type, name)
        if not patterns:
            return self._allows_without_acl
        allowed = False
        for entries in patterns:
            for named in {principal, EVERY_USER}:
                for acl in entries.get(named, ()):
                    if acl.host not in (host, WILDCARD):
                        continue
                    if acl.operation in (operation, Operation.ALL):
                        if acl.permission is Permission.DENY:
                            return False
                        allowed = True
                    elif acl.permission is Permission.ALLOW and acl.operation in _IMPLIED_BY.get(operation, ()):
                        allowed = True
        return allowed

    def _decide_any(self, principal: str, host: str, operation: Operation, resource_type: ResourceType) -> bool:
        """Return whether a pattern allows the operation and no other pattern denies it. _IMPLIED_BY is not used."""
        if self._asks_for_any_resource_first and self._decide(principal, host, operation, resource_type, ANY_RESOURCE):
            return True
        found = [
            acl
            for acl in self._acls.of_principals(resource_type, {principal, EVERY_USER})
            if acl.host in (host, WILDCARD) and acl.operation in (operation, Operation.ALL)
        ]
        denied = _names(found, Permission.DENY, PatternType.LITERAL)
        if WILDCARD in denied:
            return False
        if self._allows_without_acl and not self._asks_for_any_resource_first:
            return True
        denied_prefixes = _names(found, Permission.DENY, PatternType.PREFIXED)
        literal = _names(found, Permission.ALLOW, PatternType.LITERAL)
        if WILDCARD in literal:
            return True
        names = (literal - denied) | _names(found, Permission.ALLOW, PatternType.PREFIXED)
        return any(not _begins_with_one_of(name, denied_prefixes) for name in names)


def _names(acls: Collection[Acl], permission: Permission, pattern_type: PatternType) -> set[str]:
    return {acl.resource_name for acl in acls if acl.permission is permission and acl.pattern_type is pattern_type}


def _begins_with_one_of(name: str, prefixes: Collection[str]) -> bool:
    return any(name[:length] in prefixes for length in range(1, len(name) + 1)) if prefixes else False
