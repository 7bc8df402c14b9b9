"""ACLs: which principals may, or may not, perform an operation on resources.

The numbers are those of the protocol. Source: org.apache.kafka.common.acl, org.apache.kafka.common.resource.
"""

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


CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of type CLUSTER."""
WILDCARD = "*"
"""Every resource name in a literal pattern, every host, or, as `User:*`, every user."""


class Acl(NamedTuple):
    """An ACL: a pattern of resources, a principal such as `User:alice`, a host, an operation and a permission."""

    resource_type: ResourceType
    pattern_type: PatternType
    resource_name: str
    principal: str
    host: str
    operation: Operation
    permission: Permission
