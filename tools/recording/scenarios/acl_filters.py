"""The filters of DescribeAcls and DeleteAcls, and the ACLs that CreateAcls accepts.

The ACLs of each scenario have their own principal, so that filters for all names find no others.
"""

from typing import Any

from kafkalet_conformance.access import (
    ALL,
    ANY,
    CLUSTER,
    DENY,
    DESCRIBE,
    GROUPS,
    IDEMPOTENT_WRITE,
    KAFKA_CLUSTER,
    LITERAL,
    MATCH,
    PREFIXED,
    READ,
    TOPICS,
    TRANSACTIONAL_IDS,
    WRITE,
    acl_filter,
)
from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, Scenarios
from tools.recording.rights import acl, ends

scenario = Scenarios("authorization", EVERY_RELEASE, acl=True)

TOKENS, USERS = 6, 7
NOT_IN_ZOOKEEPER = {"name with a null character", "name with a colon and a slash", "name .."}
"""Names that cannot be part of a path in ZooKeeper, where 2.8 keeps ACLs."""
PATTERNS = {"ANY": ANY, "MATCH": MATCH, "LITERAL": LITERAL, "PREFIXED": PREFIXED}


def created(ask: ScenarioBuilder) -> list[str]:
    """Create ACLs of two principals. Return the principals, a topic, and a prefix of its name."""
    who, other = (ask.let(name, f"User:c<unique>.{ask.name}.{name}") for name in ("who", "other"))
    t, p, longer = (
        ask.let(name, f"c<unique>.{ask.name}.{text}")
        for name, text in (("t", "orders"), ("p", "order"), ("longer", "orders-1"))
    )
    mine: Any = {"principal": who}
    acls = [
        acl(TOPICS, t, READ, **mine),
        acl(TOPICS, t, WRITE, **mine),
        acl(TOPICS, t, READ, host="127.0.0.1", **mine),
        acl(TOPICS, t, READ, permission_type=DENY, **mine),
        acl(TOPICS, t, READ, PREFIXED, **mine),
        acl(TOPICS, p, ALL, PREFIXED, **mine),
        acl(TOPICS, longer, READ, PREFIXED, **mine),
        acl(TOPICS, "*", DESCRIBE, **mine),
        acl(TOPICS, "*", DESCRIBE, PREFIXED, **mine),
        acl(GROUPS, t, READ, **mine),
        acl(TRANSACTIONAL_IDS, p, WRITE, PREFIXED, **mine),
        acl(CLUSTER, KAFKA_CLUSTER, IDEMPOTENT_WRITE, **mine),
        acl(TOKENS, t, DESCRIBE, **mine),
        acl(TOPICS, t, READ, principal=other),
    ]
    ask.setup("CreateAcls", 2, {"creations": acls})
    everything = acl_filter(TOPICS, t, principal_filter=other)
    ask.until("DescribeAcls", 2, everything, "resources.0.resource_name", t)
    ask.step("sleep", ms=100)
    return [who, other, t, p, longer]


def cleared(ask: ScenarioBuilder, *principals: str) -> None:
    """Delete all ACLs of some principals."""
    for principal in principals:
        every = acl_filter(ANY, None, pattern_type_filter=ANY, principal_filter=principal)
        ask.setup("DeleteAcls", 2, {"filters": [every]})
        ask.until("DescribeAcls", 2, every, "resources", [])


def filters(who: str, t: str, p: str, longer: str) -> dict[str, Step]:
    """Return filters for ACLs of one principal."""
    of: Any = {"principal_filter": who}
    found: dict[str, Step] = {}
    for pattern, number in PATTERNS.items():
        names = {"no name": None, "name": t, "prefix": p, "longer name": longer, "*": "*", "unknown name": "nope"}
        for name, text in names.items():
            found[f"topics, {pattern}, {name}"] = acl_filter(TOPICS, text, pattern_type_filter=number, **of)
    for number, resource in {1: "any", 3: "groups", 4: "cluster", 5: "transactional ids", 6: "tokens"}.items():
        found[f"resources: {resource}"] = acl_filter(number, None, pattern_type_filter=ANY, **of)
    found["name of any resource"] = acl_filter(ANY, t, pattern_type_filter=ANY, **of)
    found["cluster by name"] = acl_filter(CLUSTER, KAFKA_CLUSTER, **of)
    found["cluster by another name"] = acl_filter(CLUSTER, "other", **of)
    any_topic: Any = {"pattern_type_filter": ANY} | of
    for case, more in {
        "host": {"host_filter": "127.0.0.1"},
        "all hosts": {"host_filter": "*"},
        "unknown host": {"host_filter": "127.0.0.2"},
        "operation": {"operation": READ},
        "operation ALL": {"operation": ALL},
        "operation without ACL": {"operation": 6},
        "denied": {"permission_type": DENY},
        "allowed": {"permission_type": 3},
        "all of one": {"host_filter": "*", "operation": READ, "permission_type": 3},
    }.items():
        found[case] = acl_filter(TOPICS, None, **any_topic | more)
    return found


