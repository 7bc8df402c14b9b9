"""ACLs and filters of ACLs in requests: which ones Kafka accepts, and which ACLs a filter matches.

Source: org.apache.kafka.common.acl.AclBindingFilter, org.apache.kafka.common.resource.ResourcePatternFilter,
org.apache.kafka.common.requests.CreateAclsRequest and DeleteAclsRequest, kafka.server.AclApis,
org.apache.kafka.controller.AclControlManager.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple, TypeVar

from kafkalet.broker.config.release import Release
from kafkalet.broker.security.acl import CLUSTER_NAME, WILDCARD, Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.create_acls import CreateAclsRequest
from kafkalet.protocol.messages.delete_acls import DeleteAclsRequest
from kafkalet.protocol.messages.describe_acls import DescribeAclsRequest
from kafkalet.tasks.task import pause

BETWEEN_PAUSES = 500
"""How many ACLs are compared with a filter between two pauses."""
UNKNOWN = 0

Creation = CreateAclsRequest.Creation
Filter = DescribeAclsRequest | DeleteAclsRequest.Filter
E = TypeVar("E", bound=IntEnum)


class AclFilter(NamedTuple):
    """Matches ACLs. None and ANY match everything.

    The pattern type MATCH matches every pattern that applies to the resource with this name.
    """

    resource_type: ResourceType
    pattern_type: PatternType
    resource_name: str | None
    principal: str | None
    host: str | None
    operation: Operation
    permission: Permission

    @property
    def unknown(self) -> str:
        """Kafka's name for the part of the filter that has a value unknown to the release, or "" if there is none."""
        if ResourceType.UNKNOWN is self.resource_type or PatternType.UNKNOWN is self.pattern_type:
            return "patternFilter"
        if Operation.UNKNOWN is self.operation or Permission.UNKNOWN is self.permission:
            return "entryFilter"
        return ""

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _matches_name(self, acl: Acl) -> bool:
        pattern_type, name = self.pattern_type, self.resource_name
        if pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if name is None:
            return True
        if pattern_type is not PatternType.MATCH:
            return name == acl.resource_name
        if acl.pattern_type is PatternType.PREFIXED:
            return name.startswith(acl.resource_name)
        return acl.resource_name in (name, WILDCARD)


async def matching(acl_filter: AclFilter, acls: Iterable[Acl]) -> list[Acl]:
    """Return the ACLs that a filter matches, with pauses for other requests."""
    found = []
    for number, acl in enumerate(acls):
        if acl_filter.matches(acl):
            found.append(acl)
        if not number % BETWEEN_PAUSES:
            await pause()
    return found


def filter_of(wanted: Filter, release: Release) -> AclFilter:
    """Return a filter. Raises DecodeError, which closes the connection, if Kafka cannot read the request."""
    if UNKNOWN in (wanted.resource_type_filter, wanted.pattern_type_filter, wanted.operation, wanted.permission_type):
        raise DecodeError("the filter has an element with the value UNKNOWN (0)")
    return AclFilter(
        _resource_type(wanted.resource_type_filter, release),
        _known(PatternType, wanted.pattern_type_filter),
        wanted.resource_name_filter,
        wanted.principal_filter,
        wanted.host_filter,
        _operation(wanted.operation, release),
        _known(Permission, wanted.permission_type),
    )


def check_readable(creations: Iterable[Creation]) -> None:
    """Raise DecodeError, which closes the connection, if Kafka cannot read a CreateAcls request."""
    for each in creations:
        if UNKNOWN in (each.resource_type, each.resource_pattern_type, each.operation, each.permission_type):
            raise DecodeError("the ACL has an element with the value UNKNOWN (0)")


def acl_of(creation: Creation, release: Release) -> Acl:
    """Return an ACL to create, which may have unknown values.

    Raises UNKNOWN_SERVER_ERROR for the whole request if it has a value that only filters may have.
    """
    acl = Acl(
        _resource_type(creation.resource_type, release),
        _known(PatternType, creation.resource_pattern_type),
        creation.resource_name,
        creation.principal,
        creation.host,
        _operation(creation.operation, release),
        _known(Permission, creation.permission_type),
    )
    if (
        acl.resource_type is ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation is Operation.ANY
        or acl.permission is Permission.ANY
    ):
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)  # ResourcePattern and AccessControlEntry raise in the handler
    return acl


def check_new(acl: Acl, release: Release) -> None:
    """Raise INVALID_REQUEST if this ACL cannot be created."""
    if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        raise _invalid("Invalid empty resource name")
    values = (acl.resource_type, acl.pattern_type, acl.operation, acl.permission)
    if UNKNOWN in values:
        name = ("resourceType", "patternType", "operation", "permissionType")[values.index(UNKNOWN)]
        raise _invalid(f"Invalid {name} UNKNOWN" if release.checks_acls_at_controller else "Failed to create ACL")
    if ":" not in acl.principal:
        if not release.checks_acls_at_controller:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        raise _invalid(
            f"Could not parse principal from `{acl.principal}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    if not acl.host and release.refuses_acls_without_host:
        raise _invalid("Host pattern cannot be null or empty")


def check_filter(acl_filter: AclFilter, release: Release) -> None:
    """Raise INVALID_REQUEST if this filter cannot be used to delete ACLs."""
    if acl_filter.unknown and release.checks_acls_at_controller:
        raise _invalid(f"Unknown {acl_filter.unknown}.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_REQUEST, message)


def _known(enum: type[E], code: int) -> E:
    """Return the value with this number, or UNKNOWN."""
    try:
        return enum(code)
    except ValueError:
        return enum(UNKNOWN)


def _resource_type(code: int, release: Release) -> ResourceType:
    known = _known(ResourceType, code)
    return ResourceType.UNKNOWN if known is ResourceType.USER and not release.has_acls_of_users else known


def _operation(code: int, release: Release) -> Operation:
    known = _known(Operation, code)
    if known in (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS) and not release.has_acls_of_users:
        return Operation.UNKNOWN
    if known is Operation.TWO_PHASE_COMMIT and not release.has_acls_of_two_phase_commits:
        return Operation.UNKNOWN
    return known
