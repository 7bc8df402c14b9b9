"""The rules of the authorizer: patterns, hosts, principals, denied and implied operations.

The topics do not have to exist: for an unknown name, a user who has the right gets UNKNOWN_TOPIC_OR_PARTITION, and any
other user gets TOPIC_AUTHORIZATION_FAILED.
"""

from collections.abc import Iterable
from typing import Any

from kafkalet_conformance.access import (
    ALL,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUPS,
    IDEMPOTENT_WRITE,
    KAFKA_CLUSTER,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC_OPERATIONS,
    TOPICS,
    TRANSACTIONAL_IDS,
    WRITE,
)
from kafkalet_conformance.building import ScenarioBuilder, Step, at, batch
from tools.recording.definitions import EVERY_RELEASE, Scenarios
from tools.recording.rights import Rights, acl, without_rights

scenario = Scenarios("authorization", EVERY_RELEASE, acl=True)

OPERATIONS = {
    ALL: "ALL",
    READ: "READ",
    WRITE: "WRITE",
    CREATE: "CREATE",
    DELETE: "DELETE",
    ALTER: "ALTER",
    DESCRIBE: "DESCRIBE",
    DESCRIBE_CONFIGS: "DESCRIBE_CONFIGS",
    ALTER_CONFIGS: "ALTER_CONFIGS",
}


def request_for(ask: ScenarioBuilder, operation: int, names: list[str]) -> tuple[str, int, Step]:
    """Return a request that needs an operation on each of the topics, and that changes nothing."""
    match operation:
        case 3:
            return "Fetch", 11, ask.fetching(*map(at, names))
        case 4:
            partitions = [{"index": 0, "records": [batch(10)]}]
            return "Produce", 9, {"acks": 1, "topics": [{"name": name, "partitions": partitions} for name in names]}
        case 5:
            made = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
            return "CreateTopics", 4, {"topics": made, "validate_only": True}
        case 6:
            return "DeleteTopics", 5, {"topic_names": names}
        case 7:
            wider = [{"name": name, "count": 2, "assignments": None} for name in names]
            return "CreatePartitions", 1, {"topics": wider, "validate_only": True}
        case 8:
            return "Metadata", 9, {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False}
        case 10:
            described = [
                {"resource_type": 2, "resource_name": n, "configuration_keys": ["retention.ms"]} for n in names
            ]
            return "DescribeConfigs", 2, {"resources": described}
    changes = [{"name": "retention.ms", "value": "90000", "config_operation": 0}]
    altered = [{"resource_type": 2, "resource_name": name, "configs": changes} for name in names]
    return "IncrementalAlterConfigs", 0, {"resources": altered, "validate_only": True}


def tried(ask: ScenarioBuilder, case: str, names: Iterable[str], operations: Iterable[int] = TOPIC_OPERATIONS) -> None:
    """As the user, request each operation on all of the topics."""
    for operation in operations:
        api, version, body = request_for(ask, operation, list(names))
        more: Any = {"only": ["topics"]} if api == "Metadata" else {}
        name = f"{OPERATIONS[operation]}, {case}"
        ask.request(name, api, version, body, conn="user", any_order=api != "Fetch", **more)


@scenario("KIP-11 KIP-290 StandardAuthorizerData", level="must")
def acl_implied(ask: ScenarioBuilder) -> None:
    """READ, WRITE, DELETE and ALTER allow DESCRIBE, ALTER_CONFIGS allows DESCRIBE_CONFIGS, and ALL allows
    everything."""
    rights = Rights(ask)
    names = {each: ask.unique(name) for each, name in OPERATIONS.items()}
    rights.create(*(acl(TOPICS, name, operation) for operation, name in names.items()))
    tried(ask, "one right each", names.values())
    rights.remove()
    tried(ask, "removed", list(names.values())[:2], (READ, DESCRIBE))


@scenario("KIP-11 KIP-290 StandardAuthorizerData", level="must")
def acl_denied(ask: ScenarioBuilder) -> None:
    """An ALLOW ACL never overrides a denied operation; the operations that a denied one implies are not denied."""
    rights = Rights(ask)
    names = {each: ask.let(f"no_{name}", f"c<unique>.{ask.name}.{name}") for each, name in OPERATIONS.items()}
    rights.create(*(acl(TOPICS, name, ALL) for name in names.values()))
    rights.create(*(acl(TOPICS, name, operation, permission_type=DENY) for operation, name in names.items()))
    tried(ask, "ALL allowed, one denied", names.values())
    rights.remove()
    some = {"read": (READ, DESCRIBE), "written": (WRITE, READ), "configs": (ALTER_CONFIGS, DESCRIBE_CONFIGS)}
    pairs = {kind: ask.unique(kind) for kind in some}
    for kind, (allowed, denied) in some.items():
        rights.grant(TOPICS, pairs[kind], allowed)
        rights.deny(TOPICS, pairs[kind], denied)
    tried(ask, "an implied operation denied", pairs.values())
    rights.remove()
    rights.deny(TOPICS, pairs["read"], WRITE)
    tried(ask, "only a denial", [pairs["read"]], (READ, WRITE, DESCRIBE))
    rights.remove()


