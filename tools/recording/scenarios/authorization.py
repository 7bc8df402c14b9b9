"""Responses to users without rights: authorization errors of each API, and topics that these users cannot see.

The broker of these scenarios denies by default. Connections are authenticated as the super user admin, with two
exceptions: those whose name starts with `user` belong to a user without rights, and those whose name starts with
`anonymous` are not authenticated.
"""

from collections.abc import Mapping

from kafkalet_conformance.access import (
    ALTER,
    ANY,
    CLUSTER,
    DELETE,
    DESCRIBE,
    GROUPS,
    MATCH,
    READ,
    TOPICS,
    TRANSACTIONAL_IDS,
    WRITE,
    acl_filter,
)
from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, ScenarioBuilder, Step, at, batch, one
from tools.recording.definitions import KAFKA_4_4, Scenarios
from tools.recording.rights import acl, without_rights

scenario = Scenarios("authorization", acl=True)

TOPIC, BROKER, GROUP = 2, 4, 32
Bodies = Mapping[str, Step]


def request_as_user(ask: ScenarioBuilder, api: str, bodies: Bodies, low: int = 0, high: int = 99) -> None:
    """Send the requests as the user without rights, in the oldest and in the newest version."""
    versions = ask.versions(api, low, high)
    for v in sorted({versions[0], versions[-1]}):
        for case, body in bodies.items():
            ask.request(f"v{v}: {case}", api, v, body, conn="user")


def topics(ask: ScenarioBuilder) -> tuple[str, str]:
    """Return a topic that exists and one that does not."""
    return ask.topic(), ask.unknown_topic()


@scenario("KIP-11 KafkaApis", level="must")
def denied_produce(ask: ScenarioBuilder) -> None:
    """Produce without WRITE fails with TOPIC_AUTHORIZATION_FAILED, whether or not the topic exists."""
    bodies: dict[str, Step] = {}
    for case, topic in zip(("topic", "unknown topic"), topics(ask), strict=True):
        named = {"name": topic, "partitions": [{"index": 0, "records": [batch(10)]}]}
        bodies[case] = {"acks": 1, "timeout_ms": 1000, "topics": [named]}
    request_as_user(ask, "Produce", bodies, 3, 12)
    sent = batch(10, transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)
    wanted = [{"name": "$t", "partitions": [{"index": 0, "records": [sent]}]}]
    request_as_user(ask, "Produce", {"transaction": {"transactional_id": "x", "acks": -1, "topics": wanted}}, 3, 12)
    for v in ask.versions("Produce", 13):
        for case, topic_id in (("topic", "$t.id"), ("unknown id", UNKNOWN_TOPIC_ID)):
            by_id = [{"topic_id": topic_id, "partitions": [{"index": 0, "records": [batch(10)]}]}]
            ask.request(f"v{v}: {case}", "Produce", v, {"acks": 1, "topics": by_id}, conn="user")


@scenario("KIP-11 KIP-516 KafkaApis", level="must")
def denied_fetch(ask: ScenarioBuilder) -> None:
    """Fetch without READ fails with TOPIC_AUTHORIZATION_FAILED; if the topic id is unknown, it fails with
    UNKNOWN_TOPIC_ID."""
    t, n = topics(ask)
    request_as_user(ask, "Fetch", {"topic": ask.fetching(at(t)), "unknown topic": ask.fetching(at(n))}, 4, 12)
    request_as_user(ask, "Fetch", {"topic": ask.fetching(at("$t.id")), "unknown id": ask.fetching(at("bogus.id"))}, 13)
    for step in ask.steps:
        if step.get("case", "").endswith("unknown id"):
            step["body"]["topics"][0]["topic_id"] = UNKNOWN_TOPIC_ID


@scenario("KIP-11 KafkaApis", level="must")
def denied_offsets_of_logs(ask: ScenarioBuilder) -> None:
    """ListOffsets and OffsetForLeaderEpoch without DESCRIBE fail with TOPIC_AUTHORIZATION_FAILED."""
    t, n = topics(ask)
    named = (("topic", t), ("unknown topic", n))
    request_as_user(
        ask, "ListOffsets", {c: {"topics": [one(topic, partition_index=0, timestamp=-1)]} for c, topic in named}
    )
    wanted = {"partition": 0, "leader_epoch": 0, "current_leader_epoch": -1}
    bodies = {c: {"topics": [{"topic": topic, "partitions": [wanted]}]} for c, topic in named}
    request_as_user(ask, "OffsetForLeaderEpoch", bodies)
    request_as_user(
        ask, "OffsetForLeaderEpoch", {f"{c} as replica 2": body | {"replica_id": 2} for c, body in bodies.items()}, 3
    )


