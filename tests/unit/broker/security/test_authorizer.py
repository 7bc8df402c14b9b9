"""The decisions of the authorizer, compared with a model written from Kafka's documentation."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.security.acl import Acl, Acls, Operation, PatternType, Permission, ResourceType
from kafkalet.broker.security.authorizer import LONGEST_REMEMBERED_NAME, MOST_DECISIONS, Authorizer
from kafkalet.broker.security.principal import Principal, user

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
ALICE, BOB = user("alice"), user("bob")
HOST = "10.0.0.1"


def acl(
    name: str = "t",
    operation: Operation = Operation.READ,
    permission: Permission = Permission.ALLOW,
    *,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = "User:alice",
    host: str = "*",
    resource_type: ResourceType = TOPIC,
) -> Acl:
    return Acl(resource_type, pattern, name, principal, host, operation, permission)


def allowed(*acls: Acl, operation: Operation = Operation.READ, principal: Principal = ALICE, name: str = "t") -> bool:
    return Authorizer(Acls(acls)).authorizes(principal, HOST, operation, TOPIC, name)


def allowed_any(*acls: Acl, operation: Operation = Operation.READ, **options: bool) -> bool:
    return Authorizer(Acls(acls), **options).authorizes_any(ALICE, HOST, operation, TOPIC)


DENIED = Permission.DENY
PREFIXED = PatternType.PREFIXED


# One resource


def test_nothing_is_allowed_without_acls() -> None:
    assert not allowed()


@pytest.mark.parametrize(
    ("granted", "is_allowed"),
    [
        (acl(), True),
        (acl("u"), False),
        (acl("*"), True),
        (acl("*", pattern=PREFIXED), False),
        (acl("", pattern=PREFIXED), True),
        (acl("t", pattern=PREFIXED), True),
        (acl("tt", pattern=PREFIXED), False),
        (acl(operation=Operation.ALL), True),
        (acl(operation=Operation.WRITE), False),
        (acl(principal="User:*"), True),
        (acl(principal="User:bob"), False),
        (acl(principal="Group:alice"), False),
        (acl(principal="Group:*"), False),
        (acl(host=HOST), True),
        (acl(host="10.0.0.2"), False),
        (acl(resource_type=GROUP), False),
    ],
)
def test_acl_allows_what_it_names(granted: Acl, is_allowed: bool) -> None:
    assert allowed(granted) is is_allowed


def test_wildcard_user_includes_other_types_of_principals() -> None:
    assert allowed(acl(principal="User:*"), principal=Principal("Service", "x"))


@pytest.mark.parametrize(
    "denied",
    [
        acl(permission=DENIED),
        acl("*", permission=DENIED),
        acl("t", pattern=PREFIXED, permission=DENIED),
        acl(operation=Operation.ALL, permission=DENIED),
        acl(principal="User:*", permission=DENIED),
    ],
)
def test_denial_wins_over_permission(denied: Acl) -> None:
    assert not allowed(acl(), acl("*"), denied, acl("t", pattern=PREFIXED))


@pytest.mark.parametrize("granted", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_operation_implies_describe(granted: Operation) -> None:
    assert allowed(acl(operation=granted), operation=Operation.DESCRIBE)


@pytest.mark.parametrize("granted", [Operation.CREATE, Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS])
def test_operation_does_not_imply_describe(granted: Operation) -> None:
    assert not allowed(acl(operation=granted), operation=Operation.DESCRIBE)


def test_alter_configs_implies_describe_configs() -> None:
    assert allowed(acl(operation=Operation.ALTER_CONFIGS), operation=Operation.DESCRIBE_CONFIGS)


def test_denied_read_does_not_deny_describe() -> None:
    acls = acl(operation=Operation.DESCRIBE), acl(operation=Operation.READ, permission=DENIED)
    assert allowed(*acls, operation=Operation.DESCRIBE)


def test_super_user_may_do_what_is_denied() -> None:
    acls = Acls([acl("*", Operation.ALL, DENIED, principal="User:*")])
    authorizer = Authorizer(acls, [ALICE])
    assert authorizer.authorizes(ALICE, HOST, Operation.READ, TOPIC, "t")
    assert authorizer.authorizes_any(ALICE, HOST, Operation.READ, TOPIC)
    assert not authorizer.authorizes(BOB, HOST, Operation.READ, TOPIC, "t")


def test_brokers_with_different_super_users_share_the_acls() -> None:
    acls = Acls([acl()])
    for super_user, other in ((ALICE, BOB), (BOB, ALICE)):
        authorizer = Authorizer(acls, [super_user])
        assert authorizer.authorizes(super_user, HOST, Operation.WRITE, TOPIC, "t")
        assert not authorizer.authorizes(other, HOST, Operation.WRITE, TOPIC, "t")


def test_resource_without_acls_is_allowed_if_the_property_says_so() -> None:
    authorizer = Authorizer(Acls([acl("u", principal="User:bob")]), allows_without_acl=True)
    assert authorizer.authorizes(ALICE, HOST, Operation.READ, TOPIC, "t")
    assert not authorizer.authorizes(ALICE, HOST, Operation.READ, TOPIC, "u")


# Changes and the memory of decisions


def test_decision_follows_a_change_of_the_acls() -> None:
    acls = Acls()
    authorizer = Authorizer(acls)

    def decisions() -> tuple[bool, bool]:
        return (
            authorizer.authorizes(ALICE, HOST, Operation.READ, TOPIC, "t"),
            authorizer.authorizes_any(ALICE, HOST, Operation.READ, TOPIC),
        )

    assert decisions() == (False, False)
    acls.add(acl())
    assert decisions() == (True, True)
    acls.discard(acl())
    assert decisions() == (False, False)


def test_memory_of_decisions_is_limited() -> None:
    authorizer = Authorizer(Acls())
    for number in range(MOST_DECISIONS + 10):
        authorizer.authorizes(ALICE, HOST, Operation.READ, TOPIC, str(number))
    assert len(authorizer._decisions) <= MOST_DECISIONS


def test_decision_about_a_long_name_is_not_remembered() -> None:
    authorizer = Authorizer(Acls())
    authorizer.authorizes(ALICE, HOST, Operation.READ, GROUP, "g" * (LONGEST_REMEMBERED_NAME + 1))
    assert not authorizer._decisions


# Any resource of a type (KIP-679)


@pytest.mark.parametrize(
    ("acls", "is_allowed"),
    [
        ([acl()], True),
        ([acl(operation=Operation.ALL)], True),
        ([acl(operation=Operation.WRITE)], False),
        ([acl(permission=DENIED)], False),
        ([acl(), acl(permission=DENIED)], False),
        ([acl(), acl("u", permission=DENIED)], True),
        ([acl(), acl("*", permission=DENIED)], False),
        ([acl(), acl("t", pattern=PREFIXED, permission=DENIED)], False),
        ([acl("tt", pattern=PREFIXED), acl("t", pattern=PREFIXED, permission=DENIED)], False),
        ([acl("t", pattern=PREFIXED), acl("tt", pattern=PREFIXED, permission=DENIED)], True),
        ([acl("t", pattern=PREFIXED), acl("t", permission=DENIED)], True),
        ([acl("*"), acl("t", permission=DENIED)], True),
        ([acl(principal="User:*")], True),
        ([acl(principal="User:bob")], False),
        ([acl(host="10.0.0.2")], False),
        ([acl(resource_type=GROUP)], False),
    ],
)
def test_resource_type_is_allowed_by_patterns_that_are_not_denied(acls: list[Acl], is_allowed: bool) -> None:
    assert allowed_any(*acls) is is_allowed


def test_implied_operation_of_a_wildcard_is_allowed_on_a_resource_type_only_in_kraft() -> None:
    granted = acl("*", Operation.WRITE)
    assert allowed_any(granted, operation=Operation.DESCRIBE)
    assert not allowed_any(granted, operation=Operation.DESCRIBE, asks_for_any_resource_first=False)


def test_resource_type_without_acls_is_allowed_if_the_property_says_so() -> None:
    assert allowed_any(allows_without_acl=True)
    assert allowed_any(allows_without_acl=True, asks_for_any_resource_first=False)


def test_acl_of_another_operation_ends_the_permission_of_a_resource_type_only_in_kraft() -> None:
    other = acl("*", Operation.WRITE, principal="User:bob")
    assert not allowed_any(other, allows_without_acl=True)
    assert allowed_any(other, allows_without_acl=True, asks_for_any_resource_first=False)


# The model


NAMES = st.sampled_from(["a", "ab", "abc", "b", "*", "hardcode"])
ACLS = st.lists(
    st.builds(
        Acl,
        st.sampled_from([TOPIC, GROUP]),
        st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
        NAMES,
        st.sampled_from(["User:alice", "User:bob", "User:*", "Group:alice"]),
        st.sampled_from(["*", HOST, "10.0.0.2"]),
        st.sampled_from([each for each in Operation if each > Operation.ANY]),
        st.sampled_from([Permission.ALLOW, Permission.DENY]),
    ),
    max_size=12,
)
OPERATIONS = st.sampled_from([each for each in Operation if each > Operation.ALL])


def says_documentation(acls: Sequence[Acl], operation: Operation, name: str, *, default: bool) -> bool:
    """Kafka's documentation: matching ACLs decide; a denial wins; some allowed operations imply another one."""
    matching = [
        each
        for each in acls
        if each.resource_type is TOPIC
        and (
            name.startswith(each.resource_name)
            if each.pattern_type is PatternType.PREFIXED
            else each.resource_name in (name, "*")
        )
    ]
    mine = [each for each in matching if each.principal in ("User:alice", "User:*") and each.host in ("*", HOST)]
    included = {
        Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
        Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
    }.get(operation, set())
    denied = {each.operation for each in mine if each.permission is Permission.DENY}
    granted = {each.operation for each in mine if each.permission is Permission.ALLOW}
    if denied & {operation, Operation.ALL}:
        return False
    if granted & ({operation, Operation.ALL} | included):
        return True
    return default and not matching


@given(ACLS, ACLS, OPERATIONS, NAMES, st.booleans())
def test_decision_agrees_with_the_model(
    added: list[Acl], removed: list[Acl], operation: Operation, name: str, default: bool
) -> None:
    acls = Acls([*added, *removed])
    authorizer = Authorizer(acls, allows_without_acl=default)
    everything = list(acls)
    expected = says_documentation(everything, operation, name, default=default)
    assert authorizer.authorizes(ALICE, HOST, operation, TOPIC, name) is expected
    for each in removed:
        acls.discard(each)
    expected = says_documentation(list(acls), operation, name, default=default)
    assert authorizer.authorizes(ALICE, HOST, operation, TOPIC, name) is expected


@given(ACLS, OPERATIONS)
def test_permission_on_a_resource_type_means_that_some_resource_is_allowed(
    acls: list[Acl], operation: Operation
) -> None:
    if Authorizer(Acls(acls)).authorizes_any(ALICE, HOST, operation, TOPIC):
        names = {"hardcode", "q", *(each.resource_name for each in acls)}
        names |= {name + "~" for name in names}
        assert any(says_documentation(acls, operation, name, default=False) for name in names)