def bound(ask: ScenarioBuilder, **names: str) -> dict[str, str]:
    """Bind names that start with the same unique text."""
    return {kind: ask.let(kind, f"c<unique>.{ask.name}.{name}") for kind, name in names.items()}


@scenario("KIP-11 KIP-290 StandardAuthorizerData", level="must")
def acl_patterns(ask: ScenarioBuilder) -> None:
    """A literal pattern matches one name, a prefixed one all names that start with it, and the literal * every name."""
    rights = Rights(ask)
    names = bound(ask, shorter="order", exact="orders", longer="orders-1", upper="Orders", other="x")

    def try_all(case: str) -> None:
        tried(ask, case, names.values(), (READ, DESCRIBE))

    rights.grant(TOPICS, names["exact"], READ)
    try_all("literal")
    rights.remove()
    rights.grant(TOPICS, names["exact"], READ, pattern=PREFIXED)
    try_all("prefixed")
    rights.remove()
    rights.grant(TOPICS, "*", READ)
    try_all("wildcard")
    rights.remove()
    rights.grant(TOPICS, "*", READ, pattern=PREFIXED)
    try_all("prefixed *")
    rights.remove()
    rights.grant(TOPICS, names["shorter"], DESCRIBE, pattern=PREFIXED)
    rights.grant(TOPICS, names["exact"], READ, pattern=PREFIXED)
    rights.grant(TOPICS, names["longer"], WRITE)
    tried(ask, "nested", names.values(), (READ, WRITE, DESCRIBE))
    rights.remove()
    rights.grant(GROUPS, "*", READ)
    rights.grant(GROUPS, names["exact"], ALL)
    try_all("patterns of groups")
    rights.remove()


@scenario("KIP-11 KIP-290 StandardAuthorizerData", level="must")
def acl_deny_wins(ask: ScenarioBuilder) -> None:
    """DENY takes precedence over ALLOW for any patterns: a prefixed or * denial over a literal right, and a literal
    denial over prefixed rights.
    """
    rights = Rights(ask)
    names = bound(ask, prefix="order", exact="orders", longer="orders-1", other="x")
    operations = (READ, DESCRIBE)
    patterns = {
        "literal": ("exact", LITERAL),
        "prefixed": ("prefix", PREFIXED),
        "prefixed with the whole name": ("exact", PREFIXED),
        "longer prefixed": ("longer", PREFIXED),
        "wildcard": ("*", LITERAL),
    }
    for allowed, (allowed_name, allowed_pattern) in patterns.items():
        for denied, (denied_name, denied_pattern) in patterns.items():
            if "longer" in allowed:
                continue
            rights.grant(TOPICS, names.get(allowed_name, "*"), READ, pattern=allowed_pattern)
            rights.deny(TOPICS, names.get(denied_name, "*"), READ, pattern=denied_pattern)
            tried(ask, f"{allowed} allowed, {denied} denied", names.values(), operations)
            rights.remove()


@scenario("KIP-11 KIP-290 StandardAuthorizerData", level="must")
def acl_hosts(ask: ScenarioBuilder) -> None:
    """An ACL with a host applies only to clients with this address, whether it allows or denies."""
    rights = Rights(ask)
    names = bound(ask, own="own", other="other", every="every", own_denied="own_denied", other_denied="other_denied")
    hosts = {"own": "127.0.0.1", "other": "127.0.0.2", "every": "*", "own_denied": "*", "other_denied": "*"}
    rights.create(*(acl(TOPICS, names[kind], READ, host=host) for kind, host in hosts.items()))
    denied = {"own_denied": "127.0.0.1", "other_denied": "127.0.0.2"}
    rights.create(*(acl(TOPICS, names[kind], READ, host=host, permission_type=DENY) for kind, host in denied.items()))
    tried(ask, "hosts", names.values(), (READ, DESCRIBE))
    rights.remove()
    rights.create(acl(TOPICS, names["own"], READ, host="127.0.0.2"), acl(TOPICS, names["own"], READ, host="127.0.0.1"))
    rights.deny(TOPICS, names["own"], WRITE, host="127.0.0.1")
    rights.grant(TOPICS, names["own"], WRITE)
    tried(ask, "two hosts", [names["own"]], (READ, WRITE, DESCRIBE))
    rights.remove()


