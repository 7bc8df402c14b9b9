"""Errors that clients rarely see, which a single broker answers to crafted requests."""

from typing import Any

from kafkalet.conformance.building import ScenarioBuilder, Step, at, batch, record
from tools.recording.definitions import KAFKA_4_4, define

from .classic_groups import Classic
from .consumer_groups import A, Consumers
from .group_offsets import Offsets

EXCESSIVE = 10_001
"""One more than the records that a controller writes for one request (QuorumController.MAX_RECORDS_PER_USER_OP).

Requests for so many partitions are only validated: brokers that do not refuse them would create them."""


@define("produce", "ReplicaManager")
def produce_internal_topics(ask: ScenarioBuilder) -> None:
    """Clients may not produce to internal topics, and are answered with INVALID_TOPIC_EXCEPTION."""
    g = ask.let("g", f"c<unique>.{ask.name}.g")
    ask.coordinator(g)
    for v in ask.versions("Produce", 3, 12):
        for acks in (-1, 1):
            ask.produce("__consumer_offsets", batch(10), case=f"v{v} acks {acks}", version=v, acks=acks)
    ask.produce("__consumer_offsets", batch(10), partition=4711, case="unknown partition", version=9)


@define("fetch", "KIP-320 Partition", level="must")
def fetch_leader_epoch_every_version(ask: ScenarioBuilder) -> None:
    """Fetch ignores negative leader epochs, and answers UNKNOWN_LEADER_EPOCH for one that the leader does not know
    yet."""
    t = ask.topic()
    ask.produce(t, batch(10))
    for v in ask.versions("Fetch", 9, 12):
        for epoch in (-2, -1, 0, 1):
            ask.fetch(f"v{v} epoch {epoch}", at(t, current_leader_epoch=epoch), version=v)
    for v in ask.versions("Fetch", 13):
        for epoch in (-2, 1):
            ask.fetch(f"v{v} epoch {epoch}", at("$t.id", current_leader_epoch=epoch), version=v)


@define("offsets", "KIP-848 OffsetMetadataManager", level="must")
def offsets_of_unknown_group(ask: ScenarioBuilder) -> None:
    """A commit with a generation for a group that does not exist is refused: ILLEGAL_GENERATION, and since Kafka 4.0
    GROUP_ID_NOT_FOUND in version 9 and later."""
    t = ask.topic()
    offsets = Offsets(ask, Classic(ask).id)
    for v in ask.versions("OffsetCommit", 1):
        for case, generation in (("generation 1", 1), ("generation 0", 0)):
            member: Step = {"generation_id_or_member_epoch": generation, "member_id": "m"}
            offsets.commit(f"v{v} commit, {case}", (t, (1,)), version=v, **member)
    for v in ask.versions("OffsetFetch", 9):
        for epoch in (0, 1):
            member = {"member_id": "m", "member_epoch": epoch}
            offsets.fetch(f"v{v} fetch, epoch {epoch}", (t, (0,)), version=v, **member)


@define("offsets", "GroupCoordinatorService")
def offsets_too_large(ask: ScenarioBuilder) -> None:
    """A commit that is larger than a batch of the offsets topic is refused: INVALID_COMMIT_OFFSET_SIZE, and since Kafka
    4.0 UNKNOWN_SERVER_ERROR."""
    t = ask.topic(partitions=300)
    offsets = Offsets(ask, Classic(ask).id)
    large = tuple({"committed_offset": n, "committed_metadata": "m" * 4000} for n in range(300))
    for v in (2, 8):
        offsets.commit(f"v{v}", (t, large), version=v)
    offsets.fetch("nothing is committed", (t, (0, 299)))
    x = ask.let("X1", f"c<unique>.{ask.name}.X1")
    ask.coordinator(x, 1)
    bind = {"P1": "producer_id", "E1": "producer_epoch"}
    initialized = {"transactional_id": x, "transaction_timeout_ms": 60000}
    ask.setup("InitProducerId", 3, initialized, bind=bind, retry_errors=[14, 15, 16, 51])
    ask.setup("AddOffsetsToTxn", 3, ask.of_producer("X1") | {"group_id": offsets.group}, retry_errors=[14, 15, 16, 51])
    partitions = [{"partition_index": n, "committed_offset": n, "committed_metadata": "m" * 4000} for n in range(300)]
    body = ask.of_producer("X1") | {"group_id": offsets.group, "topics": [{"name": t, "partitions": partitions}]}
    ask.request("in a transaction", "TxnOffsetCommit", 3, body)
    ask.setup("EndTxn", 3, ask.of_producer("X1") | {"committed": False})