@scenario("KIP-11 KIP-516 KafkaApis", level="must")
def denied_metadata(ask: ScenarioBuilder) -> None:
    """Metadata without DESCRIBE returns TOPIC_AUTHORIZATION_FAILED for named topics, and leaves them out of lists."""
    t, n = topics(ask)
    more = {"only": ["topics", "cluster_authorized_operations"], "conn": "user"}
    versions = ask.versions("Metadata")
    for v in sorted({versions[0], 4, 9, versions[-1]}):
        no_creation = {"allow_auto_topic_creation": False} if v >= 4 else {}
        for case, topic in (("topic", t), ("unknown topic", n)):
            ask.request(f"v{v}: {case}", "Metadata", v, {"topics": [{"name": topic}]} | no_creation, **more)
        everything: Step = {"topics": None} if v else {"topics": []}
        ask.request(f"v{v}: all topics", "Metadata", v, everything | no_creation, **more)
    for case, topic_id in (("topic by id", "$t.id"), ("unknown id", UNKNOWN_TOPIC_ID)):
        wanted = [{"name": None, "topic_id": topic_id}]
        ask.request(case, "Metadata", 12, {"topics": wanted, "allow_auto_topic_creation": False}, **more)
    ask.request(
        "creation of a topic", "Metadata", 9, {"topics": [{"name": n}], "allow_auto_topic_creation": True}, **more
    )
    rights = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    ask.request("rights", "Metadata", 9, {"topics": [{"name": t}], "allow_auto_topic_creation": False} | rights, **more)
    for case, topic in (("described topic", t), ("described unknown topic", n)):
        described = {"topics": [{"name": topic}], "response_partition_limit": 10}
        ask.request(case, "DescribeTopicPartitions", 0, described, conn="user")