@scenario("KIP-11 KIP-290 StandardAuthorizerData", level="must")
def acl_principals(ask: ScenarioBuilder) -> None:
    """An ACL applies to the principal with exactly its type and name, or to all users if it names User:*."""
    rights = Rights(ask)
    principals = {
        "same": "User:user",
        "everyone": "User:*",
        "another": "User:admin",
        "upper": "User:USER",
        "lower_type": "user:user",
        "group": "Group:user",
        "any_type": "Group:*",
        "prefix": "User:us",
        "longer": "User:user2",
        "space": "User: user",
    }
    names = bound(ask, **{kind: kind for kind in principals})
    rights.create(*(acl(TOPICS, names[kind], READ, principal=principal) for kind, principal in principals.items()))
    tried(ask, "principals", names.values(), (READ, DESCRIBE))
    rights.remove()
    both = bound(ask, user_denied="user_denied", all_denied="all_denied", others_denied="others_denied")
    rights.create(acl(TOPICS, both["user_denied"], READ, principal="User:*"))
    rights.create(acl(TOPICS, both["user_denied"], READ, permission_type=DENY))
    rights.create(acl(TOPICS, both["all_denied"], READ))
    rights.create(acl(TOPICS, both["all_denied"], READ, principal="User:*", permission_type=DENY))
    rights.create(acl(TOPICS, both["others_denied"], READ))
    rights.create(acl(TOPICS, both["others_denied"], READ, principal="User:other", permission_type=DENY))
    tried(ask, "User:* and denials", both.values(), (READ, DESCRIBE))
    rights.remove()


@scenario("KIP-11 KIP-290 StandardAuthorizerData", level="must")
def acl_super_user(ask: ScenarioBuilder) -> None:
    """Super users may perform every operation, even one that an ACL denies them."""
    rights = Rights(ask)
    names = bound(ask, own="own", everyone="everyone")
    rights.create(acl(TOPICS, names["own"], ALL, principal="User:admin", permission_type=DENY))
    rights.create(acl(TOPICS, names["everyone"], ALL, principal="User:*", permission_type=DENY))
    rights.create(acl(CLUSTER, KAFKA_CLUSTER, ALL, principal="User:admin", permission_type=DENY))
    ask.request("fetch", "Fetch", 11, ask.fetching(*map(at, names.values())))
    body = {"include_cluster_authorized_operations": True}
    only = ["error_code", "cluster_authorized_operations"]
    for v in ask.versions("DescribeCluster")[:1]:
        ask.request("cluster", "DescribeCluster", v, body, only=only)
    rights.remove()


@scenario("KIP-11 KIP-290 StandardAuthorizerData")
def acl_unusual_names(ask: ScenarioBuilder) -> None:
    """Names of groups and transactional ids match as they are: empty, with spaces, with other alphabets, or *."""
    rights = Rights(ask)
    ask.group()
    ask.transactional_id("x")
    prefix = ask.let("prefix", f"c<unique>.{ask.name} ")
    texts = {
        "spaces": "a b",
        "unicode": "größe-日本",
        "colons": "a:b,c=d",
        "star": "*",
        "inner_star": "a*",
        "percent": "%41",
        "empty": "",
    }
    if ask.release > "3":
        texts["null"] = "\0"  # it cannot be part of a path in ZooKeeper, where 2.8 keeps ACLs
    names = {kind: ask.let(kind, f"c<unique>.{ask.name} {text}") for kind, text in texts.items()}

    def try_all(case: str) -> None:
        for number, resource in ((0, "group"), (1, "transactional id")):
            for kind, name in {**names, "really empty": "", "really *": "*"}.items():
                body = {"key": name, "key_type": number}
                ask.request(f"{case}: {resource} {kind}", "FindCoordinator", 3, body, conn="user", only=["error_code"])

    created = [acl(kind, name, DESCRIBE) for name in names.values() for kind in (GROUPS, TRANSACTIONAL_IDS)]
    rights.create(*created)
    try_all("literal")
    rights.remove()
    rights.create(*(acl(kind, prefix, DESCRIBE, PREFIXED) for kind in (GROUPS, TRANSACTIONAL_IDS)))
    try_all("prefixed")
    rights.remove()
    rights.create(*(acl(kind, "*", DESCRIBE) for kind in (GROUPS, TRANSACTIONAL_IDS)))
    try_all("wildcard")
    rights.deny(GROUPS, names["star"], DESCRIBE)
    rights.deny(TRANSACTIONAL_IDS, prefix, DESCRIBE, pattern=PREFIXED)
    try_all("wildcard and denials")
    rights.remove()


