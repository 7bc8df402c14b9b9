"""Replicas that are throttled while they are added (KIP-73), so that a reassignment stays in progress."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, batch, filled
from tools.recording.definitions import Scenarios

from .several_brokers import produced, reading, write

scenario = Scenarios("several_brokers", brokers=3)

NEVER = "1"
"""Bytes per second: after the first fetch, the new replica has to wait for longer than the scenario takes."""


def throttle(ask: ScenarioBuilder, rate: str | None) -> None:
    """Set or remove the rates of the leader, which is broker 1, and of the follower, which is broker 2."""
    for node, key in ((1, "leader.replication.throttled.rate"), (2, "follower.replication.throttled.rate")):
        change = {"name": key, "config_operation": 0 if rate else 1, "value": rate}
        resource = {"resource_type": 4, "resource_name": str(node), "configs": [change]}
        body = {"resources": [resource], "validate_only": False}
        ask.setup("IncrementalAlterConfigs", 1, body, conn=f"at-{node}")


def throttled_topic(ask: ScenarioBuilder, name: str, *replicas: int, **configs: Any) -> str:
    """Create a topic with six large batches and throttled replicas."""
    every = {"leader_replication_throttled_replicas": "*", "follower_replication_throttled_replicas": "*"}
    t = ask.spread_topic(name, list(replicas), **every, **configs)
    for n in range(6):
        write(ask, t, filled(n, 900_000))
    return t


def move(ask: ScenarioBuilder, case: str, topic: str, replicas: list[int] | None, version: int = 0) -> None:
    moved = {"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}
    ask.request(case, "AlterPartitionReassignments", version, {"topics": [moved], "timeout_ms": 30000})


def look(ask: ScenarioBuilder, case: str, topic: str) -> None:
    asked = {"topics": [{"name": topic, "partition_indexes": [0]}], "timeout_ms": 30000}
    ask.request(f"{case}: reassignments", "ListPartitionReassignments", 0, asked, conn="at-2")
    for v in (8, *ask.versions("Metadata", 12)):
        body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        ask.request(f"{case}: Metadata v{v}", "Metadata", v, body, only=["topics"], conn="at-1")


@scenario("KIP-455 KIP-73 PartitionReassignmentReplicas")
def reassignments_in_progress(ask: ScenarioBuilder) -> None:
    """A reassignment is in progress until the new replicas are in sync; meanwhile it can be changed or cancelled."""
    throttle(ask, NEVER)
    t = throttled_topic(ask, "t", 1)
    move(ask, "move", t, [2, 1])
    ask.step("sleep", ms=1500)
    look(ask, "moving", t)
    elect = {"topic_partitions": [{"topic": t, "partitions": [0]}], "timeout_ms": 30000}
    ask.each_version("ElectLeaders", {"elect v#": elect | {"election_type": 0}})
    move(ask, "the same again", t, [2, 1])
    look(ask, "the same again", t)
    for v in ask.versions("AlterPartitionReassignments"):
        move(ask, f"cancel v{v}", t, None, v)
        look(ask, f"cancelled v{v}", t)
        move(ask, f"cancel again v{v}", t, None, v)
        move(ask, f"move once more v{v}", t, [2, 1], v)
        look(ask, f"moving once more v{v}", t)
    move(ask, "cancel before other targets", t, None)
    for targets in ([[2, 1], [3, 1]], [[1, 2], [2, 3, 1]], [[2], [1]], [[2, 3, 1], [1, 3]], [[3], [2]]):
        for number, target in enumerate(targets):
            move(ask, f"{targets}: move to {target}", t, target)
            ask.step("sleep", ms=300)
            look(ask, f"{targets}, step {number}", t)
        move(ask, f"{targets}: cancel", t, None)
        ask.step("sleep", ms=300)
        look(ask, f"{targets}, cancelled", t)
    for allowed in (True, False) if 1 in ask.versions("AlterPartitionReassignments") else ():
        moved = {"name": t, "partitions": [{"partition_index": 0, "replicas": [2, 3]}]}
        body = {"topics": [moved], "timeout_ms": 30000, "allow_replication_factor_change": allowed}
        ask.request(f"more replicas, allowed: {allowed}", "AlterPartitionReassignments", 1, body)
    more = {"topics": [{"name": t, "count": 2, "assignments": None}], "timeout_ms": 30000, "validate_only": True}
    ask.request("partitions while moving", "CreatePartitions", 1, more)
    move(ask, "cancel at the end", t, None)
    throttle(ask, None)


@scenario("KIP-966 Partition", level="must")
def not_enough_replicas(ask: ScenarioBuilder) -> None:
    """Produce with acks -1 returns NOT_ENOUGH_REPLICAS while fewer than min.insync.replicas are in sync."""
    throttle(ask, NEVER)
    t = throttled_topic(ask, "t", 1, min_insync_replicas=2)
    move(ask, "move", t, [1, 2])
    ask.step("sleep", ms=1500)
    for v in ask.versions("Produce", 3):
        for acks in (-1, 1):
            ask.request(f"v{v} acks {acks}", "Produce", v, produced(t, batch(10), acks=acks), conn="at-1")
    ask.each_version("Fetch", {"Fetch v#": reading(t, 6, partition_max_bytes=1000)}, 12, conn="at-1")
    listed = {"replica_id": -1, "topics": [{"name": t, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
    ask.request("latest", "ListOffsets", 5, listed, conn="at-1")
    move(ask, "cancel", t, None)
    ask.until("ListOffsets", 5, listed, "topics.0.partitions.0.error_code", 0)
    ask.request("acks -1 after the cancellation", "Produce", 9, produced(t, batch(10)), conn="at-1")
    ask.request("latest after the cancellation", "ListOffsets", 5, listed, conn="at-1")
    throttle(ask, None)


@scenario("KIP-73 QuotaConfig", area="configurations")
def throttled_rates(ask: ScenarioBuilder) -> None:
    """The rates of throttled replication are dynamic properties of a broker: numbers that are not negative."""
    for side in ("leader", "follower"):
        key = f"{side}.replication.throttled.rate"
        for value in ("many", "-1", "0", "1.5", "", " 7 ", "9223372036854775807", "9223372036854775808", None):
            for name in ("1", ""):
                change = {"name": key, "config_operation": 0, "value": value}
                resource = {"resource_type": 4, "resource_name": name, "configs": [change]}
                body = {"resources": [resource], "validate_only": True}
                case = f"{key} {value!r} of {'broker ' + name if name else 'all brokers'}"
                ask.request(case, "IncrementalAlterConfigs", 1, body)
    for operation in (2, 3):
        change = {"name": "leader.replication.throttled.rate", "config_operation": operation, "value": "5"}
        resource = {"resource_type": 4, "resource_name": "1", "configs": [change]}
        body = {"resources": [resource], "validate_only": True}
        ask.request(f"operation {operation}", "IncrementalAlterConfigs", 1, body)


@scenario("KIP-73 KIP-226 QuotaConfig", area="configurations")
def throttled_rates_described(ask: ScenarioBuilder) -> None:
    """DescribeConfigs returns the rates of throttled replication that are set for a broker or for all brokers."""
    keys = [f"{side}.replication.throttled.rate" for side in ("leader", "follower")]
    keys.append("replica.alter.log.dirs.io.max.bytes.per.second")

    def change(value: str | None, name: str, key: str) -> None:
        changed = {"name": key, "config_operation": 0 if value else 1, "value": value}
        resource = {"resource_type": 4, "resource_name": name, "configs": [changed]}
        ask.setup("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False}, conn="at-1")

    def described(case: str) -> None:
        ask.step("sleep", ms=1000)  # until the broker has the change
        for name in ("1", ""):
            resource = {"resource_type": 4, "resource_name": name, "configuration_keys": keys}
            for v in ask.versions("DescribeConfigs"):
                body = {"resources": [resource], "include_synonyms": True, "include_documentation": True}
                ask.request(f"{case}, of {name or 'all'}, v{v}", "DescribeConfigs", v, body, conn="at-1")

    described("unset")
    for key in keys:
        change("9000000", "1", key)
    described("set for a broker")
    change("8000000", "", keys[0])
    described("set for all brokers, too")
    change(None, "1", keys[0])
    described("set for all brokers only")
    for key in keys[1:]:
        change(None, "1", key)
    change(None, "", keys[0])
    described("removed")