@scenario("KIP-11 KafkaApis", level="must")
def denied_groups(ask: ScenarioBuilder) -> None:
    """Requests about a group without the right to it fail with GROUP_AUTHORIZATION_FAILED."""
    g = ask.group()
    member = {"group_id": g, "member_id": "m", "generation_id": 1}
    joining = {"group_id": g, "session_timeout_ms": 30000, "rebalance_timeout_ms": 30000, "member_id": ""}
    protocols = {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": ""}]}
    request_as_user(ask, "JoinGroup", {"join": joining | protocols})
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    request_as_user(ask, "SyncGroup", {"sync": member | {"assignments": []} | protocol})
    request_as_user(ask, "Heartbeat", {"heartbeat": member})
    request_as_user(ask, "LeaveGroup", {"leave": {"group_id": g, "member_id": "m"}}, 0, 2)
    request_as_user(ask, "LeaveGroup", {"leave": {"group_id": g, "members": [{"member_id": "m"}]}}, 3)
    request_as_user(ask, "DescribeGroups", {"describe": {"groups": [g, "no-such-group"]}})
    request_as_user(ask, "DeleteGroups", {"delete": {"groups_names": [g]}})
    request_as_user(ask, "ListGroups", {"list": {}})
    request_as_user(ask, "FindCoordinator", {"find": {"key": g, "key_type": 0}}, 0, 3)
    request_as_user(ask, "FindCoordinator", {"find": {"coordinator_keys": [g], "key_type": 0}}, 4)


@scenario("KIP-11 KafkaApis", level="must")
def denied_committed_offsets(ask: ScenarioBuilder) -> None:
    """Offsets of a group need READ or DESCRIBE on the group, and then on each topic."""
    t, n = topics(ask)
    g = ask.group()
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    committing = {"group_id": g, "generation_id_or_member_epoch": -1, "member_id": ""}
    named = [{"name": topic, "partitions": [partition]} for topic in (t, n)]
    request_as_user(ask, "OffsetCommit", {"commit": committing | {"topics": named}}, 0, 9)
    by_id = [{"topic_id": topic, "partitions": [partition]} for topic in ("$t.id", UNKNOWN_TOPIC_ID)]
    ask.each_version("OffsetCommit", {"v#: commit": committing | {"topics": by_id}}, 10, conn="user")
    wanted = [{"name": topic, "partition_indexes": [0]} for topic in (t, n)]
    request_as_user(ask, "OffsetFetch", {"fetch": {"group_id": g, "topics": wanted}}, 0, 7)
    request_as_user(ask, "OffsetFetch", {"fetch all": {"group_id": g, "topics": None}}, 2, 7)
    request_as_user(ask, "OffsetFetch", {"fetch": {"groups": [{"group_id": g, "topics": wanted}]}}, 8, 9)
    request_as_user(ask, "OffsetFetch", {"fetch all": {"groups": [{"group_id": g, "topics": None}]}}, 8)
    deleted = [{"name": topic, "partitions": [{"partition_index": 0}]} for topic in (t, n)]
    request_as_user(ask, "OffsetDelete", {"delete": {"group_id": g, "topics": deleted}})


@scenario("KIP-848 KafkaApis", KAFKA_4_4)
def denied_consumer_groups(ask: ScenarioBuilder) -> None:
    """A member of the consumer protocol without READ on the group gets GROUP_AUTHORIZATION_FAILED."""
    t = ask.topic()
    g = ask.group()
    beating = {"group_id": g, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": 0, "rebalance_timeout_ms": 60000}
    request_as_user(
        ask, "ConsumerGroupHeartbeat", {"join": beating | {"subscribed_topic_names": [t], "topic_partitions": []}}
    )
    request_as_user(ask, "ConsumerGroupDescribe", {"describe": {"group_ids": [g]}})
    request_as_user(ask, "ShareGroupHeartbeat", {"join a share group": beating_shares(g, t)})
    request_as_user(ask, "ShareGroupDescribe", {"describe a share group": {"group_ids": [g]}})
    request_as_user(ask, "StreamsGroupDescribe", {"describe a streams group": {"group_ids": [g]}})
    tasks: Step = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "process_id": "p1", "client_tags": []}
    topology = {"topology": {"epoch": 0, "subtopologies": [{"subtopology_id": "0", "source_topics": [t]}]}}
    request_as_user(ask, "StreamsGroupHeartbeat", {"join a streams group": beating | tasks | topology})


def beating_shares(group: str, topic: str) -> Step:
    who = {"group_id": group, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": 0}
    return who | {"subscribed_topic_names": [topic]}


@scenario("KIP-932 KafkaApis", KAFKA_4_4)
def denied_share_groups(ask: ScenarioBuilder) -> None:
    """Share fetches, and the offsets and state of share groups, need rights on group, topic and cluster."""
    t = ask.topic()
    g = ask.group()
    who = {"group_id": g, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ"}
    wanted = [{"topic_id": "$t.id", "partitions": [{"partition_index": 0, "acknowledgement_batches": []}]}]
    request_as_user(ask, "ShareFetch", {"fetch": who | {"share_session_epoch": 0, "topics": wanted}})
    request_as_user(ask, "ShareAcknowledge", {"acknowledge": who | {"share_session_epoch": 1, "topics": wanted}})
    described = {"groups": [{"group_id": g, "topics": [{"topic_name": t, "partitions": [0]}]}]}
    request_as_user(ask, "DescribeShareGroupOffsets", {"describe": described})
    altered = [{"topic_name": t, "partitions": [{"partition_index": 0, "start_offset": 0}]}]
    request_as_user(ask, "AlterShareGroupOffsets", {"alter": {"group_id": g, "topics": altered}})
    request_as_user(ask, "DeleteShareGroupOffsets", {"delete": {"group_id": g, "topics": [{"topic_name": t}]}})
    state = {"group_id": g, "topics": [{"topic_id": "$t.id", "partitions": [{"partition": 0}]}]}
    for api in ("Initialize", "Read", "Write", "Delete"):
        request_as_user(ask, f"{api}ShareGroupState", {f"{api.lower()} state": state})
    request_as_user(ask, "ReadShareGroupStateSummary", {"summary": state})


@scenario("KIP-98 KafkaApis", level="must")
def denied_transactions(ask: ScenarioBuilder) -> None:
    """Transactions need WRITE on the transactional id, then READ on the group and WRITE on the topics."""
    without_rights(ask)
    t, n = topics(ask)
    g = ask.group()
    x = ask.unique("X1")
    request_as_user(ask, "FindCoordinator", {"find": {"key": x, "key_type": 1}}, 1, 3)
    request_as_user(ask, "FindCoordinator", {"find": {"coordinator_keys": [x], "key_type": 1}}, 4)
    request_as_user(ask, "InitProducerId", {"transactional": {"transactional_id": x, "transaction_timeout_ms": 60000}})
    request_as_user(ask, "InitProducerId", {"idempotent": {"transactional_id": None, "transaction_timeout_ms": 60000}})
    who = {"transactional_id": x, "producer_id": 7, "producer_epoch": 0}
    added = who | {"topics": [{"name": topic, "partitions": [0]} for topic in (t, n)]}
    request_as_user(ask, "AddPartitionsToTxn", {"add partitions": added}, 0, 3)
    request_as_user(ask, "AddPartitionsToTxn", {"add partitions": {"transactions": [added]}}, 4)
    request_as_user(ask, "AddOffsetsToTxn", {"add offsets": who | {"group_id": g}})
    request_as_user(ask, "EndTxn", {"end": who | {"committed": True}})
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    named = [{"name": topic, "partitions": [partition]} for topic in (t, n)]
    committing = who | {"group_id": g, "generation_id_or_member_epoch": -1, "member_id": ""}
    request_as_user(ask, "TxnOffsetCommit", {"commit": committing | {"topics": named}}, 0, 5)
    by_id = [{"topic_id": "$t.id", "partitions": [partition]}]
    ask.each_version("TxnOffsetCommit", {"v#: commit": committing | {"topics": by_id}}, 6, conn="user")
    marker = {"producer_id": 7, "producer_epoch": 0, "transaction_result": True, "coordinator_epoch": 0}
    marked = marker | {"topics": [{"name": t, "partition_indexes": [0]}]}
    request_as_user(ask, "WriteTxnMarkers", {"markers": {"markers": [marked]}})
    request_as_user(ask, "DescribeTransactions", {"describe": {"transactional_ids": [x]}})
    request_as_user(ask, "ListTransactions", {"list": {"state_filters": [], "producer_id_filters": []}})
    described = [{"name": topic, "partition_indexes": [0]} for topic in (t, n)]
    request_as_user(ask, "DescribeProducers", {"producers": {"topics": described}})


@scenario("KIP-11 KIP-516 ControllerApis", level="must")
def denied_topics(ask: ScenarioBuilder) -> None:
    """Creating and deleting topics, adding partitions and deleting records need rights; without DESCRIBE, names stay
    hidden.
    """
    t, n = topics(ask)
    for case, topic in (("topic", t), ("unknown topic", n)):
        made = [{"name": topic, "num_partitions": 1, "replication_factor": 1}]
        request_as_user(ask, "CreateTopics", {f"create {case}": {"topics": made}})
        extended = [{"name": topic, "count": 2, "assignments": None}]
        request_as_user(ask, "CreatePartitions", {f"extend {case}": {"topics": extended, "validate_only": False}})
        shortened = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 0}]}]
        request_as_user(ask, "DeleteRecords", {f"shorten {case}": {"topics": shortened}})
    request_as_user(ask, "DeleteTopics", {"delete": {"topic_names": [t]}, "delete unknown": {"topic_names": [n]}}, 0, 5)
    for case, wanted in {
        "name": {"name": t},
        "unknown name": {"name": n},
        "id": {"name": None, "topic_id": "$t.id"},
        "unknown id": {"name": None, "topic_id": UNKNOWN_TOPIC_ID},
    }.items():
        ask.request(f"v6: delete {case}", "DeleteTopics", 6, {"topics": [wanted]}, conn="user")