@define("transaction_offsets", "KIP-447 ClassicGroup", level="must")
def txn_offsets_fenced_instance(ask: ScenarioBuilder) -> None:
    """TxnOffsetCommit of a static member whose id was taken over is refused with FENCED_INSTANCE_ID."""
    t = ask.topic()
    group = Classic(ask)
    group.enter("M1", version=5, group_instance_id="i1")
    group.synced("$M1", 1, "$M1", group_instance_id="i1")
    x = ask.let("X1", f"c<unique>.{ask.name}.X1")
    ask.coordinator(x, 1)
    bind = {"P1": "producer_id", "E1": "producer_epoch"}
    initialized = {"transactional_id": x, "transaction_timeout_ms": 60000}
    ask.setup("InitProducerId", 3, initialized, bind=bind, retry_errors=[14, 15, 16, 51])
    ask.setup("AddOffsetsToTxn", 3, ask.of_producer("X1") | {"group_id": group.id}, retry_errors=[14, 15, 16, 51])
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    body = ask.of_producer("X1") | {"group_id": group.id, "topics": [{"name": t, "partitions": [partition]}]}
    for v in ask.versions("TxnOffsetCommit", 3, 5):
        for case, member, instance in (
            ("another member id", "other", "i1"),
            ("unknown instance", "$M1", "i2"),
            ("without instance", "$M1", None),
            ("the member", "$M1", "i1"),
        ):
            whose = {"member_id": member, "generation_id_or_member_epoch": 1, "group_instance_id": instance}
            ask.request(f"v{v} {case}", "TxnOffsetCommit", v, body | whose)
    ask.setup("EndTxn", 3, ask.of_producer("X1") | {"committed": False})


@define("consumer_groups_classic", "GroupCoordinatorService")
def groups_without_name(ask: ScenarioBuilder) -> None:
    """The empty name is that of a group without members for DescribeGroups, DeleteGroups and OffsetCommit; OffsetDelete
    refuses it with INVALID_GROUP_ID."""
    t = ask.topic()
    ask.coordinator(ask.let("g", f"c<unique>.{ask.name}.g"))
    for v in ask.versions("DeleteGroups"):
        ask.request(f"v{v} delete", "DeleteGroups", v, {"groups_names": [""]})
    for v in ask.versions("DescribeGroups"):
        ask.request(f"v{v} describe", "DescribeGroups", v, {"groups": [""]})
    deleted = [{"name": t, "partitions": [{"partition_index": 0}]}]
    ask.request("delete offsets", "OffsetDelete", 0, {"group_id": "", "topics": deleted})
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    for v in ask.versions("OffsetCommit", 0, 9):
        named = [{"name": t, "partitions": [partition]}]
        member: Step = {"generation_id_or_member_epoch": 1, "member_id": "m"}
        ask.request(f"v{v} commit by a member", "OffsetCommit", v, member | {"group_id": "", "topics": named})