@scenario("KIP-140 KIP-290 AclBindingFilter")
def acl_filters(ask: ScenarioBuilder) -> None:
    """DescribeAcls returns the ACLs that match every part of its filter; with MATCH, those that apply to a name."""
    who, other, t, p, longer = created(ask)
    last = ask.versions("DescribeAcls")[-1]
    for case, wanted in filters(who, t, p, longer).items():
        ask.request(case, "DescribeAcls", last, wanted)
    both = acl_filter(TOPICS, t, pattern_type_filter=LITERAL)
    ask.request("no principal", "DescribeAcls", last, both)
    ask.request(
        "no principal, operation READ and host *", "DescribeAcls", last, both | {"operation": READ, "host_filter": "*"}
    )
    for case, principal in {
        "another principal": other,
        "no such principal": "User:nobody",
        "User:* is not a wildcard": "User:*",
        "principal without type": "nobody",
        "empty principal": "",
    }.items():
        ask.request(case, "DescribeAcls", last, acl_filter(TOPICS, t, principal_filter=principal))
    for case, host in {"empty host": "", "host name": "example.org"}.items():
        ask.request(case, "DescribeAcls", last, acl_filter(TOPICS, t, host_filter=host))
    ask.request("empty name", "DescribeAcls", last, acl_filter(TOPICS, "", principal_filter=who))
    for v in ask.versions("DescribeAcls"):
        ask.request(f"v{v}: literal", "DescribeAcls", v, acl_filter(TOPICS, t, principal_filter=who))
        every = acl_filter(TOPICS, None, pattern_type_filter=ANY if v else LITERAL, principal_filter=who)
        ask.request(f"v{v}: all topics", "DescribeAcls", v, every)
    cleared(ask, who, other)


@scenario("KIP-140 KIP-290 AclBindingFilter AclControlManager")
def acl_deletions(ask: ScenarioBuilder) -> None:
    """DeleteAcls returns the ACLs that each filter deleted; an ACL that two filters match is returned for both, in 2.8
    only for the first.
    """
    last = ask.versions("DeleteAcls")[-1]
    who, other, t, _, longer = created(ask)
    every = acl_filter(ANY, None, pattern_type_filter=ANY, principal_filter=who)

    def delete(case: str, *wanted: Step, version: int = last) -> None:
        ask.request(case, "DeleteAcls", version, {"filters": list(wanted)})
        ask.step("sleep", ms=100)
        ask.request(f"left after {case}", "DescribeAcls", ask.versions("DescribeAcls")[-1], every)

    of: Any = {"principal_filter": who}
    delete("no filter")
    delete("nothing matches", acl_filter(TOPICS, "nope", **of))
    reading = acl_filter(TOPICS, t, operation=READ, **of)
    delete("two filters for the same", reading, acl_filter(TOPICS, t, host_filter="127.0.0.1", **of))
    delete("the same filter twice", acl_filter(GROUPS, t, **of), acl_filter(GROUPS, t, **of))
    wrong = acl_filter(TOPICS, t, operation=0, **of)
    delete("a wrong filter and a right one", wrong, acl_filter(TOPICS, t, operation=WRITE, **of))
    delete("MATCH", acl_filter(TOPICS, longer, pattern_type_filter=MATCH, **of))
    delete("v1: any resource, literal", acl_filter(ANY, None, **of), version=1)
    delete("any", every, every)
    ask.request("another principal keeps its ACL", "DescribeAcls", last, acl_filter(TOPICS, t))
    cleared(ask, who, other)