@scenario("KIP-133 KIP-339 ConfigHelper")
def denied_configurations(ask: ScenarioBuilder) -> None:
    """Configurations need the right on the topic, the group or the cluster."""
    t, n = topics(ask)
    resources = {"topic": (TOPIC, t), "unknown topic": (TOPIC, n), "broker": (BROKER, "1"), "group": (GROUP, "g")}
    for case, (kind, name) in resources.items():
        what = {"resource_type": kind, "resource_name": name}
        described = {"resources": [what | {"configuration_keys": ["retention.ms"]}]}
        request_as_user(ask, "DescribeConfigs", {f"describe {case}": described})
        change = {"name": "retention.ms", "value": "1"}
        request_as_user(ask, "AlterConfigs", {f"replace {case}": {"resources": [what | {"configs": [change]}]}})
        changed = change | {"config_operation": 0}
        request_as_user(
            ask, "IncrementalAlterConfigs", {f"alter {case}": {"resources": [what | {"configs": [changed]}]}}
        )
    request_as_user(ask, "ListConfigResources", {"list": {}})


@scenario("KIP-11 KafkaApis ControllerApis")
def denied_cluster(ask: ScenarioBuilder) -> None:
    """Requests that concern the cluster fail with CLUSTER_AUTHORIZATION_FAILED if the user has no rights on it."""
    t = ask.topic()
    partitions = [{"topic": t, "partitions": [0]}]
    request_as_user(ask, "ElectLeaders", {"elect": {"election_type": 0, "topic_partitions": partitions}})
    moved = [{"name": t, "partitions": [{"partition_index": 0, "replicas": [1]}]}]
    request_as_user(ask, "AlterPartitionReassignments", {"reassign": {"topics": moved}})
    request_as_user(ask, "ListPartitionReassignments", {"list reassignments": {"topics": None}})
    directories = {"dirs": [{"path": "/nowhere", "topics": [{"name": t, "partitions": [0]}]}]}
    request_as_user(ask, "AlterReplicaLogDirs", {"move": directories})
    request_as_user(ask, "DescribeLogDirs", {"describe": {"topics": partitions}})
    component = {"entity_type": "user", "match_type": 0, "match": "u"}
    request_as_user(ask, "DescribeClientQuotas", {"quotas": {"components": [component]}})
    entry = {
        "entity": [{"entity_type": "user", "entity_name": "u"}],
        "ops": [{"key": "producer_byte_rate", "value": 1.0}],
    }
    request_as_user(ask, "AlterClientQuotas", {"alter quotas": {"entries": [entry]}})
    quorum = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
    request_as_user(ask, "DescribeQuorum", {"quorum": quorum})
    feature = {"feature": "metadata.version", "max_version_level": 7, "upgrade_type": 1}
    request_as_user(ask, "UpdateFeatures", {"features": {"feature_updates": [feature]}})
    request_as_user(ask, "UnregisterBroker", {"unregister": {"broker_id": 4711}})
    request_as_user(ask, "DescribeUserScramCredentials", {"describe credentials": {"users": [{"name": "u"}]}})
    upsertion = {"name": "u", "mechanism": 1, "iterations": 4096, "salt": "s", "salted_password": "p"}
    request_as_user(
        ask, "AlterUserScramCredentials", {"alter credentials": {"upsertions": [upsertion], "deletions": []}}
    )
    voter = {"voter_id": 7, "voter_directory_id": UNKNOWN_TOPIC_ID}
    request_as_user(ask, "AddRaftVoter", {"add voter": voter | {"timeout_ms": 1000, "listeners": []}})
    request_as_user(ask, "RemoveRaftVoter", {"remove voter": voter})


