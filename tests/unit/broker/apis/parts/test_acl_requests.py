"""Which ACLs and filters Kafka accepts, and which ACLs a filter matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.apis.parts.acl_requests import (
    BETWEEN_PAUSES,
    AclFilter,
    acl_of,
    check_filter,
    check_new,
    filter_of,
    matching,
)
from kafkalet.broker.config.release import Release
from kafkalet.broker.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.create_acls import CreateAclsRequest
from kafkalet.protocol.messages.describe_acls import DescribeAclsRequest
from kafkalet.tasks.task import finish

KRAFT, ZOOKEEPER = Release.of("4.4"), Release.of("2.8")
ACL = Acl(ResourceType.TOPIC, PatternType.LITERAL, "t", "User:alice", "*", Operation.READ, Permission.ALLOW)
EVERY = AclFilter(ResourceType.ANY, PatternType.ANY, None, None, None, Operation.ANY, Permission.ANY)


def creation(**fields: object) -> CreateAclsRequest.Creation:
    values = {"resource_type": 2, "resource_name": "t", "principal": "User:alice", "host": "*", "operation": 3}
    return CreateAclsRequest.Creation(**(values | {"permission_type": 3} | fields))


def refusal(acl: Acl, release: Release = KRAFT) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        check_new(acl, release)
    return caught.value


# Filters


@pytest.mark.parametrize(
    ("changes", "matches"),
    [
        ({}, True),
        ({"resource_type": ResourceType.TOPIC}, True),
        ({"resource_type": ResourceType.GROUP}, False),
        ({"resource_name": "t"}, True),
        ({"resource_name": "u"}, False),
        ({"pattern_type": PatternType.LITERAL}, True),
        ({"pattern_type": PatternType.PREFIXED}, False),
        ({"principal": "User:alice"}, True),
        ({"principal": "User:*"}, False),
        ({"principal": ""}, False),
        ({"host": "*"}, True),
        ({"host": "10.0.0.1"}, False),
        ({"operation": Operation.READ}, True),
        ({"operation": Operation.ALL}, False),
        ({"permission": Permission.ALLOW}, True),
        ({"permission": Permission.DENY}, False),
    ],
)
def test_filter_matches_equal_parts(changes: dict[str, object], matches: bool) -> None:
    assert EVERY._replace(**changes).matches(ACL) is matches  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "name", "wanted", "matches"),
    [
        (PatternType.LITERAL, "t", PatternType.MATCH, True),
        (PatternType.LITERAL, "*", PatternType.MATCH, True),
        (PatternType.LITERAL, "*", PatternType.ANY, False),
        (PatternType.LITERAL, "*", PatternType.LITERAL, False),
        (PatternType.PREFIXED, "t", PatternType.MATCH, True),
        (PatternType.PREFIXED, "t", PatternType.ANY, False),
        (PatternType.PREFIXED, "topic", PatternType.ANY, True),
        (PatternType.PREFIXED, "topic", PatternType.PREFIXED, True),
        (PatternType.PREFIXED, "topic", PatternType.LITERAL, False),
        (PatternType.PREFIXED, "topics", PatternType.MATCH, False),
        (PatternType.PREFIXED, "*", PatternType.MATCH, False),
    ],
)
def test_filter_matches_patterns_of_a_name(pattern: PatternType, name: str, wanted: PatternType, matches: bool) -> None:
    acl = ACL._replace(pattern_type=pattern, resource_name=name)
    name = "t" if name == "t" and pattern is PatternType.LITERAL else "topic"
    assert EVERY._replace(pattern_type=wanted, resource_name=name).matches(acl) is matches


def test_long_search_yields_to_other_clients() -> None:
    search = matching(EVERY, [ACL] * (2 * BETWEEN_PAUSES))
    assert search.send(None) is None
    assert search.send(None) is None
    with pytest.raises(StopIteration) as ended:
        search.send(None)
    assert len(ended.value.value) == 2 * BETWEEN_PAUSES


def test_search_returns_matching_acls_in_their_order() -> None:
    acls = [ACL._replace(resource_name=name) for name in "bac"]
    assert finish(matching(EVERY._replace(resource_name="a"), acls)) == [acls[1]]


# Values that a release does not know


@pytest.mark.parametrize("field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
def test_filter_with_the_value_0_cannot_be_read(field: str) -> None:
    values = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    names = dict.fromkeys(("resource_name_filter", "principal_filter", "host_filter"))
    with pytest.raises(DecodeError):
        filter_of(DescribeAclsRequest(**(names | values | {field: 0})), KRAFT)  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [{"resource_type": 1}, {"resource_pattern_type": 2}, {"operation": 1}])
def test_acl_with_a_value_for_filters_fails_the_request(changes: dict[str, int]) -> None:
    with pytest.raises(KafkaError) as caught:
        acl_of(creation(**changes), KRAFT)
    assert (caught.value.code, caught.value.message) == (Code.UNKNOWN_SERVER_ERROR, None)


@given(st.integers(2, 127), st.integers(3, 127), st.integers(2, 127), st.integers(2, 127))
def test_every_number_is_a_value_or_unknown(kind: int, pattern: int, operation: int, permission: int) -> None:
    made = creation(resource_type=kind, resource_pattern_type=pattern, operation=operation, permission_type=permission)
    acl = acl_of(made, KRAFT)
    assert acl.resource_type in (kind, ResourceType.UNKNOWN)
    assert acl.operation in (operation, Operation.UNKNOWN)


@pytest.mark.parametrize(
    ("release", "changes", "is_known"),
    [
        (KRAFT, {"resource_type": 7}, True),
        (ZOOKEEPER, {"resource_type": 7}, False),
        (KRAFT, {"operation": 13}, True),
        (ZOOKEEPER, {"operation": 13}, False),
        (KRAFT, {"operation": 15}, True),
        (Release.of("3.9"), {"operation": 15}, False),
    ],
)
def test_release_knows_a_resource_or_operation(release: Release, changes: dict[str, int], is_known: bool) -> None:
    acl = acl_of(creation(**changes), release)
    assert (acl.resource_type is not ResourceType.UNKNOWN and acl.operation is not Operation.UNKNOWN) is is_known


# New ACLs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource_type": ResourceType.UNKNOWN}, "Invalid resourceType UNKNOWN"),
        ({"pattern_type": PatternType.UNKNOWN}, "Invalid patternType UNKNOWN"),
        ({"operation": Operation.UNKNOWN}, "Invalid operation UNKNOWN"),
        ({"permission": Permission.UNKNOWN}, "Invalid permissionType UNKNOWN"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_type": ResourceType.CLUSTER}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"host": ""}, "Host pattern cannot be null or empty"),
    ],
)
def test_new_acl_is_refused(changes: dict[str, object], message: str) -> None:
    error = refusal(ACL._replace(**changes))  # type: ignore[arg-type]
    assert (error.code, error.message) == (Code.INVALID_REQUEST, message)


def test_acl_without_host_is_created_before_4_0() -> None:
    check_new(ACL._replace(host=""), Release.of("3.9"))


def test_release_with_zookeeper_names_no_reason_for_unknown_values() -> None:
    error = refusal(ACL._replace(operation=Operation.UNKNOWN), ZOOKEEPER)
    assert (error.code, error.message) == (Code.INVALID_REQUEST, "Failed to create ACL")


def test_release_with_zookeeper_fails_for_a_principal_without_type() -> None:
    assert refusal(ACL._replace(principal="alice"), ZOOKEEPER).code == Code.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource_type": ResourceType.UNKNOWN}, "Unknown patternFilter."),
        ({"pattern_type": PatternType.UNKNOWN}, "Unknown patternFilter."),
        ({"operation": Operation.UNKNOWN}, "Unknown entryFilter."),
        ({"permission": Permission.UNKNOWN}, "Unknown entryFilter."),
    ],
)
def test_filter_with_unknown_values_deletes_nothing(changes: dict[str, object], message: str) -> None:
    acl_filter = EVERY._replace(**changes)  # type: ignore[arg-type]
    with pytest.raises(KafkaError) as caught:
        check_filter(acl_filter, KRAFT)
    assert (caught.value.code, caught.value.message) == (Code.INVALID_REQUEST, message)
    check_filter(acl_filter, ZOOKEEPER)
