"""ACLs: which principals may, or may not, perform an operation on resources.

The numbers are those of the protocol. Source: org.apache.kafka.common.acl, org.apache.kafka.common.resource.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple


class ResourceType(IntEnum):
    """The kind of a resource (ResourceType)."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Operation(IntEnum):
    """What a client does with a resource (AclOperation)."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class PatternType(IntEnum):
    """How an ACL names its resources (PatternType)."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """Whether an ACL allows or denies (AclPermissionType)."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


OPERATIONS = {
    ResourceType.TOPIC: (
        *(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE, Operation.DELETE, Operation.ALTER),
        *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    ),
    ResourceType.GROUP: (
        *(Operation.READ, Operation.DESCRIBE, Operation.DELETE, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    ),
    ResourceType.CLUSTER: (
        *(Operation.CREATE, Operation.CLUSTER_ACTION, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
        *(Operation.IDEMPOTENT_WRITE, Operation.ALTER, Operation.DESCRIBE),
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}
"""The operations that Kafka checks on resources of each type (AclEntry.supportedOperations)."""

CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of type CLUSTER."""
WILDCARD = "*"
PRINCIPAL_TYPE = "User:"
"""Stands for every resource name in a literal pattern, and for every host."""
EVERY_USER = "User:*"
"""The principal of ACLs that apply to every principal, of any type."""


def word_of(member: Operation | ResourceType) -> str:
    """Return the word for an operation or a resource type in the text of an ACL."""
    return member.name.lower().replace("_", "-")


class Acl(NamedTuple):
    """An ACL: a pattern of resources, a principal such as `User:alice`, a host, an operation and a permission."""

    resource_type: ResourceType
    pattern_type: PatternType
    resource_name: str
    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        """Return the ACL as text. `parse_acls` restores it, except for names that the text format cannot express."""
        permission = "deny:" if self.permission is Permission.DENY else ""
        principal = self.principal.removeprefix(PRINCIPAL_TYPE)
        if not permission and principal.lower().startswith(("deny:", "allow:")):
            permission = "allow:"
        prefix = WILDCARD if self.pattern_type is PatternType.PREFIXED else ""
        name = "" if self.resource_type is ResourceType.CLUSTER else f":{self.resource_name}{prefix}"
        host = "" if self.host == WILDCARD else f" from {self.host}"
        return f"{permission}{principal}:{word_of(self.operation)}:{word_of(self.resource_type)}{name}{host}"


Entries = dict[str, dict[Acl, None]]
"""The ACLs of one pattern, keyed by principal."""


class _Patterns:
    """The patterns of one resource type with their ACLs, keyed by name."""

    __slots__ = ("lengths", "literal", "prefixed")

    def __init__(self) -> None:
        self.literal: dict[str, Entries] = {}
        self.prefixed: dict[str, Entries] = {}
        self.lengths: dict[int, int] = {}
        """How many prefixed patterns have a name of each length."""

    def add(self, acl: Acl) -> None:
        names = self.literal
        if acl.pattern_type is PatternType.PREFIXED:
            names = self.prefixed
            if acl.resource_name not in names:
                length = len(acl.resource_name)
                self.lengths[length] = self.lengths.get(length, 0) + 1
        names.setdefault(acl.resource_name, {}).setdefault(acl.principal, {})[acl] = None

    def discard(self, acl: Acl) -> None:
        is_prefixed = acl.pattern_type is PatternType.PREFIXED
        names = self.prefixed if is_prefixed else self.literal
        entries = names[acl.resource_name]
        acls = entries[acl.principal]
        del acls[acl]
        if not acls:
            del entries[acl.principal]
        if not entries:
            del names[acl.resource_name]
            if is_prefixed:
                length = len(acl.resource_name)
                self.lengths[length] -= 1
                if not self.lengths[length]:
                    del self.lengths[length]


class Acls:
    """The ACLs of a cluster, in the order of their creation, with an index by resource and principal.

    StandardAuthorizer sorts its ACLs by reverse name. This index looks up the name itself, and its prefixes whose
    length is that of a prefixed pattern.
    """

    __slots__ = ("_acls", "_patterns", "version")

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self._acls: dict[Acl, None] = {}
        self._patterns: dict[ResourceType, _Patterns] = {}
        self.version = 0
        """Incremented with each change."""
        for acl in acls:
            self.add(acl)

    def __len__(self) -> int:
        return len(self._acls)

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._acls)

    def __contains__(self, acl: object) -> bool:
        return acl in self._acls

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Acls) and self._acls == other._acls

    __hash__ = None  # type: ignore[assignment]

    def add(self, acl: Acl) -> bool:
        """Add an ACL. Return False if it exists already."""
        if acl in self._acls:
            return False
        self._acls[acl] = None
        self._patterns.setdefault(acl.resource_type, _Patterns()).add(acl)
        self.version += 1
        return True

    def discard(self, acl: Acl) -> bool:
        """Remove an ACL. Return False if it does not exist."""
        if acl not in self._acls:
            return False
        del self._acls[acl]
        self._patterns[acl.resource_type].discard(acl)
        self.version += 1
        return True

    def of_resource(self, resource_type: ResourceType, name: str) -> list[Entries]:
        """Return the ACLs of each pattern that matches a resource."""
        patterns = self._patterns.get(resource_type)
        if patterns is None:
            return []
        found = [patterns.literal[key] for key in {name, WILDCARD} if key in patterns.literal]
        prefixes = [name[:length] for length in patterns.lengths if length <= len(name)]
        return found + [patterns.prefixed[prefix] for prefix in prefixes if prefix in patterns.prefixed]

    def of_principals(self, resource_type: ResourceType, principals: Iterable[str]) -> Iterator[Acl]:
        """Return the ACLs that name one of these principals and any resource of this type."""
        patterns = self._patterns.get(resource_type)
        if patterns is None:
            return
        for entries in (*patterns.literal.values(), *patterns.prefixed.values()):
            for principal in principals:
                yield from entries.get(principal, ())