@scenario("KIP-140 KIP-290 AclBindingFilter AclControlManager")
def acl_creations(ask: ScenarioBuilder) -> None:
    """CreateAcls accepts duplicates, every operation for every resource, and names with any characters; an ACL that is
    refused does not affect the others."""
    last = ask.versions("CreateAcls")[-1]
    who = ask.let("who", f"User:c<unique>.{ask.name}")
    mine: Any = {"principal": who}
    every = acl_filter(ANY, None, pattern_type_filter=ANY, principal_filter=who)

    def create(case: str, *acls: Step, version: int = last) -> None:
        ask.request(case, "CreateAcls", version, {"creations": list(acls)})
        ask.step("sleep", ms=100)
        ask.request(f"{case}: described", "DescribeAcls", ask.versions("DescribeAcls")[-1], every)
        cleared(ask, who)

    t = ask.unique("t")
    one = acl(TOPICS, t, READ, **mine)
    create("none")
    create("the same twice", one, one)
    create("the same allowed and denied", one, one | {"permission_type": DENY})
    create("one good, one wrong", one, acl(TOPICS, "", READ, **mine), acl(TOPICS, t, WRITE, **mine))
    for v in ends(ask.versions("CreateAcls")):
        create(f"v{v}: literal", one, version=v)
    for number, resource in {3: "group", 4: "cluster", 5: "transactional id", 6: "token", 2: "topic"}.items():
        name = KAFKA_CLUSTER if number == CLUSTER else t
        every_operation = [acl(number, name, operation, **mine) for operation in range(2, 13)]
        create(f"every operation on a {resource}", *every_operation)
    later = [
        acl(TOPICS, t, 13, **mine),
        acl(TOPICS, t, 14, **mine),
        acl(USERS, t, 13, **mine),
        acl(USERS, t, 14, **mine),
    ]
    create("token operations and users", *later)
    create("token operations and users, v2", *later[:2], version=2)
    create("users in v2", later[2], version=2)
    for case, wrong in {
        "cluster with another name": acl(CLUSTER, t, DESCRIBE, **mine),
        "prefixed cluster": acl(CLUSTER, KAFKA_CLUSTER, DESCRIBE, PREFIXED, **mine),
        "prefix of the cluster": acl(CLUSTER, "kafka", DESCRIBE, PREFIXED, **mine),
        "prefixed *": acl(TOPICS, "*", READ, PREFIXED, **mine),
        "pattern MATCH": acl(TOPICS, t, READ, MATCH, **mine),
        "pattern ANY": acl(TOPICS, t, READ, ANY, **mine),
        "resource ANY": acl(ANY, t, READ, **mine),
        "operation ANY": acl(TOPICS, t, ANY, **mine),
        "permission ANY": acl(TOPICS, t, READ, permission_type=ANY, **mine),
        "resource 99": acl(99, t, READ, **mine),
        "operation 99": acl(TOPICS, t, 99, **mine),
        "permission 99": acl(TOPICS, t, READ, permission_type=99, **mine),
        "name with spaces": acl(TOPICS, "a b", READ, **mine),
        "name with letters of other alphabets": acl(GROUPS, "größe-日本", READ, **mine),
        "name with a null character": acl(GROUPS, "a\0b", READ, **mine),
        "name with a colon and a slash": acl(GROUPS, "a:b/c", READ, **mine),
        "name of 300 characters": acl(GROUPS, "x" * 300, READ, **mine),
        "name ..": acl(TOPICS, "..", READ, **mine),
        "IPv6 host": acl(TOPICS, t, READ, host="::1", **mine),
        "host with a mask": acl(TOPICS, t, READ, host="127.0.0.0/8", **mine),
        "host localhost": acl(TOPICS, t, READ, host="localhost", **mine),
    }.items():
        if ask.release > "3" or case not in NOT_IN_ZOOKEEPER:
            create(case, wrong)
    principals = {
        "name with a colon": "User:c<unique>.acl_creations:b",
        "name with commas": "User:CN=c<unique>.acl_creations,OU=y,C=DE",
        "name with spaces": "User:c<unique>.acl_creations a b",
        "another type": "Group:c<unique>.acl_creations",
        "lower case type": "user:c<unique>.acl_creations",
        "no name": "User:",
        "no type": ":c<unique>.acl_creations",
        "no colon": "c<unique>.acl_creations",
        "only a colon": ":",
    }
    for number, (case, text) in enumerate(principals.items()):
        principal = ask.let(f"principal{number}", text)
        found = acl_filter(TOPICS, t, principal_filter=principal)
        ask.request(f"principal: {case}", "CreateAcls", last, {"creations": [one | {"principal": principal}]})
        ask.step("sleep", ms=100)
        ask.request(f"principal: {case}: described", "DescribeAcls", ask.versions("DescribeAcls")[-1], found)
        ask.request(f"principal: {case}: deleted", "DeleteAcls", ask.versions("DeleteAcls")[-1], {"filters": [found]})
