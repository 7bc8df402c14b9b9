"""Scenarios of requests with empty lists, duplicates, unknown names and zero timeouts."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import KAFKA_3_9, KAFKA_4_4, Scenarios

scenario = Scenarios("replicas")

TOO_LARGE = "m" * 5000
"""Metadata of a committed offset that is longer than offset.metadata.max.bytes."""


@scenario("CoordinatorRuntime GroupCoordinator.doCommitOffsets", level="detail", area="offsets")
def unusual_group_of_refused_commit(ask: ScenarioBuilder) -> None:
    """Since 4.0, a group that a refused OffsetCommit created is described only after the next record of its
    coordinator; earlier releases describe it immediately.
    """
    t = ask.topic()
    group = ask.let("g", "c<unique>.refused")
    ask.coordinator(group)

    def commit(case: str, metadata: Any) -> None:
        partition = {"partition_index": 0, "committed_offset": 3, "committed_metadata": metadata}
        body = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
        ask.request(case, "OffsetCommit", 8, body | {"topics": [{"name": t, "partitions": [partition]}]})

    def described(case: str) -> None:
        ask.each_version("DescribeGroups", {f"{case}, described v#": {"groups": [group]}}, 5)
        ask.each_version("ConsumerGroupDescribe", {f"{case}, as consumer group v#": {"group_ids": [group]}})

    commit("too large metadata", TOO_LARGE)
    described("refused")
    commit("too large metadata again", TOO_LARGE)
    commit("metadata that fits", "m")
    described("committed")


@scenario(
    "KIP-966 org.apache.kafka.metadata.KRaftMetadataCache.describeTopicResponse",
    level="detail",
    area="metadata",
    DescribeTopicPartitions=0,
)
def unusual_page_before_unknown_topic(ask: ScenarioBuilder) -> None:
    """DescribeTopicPartitions ends a page before a topic that does not exist if the page is full."""
    t = ask.topic("b", partitions=3)
    before, after = (
        ask.let("before", "c<unique>.unusual_page_before_unknown_topic.a"),
        ask.let("after", "c<unique>.found_page.c"),
    )
    last = ask.let("last", "c<unique>.unusual_page_before_unknown_topic.d")
    topics = [{"name": name} for name in (last, after, t, before)]
    cursors: dict[str, Step | None] = {
        "no cursor": None,
        "cursor in the topic": {"topic_name": t, "partition_index": 1},
        "cursor behind the topic": {"topic_name": t, "partition_index": 3},
        "cursor at an unknown topic": {"topic_name": after, "partition_index": 0},
    }
    for limit in (0, 1, 2, 3, 4):
        for case, cursor in cursors.items():
            body = {"topics": topics, "response_partition_limit": limit, "cursor": cursor}
            ask.request(f"limit {limit}, {case}", "DescribeTopicPartitions", 0, body)


@scenario("QuorumController.electLeaders", level="detail")
def unusual_elections_without_topics(ask: ScenarioBuilder) -> None:
    """ElectLeaders accepts an empty list with any election type and timeout, and checks the timeout before the type."""
    t = ask.topic()
    lists: dict[str, list[Step] | None] = {
        "all topics": None,
        "empty list": [],
        "no partitions": [{"topic": t, "partitions": []}],
        "one partition": [{"topic": t, "partitions": [0]}],
    }
    for v in ask.versions("ElectLeaders", 1):
        for kind in (0, 1, 9, -1):
            for timeout_ms in (0, -1, 5000):
                for case, topics in lists.items():
                    if topics is None and kind in (0, 1) and timeout_ms > 0:
                        continue  # the response would have the topics of other scenarios
                    body = {"election_type": kind, "topic_partitions": topics, "timeout_ms": timeout_ms}
                    ask.request(f"v{v} type {kind}, {timeout_ms} ms, {case}", "ElectLeaders", v, body)


@scenario(
    "KIP-860 ReplicationControlManager.alterPartitionReassignments",
    KAFKA_4_4,
    level="detail",
    AlterPartitionReassignments=1,
)
def unusual_reassignments_without_results(ask: ScenarioBuilder) -> None:
    """AlterPartitionReassignments repeats allow_replication_factor_change only in responses that have results."""
    t = ask.topic()
    lists: dict[str, list[Step]] = {
        "no topics": [],
        "no partitions": [{"name": t, "partitions": []}],
        "one partition": [{"name": t, "partitions": [{"partition_index": 0, "replicas": None}]}],
    }
    for timeout_ms in (0, 5000):
        for may_differ in (True, False):
            for case, topics in lists.items():
                body = {"timeout_ms": timeout_ms, "allow_replication_factor_change": may_differ, "topics": topics}
                ask.request(f"{may_differ}, {timeout_ms} ms, {case}", "AlterPartitionReassignments", 1, body)


@scenario(
    "KIP-890 AddPartitionsToTxnRequest.partitionsByTransaction",
    level="detail",
    area="transactions",
    AddPartitionsToTxn=4,
)
def unusual_transactional_id_twice(ask: ScenarioBuilder) -> None:
    """If AddPartitionsToTxn contains a transactional id twice, the partitions of its last entry are added for both, and
    the responses name those of its first entry."""
    t, u = ask.topic(partitions=2), ask.topic("u", partitions=2)
    unknown = ask.unknown_topic()

    def entry(topic: str, *partitions: int, **more: Any) -> Step:
        return ask.of_producer("X1") | {"topics": [{"name": topic, "partitions": list(partitions)}]} | more

    xid = ask.let("X1", "c<unique>.unusual.X1")
    ask.coordinator(xid, kind=1)
    ask.init_producer()
    empty = ask.of_producer("X1") | {"topics": []}
    twice = {
        "an unknown topic last": (entry(t, 0), entry(unknown, 0)),
        "an unknown topic first": (entry(unknown, 0), entry(t, 0)),
        "two partitions": (entry(t, 0), entry(t, 1)),
        "two topics": (entry(t, 0), entry(u, 1)),
        "no topics first": (empty, entry(t, 0)),
        "no topics last": (entry(t, 0), empty),
        "verified first": (entry(t, 0, verify_only=True), entry(u, 1)),
        "verified last": (entry(t, 0), entry(u, 1, verify_only=True)),
        "another producer first": (entry(t, 0, producer_id=4711), entry(u, 1)),
        "another producer last": (entry(t, 0), entry(u, 1, producer_id=4711)),
    }
    for case, entries in twice.items():
        ask.request(case, "AddPartitionsToTxn", 4, {"transactions": list(entries)})
    described = {"transactional_ids": [xid]}
    ask.request("the transaction", "DescribeTransactions", 0, described)


@scenario(
    "KIP-714 ConfigHelper.describeConfigs", KAFKA_3_9, level="detail", area="telemetry", IncrementalAlterConfigs=1
)
def unusual_documentation_of_client_metrics(ask: ScenarioBuilder) -> None:
    """Before 4.0, DescribeConfigs returns no documentation for the properties of client metrics subscriptions."""
    name = ask.let("m", "c<unique>.documented")
    configs = [{"name": "interval.ms", "config_operation": 0, "value": "60000"}]
    altered = {"resource_type": 16, "resource_name": name, "configs": configs}
    ask.setup("IncrementalAlterConfigs", 1, {"resources": [altered], "validate_only": False})
    described = [{"resource_type": 16, "resource_name": name, "configuration_keys": ["interval.ms"]}]
    path = "results.0.configs.0.value"
    ask.until("DescribeConfigs", 4, {"resources": described}, path, "60000")
    for documents in (True, False):
        body = {"resources": described, "include_documentation": documents}
        ask.each_version("DescribeConfigs", {f"v# documentation {documents}": body}, 3)
