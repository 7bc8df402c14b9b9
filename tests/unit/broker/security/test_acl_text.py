"""Tests of the text form of ACLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.broker.security.acl_text import EXAMPLES, GRAMMAR, parse_acls

T = ResourceType.TOPIC
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def one(text: str) -> Acl:
    [acl] = parse_acls(text)
    return acl


def test_each_operation_becomes_an_acl() -> None:
    acls = parse_acls("alice:read,describe:topic:orders*")
    assert acls == [
        Acl(T, PREFIXED, "orders", "User:alice", "*", operation, Permission.ALLOW)
        for operation in (Operation.READ, Operation.DESCRIBE)
    ]


def test_repeated_operation_counts_once() -> None:
    assert len(parse_acls("alice:read,READ:topic:orders")) == 1


def test_deny_becomes_the_permission() -> None:
    assert one("deny:alice:read:topic:orders").permission is Permission.DENY


def test_address_after_from_becomes_the_host() -> None:
    acl = one("alice:read:group:billing from ::1")
    assert (acl.host, acl.resource_name) == ("::1", "billing")


def test_word_after_from_that_is_not_an_address_belongs_to_the_name() -> None:
    acl = one("alice:read:group:mail from queue")
    assert (acl.host, acl.resource_name) == ("*", "mail from queue")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("*", (LITERAL, "*")), ("o*", (PREFIXED, "o")), ("o", (LITERAL, "o")), ("a:b", (LITERAL, "a:b"))],
)
def test_name_becomes_a_pattern(name: str, expected: tuple[PatternType, str]) -> None:
    acl = one(f"alice:read:group:{name}")
    assert (acl.pattern_type, acl.resource_name) == expected


@pytest.mark.parametrize(
    ("user", "principal"),
    [
        ("alice", "User:alice"),
        ("User:alice", "User:alice"),
        ("*", "User:*"),
        ("CN=alice,O=shop", "User:CN=alice,O=shop"),
        ("urn:shop:alice", "User:urn:shop:alice"),
        ("User:deny", "User:deny"),
    ],
)
def test_user_becomes_a_principal(user: str, principal: str) -> None:
    assert one(f"{user}:read:topic:orders").principal == principal


@pytest.mark.parametrize(
    ("resource", "kind", "operation"),
    [
        ("transactional-id:t", ResourceType.TRANSACTIONAL_ID, "two-phase-commit"),
        ("TransactionalId:t", ResourceType.TRANSACTIONAL_ID, "Write"),
        ("delegation-token:t", ResourceType.DELEGATION_TOKEN, "describe"),
        ("user:t", ResourceType.USER, "create-tokens"),
        ("group:t", ResourceType.GROUP, "all"),
        ("topic:t", T, "DESCRIBE_CONFIGS"),
    ],
)
def test_resource_type_is_recognized(resource: str, kind: ResourceType, operation: str) -> None:
    assert one(f"alice:{operation}:{resource}").resource_type is kind


@pytest.mark.parametrize("name", ["", ":kafka-cluster", ":*"])
def test_cluster_has_one_name(name: str) -> None:
    assert one(f"alice:alter:cluster{name}").resource_name == "kafka-cluster"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no user, operation and resource type"),
        ("alice", "no user, operation and resource type"),
        ("alice:read", "no user, operation and resource type"),
        ("alice:read:orders", "orders is not a resource type"),
        ("alice:read:topik:orders", "topik is not a resource type"),
        ("read:topic:orders", "no user, operation and resource type"),
        ("deny:read:topic:orders", "no user, operation and resource type"),
        ("alice:look:topic:orders", "look is not an operation"),
        ("alice:read,look:topic:orders", "look is not an operation"),
        ("alice:read,:topic:orders", "an empty word is not an operation"),
        ("alice::topic:orders", "an empty word is not an operation"),
        (":read:topic:orders", "the user is missing"),
        ("alice:read:topic:", "the name of the topic is missing"),
        ("alice:read:topic", "the name of the topic is missing"),
        ("alice:read:topic:or*ders", "not the last character"),
        ("alice:read:cluster", "read does not exist for cluster"),
        ("alice:alter:cluster:other", "one cluster"),
        ("alice:write:group:g", "write does not exist for group"),
    ],
)
def test_invalid_text_is_refused_with_the_text_and_the_grammar(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="is invalid") as refused:
        parse_acls(text)
    assert reason in str(refused.value)
    assert repr(text) in str(refused.value)
    assert GRAMMAR in str(refused.value)


@pytest.mark.parametrize("text", EXAMPLES)
def test_example_is_valid(text: str) -> None:
    assert parse_acls(text)


@pytest.mark.parametrize("text", ["alice:read:topic:orders*", "deny:*:all:group:* from 10.0.0.7", "a:b:alter:cluster"])
def test_acl_text_round_trips(text: str) -> None:
    assert str(one(text)) == text


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        acls = parse_acls(text)
    except ValueError:
        return
    assert [parse_acls(str(acl)) for acl in acls] == [[acl] for acl in acls]
