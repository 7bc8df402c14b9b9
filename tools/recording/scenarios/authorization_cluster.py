"""Responses to users with rights on the cluster: with all but the needed right, and with only the needed one."""

from collections.abc import Mapping
from typing import Any

from kafkalet_conformance.access import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER_OPERATIONS,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUPS,
    KAFKA_CLUSTER,
    TOPICS,
    acl_filter,
)
from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, Scenarios
from tools.recording.rights import Rights, acl, all_except, as_user, ends, names_of_kinds

scenario = Scenarios("authorization", acl=True)

UNLIKE_DESCRIBE = all_except(DESCRIBE, ALTER, of=CLUSTER_OPERATIONS)
UNLIKE_ALTER = all_except(ALTER, of=CLUSTER_OPERATIONS)
UNLIKE_DESCRIBE_CONFIGS = all_except(DESCRIBE_CONFIGS, ALTER_CONFIGS, of=CLUSTER_OPERATIONS)
UNLIKE_ALTER_CONFIGS = all_except(ALTER_CONFIGS, of=CLUSTER_OPERATIONS)


def with_and_without(
    ask: ScenarioBuilder,
    neighbors: tuple[int, ...],
    needed: int,
    bodies: Mapping[str, Mapping[str, Step]],
    only: Mapping[str, list[str]] | None = None,
) -> None:
    """Send requests with all rights on the cluster except the needed ones, and then with only the needed ones."""
    rights = Rights(ask)
    for case, granted in (("neighbors", neighbors), ("needed", (needed,))):
        rights.on_cluster(*granted)
        for api, named in bodies.items():
            more: Any = {"only": only[api]} if only and api in only else {}
            as_user(ask, api, {f"{name}, {case}": body for name, body in named.items()}, **more)
        rights.remove()


@scenario("KIP-11 KafkaApis ControllerApis")
def rights_alter_cluster(ask: ScenarioBuilder) -> None:
    """ElectLeaders, AlterPartitionReassignments, AlterReplicaLogDirs and UpdateFeatures need ALTER on the cluster."""
    t = ask.topic()
    directories = {"dirs": [{"path": "/nowhere", "topics": [{"name": t, "partitions": [0]}]}]}
    cancelled = {"topics": [{"name": t, "partitions": [{"partition_index": 0, "replicas": None}]}]}
    feature = {"feature": "no.such.feature", "max_version_level": 7, "upgrade_type": 1}
    bodies: dict[str, dict[str, Step]] = {
        "ElectLeaders": {"elect": {"election_type": 0, "topic_partitions": [{"topic": t, "partitions": [0]}]}},
        "AlterPartitionReassignments": {"cancel": cancelled},
        "AlterReplicaLogDirs": {"move": directories},
        "UpdateFeatures": {"features": {"feature_updates": [feature], "validate_only": True}},
    }
    with_and_without(ask, UNLIKE_ALTER, ALTER, bodies)


@scenario("KIP-11 KafkaApis ControllerApis")
def rights_describe_cluster(ask: ScenarioBuilder) -> None:
    """ListPartitionReassignments, DescribeLogDirs and DescribeQuorum need DESCRIBE on the cluster."""
    t = ask.topic()
    quorum = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
    bodies: dict[str, dict[str, Step]] = {
        "ListPartitionReassignments": {"list": {"topics": [{"name": t, "partition_indexes": [0]}]}},
        "DescribeQuorum": {"quorum": quorum},
    }
    with_and_without(ask, UNLIKE_DESCRIBE, DESCRIBE, bodies, {"DescribeQuorum": ["error_code"]})
    rights = Rights(ask)
    last = ask.versions("DescribeLogDirs")[-1]
    wanted = {"topics": [{"topic": t, "partitions": [0]}]}
    for case, granted in (("neighbors", UNLIKE_DESCRIBE), ("needed", (DESCRIBE,))):
        rights.on_cluster(*granted)
        ask.request(f"log dirs, {case}", "DescribeLogDirs", last, wanted, conn="user", only=["error_code"])
        rights.remove()


@scenario("KIP-546 KafkaApis ControllerApis")
def rights_quotas(ask: ScenarioBuilder) -> None:
    """Quotas are described with DESCRIBE_CONFIGS on the cluster, and changed with ALTER_CONFIGS."""
    user = ask.let("quota_user", f"c<unique>.{ask.name}")
    component = {"entity_type": "user", "match_type": 0, "match": user}
    describing = {"DescribeClientQuotas": {"describe": {"components": [component], "strict": True}}}
    with_and_without(ask, UNLIKE_DESCRIBE_CONFIGS, DESCRIBE_CONFIGS, describing)
    entity = {"entity": [{"entity_type": "user", "entity_name": user}]}
    entry = entity | {"ops": [{"key": "producer_byte_rate", "value": 1000000.0}]}
    altering = {"AlterClientQuotas": {"alter": {"entries": [entry], "validate_only": True}}}
    with_and_without(ask, UNLIKE_ALTER_CONFIGS, ALTER_CONFIGS, altering)
    with_and_without(ask, (), ALTER_CONFIGS, describing)


