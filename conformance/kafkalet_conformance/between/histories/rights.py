"""Histories of a user whose rights change: ACLs are created and deleted between requests.

Both brokers need the super user admin and the user user (see `Target.acl`). A history starts without ACLs, because an
earlier one that ended with a difference may have left some. Lists of all resources are not compared, because they would
contain leftovers of earlier histories.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from kafkalet_conformance.access import (
    ALLOW,
    ANY,
    CLUSTER,
    CLUSTER_OPERATIONS,
    DELETE,
    DENY,
    DESCRIBE,
    GROUPS,
    KAFKA_CLUSTER,
    LITERAL,
    MATCH,
    PREFIXED,
    PROPAGATION_MS,
    READ,
    TOPIC_OPERATIONS,
    TOPICS,
    TRANSACTIONAL_IDS,
    WRITE,
    acl_filter,
)
from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, Step, at, batch

from .history import History

ALL = 2
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
OPERATIONS = {
    TOPICS: (READ, READ, WRITE, DESCRIBE, DESCRIBE, *TOPIC_OPERATIONS, ALL),
    GROUPS: (READ, READ, DESCRIBE, DELETE, ALL),
    CLUSTER: (DESCRIBE, *CLUSTER_OPERATIONS, ALL),
    TRANSACTIONAL_IDS: (WRITE, WRITE, DESCRIBE, ALL),
}


class Resources:
    """The topics, groups and transactional ids of a history, and one unused name of each kind."""

    def __init__(self, h: History) -> None:
        h.make_topics(2, 3, dict)
        self.topics = [*dict.fromkeys(topic for topic, _ in h.places), h.unknown_topic()]
        self.groups = [h.let(f"G{n}", f"c<unique>.h.G{n}") for n in (1, 2)]
        self.transactional_ids = [h.let(f"X{n}", f"c<unique>.h.X{n}") for n in (1, 2)]
        self.unknown_id = h.let("unknown_id", UNKNOWN_TOPIC_ID)
        h.coordinator(self.groups[0])
        h.coordinator(self.transactional_ids[0], 1)

    def names(self, kind: int) -> list[str]:
        return {TOPICS: self.topics, GROUPS: self.groups, TRANSACTIONAL_IDS: self.transactional_ids}[kind]


def rights_on_groups(h: History) -> None:
    """Send requests about groups, offsets and transactions."""
    rights(h, (8, ask_group), (8, ask_offsets), (5, ask_consumers), (8, ask_transactions))


def rights_on_topics(h: History) -> None:
    """Send requests about topics, their records and configurations, and the cluster."""
    rights(h, (12, ask_records), (8, ask_topics), (5, ask_cluster))


def rights(h: History, *asking: tuple[int, Callable[[History, Resources], None]]) -> None:
    everything = {"filters": [acl_filter(ANY, None, pattern_type_filter=ANY)]}
    h.setup("DeleteAcls", h.version("DeleteAcls", 1), everything)
    what = Resources(h)
    prefix = h.let("prefix", "c<unique>.h.")
    for _ in range(h.dice.randint(2, 4)):
        create(h, what, prefix)
    offsets_of_admin(h, what)
    total = sum(weight for weight, _ in asking)
    for _ in range(h.dice.randint(10, 30)):
        h.weighted(
            (total // 6, lambda: create(h, what, prefix)),
            (total // 12, lambda: delete(h, what, prefix)),
            (1, lambda: describe(h, what, prefix)),
            *((weight, partial(act, h, what)) for weight, act in asking),
        )
    h.ask("DeleteAcls", h.version("DeleteAcls", 1), everything)


# ACLs


def create(h: History, what: Resources, prefix: str) -> None:
    made = []
    for _ in range(h.of(1, 1, 2, 3)):
        kind = h.of(TOPICS, TOPICS, TOPICS, GROUPS, GROUPS, TRANSACTIONAL_IDS, TRANSACTIONAL_IDS, CLUSTER)
        name, pattern = resource(h, what, kind, prefix)
        made.append(
            {
                "resource_type": kind,
                "resource_name": name,
                "resource_pattern_type": pattern,
                "principal": h.of(*["User:user"] * 6, "User:*", "User:other", "Group:user"),
                "host": h.of(*["*"] * 8, "127.0.0.1", "10.0.0.1"),
                "operation": h.dice.choice(OPERATIONS[kind]),
                "permission_type": h.of(*[ALLOW] * 5, DENY),
            }
        )
    h.ask("CreateAcls", h.version("CreateAcls", 1), {"creations": made})
    h.step("sleep", ms=PROPAGATION_MS)


def resource(h: History, what: Resources, kind: int, prefix: str) -> tuple[str, int]:
    """Return the resource name and the pattern type of an ACL."""
    if kind == CLUSTER:
        return KAFKA_CLUSTER, LITERAL
    if h.chance(0.15):
        return prefix, PREFIXED
    if h.chance(0.1):
        return "*", LITERAL
    return h.dice.choice(what.names(kind)), h.of(LITERAL, LITERAL, LITERAL, PREFIXED)


def chosen(h: History, what: Resources, prefix: str) -> Step:
    kind = h.of(TOPICS, TOPICS, GROUPS, TRANSACTIONAL_IDS, CLUSTER)
    name, pattern = resource(h, what, kind, prefix)
    return acl_filter(
        h.of(kind, kind, ANY),
        h.of(name, name, None),
        pattern_type_filter=h.of(pattern, pattern, MATCH, ANY),
        principal_filter=h.of(None, None, "User:user"),
        operation=h.of(ANY, ANY, READ, DESCRIBE),
        permission_type=h.of(ANY, ANY, ALLOW, DENY),
    )


def delete(h: History, what: Resources, prefix: str) -> None:
    filters = [chosen(h, what, prefix) for _ in range(h.of(1, 1, 2))]
    h.ask("DeleteAcls", h.version("DeleteAcls", 1), {"filters": filters})
    h.step("sleep", ms=PROPAGATION_MS)


def describe(h: History, what: Resources, prefix: str) -> None:
    h.ask("DescribeAcls", h.version("DescribeAcls", 1), chosen(h, what, prefix))


# Requests of the user


def ask(h: History, api: str, body: Step, low: int = 0, high: int = 99, **more: Any) -> None:
    conn = h.of(*["user"] * 9, "main")
    if h.versions(api, low, high):
        h.ask(api, h.version(api, low, high), body, conn=conn, **more)


def some(h: History, names: list[str]) -> list[str]:
    return h.dice.sample(names, h.dice.randint(1, len(names)))


def offsets_of_admin(h: History, what: Resources) -> None:
    """Commit offsets, so that the first group exists."""
    partition = {"partition_index": 0, "committed_offset": 3, "committed_metadata": "m"}
    topics = [{"name": topic, "partitions": [partition]} for topic in what.topics[:-1]]
    body = {"group_id": what.groups[0], "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    h.ask("OffsetCommit", h.version("OffsetCommit", 2, 8), body)


def ask_group(h: History, what: Resources) -> None:
    group = h.dice.choice(what.groups)
    member = {"group_id": group, "member_id": "nobody", "generation_id": 1}
    joining = {"session_timeout_ms": h.of(30_000, 1), "rebalance_timeout_ms": 500, "protocol_type": "consumer"}
    protocol = {"protocol_type": h.of("consumer", None), "protocol_name": "range"}
    api = h.of(
        "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "DescribeGroups", "DescribeGroups", "DeleteGroups",
        "FindCoordinator",
    )  # fmt: skip
    if api == "JoinGroup":
        ask(h, api, member | joining | {"protocols": [{"name": "range", "metadata": "a"}]})
    elif api == "SyncGroup":
        ask(h, api, member | {"assignments": []} | protocol)
    elif api == "LeaveGroup":
        ask(h, api, {"group_id": group, "members": [{"member_id": "nobody", "group_instance_id": None}]}, 3)
    elif api == "DescribeGroups":
        ask(h, api, {"groups": [*some(h, what.groups), "c.nobody"], "include_authorized_operations": h.chance(0.5)}, 3)
    elif api == "DeleteGroups":
        ask(h, api, {"groups_names": ["c.nobody", *some(h, what.groups)]})
    elif api == "FindCoordinator":
        kind = h.of(0, 1)
        names = what.groups if kind == 0 else what.transactional_ids
        if h.chance(0.5):
            ask(h, api, {"key": h.dice.choice(names), "key_type": kind}, 1, 3)
        elif h.chance(0.8):
            ask(h, api, {"coordinator_keys": some(h, names), "key_type": kind}, 4)
        else:
            ask(h, api, {"coordinator_keys": ["g:AAAAAAAAAAAAAAAAAAAAAQ", "x"], "key_type": 2}, h.of(4, 6))
    else:
        ask(h, api, member)


def ask_offsets(h: History, what: Resources) -> None:
    group, topics = h.dice.choice(what.groups), some(h, what.topics)
    api = h.of("OffsetCommit", "OffsetFetch", "OffsetFetch", "OffsetDelete")
    index = h.of(0, 0, 0, 9)
    if api == "OffsetCommit":
        entry = {"partition_index": index, "committed_offset": h.of(1, 5), "committed_metadata": "m"}
        body = {"group_id": group, "generation_id_or_member_epoch": h.of(-1, -1, 3), "member_id": ""}
        if by_id := h.of(False, True) and h.versions(api, 10):
            ids = [f"{topic}.id" for topic in topics if topic != what.topics[-1]]
            entries = [{"topic_id": topic_id, "partitions": [entry]} for topic_id in [*ids, what.unknown_id]]
            h.ask(api, by_id[0], body | {"topics": entries}, conn="user")
        else:
            ask(h, api, body | {"topics": [{"name": topic, "partitions": [entry]} for topic in topics]}, 2, 9)
    elif api == "OffsetFetch":
        wanted = h.of([{"name": topic, "partition_indexes": [0, index]} for topic in topics], None)
        if h.chance(0.3):
            ask(h, api, {"group_id": group, "topics": wanted}, 2, 7)
        elif (by_id := h.versions(api, 10)) and h.chance(0.5):
            ids = [f"{topic}.id" for topic in topics if topic != what.topics[-1]]
            wanted = wanted and [
                {"topic_id": topic_id, "partition_indexes": [0]} for topic_id in [what.unknown_id, *ids]
            ]
            h.ask(api, by_id[0], {"groups": [{"group_id": group, "topics": wanted}]}, conn="user")
        else:
            ask(h, api, {"groups": [{"group_id": name, "topics": wanted} for name in some(h, what.groups)]}, 8, 9)
    else:
        entries = [{"name": topic, "partitions": [{"partition_index": index}]} for topic in topics]
        ask(h, api, {"group_id": group, "topics": entries})


def ask_consumers(h: History, what: Resources) -> None:
    if h.release < "4":
        return
    group = what.groups[1]
    if h.chance(0.3):
        ask(h, "ConsumerGroupDescribe", {"group_ids": what.groups, "include_authorized_operations": h.chance(0.5)})
        return
    body = {"group_id": group, "member_id": MEMBER, "member_epoch": 0, "rebalance_timeout_ms": 60000}
    topics = some(h, what.topics)
    version = h.version("ConsumerGroupHeartbeat")
    leaving = h.chance(0.2)
    if leaving:
        body["member_epoch"] = -1
    elif version >= 1 and h.chance(0.4):
        body |= {"subscribed_topic_regex": h.of("c.*", "c[.].*"), "topic_partitions": []}
    else:
        body |= {"subscribed_topic_names": topics, "topic_partitions": []}
    h.ask("ConsumerGroupHeartbeat", version, body, conn=h.of("user", "user", "user", "main"))
    h.step("sleep", ms=PROPAGATION_MS)


def ask_transactions(h: History, what: Resources) -> None:
    name, topics = h.dice.choice(what.transactional_ids), some(h, what.topics)
    who = {"transactional_id": name, "producer_id": 987_654_321, "producer_epoch": 0}
    api = h.of(
        "InitProducerId", "InitProducerId", "AddPartitionsToTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn",
        "TxnOffsetCommit", "WriteTxnMarkers", "DescribeTransactions", "DescribeProducers",
    )  # fmt: skip
    if api == "InitProducerId":
        body: Step = {"transactional_id": h.of(name, name, None), "transaction_timeout_ms": 60000}
        ask(h, api, body, 0, 5, only=["error_code"], retry_errors=[14, 15, 16, 51])
    elif api == "AddPartitionsToTxn":
        if h.chance(0.1):
            topics.append("__consumer_offsets")
        added = who | {"topics": [{"name": topic, "partitions": [0]} for topic in topics]}
        if h.chance(0.8):
            ask(h, api, added, 0, 3)
        else:
            ask(h, api, {"transactions": [added | {"verify_only": h.chance(0.5)}]}, 4)
    elif api == "AddOffsetsToTxn":
        ask(h, api, who | {"group_id": h.dice.choice(what.groups)})
    elif api == "EndTxn":
        ask(h, api, who | {"committed": True})
    elif api == "TxnOffsetCommit":
        entry = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
        body = who | {"group_id": h.dice.choice(what.groups), "generation_id_or_member_epoch": 3, "member_id": "nobody"}
        ask(h, api, body | {"topics": [{"name": topic, "partitions": [entry]} for topic in topics]}, 3, 5)
    elif api == "WriteTxnMarkers":
        marker = {"producer_id": 7, "producer_epoch": 0, "transaction_result": True, "coordinator_epoch": 0}
        ask(h, api, {"markers": [marker | {"topics": [{"name": what.topics[-1], "partition_indexes": [0]}]}]})
    elif api == "DescribeTransactions":
        only = ["transaction_states"]
        ask(h, api, {"transactional_ids": [*what.transactional_ids, ""]}, only=only)
    else:
        ask(h, api, {"topics": [{"name": topic, "partition_indexes": [0]} for topic in topics]})


def ask_records(h: History, what: Resources) -> None:
    topics = some(h, what.topics)
    api = h.of("Produce", "Fetch", "ListOffsets", "ListOffsets", "OffsetForLeaderEpoch", "DeleteRecords")
    if api == "Produce":
        entries = [{"name": topic, "partitions": [{"index": 0, "records": [batch(10)]}]} for topic in topics]
        body: Step = {"acks": 1, "timeout_ms": 1000, "topics": entries}
        if h.chance(0.2):
            body["transactional_id"] = h.dice.choice(what.transactional_ids)
        ask(h, api, body, 3, 12)
    elif api == "Fetch":
        ask(h, api, h.fetching(*(at(topic) for topic in topics)), 4, 12)
    elif api == "ListOffsets":
        wanted = {"partition_index": h.of(0, 9), "timestamp": -1}
        ask(h, api, {"topics": [{"name": topic, "partitions": [wanted]} for topic in topics]}, 1, 7)
    elif api == "OffsetForLeaderEpoch":
        wanted = {"partition": h.of(0, 9), "leader_epoch": 0, "current_leader_epoch": -1}
        ask(h, api, {"topics": [{"topic": topic, "partitions": [wanted]} for topic in topics]}, 2)
    else:
        wanted = {"partition_index": h.of(0, 0, 9), "offset": 0}
        ask(h, api, {"topics": [{"name": topic, "partitions": [wanted]} for topic in topics], "timeout_ms": 1000})


def ask_topics(h: History, what: Resources) -> None:
    topics = some(h, what.topics)
    api = h.of(
        "Metadata", "Metadata", "CreateTopics", "CreatePartitions", "DeleteTopics", "DescribeConfigs",
        "IncrementalAlterConfigs", "DescribeTopicPartitions",
    )  # fmt: skip
    if api == "Metadata":
        body: Step = {"topics": [{"name": topic} for topic in topics], "allow_auto_topic_creation": False}
        body |= {"include_topic_authorized_operations": h.chance(0.5)}
        ask(h, api, body, 8, 12, only=["topics"])
    elif api == "CreateTopics":
        made = {"name": what.topics[-1], "num_partitions": 1, "replication_factor": 1}
        taken = {"name": what.topics[0], "num_partitions": 1, "replication_factor": 1}
        ask(h, api, {"topics": [made, taken], "timeout_ms": 5000, "validate_only": True}, 5)
    elif api == "CreatePartitions":
        extended = [{"name": topic, "count": 9, "assignments": None} for topic in topics]
        ask(h, api, {"topics": extended, "timeout_ms": 5000, "validate_only": True})
    elif api == "DeleteTopics":
        ask(h, api, {"topic_names": [what.topics[-1]], "timeout_ms": 5000}, 1, 5)
    elif api == "DescribeConfigs":
        entries = [
            {"resource_type": 2, "resource_name": topic, "configuration_keys": ["retention.ms"]} for topic in topics
        ]
        entries += h.of([], [{"resource_type": 4, "resource_name": "1", "configuration_keys": ["message.max.bytes"]}])
        ask(h, api, {"resources": entries}, 1)
    elif api == "IncrementalAlterConfigs":
        change = {"name": "retention.ms", "config_operation": 0, "value": "1"}
        entries = [{"resource_type": 2, "resource_name": topic, "configs": [change]} for topic in topics]
        entries += h.of([], [{"resource_type": 4, "resource_name": "", "configs": [change]}])
        ask(h, api, {"resources": entries, "validate_only": True})
    elif h.versions(api):
        ask(h, api, {"topics": [{"name": topic} for topic in topics], "response_partition_limit": 100})


def ask_cluster(h: History, what: Resources) -> None:
    api = h.of("DescribeCluster", "DescribeLogDirs", "DescribeClientQuotas", "DescribeUserScramCredentials")
    if api == "DescribeCluster":
        only = ["error_code", "cluster_authorized_operations"]
        ask(h, api, {"include_cluster_authorized_operations": True}, 0, 1, only=only)
    elif api == "DescribeLogDirs":
        wanted = [{"topic": what.topics[0], "partitions": [0]}]
        ask(h, api, {"topics": wanted}, 3, only=["error_code"])
    elif api == "DescribeClientQuotas":
        ask(h, api, {"components": [], "strict": False}, only=["error_code"])
    else:
        ask(h, api, {"users": [{"name": "nobody"}]}, only=["error_code"])