@scenario("KIP-679 Authorizer.authorizeByResourceType", level="must")
def acl_any_topic(ask: ScenarioBuilder) -> None:
    """A producer without a transactional id needs WRITE on some topic: one allowed pattern that no denied pattern
    covers."""
    without_rights(ask)
    rights = Rights(ask)
    names = bound(ask, prefix="order", exact="orders", longer="orders-1", other="x")
    prefix, exact, longer, other = names.values()
    denied: Any = {"permission_type": DENY}
    everyone: Any = {"principal": "User:*"}
    elsewhere: Any = {"host": "127.0.0.2"}
    cases: dict[str, list[Step]] = {
        "nothing": [],
        "READ": [acl(TOPICS, exact, READ)],
        "DESCRIBE": [acl(TOPICS, exact, DESCRIBE)],
        "WRITE": [acl(TOPICS, exact, WRITE)],
        "ALL": [acl(TOPICS, exact, ALL)],
        "WRITE prefixed": [acl(TOPICS, prefix, WRITE, PREFIXED)],
        "WRITE on *": [acl(TOPICS, "*", WRITE)],
        "WRITE for everyone": [acl(TOPICS, exact, WRITE, **everyone)],
        "WRITE for another user": [acl(TOPICS, exact, WRITE, principal="User:other")],
        "WRITE from another host": [acl(TOPICS, exact, WRITE, **elsewhere)],
        "WRITE from this host": [acl(TOPICS, exact, WRITE, host="127.0.0.1")],
        "literal, same denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, exact, WRITE, **denied)],
        "literal, ALL denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, exact, ALL, **denied)],
        "ALL, WRITE denied": [acl(TOPICS, exact, ALL), acl(TOPICS, exact, WRITE, **denied)],
        "literal, READ denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, exact, READ, **denied)],
        "literal, DESCRIBE denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, exact, DESCRIBE, **denied)],
        "literal, prefix denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, prefix, WRITE, PREFIXED, **denied)],
        "literal, own prefix denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, exact, WRITE, PREFIXED, **denied)],
        "literal, longer prefix denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, longer, WRITE, PREFIXED, **denied)],
        "literal, other denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, other, WRITE, **denied)],
        "literal, * denied": [acl(TOPICS, exact, WRITE), acl(TOPICS, "*", WRITE, **denied)],
        "prefixed, shorter denied": [
            acl(TOPICS, exact, WRITE, PREFIXED),
            acl(TOPICS, prefix, WRITE, PREFIXED, **denied),
        ],
        "prefixed, same denied": [acl(TOPICS, exact, WRITE, PREFIXED), acl(TOPICS, exact, WRITE, PREFIXED, **denied)],
        "prefixed, longer denied": [
            acl(TOPICS, exact, WRITE, PREFIXED),
            acl(TOPICS, longer, WRITE, PREFIXED, **denied),
        ],
        "prefixed, literal denied": [acl(TOPICS, exact, WRITE, PREFIXED), acl(TOPICS, exact, WRITE, **denied)],
        "prefixed, * denied": [acl(TOPICS, exact, WRITE, PREFIXED), acl(TOPICS, "*", WRITE, **denied)],
        "*, literal denied": [acl(TOPICS, "*", WRITE), acl(TOPICS, exact, WRITE, **denied)],
        "*, prefix denied": [acl(TOPICS, "*", WRITE), acl(TOPICS, exact, WRITE, PREFIXED, **denied)],
        "*, * denied": [acl(TOPICS, "*", WRITE), acl(TOPICS, "*", WRITE, **denied)],
        "literal, denied for everyone": [acl(TOPICS, exact, WRITE), acl(TOPICS, exact, WRITE, **denied, **everyone)],
        "everyone, denied for the user": [acl(TOPICS, exact, WRITE, **everyone), acl(TOPICS, exact, WRITE, **denied)],
        "literal, denied elsewhere": [acl(TOPICS, exact, WRITE), acl(TOPICS, exact, WRITE, **denied, **elsewhere)],
        "literal, denied here": [acl(TOPICS, exact, WRITE), acl(TOPICS, exact, WRITE, **denied, host="127.0.0.1")],
        "two, one denied": [
            acl(TOPICS, exact, WRITE),
            acl(TOPICS, other, WRITE),
            acl(TOPICS, exact, WRITE, **denied),
        ],
        "right on groups": [acl(GROUPS, exact, ALL)],
        "literal, IDEMPOTENT_WRITE denied": [
            acl(TOPICS, exact, WRITE),
            acl(CLUSTER, KAFKA_CLUSTER, IDEMPOTENT_WRITE, **denied),
        ],
        "IDEMPOTENT_WRITE, * denied": [
            acl(CLUSTER, KAFKA_CLUSTER, IDEMPOTENT_WRITE),
            acl(TOPICS, "*", WRITE, **denied),
        ],
        "ALL on the cluster": [acl(CLUSTER, KAFKA_CLUSTER, ALL)],
    }
    body = {"transactional_id": None, "transaction_timeout_ms": 60000}
    for case, acls in cases.items():
        rights.create(*acls)
        ask.request(case, "InitProducerId", 3, body, conn="user", only=["error_code"], retry_errors=[14])
        rights.remove()
