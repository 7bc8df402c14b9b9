"""DeleteRecords and OffsetForLeaderEpoch."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, at, batch
from tools.recording.definitions import Scenarios

scenario = Scenarios("topics")


def cut(ask: ScenarioBuilder, case: str, version: int, *wanted: tuple[str, int, int]) -> None:
    topics = [{"name": t, "partitions": [{"partition_index": p, "offset": offset}]} for t, p, offset in wanted]
    ask.request(case, "DeleteRecords", version, {"topics": topics, "timeout_ms": 10000})


@scenario("KIP-107 ReplicaManager.deleteRecords")
def delete_records_many(ask: ScenarioBuilder) -> None:
    """DeleteRecords handles each partition separately, and returns UNKNOWN_TOPIC_OR_PARTITION for unknown ones."""
    t, nope = ask.topic(partitions=3), ask.unknown_topic()
    for partition in range(3):
        ask.produce_each(t, [batch(10, 20), batch(30)], partition=partition)
    for version in (0, 1, 2):
        cut(ask, f"v{version} unknown topic", version, (nope, 0, 0))
        cut(ask, f"v{version} unknown partition", version, (t, 7, 0), (t, 0, 1))
        cut(ask, f"v{version} none", version)
        ask.request(f"v{version} no partitions", "DeleteRecords", version, {"topics": [{"name": t, "partitions": []}]})
    cut(ask, "bad and good", 2, (nope, 0, 0), (t, 0, 9), (t, 1, 2))
    two = [{"partition_index": 2, "offset": 1}, {"partition_index": 2, "offset": 2}]
    ask.request("twice", "DeleteRecords", 2, {"topics": [{"name": t, "partitions": two}], "timeout_ms": 1000})
    for partition in range(3):
        ask.offsets(f"earliest of {partition}", t, -2, 5, partition=partition)
    cut(ask, "partition -1", 2, (t, -1, 0))
    ask.request("timeout 0", "DeleteRecords", 2, {"topics": [{"name": t, "partitions": two[:1]}], "timeout_ms": 0})


@scenario("KIP-107 Partition.deleteRecordsOnLeader", level="must")
def delete_records_to_the_high_watermark(ask: ScenarioBuilder) -> None:
    """DeleteRecords with offset -1 deletes all records below the high watermark, and returns the high watermark as the
    low watermark.
    """
    t = ask.topic()
    for version in ask.versions("DeleteRecords"):
        ask.produce_each(t, [batch(10, 20, 30), batch(40, 50)])
        asked = [{"name": t, "partitions": [{"partition_index": 0, "offset": -1}]}]
        ask.request(f"v{version}", "DeleteRecords", version, {"topics": asked, "timeout_ms": 10000})
        ask.offsets(f"v{version} then earliest", t, -2)
        ask.fetch(f"v{version} then below", at(t, 5 * version + 4))
        ask.fetch(f"v{version} then the end", at(t, 5 * version + 5))


@scenario("KIP-107 Partition.deleteRecordsOnLeader")
def delete_records_policies(ask: ScenarioBuilder) -> None:
    """DeleteRecords returns POLICY_VIOLATION for a topic with cleanup.policy=compact, and deletes if the policy
    includes delete."""
    for name, policy in (("compact", "compact"), ("both", "compact,delete"), ("delete", "delete")):
        t = ask.topic(name, cleanup_policy=policy)
        ask.produce(t, batch({"ts": 5, "key": "k", "value": "v"}))
        cut(ask, policy, 2, (t, 0, 1))
        cut(ask, f"{policy}, beyond", 2, (t, 0, 9))
        ask.offsets(f"{policy} earliest", t, -2)


@scenario("KIP-107 UnifiedLog.maybeIncrementLogStartOffset LeaderEpochFileCache.truncateFromStart", level="must")
def delete_records_then(ask: ScenarioBuilder) -> None:
    """After DeleteRecords, Fetch below the log start offset returns OFFSET_OUT_OF_RANGE, and lookups by time and by
    leader epoch reflect the new log start offset."""
    t = ask.topic()
    ask.produce_each(t, [batch(10, 20, 30), batch(40, 50)])
    for offset in (1, 3, 4, 5):
        cut(ask, f"to {offset}", 2, (t, 0, offset))
        ask.fetch(f"fetch before {offset}", at(t, offset - 1))
        ask.fetch(f"fetch at {offset}", at(t, offset))
        ask.time(f"time 0 after {offset}", t, 0)
        ask.time(f"greatest after {offset}", t, -3, 7)
        epoch_end(ask, f"epoch 0 after {offset}", t, 0)


def epoch_end(
    ask: ScenarioBuilder, case: str, topic: str, epoch: int, version: int = 3, partition: int = 0, **more: Any
) -> None:
    asked = {"partition": partition, "leader_epoch": epoch, "current_leader_epoch": more.pop("current", -1)}
    body = {"replica_id": more.pop("replica_id", -1), "topics": [{"topic": topic, "partitions": [asked]}]}
    ask.request(case, "OffsetForLeaderEpoch", version, body, **more)


@scenario(
    "KIP-101 KIP-320 Partition.lastOffsetForLeaderEpoch LeaderEpochFileCache.endOffsetFor",
    level="must",
    area="replicas",
)
def epoch_ends(ask: ScenarioBuilder) -> None:
    """OffsetForLeaderEpoch returns the end offset of a leader epoch, -1 for an undefined one, and compares the current
    leader epoch of the request since version 2."""
    t, u, nope = ask.topic(), ask.topic("u"), ask.unknown_topic()
    ask.produce(t, batch(10, 20))
    for version in ask.versions("OffsetForLeaderEpoch"):
        for epoch in (-1, 0, 1, 2147483647, -2):
            epoch_end(ask, f"v{version} epoch {epoch}", t, epoch, version)
        epoch_end(ask, f"v{version} empty topic", u, 0, version)
        epoch_end(ask, f"v{version} unknown topic", nope, 0, version)
        epoch_end(ask, f"v{version} unknown partition", t, 0, version, 9)
        ask.request(f"v{version} none", "OffsetForLeaderEpoch", version, {"replica_id": -1, "topics": []})
    for version in (2, 3, 4):
        for current in (0, 1, -2):
            epoch_end(ask, f"v{version} current epoch {current}", t, 0, version, current=current)
    for replica in (-2, 1, 5):
        epoch_end(ask, f"replica {replica}", t, 0, 4, replica_id=replica)