@define("topics", "ReplicationControlManager", KAFKA_4_4)
def topics_excessive(ask: ScenarioBuilder) -> None:
    """Requests for more than 10,000 partitions are refused with POLICY_VIOLATION."""
    t, n = ask.topic(), ask.unknown_topic()
    for v in ask.versions("CreateTopics", 5):
        made = [{"name": n, "num_partitions": EXCESSIVE, "replication_factor": 1}]
        ask.request(f"v{v} create", "CreateTopics", v, {"topics": made, "validate_only": True})
    for v in ask.versions("CreatePartitions"):
        extended = [{"name": t, "count": EXCESSIVE + 1, "assignments": None}]
        ask.request(f"v{v} extend", "CreatePartitions", v, {"topics": extended, "validate_only": True})
    ask.request("t still has one partition", "Metadata", 8, {"topics": [{"name": t}]}, only=["topics"])


@define("features", "KIP-584 FeatureControlManager", UpdateFeatures=1)
def features_refused(ask: ScenarioBuilder) -> None:
    """UpdateFeatures refuses unknown features, levels that do not exist, and downgrades without the right type."""

    def update(case: str, *updates: Step) -> None:
        for v in ask.versions("UpdateFeatures", 1):
            body = {"feature_updates": list(updates), "validate_only": True, "timeout_ms": 10000}
            ask.request(f"v{v} {case}", "UpdateFeatures", v, body)

    def feature(level: int, kind: int = 1, name: str = "metadata.version") -> Step:
        return {"feature": name, "max_version_level": level, "upgrade_type": kind}

    update("unknown feature", feature(1, name="nope"))
    update("empty name", feature(1, name=""))
    update("level too high", feature(9999))
    update("level below zero", feature(-1))
    update("level 0", feature(0))
    update("upgrade to a lower level", feature(1))
    update("safe downgrade", feature(1, 2))
    update("unsafe downgrade", feature(1, 3))
    update("unknown type", feature(1, 9))
    update("a feature twice", feature(7), feature(8))
    update("no feature")


@define("telemetry", "KIP-714 ClientMetricsManager")
def telemetry_too_large(ask: ScenarioBuilder) -> None:
    """PushTelemetry refuses metrics that are larger than telemetry.max.bytes with TELEMETRY_TOO_LARGE."""
    ask.setup("GetTelemetrySubscriptions", 0, {"client_instance_id": "ZERO"}, must_succeed=False)
    ask.steps[-1]["bind"] = {"client": "client_instance_id", "Nsub": "subscription_id"}
    body: dict[str, Any] = {"client_instance_id": "$client", "subscription_id": "$Nsub", "terminating": False}
    large = body | {"compression_type": 0, "metrics": {"fill": "m", "size": (1 << 20) + 1}}
    ask.request("one byte too many", "PushTelemetry", 0, large)


@define("consumer_groups_kip848", "KIP-848 ConsumerGroup", KAFKA_4_4, level="must")
def consumer_group_commit_epochs(ask: ScenarioBuilder) -> None:
    """A commit under another member epoch is refused: STALE_MEMBER_EPOCH since version 9, UNSUPPORTED_VERSION
    before."""
    t = ask.topic()
    group = Consumers(ask)
    group.joined(A, t)
    offsets = Offsets(ask, group.id)
    for v in ask.versions("OffsetCommit", 2):
        for epoch in (0, 1, 2, 99, -1):
            member: Step = {"member_id": A, "generation_id_or_member_epoch": epoch}
            offsets.commit(f"v{v} epoch {epoch}", (t, (5,)), version=v, **member)
        unknown: Step = {"member_id": "unknown-0000000000000a", "generation_id_or_member_epoch": 1}
        offsets.commit(f"v{v} unknown member", (t, (5,)), version=v, **unknown)
    group.leave("leave", A)


@define("produce", "KIP-937 LogValidator", level="must")
def produce_times_too_far(ask: ScenarioBuilder) -> None:
    """Records with a time too far from the broker's are refused with INVALID_TIMESTAMP."""
    t = ask.topic(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000)
    ask.step("bind_now", bind="T1")
    for case, time in (("now", "$T1"), ("an hour ago", "$T1-3600000"), ("in an hour", "$T1+3600000")):
        for v in ask.versions("Produce", 3, 12):
            ask.produce(t, batch(record(time)), case=f"v{v} {case}", version=v)
