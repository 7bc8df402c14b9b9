"""The ACLs of a cluster and their index."""

from kafkalet.broker.security.acl import Acl, Acls, Operation, PatternType, Permission, ResourceType


def acl(name: str, principal: str = "User:alice", pattern: PatternType = PatternType.LITERAL, host: str = "*") -> Acl:
    return Acl(ResourceType.TOPIC, pattern, name, principal, host, Operation.READ, Permission.ALLOW)


def of_topic(acls: Acls, name: str) -> list[str]:
    found = acls.of_resource(ResourceType.TOPIC, name)
    return sorted(each.resource_name for entries in found for each in entries["User:alice"])


def test_acls_keep_the_order_of_their_creation() -> None:
    acls = Acls([acl("b"), acl("a"), acl("c")])
    assert [each.resource_name for each in acls] == ["b", "a", "c"]


def test_acl_that_exists_is_not_added_again() -> None:
    acls = Acls([acl("a")])
    assert not acls.add(acl("a"))
    assert (len(acls), acls.version) == (1, 1)


def test_acl_that_does_not_exist_is_not_removed() -> None:
    acls = Acls([acl("a")])
    assert not acls.discard(acl("b"))
    assert (len(acls), acls.version) == (1, 1)


def test_resource_has_its_literal_pattern_its_prefixes_and_the_wildcard() -> None:
    prefixes = [acl(name, pattern=PatternType.PREFIXED) for name in ("or", "order", "orders-eu", "p", "*")]
    acls = Acls([acl("orders"), acl("*"), acl("order"), acl("other"), *prefixes])
    assert of_topic(acls, "orders") == ["*", "or", "order", "orders"]


def test_resource_of_another_type_has_no_acls() -> None:
    assert Acls([acl("a")]).of_resource(ResourceType.GROUP, "a") == []


def test_removed_acls_leave_the_index() -> None:
    every = [acl("a"), acl("a", host="::1"), acl("a", pattern=PatternType.PREFIXED), acl("*"), acl("a", "User:bob")]
    acls = Acls(every)
    for each in every:
        assert acls.discard(each)
    assert acls.of_resource(ResourceType.TOPIC, "a") == []
    assert not list(acls.of_principals(ResourceType.TOPIC, ["User:alice", "User:bob"]))


def test_prefix_stays_until_its_last_acl_is_removed() -> None:
    first, second = (acl("a", host=host, pattern=PatternType.PREFIXED) for host in ("h", "i"))
    acls = Acls([first, second])
    acls.discard(first)
    assert of_topic(acls, "abc") == ["a"]


def test_acls_of_principals_are_those_of_a_resource_type() -> None:
    group = acl("g")._replace(resource_type=ResourceType.GROUP)
    acls = Acls([acl("a"), acl("p", pattern=PatternType.PREFIXED), acl("b", "User:bob"), group])
    assert [each.resource_name for each in acls.of_principals(ResourceType.TOPIC, ["User:alice"])] == ["a", "p"]


def test_acls_are_equal_if_they_have_the_same_elements() -> None:
    assert Acls([acl("a")]) == Acls([acl("a")])
    assert Acls([acl("a")]) != Acls([acl("b")])