@scenario("ControllerApis", KAFKA_4_4)
def denied_unregister_controller(ask: ScenarioBuilder) -> None:
    """UnregisterController needs ALTER on the cluster."""
    request_as_user(ask, "UnregisterController", {"unregister": {"controller_id": 4711}})


@scenario("KIP-430 KafkaApis")
def denied_describe_cluster(ask: ScenarioBuilder) -> None:
    """DescribeCluster serves users without rights, and lists the operations that they may perform."""
    only = {"only": ["error_code", "cluster_authorized_operations"]}
    for v in ask.versions("DescribeCluster"):
        for case, rights in (("without rights", False), ("with rights", True)):
            body = {"include_cluster_authorized_operations": rights}
            ask.request(f"v{v}: {case}", "DescribeCluster", v, body, conn="user", **only)
            ask.request(f"v{v}: {case}, as admin", "DescribeCluster", v, body, **only)


def granted(ask: ScenarioBuilder, *rights: tuple[int, str, int]) -> None:
    """Grant rights, and wait until they are described."""
    ask.setup("CreateAcls", 2, {"creations": [acl(*right) for right in rights]})
    for kind, name, _ in rights:
        described = acl_filter(kind, name, principal_filter="User:user")
        ask.until("DescribeAcls", 2, described, "resources.0.resource_name", name)


@scenario("KIP-140 KIP-290 StandardAuthorizer", level="must")
def acls_every_version(ask: ScenarioBuilder) -> None:
    """The super user creates, describes and deletes ACLs in every version."""
    for v in ask.versions("CreateAcls"):
        t = ask.unique(f"t{v}")
        ask.request(f"v{v}: create", "CreateAcls", v, {"creations": [acl(TOPICS, t, READ)]})
        wanted = acl_filter(TOPICS, t)
        ask.until("DescribeAcls", v, wanted, "resources.0.resource_name", t)
        ask.request(f"v{v}: describe", "DescribeAcls", v, wanted)
        ask.request(f"v{v}: create again", "CreateAcls", v, {"creations": [acl(TOPICS, t, READ)]})
        ask.request(f"v{v}: delete", "DeleteAcls", v, {"filters": [wanted]})
        ask.request(f"v{v}: delete again", "DeleteAcls", v, {"filters": [wanted]})
        ask.until("DescribeAcls", v, wanted, "resources", [])
        ask.request(f"v{v}: describe what was deleted", "DescribeAcls", v, wanted)


@scenario("KIP-140 KIP-290 AclControlManager")
def acls_errors(ask: ScenarioBuilder) -> None:
    """CreateAcls, DescribeAcls and DeleteAcls refuse unknown resources, operations, principals and patterns."""
    t = ask.unique("t")
    last = ask.versions("CreateAcls")[-1]
    for case, wrong in {
        "any resource": acl(ANY, t, READ),
        "unknown resource": acl(0, t, READ),
        "resource 99": acl(99, t, READ),
        "empty name": acl(TOPICS, "", READ),
        "illegal topic name": acl(TOPICS, "a b", READ),
        "another cluster": acl(CLUSTER, "my-cluster", ALTER),
        "any operation": acl(TOPICS, t, ANY),
        "unknown operation": acl(TOPICS, t, 0),
        "operation 99": acl(TOPICS, t, 99),
        "any permission": acl(TOPICS, t, READ, permission_type=ANY),
        "unknown permission": acl(TOPICS, t, READ, permission_type=0),
        "any pattern": acl(TOPICS, t, READ, ANY),
        "match pattern": acl(TOPICS, t, READ, MATCH),
        "unknown pattern": acl(TOPICS, t, READ, 0),
        "principal without type": acl(TOPICS, t, READ, principal="user"),
        "empty principal": acl(TOPICS, t, READ, principal=""),
        "host name": acl(TOPICS, t, READ, host="example.org"),
        "empty host": acl(TOPICS, t, READ, host=""),
        "no host": acl(TOPICS, t, READ, host="*"),
    }.items():
        ask.request(f"create: {case}", "CreateAcls", last, {"creations": [wrong]})
    good_and_bad = [acl(TOPICS, t, READ), acl(TOPICS, "", READ)]
    ask.request("create: one good and one bad", "CreateAcls", last, {"creations": good_and_bad})
    for case, wrong in {
        "unknown resource": acl_filter(0, t),
        "resource 99": acl_filter(99, t),
        "unknown operation": acl_filter(TOPICS, t, operation=0),
        "unknown permission": acl_filter(TOPICS, t, permission_type=0),
        "unknown pattern": acl_filter(TOPICS, t, pattern_type_filter=0),
        "nothing matches": acl_filter(TOPICS, "no-such-topic"),
    }.items():
        ask.request(f"describe: {case}", "DescribeAcls", last, wrong)
        ask.request(f"delete: {case}", "DeleteAcls", last, {"filters": [wrong]})
    ask.setup("DeleteAcls", last, {"filters": [acl_filter(TOPICS, t, principal_filter="User:user")]})


