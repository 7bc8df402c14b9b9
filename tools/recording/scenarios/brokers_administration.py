"""Administration of a cluster with several brokers: requests that concern one broker, and placement of replicas."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios

from .configurations import resource
from .several_brokers import PLACES, replicated, write

scenario = Scenarios("several_brokers", brokers=3)

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE = 0, 1


@scenario("ConfigHelper ConfigurationControlManager")
def brokers_configs(ask: ScenarioBuilder) -> None:
    """Only the broker itself describes and changes its configuration."""
    key = "message.max.bytes"

    def describe(case: str, name: str, at: int, kind: int = BROKER, version: int = 4) -> None:
        body: Step = {"resources": [resource(kind, name, key)], "include_synonyms": True}
        ask.request(case, "DescribeConfigs", version, body, conn=f"at-{at}")

    for v in ask.versions("DescribeConfigs", 1):
        for at in PLACES:
            describe(f"v{v} broker 2 at broker {at}", "2", at, version=v)
            describe(f"v{v} all brokers at broker {at}", "", at, version=v)
        describe(f"v{v} an unknown broker", "9", 1, version=v)
    for at in (1, 2):
        body: Step = {"resources": [resource(LOGGER, "2", "none"), resource(BROKER, "2", key)]}
        ask.request(f"two kinds at broker {at}", "DescribeConfigs", 4, body, conn=f"at-{at}")

    def alter(case: str, name: str, operation: int, value: str | None, at: int, kind: int = BROKER) -> None:
        changes = [{"name": key if kind == BROKER else "root", "config_operation": operation, "value": value}]
        changed = {"resource_type": kind, "resource_name": name, "configs": changes}
        body = {"resources": [changed], "validate_only": False}
        ask.request(case, "IncrementalAlterConfigs", 1, body, conn=f"at-{at}")

    for at in PLACES:
        alter(f"set at broker {at}", "2", SET, str(1_000_000 + at), at)
        if at == 2:
            until_value(ask, key, str(1_000_000 + at))
        describe(f"set at broker {at}: broker 2", "2", 2)
        describe(f"set at broker {at}: broker 3", "3", 3)
    alter("an unknown broker", "9", SET, "5", 1)
    alter("a logger of another broker", "2", SET, "INFO", 1, LOGGER)
    alter("removed through another broker", "2", DELETE, None, 3)
    alter("removed", "2", DELETE, None, 2)
    until_value(ask, key, "1048588")
    describe("removed: broker 2", "2", 2)


def until_value(ask: ScenarioBuilder, key: str, value: str) -> None:
    """Wait until broker 2 has this value of a property."""
    body: Step = {"resources": [resource(BROKER, "2", key)]}
    ask.until("DescribeConfigs", 4, body, "results.0.configs.0.value", value)
    ask.steps[-1]["conn"] = "at-2"


@scenario("KIP-113 ReplicaManager")
def brokers_log_dirs(ask: ScenarioBuilder) -> None:
    """DescribeLogDirs lists the replicas of the broker that receives it, and AlterReplicaLogDirs moves only those."""
    t = ask.spread_topic("t", [1, 2], [2, 1], [2, 3])
    write(ask, t, batch(10, 20))
    replicated(ask, t, 2)
    both: Step = {"topics": [{"topic": t, "partitions": [0, 1, 2, 7]}]}
    for at, place in PLACES.items():
        ask.setup("DescribeLogDirs", 1, {"topics": None}, bind={"dir": "results.0.log_dir"}, conn=f"at-{at}")
        ask.each_version("DescribeLogDirs", {f"v# {place}": both}, 0, 3, conn=f"at-{at}")
        moved = {"path": "$dir", "topics": [{"name": t, "partitions": [0, 1, 2]}]}
        ask.each_version("AlterReplicaLogDirs", {f"move v# {place}": {"dirs": [moved]}}, conn=f"at-{at}")


@scenario("ReplicationControlManager")
def brokers_placements(ask: ScenarioBuilder) -> None:
    """Assigned replicas must be registered brokers without duplicates, and equally many for every partition."""

    def create(case: str, *replicas: list[int], **more: Any) -> None:
        name = ask.unique(f"t{len(ask.steps)}")
        assignments = [{"partition_index": n, "broker_ids": nodes} for n, nodes in enumerate(replicas)]
        wanted = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": assignments}
        body = {"topics": [wanted | more], "timeout_ms": 30000, "validate_only": False}
        for v in (4, 5):
            ask.request(f"{case}, v{v}", "CreateTopics", v, body | {"validate_only": True}, conn="at-2")
        ask.request(f"{case}, created", "CreateTopics", 4, body, conn="at-2")

    create("three replicas", [1, 2, 3])
    create("other leaders", [1, 2], [2, 3], [3, 1])
    create("fewer replicas", [1, 2], [3])
    create("more replicas", [1], [2, 3])
    create("a broker twice", [1, 2, 1])
    create("an unknown broker", [1, 2, 4])
    create("an unknown broker in the second", [1, 2], [3, 9])
    create("a negative broker", [1, -2])
    for factor in (0, 1, 2, 3, 4, 32767):
        create(f"factor {factor}", num_partitions=2, replication_factor=factor)
    create("default factor", num_partitions=4)
    t = ask.spread_topic("t", [1, 2], [3, 1])

    def grow(case: str, count: int, *replicas: list[int]) -> None:
        assignments = [{"broker_ids": nodes} for nodes in replicas] or None
        body = {"topics": [{"name": t, "count": count, "assignments": assignments}], "timeout_ms": 30000}
        ask.each_version("CreatePartitions", {f"{case}, v#": body | {"validate_only": True}}, conn="at-3")

    grow("two more", 4, [2, 3], [3, 2])
    grow("fewer replicas than others", 3, [2])
    grow("more replicas than others", 3, [1, 2, 3])
    grow("different numbers of replicas", 4, [1, 2], [3])
    grow("grow to an unknown broker", 3, [1, 4])
    grow("grow to a broker twice", 3, [1, 1])
    grow("placed by the controller", 5)
    body: Step = {"topics": [{"name": t, "count": 3, "assignments": [{"broker_ids": [3, 2]}]}], "timeout_ms": 30000}
    ask.request("one more", "CreatePartitions", 1, body | {"validate_only": False}, conn="at-3")
    for node in PLACES:
        ask.until("Metadata", 9, {"topics": [{"name": t}]}, "topics.0.partitions.2.error_code", 0)
        ask.steps[-1]["conn"] = f"at-{node}"
        described = {"topics": [{"name": t}], "allow_auto_topic_creation": False}
        ask.request(f"then, broker {node}", "Metadata", 9, described, only=["topics"], conn=f"at-{node}")


@scenario("KIP-590 ForwardingManager")
def brokers_forwarding(ask: ScenarioBuilder) -> None:
    """Any broker accepts requests that create and delete topics and partitions, and every broker learns of the
    changes."""
    for node in PLACES:
        at: dict[str, Any] = {"conn": f"at-{node}"}
        for v in ask.versions("CreateTopics", 0, 4):
            name = ask.unique(f"t{node}v{v}")
            wanted: Step = {"name": name, "num_partitions": -1, "replication_factor": -1}
            wanted["assignments"] = [{"partition_index": 0, "broker_ids": [node, node % 3 + 1]}]
            body: Step = {"topics": [wanted], "timeout_ms": 30000, "validate_only": False}
            ask.request(f"create v{v} at {node}", "CreateTopics", v, body, **at)
            ask.request(f"create again v{v} at {node}", "CreateTopics", v, body, **at)
        for v in ask.versions("CreatePartitions"):
            grown = {"name": f"$t{node}v4", "count": 2 + v, "assignments": [{"broker_ids": [2, 1]}]}
            body = {"topics": [grown], "timeout_ms": 30000, "validate_only": False}
            ask.request(f"grow v{v} at {node}", "CreatePartitions", v, body, **at)
        for v in ask.versions("DeleteTopics"):
            gone = ask.spread_topic(f"d{node}v{v}", [1, 2])
            body = {"topic_names": [gone], "topics": [{"name": gone, "topic_id": "ZERO"}], "timeout_ms": 30000}
            ask.request(f"delete v{v} at {node}", "DeleteTopics", v, body, **at)
            ask.request(f"delete again v{v} at {node}", "DeleteTopics", v, body, **at)
            ask.until("Metadata", 8, {"topics": [{"name": gone}]}, "topics.0.error_code", 3)
            ask.steps[-1]["conn"] = f"at-{node % 3 + 1}"