@scenario("KIP-133 KIP-339 KIP-714 KIP-848 ConfigHelper")
def rights_configurations(ask: ScenarioBuilder) -> None:
    """Configurations of brokers and client metrics need DESCRIBE_CONFIGS or ALTER_CONFIGS on the cluster, those of a
    group on the group."""
    groups = {"gnone": (), "gdescribed": (DESCRIBE,), "gshown": (DESCRIBE_CONFIGS,), "galtered": (ALTER_CONFIGS,)}
    own = Rights(ask)
    named = names_of_kinds(ask, own, GROUPS, groups)
    m = ask.unique("m")
    resources = {"cluster default": (4, ""), "logger": (8, "4711"), "metrics": (16, m)}
    resources |= {kind: (32, name) for kind, name in named.items()}
    described: list[Step] = []
    replaced: list[Step] = []
    altered: list[Step] = []
    for number, name in resources.values():
        what = {"resource_type": number, "resource_name": name}
        key, value = {4: ("log.retention.ms", "90000"), 8: ("kafka", "INFO"), 16: ("interval.ms", "90000")}.get(
            number, ("consumer.session.timeout.ms", "50000")
        )
        described.append({"resources": [what | {"configuration_keys": [key]}]})
        replaced.append({"validate_only": True, "resources": [what | {"configs": [{"name": key, "value": value}]}]})
        change = {"name": key, "value": value, "config_operation": 0}
        altered.append({"validate_only": True, "resources": [what | {"configs": [change]}]})
    rights = Rights(ask)
    for case, granted in (
        ("no right on the cluster", ()),
        ("neighbors", UNLIKE_DESCRIBE_CONFIGS),
        ("DESCRIBE_CONFIGS", (DESCRIBE_CONFIGS,)),
        ("ALTER_CONFIGS", (ALTER_CONFIGS,)),
    ):
        rights.on_cluster(*granted)
        listed: tuple[tuple[str, list[Step]], ...] = (
            ("DescribeConfigs", described),
            ("AlterConfigs", replaced),
            ("IncrementalAlterConfigs", altered),
        )
        for api, bodies in listed:
            v = ask.versions(api)[-1]
            for kind, body in zip(resources, bodies, strict=True):
                ask.request(f"{api}: {kind}, {case}", api, v, body, conn="user")
        rights.remove()
    own.remove()


@scenario("KIP-1142 KafkaApis")
def rights_list_config_resources(ask: ScenarioBuilder) -> None:
    """ListConfigResources needs DESCRIBE_CONFIGS on the cluster."""
    only = {"ListConfigResources": ["error_code"]}
    bodies: dict[str, dict[str, Step]] = {"ListConfigResources": {"list": {}}}
    with_and_without(ask, UNLIKE_DESCRIBE_CONFIGS, DESCRIBE_CONFIGS, bodies, only)


@scenario("KIP-140 AclApis", EVERY_RELEASE)
def rights_acls(ask: ScenarioBuilder) -> None:
    """DescribeAcls needs DESCRIBE on the cluster; CreateAcls and DeleteAcls need ALTER."""
    rights, own = Rights(ask), Rights(ask)
    t = ask.unique("t")
    other = acl(TOPICS, t, ALTER, principal="User:other")
    own.create(other)
    wanted = acl_filter(TOPICS, t)
    nothing = acl_filter(TOPICS, t, principal_filter="User:nobody")
    for case, granted in (
        ("neighbors", UNLIKE_DESCRIBE),
        ("DESCRIBE", (DESCRIBE,)),
        ("ALTER", (ALTER,)),
    ):
        rights.on_cluster(*granted)
        bodies = {"DescribeAcls": wanted, "CreateAcls": {"creations": [other]}, "DeleteAcls": {"filters": [nothing]}}
        for api, body in bodies.items():
            for v in ends(ask.versions(api)):
                ask.request(f"{api} v{v}, {case}", api, v, body, conn="user")
        rights.remove()
    rights.grant(TOPICS, KAFKA_CLUSTER, ALTER)
    ask.request("a topic with the name of the cluster", "DescribeAcls", 2, wanted, conn="user")
    rights.remove()
    own.remove()


@scenario("KIP-554 KafkaApis ControllerApis")
def rights_scram_credentials(ask: ScenarioBuilder) -> None:
    """DescribeUserScramCredentials needs DESCRIBE on the cluster; AlterUserScramCredentials needs ALTER."""
    u = ask.let("u", f"c<unique>.{ask.name}")
    describing = {"DescribeUserScramCredentials": {"describe": {"users": [{"name": u}]}}}
    with_and_without(ask, UNLIKE_DESCRIBE, DESCRIBE, describing)
    deleted = {"upsertions": [], "deletions": [{"name": u, "mechanism": 1}]}
    with_and_without(ask, UNLIKE_ALTER, ALTER, {"AlterUserScramCredentials": {"delete": deleted}})