@scenario("KIP-140 AclApis")
def denied_acls(ask: ScenarioBuilder) -> None:
    """ACLs may be listed and changed only with rights on the cluster."""
    request_as_user(ask, "DescribeAcls", {"describe": acl_filter(TOPICS, "t")})
    request_as_user(ask, "CreateAcls", {"create": {"creations": [acl(TOPICS, "t", READ)]}})
    request_as_user(ask, "DeleteAcls", {"delete": {"filters": [acl_filter(TOPICS, "t")]}})


@scenario("KIP-11 KafkaApis", level="must")
def denied_topics_of_group(ask: ScenarioBuilder) -> None:
    """A user with a right on the group, but not on the topic, gets TOPIC_AUTHORIZATION_FAILED."""
    t, n = topics(ask)
    g = ask.group()
    x = ask.unique("X1")
    granted(ask, (GROUPS, g, READ), (TRANSACTIONAL_IDS, x, WRITE))
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    for case, topic in (("topic", t), ("unknown topic", n)):
        named = [{"name": topic, "partitions": [partition]}]
        committing = {"group_id": g, "generation_id_or_member_epoch": -1, "member_id": ""}
        request_as_user(ask, "OffsetCommit", {f"commit {case}": committing | {"topics": named}}, 0, 9)
        wanted = [{"name": topic, "partition_indexes": [0]}]
        request_as_user(ask, "OffsetFetch", {f"fetch {case}": {"group_id": g, "topics": wanted}}, 0, 7)
        request_as_user(ask, "OffsetFetch", {f"fetch {case}": {"groups": [{"group_id": g, "topics": wanted}]}}, 8, 9)
        who = {"transactional_id": x, "producer_id": 7, "producer_epoch": 0}
        request_as_user(
            ask, "TxnOffsetCommit", {f"commit {case} in transaction": committing | who | {"topics": named}}, 0, 5
        )
        added = who | {"topics": [{"name": topic, "partitions": [0]}]}
        request_as_user(ask, "AddPartitionsToTxn", {f"add {case}": added}, 0, 3)
    deleted = [{"name": t, "partitions": [{"partition_index": 0}]}]
    request_as_user(ask, "OffsetDelete", {"delete with READ": {"group_id": g, "topics": deleted}})
    granted(ask, (GROUPS, g, DELETE))
    request_as_user(ask, "OffsetDelete", {"delete with DELETE": {"group_id": g, "topics": deleted}})


@scenario("KIP-98 KafkaApis", level="must")
def denied_group_of_transaction(ask: ScenarioBuilder) -> None:
    """A transaction needs READ on the group whose offsets it commits."""
    t = ask.topic()
    g = ask.group()
    x = ask.unique("X1")
    granted(ask, (TRANSACTIONAL_IDS, x, WRITE))
    who = {"transactional_id": x, "producer_id": 7, "producer_epoch": 0, "group_id": g}
    request_as_user(ask, "AddOffsetsToTxn", {"add offsets": who})
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    committing = who | {"generation_id_or_member_epoch": -1, "member_id": ""}
    named = [{"name": t, "partitions": [partition]}]
    request_as_user(ask, "TxnOffsetCommit", {"commit": committing | {"topics": named}}, 0, 5)


@scenario("KIP-848 KIP-932 KIP-1071 KafkaApis", KAFKA_4_4)
def denied_topics_of_consumers(ask: ScenarioBuilder) -> None:
    """A member that may read its group, but not its topics, gets TOPIC_AUTHORIZATION_FAILED."""
    t = ask.topic()
    g = ask.group()
    granted(ask, (GROUPS, g, READ), (GROUPS, g, DELETE), (GROUPS, g, DESCRIBE))
    beating = {"group_id": g, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": 0, "rebalance_timeout_ms": 60000}
    named = {"subscribed_topic_names": [t], "topic_partitions": []}
    request_as_user(ask, "ConsumerGroupHeartbeat", {"join": beating | named})
    request_as_user(ask, "ConsumerGroupHeartbeat", {"join by expression": beating | {"subscribed_topic_regex": t}}, 1)
    request_as_user(ask, "ShareGroupHeartbeat", {"join a share group": beating_shares(g, t)})
    tasks: Step = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "process_id": "p1", "client_tags": []}
    topology = {"topology": {"epoch": 0, "subtopologies": [{"subtopology_id": "0", "source_topics": [t]}]}}
    request_as_user(ask, "StreamsGroupHeartbeat", {"join a streams group": beating | tasks | topology})
    described = {"groups": [{"group_id": g, "topics": [{"topic_name": t, "partitions": [0]}]}]}
    request_as_user(ask, "DescribeShareGroupOffsets", {"describe": described})
    altered = [{"topic_name": t, "partitions": [{"partition_index": 0, "start_offset": 0}]}]
    request_as_user(ask, "AlterShareGroupOffsets", {"alter": {"group_id": g, "topics": altered}})
    request_as_user(ask, "DeleteShareGroupOffsets", {"delete": {"group_id": g, "topics": [{"topic_name": t}]}})
    wanted = [{"topic_id": "$t.id", "partitions": [{"partition_index": 0, "acknowledgement_batches": []}]}]
    who = {"group_id": g, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ"}
    limits = {"max_wait_ms": 0, "min_bytes": 0, "max_records": 10, "batch_size": 10}
    ask.request(
        "share fetch", "ShareFetch", 1, who | limits | {"share_session_epoch": 0, "topics": wanted}, conn="user"
    )
    acknowledged = [{"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}]
    partition = {"partition_index": 0, "acknowledgement_batches": acknowledged}
    acknowledging = who | {"share_session_epoch": 1, "topics": [{"topic_id": "$t.id", "partitions": [partition]}]}
    ask.request("acknowledge", "ShareAcknowledge", 1, acknowledging, conn="user")


@scenario("KIP-848 KIP-932 KIP-1071 KafkaApis", KAFKA_4_4)
def denied_described_members(ask: ScenarioBuilder) -> None:
    """Descriptions of groups omit members with topics that the user may not describe, and return
    TOPIC_AUTHORIZATION_FAILED.
    """
    t = ask.topic()
    groups = {kind: ask.unique(kind) for kind in ("consumer", "share", "streams")}
    for group in groups.values():
        ask.coordinator(group)
        granted(ask, (GROUPS, group, DESCRIBE), (GROUPS, group, DELETE))
    member = {"member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": 0, "rebalance_timeout_ms": 60000}
    named = {"group_id": groups["consumer"], "subscribed_topic_names": [t], "topic_partitions": []}
    ask.until("ConsumerGroupHeartbeat", 1, member | named, "error_code", 0)
    sharing = beating_shares(groups["share"], t)
    ask.until("ShareGroupHeartbeat", 1, sharing, "error_code", 0)
    ask.until("ShareGroupHeartbeat", 1, sharing, "assignment.topic_partitions.0.partitions.0", 0)
    tasks: Step = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "process_id": "p1", "client_tags": []}
    topology = {"topology": {"epoch": 0, "subtopologies": [{"subtopology_id": "0", "source_topics": [t]}]}}
    ask.until("StreamsGroupHeartbeat", 1, member | tasks | topology | {"group_id": groups["streams"]}, "error_code", 0)
    for kind, api in (("consumer", "Consumer"), ("share", "Share"), ("streams", "Streams")):
        request_as_user(ask, f"{api}GroupDescribe", {f"describe the {kind} group": {"group_ids": [groups[kind]]}})
    request_as_user(
        ask,
        "OffsetDelete",
        {
            "delete offsets": {
                "group_id": groups["consumer"],
                "topics": [{"name": t, "partitions": [{"partition_index": 0}]}],
            }
        },
    )
    leaving = {"member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": -1}
    ask.setup("ConsumerGroupHeartbeat", 1, leaving | {"group_id": groups["consumer"]})
    ask.setup("ShareGroupHeartbeat", 1, leaving | {"group_id": groups["share"]})
    ask.setup("StreamsGroupHeartbeat", 1, leaving | {"group_id": groups["streams"]})
    deleted = {"group_id": groups["share"], "topics": [{"topic_name": t}]}
    request_as_user(ask, "DeleteShareGroupOffsets", {"delete offsets of the share group": deleted})


@scenario("KIP-496 KafkaApis")
def denied_topics_of_offset_delete(ask: ScenarioBuilder) -> None:
    """OffsetDelete needs DELETE on the group, and returns TOPIC_AUTHORIZATION_FAILED for topics without READ."""
    t, n = topics(ask)
    g = ask.group()
    granted(ask, (GROUPS, g, DELETE))
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    committing = {"group_id": g, "generation_id_or_member_epoch": -1, "member_id": ""}
    ask.setup("OffsetCommit", 8, committing | {"topics": [{"name": t, "partitions": [partition]}]})
    for case, topic in (("topic", t), ("unknown topic", n)):
        deleted = [{"name": topic, "partitions": [{"partition_index": 0}]}]
        ask.request(f"delete {case}", "OffsetDelete", 0, {"group_id": g, "topics": deleted}, conn="user")


@scenario("KIP-11 KafkaApis", level="must")
def denied_described_topic(ask: ScenarioBuilder) -> None:
    """A user who may describe a topic learns whether it exists, but may neither read nor write it."""
    t, n = topics(ask)
    granted(ask, (TOPICS, t, DESCRIBE), (TOPICS, n, DESCRIBE))
    for case, topic in (("topic", t), ("unknown topic", n)):
        named = {"name": topic, "partitions": [{"index": 0, "records": [batch(10)]}]}
        ask.request(f"produce: {case}", "Produce", 9, {"acks": 1, "topics": [named]}, conn="user")
        ask.request(f"fetch: {case}", "Fetch", 11, ask.fetching(at(topic)), conn="user")
        latest = {"topics": [one(topic, partition_index=0, timestamp=-1)]}
        ask.request(f"latest: {case}", "ListOffsets", 7, latest, conn="user")
        wanted = {"topics": [{"name": topic}], "allow_auto_topic_creation": True}
        ask.request(f"metadata: {case}", "Metadata", 9, wanted, conn="user", only=["topics"])
        deleted = {"topics": [{"name": topic}]}
        ask.request(f"delete: {case}", "DeleteTopics", 6, deleted, conn="user")
        extended = {"name": topic, "count": 2, "assignments": None}
        ask.request(f"extend: {case}", "CreatePartitions", 3, {"topics": [extended]}, conn="user")
    ask.request("delete by id", "DeleteTopics", 6, {"topics": [{"name": None, "topic_id": "$t.id"}]}, conn="user")


@scenario("KIP-48 KafkaApis")
def tokens_disabled(ask: ScenarioBuilder) -> None:
    """Requests for delegation tokens are refused with DELEGATION_TOKEN_AUTH_DISABLED if the brokers have no secret key
    for tokens."""
    hmac = {"hex": "00112233445566778899aabbccddeeff"}
    request_as_user(ask, "CreateDelegationToken", {"create": {"renewers": [], "max_lifetime_ms": -1}})
    request_as_user(ask, "RenewDelegationToken", {"renew": {"hmac": hmac, "renew_period_ms": -1}})
    request_as_user(ask, "ExpireDelegationToken", {"expire": {"hmac": hmac, "expiry_time_period_ms": -1}})
    request_as_user(ask, "DescribeDelegationToken", {"describe": {"owners": None}})
    other = {"owner_principal_type": "User", "owner_principal_name": "admin", "renewers": [], "max_lifetime_ms": -1}
    request_as_user(ask, "CreateDelegationToken", {"create for another user": other}, 3)


@scenario("KIP-43 KIP-152 SaslServerAuthenticator", level="must")
def sasl_errors(ask: ScenarioBuilder) -> None:
    """A connection authenticates with SaslHandshake and SaslAuthenticate; any other request before that closes it."""
    for v in ask.versions("SaslHandshake"):
        body: Step = {"mechanism": "SCRAM-SHA-256"}
        ask.request(f"v{v}: mechanism that is not enabled", "SaslHandshake", v, body, conn=f"anonymous{v}")
        ask.request(f"v{v}: unknown mechanism", "SaslHandshake", v, {"mechanism": "NOPE"}, conn=f"anonymous-nope{v}")
        ask.request(f"v{v}: empty mechanism", "SaslHandshake", v, {"mechanism": ""}, conn=f"anonymous-empty{v}")
    for v in ask.versions("SaslAuthenticate"):
        for case, sent in {
            "wrong password": "\0user\0wrong",
            "unknown user": "\0nobody\0nobody",
            "no user": "\0\0password",
            "no password": "\0user\0",
            "another identity": "admin\0user\0user",
            "no separator": "user",
            "nothing": "",
        }.items():
            conn = f"anonymous-{v}-{case.replace(' ', '-')}"
            ask.setup("SaslHandshake", 1, {"mechanism": "PLAIN"}, conn=conn)
            ask.request(f"v{v}: {case}", "SaslAuthenticate", v, {"auth_bytes": sent}, conn=conn)
            ask.request(f"v{v}: {case}, then Metadata", "Metadata", 1, {"topics": []}, conn=conn, only=["connection"])
        ask.setup("SaslHandshake", 1, {"mechanism": "PLAIN"}, conn=f"anonymous-{v}")
        right = {"auth_bytes": "\0user\0user"}
        ask.request(f"v{v}: right password", "SaslAuthenticate", v, right, conn=f"anonymous-{v}")
        ask.request(f"v{v}: authenticate again", "SaslAuthenticate", v, right, conn=f"anonymous-{v}")
        ask.request(f"v{v}: handshake again", "SaslHandshake", 1, {"mechanism": "PLAIN"}, conn=f"anonymous-{v}")
    ask.request(
        "authenticate without handshake", "SaslAuthenticate", 2, {"auth_bytes": "\0user\0user"}, conn="anonymous-a"
    )
    ask.request("Metadata without handshake", "Metadata", 1, {"topics": []}, conn="anonymous-m")
    ask.request("ApiVersions without handshake", "ApiVersions", 0, {}, conn="anonymous-v", only=["error_code"])
    ask.setup("SaslHandshake", 1, {"mechanism": "PLAIN"}, conn="anonymous-s")
    ask.request("Metadata after handshake", "Metadata", 1, {"topics": []}, conn="anonymous-s")
    ask.setup("SaslHandshake", 1, {"mechanism": "PLAIN"}, conn="anonymous-w")
    ask.request("handshake after handshake", "SaslHandshake", 1, {"mechanism": "PLAIN"}, conn="anonymous-w")
