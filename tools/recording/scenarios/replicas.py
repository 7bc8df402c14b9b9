"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, AlterReplicaLogDirs, DescribeQuorum."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import Scenarios

scenario = Scenarios("replicas")

PREFERRED, UNCLEAN = 0, 1
OWN = {"keep": {"replica_election_results": "topic"}}


def placed(ask: ScenarioBuilder, name: str, *replicas: list[int], **configs: str) -> str:
    """Create a topic with these replicas."""
    topic = ask.unique(name)
    assignments = [{"partition_index": index, "broker_ids": nodes} for index, nodes in enumerate(replicas)]
    given = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    made = {"name": topic, "num_partitions": -1, "replication_factor": -1, "assignments": assignments, "configs": given}
    ask.setup("CreateTopics", 5, {"topics": [made]})
    ask.step("sleep", ms=700)
    return topic


def state(ask: ScenarioBuilder, case: str, topic: str) -> None:
    """Describe the replicas and leaders of all partitions."""
    ask.step("sleep", ms=300)
    ask.request(case, "Metadata", 8, {"topics": [{"name": topic}], "allow_auto_topic_creation": False}, only=["topics"])


def move(
    ask: ScenarioBuilder, case: str, *wanted: tuple[str, int, list[int] | None], version: int = 0, **body: Any
) -> None:
    topics = [{"name": t, "partitions": [{"partition_index": p, "replicas": replicas}]} for t, p, replicas in wanted]
    ask.request(case, "AlterPartitionReassignments", version, {"topics": topics} | body)


def wait_for_reassignments(ask: ScenarioBuilder, topic: str, partitions: int) -> None:
    """Wait until no reassignment is in progress."""
    asked = {"topics": [{"name": topic, "partition_indexes": list(range(partitions))}]}
    ask.until("ListPartitionReassignments", 0, asked, "topics", [])


def elect(
    ask: ScenarioBuilder, case: str, *wanted: tuple[str, list[int]], kind: int = PREFERRED, version: int = 2
) -> None:
    how: Step = {"election_type": kind} if version else {}
    topics = [{"topic": topic, "partitions": partitions} for topic, partitions in wanted]
    ask.request(case, "ElectLeaders", version, how | {"topic_partitions": topics})


@scenario("KIP-183 KIP-460 ReplicationControlManager.electLeaders")
def elect_leaders(ask: ScenarioBuilder) -> None:
    """ElectLeaders returns ELECTION_NOT_NEEDED for partitions whose preferred replica leads, and
    UNKNOWN_TOPIC_OR_PARTITION for unknown partitions."""
    t, n = ask.topic(partitions=2), ask.unknown_topic()
    for v in ask.versions("ElectLeaders"):
        for kind in (PREFERRED, UNCLEAN) if v else (PREFERRED,):
            name = f"v{v} {'unclean' if kind else 'preferred'}"
            elect(ask, f"{name}: not needed", (t, [0, 1]), kind=kind, version=v)
            elect(ask, f"{name}: unknown topic", (n, [0]), kind=kind, version=v)
            elect(ask, f"{name}: unknown partition", (t, [7, -1]), kind=kind, version=v)
            elect(ask, f"{name}: one twice", (t, [0, 0]), kind=kind, version=v)
            elect(ask, f"{name}: a topic twice", (t, [0]), (t, [0, 1]), kind=kind, version=v)
            elect(ask, f"{name}: illegal name", ("a b", [0]), ("", [0]), kind=kind, version=v)
            elect(ask, f"{name}: nothing", kind=kind, version=v)
            elect(ask, f"{name}: no partitions", (t, []), kind=kind, version=v)
            how = {"election_type": kind} if v else {}
            ask.request(f"{name}: all", "ElectLeaders", v, how | {"topic_partitions": None}, **OWN)
            one = [{"topic": t, "partitions": [0]}]
            ask.request(f"{name}: in no time", "ElectLeaders", v, how | {"topic_partitions": one, "timeout_ms": 0})
    for kind in (2, -1):
        elect(ask, f"type {kind}", (t, [0]), kind=kind)


@scenario("KIP-460 ReplicationControlManager.electLeader", level="must", brokers=3)
def elect_preferred_leaders(ask: ScenarioBuilder) -> None:
    """A preferred election makes the first replica of a partition its leader, and an unclean election changes nothing
    while there is a leader."""
    t, u = placed(ask, "t", [1, 2, 3], [2, 3, 1]), placed(ask, "u", [3, 1])
    move(ask, "other leaders preferred", (t, 0, [2, 1, 3]), (t, 1, [2, 1, 3]), (u, 0, [1, 3]))
    wait_for_reassignments(ask, t, 2)
    wait_for_reassignments(ask, u, 1)
    state(ask, "t before", t)
    state(ask, "u before", u)
    elect(ask, "unclean where there is a leader", (t, [0]), kind=UNCLEAN)
    elect(ask, "one of two", (t, [0, 1]))
    state(ask, "t after", t)
    ask.request("all", "ElectLeaders", 2, {"election_type": PREFERRED, "topic_partitions": None}, **OWN)
    state(ask, "u after", u)
    ask.request("all again", "ElectLeaders", 2, {"election_type": PREFERRED, "topic_partitions": None}, **OWN)


@scenario("KIP-455 ReplicationControlManager.alterPartitionReassignments")
def reassignment_errors(ask: ScenarioBuilder) -> None:
    """AlterPartitionReassignments returns INVALID_REPLICA_ASSIGNMENT for impossible replicas and
    NO_REASSIGNMENT_IN_PROGRESS for a cancellation without a reassignment."""
    t, n = ask.topic(partitions=2), ask.unknown_topic()
    for v in ask.versions("AlterPartitionReassignments"):
        for name, replicas in (
            ("none", []),
            ("an unknown broker", [99]),
            ("a broker twice", [1, 1]),
            ("a negative broker", [-1]),
            ("the same", [1]),
            ("more than there are", [1, 99]),
        ):
            move(ask, f"v{v} {name}", (t, 0, replicas), version=v)
        move(ask, f"v{v} cancel", (t, 0, None), version=v)
        move(ask, f"v{v} unknown topic", (n, 0, [1]), (n, 1, None), version=v)
        move(ask, f"v{v} unknown partition", (t, 7, [1]), (t, -1, None), version=v)
        move(ask, f"v{v} illegal names", ("a b", 0, [1]), ("", 0, [1]), version=v)
        move(ask, f"v{v} nothing", version=v)
        move(ask, f"v{v} a topic twice", (t, 0, [1]), (t, 1, None), version=v)
        move(ask, f"v{v} a partition twice", (t, 0, None), (t, 0, [99]), version=v)
        move(ask, f"v{v} in no time", (t, 0, [1]), version=v, timeout_ms=0)
        ask.request(
            f"v{v} no partitions", "AlterPartitionReassignments", v, {"topics": [{"name": t, "partitions": []}]}
        )
    state(ask, "nothing has changed", t)


@scenario("KIP-455 ReplicationControlManager.listPartitionReassignments", level="detail")
def list_reassignments(ask: ScenarioBuilder) -> None:
    """ListPartitionReassignments returns an empty list while no reassignment is in progress, even for unknown and
    illegal topics."""
    t, n = ask.topic(partitions=2), ask.unknown_topic()
    for case, topics in (
        ("all", None),
        ("of nothing", []),
        ("of a topic", [{"name": t, "partition_indexes": [0, 1]}]),
        ("of an unknown partition", [{"name": t, "partition_indexes": [7, -1]}]),
        ("of an unknown topic", [{"name": n, "partition_indexes": [0]}]),
        ("of an illegal topic", [{"name": "a b", "partition_indexes": [0]}]),
        ("of no partition", [{"name": t, "partition_indexes": []}]),
    ):
        ask.request(case, "ListPartitionReassignments", 0, {"topics": topics})
    ask.request("in no time", "ListPartitionReassignments", 0, {"topics": None, "timeout_ms": 0})


@scenario("KIP-455 ReplicationControlManager.alterPartitionReassignment", level="must", brokers=3)
def reassignments(ask: ScenarioBuilder) -> None:
    """AlterPartitionReassignments moves partitions to other brokers, changes their order and number of replicas, and
    elects another leader if the old one is removed."""
    for number, (before, after) in enumerate(
        (
            ([1, 2], [1, 3]),
            ([1, 2], [3, 1]),
            ([1, 2], [2, 1]),
            ([1, 2], [2, 3]),
            ([1, 2], [3, 2]),
            ([1], [2]),
            ([1, 2], [1, 2, 3]),
            ([1, 2], [3, 2, 1]),
            ([2], [1, 2]),
            ([1, 2, 3], [1]),
            ([1, 2, 3], [3]),
            ([1, 2, 3], [2, 3]),
            ([1, 2, 3], [1, 2, 3]),
            ([1, 2, 3], [3, 2, 1]),
            ([3, 1], [2, 1]),
        )
    ):
        t = placed(ask, f"t{number}", before)
        if before[0] == 1:
            ask.setup("Produce", 7, _one_record(t), retry_errors=[3, 5, 6])
        move(ask, f"{before} to {after}", (t, 0, after))
        wait_for_reassignments(ask, t, 1)
        state(ask, f"{before} to {after}, then", t)
    t = placed(ask, "t", [1, 2, 3])
    for v in ask.versions("AlterPartitionReassignments", 1):
        for change_allowed in (False, True):
            for after in ([1, 2], [1, 3, 2], [1, 99]):
                case = f"v{v} to {after}, another number is {'fine' if change_allowed else 'refused'}"
                move(ask, case, (t, 0, after), version=v, allow_replication_factor_change=change_allowed)
                wait_for_reassignments(ask, t, 1)
        state(ask, f"v{v} then", t)
    move(ask, "cancel what is complete", (t, 0, None))
    u = placed(ask, "u", [1, 2], [2, 1], [1, 3])
    move(ask, "good and bad", (u, 0, [1, 3]), (u, 1, [9]), (u, 2, []), (u, 3, [1]))
    wait_for_reassignments(ask, u, 3)
    state(ask, "good and bad, then", u)
    more = {"name": u, "count": 5, "assignments": None}
    ask.setup(
        "CreatePartitions", 2, {"topics": [more | {"assignments": [{"broker_ids": [1, 2]}, {"broker_ids": [2, 3]}]}]}
    )
    state(ask, "more partitions", u)


def _one_record(topic: str) -> Step:
    from kafkalet_conformance.building import batch

    partition = {"index": 0, "records": [batch(10)]}
    return {
        "transactional_id": None,
        "acks": -1,
        "timeout_ms": 10000,
        "topics": [{"name": topic, "partitions": [partition]}],
    }


@scenario("KIP-113 ReplicaManager.alterReplicaLogDirs", level="detail")
def alter_replica_log_dirs(ask: ScenarioBuilder) -> None:
    """AlterReplicaLogDirs returns LOG_DIR_NOT_FOUND for directories that the broker does not have, and
    UNKNOWN_TOPIC_OR_PARTITION for unknown partitions."""
    t, n = ask.topic(partitions=2), ask.unknown_topic()

    def put(case: str, path: str, *wanted: tuple[str, list[int]]) -> None:
        topics = [{"name": topic, "partitions": partitions} for topic, partitions in wanted]
        ask.request(case, "AlterReplicaLogDirs", version, {"dirs": [{"path": path, "topics": topics}]})

    ask.setup("DescribeLogDirs", 1, {"topics": None}, bind={"dir": "results.0.log_dir"})
    for version in ask.versions("AlterReplicaLogDirs"):
        put(f"v{version} where they are", "$dir", (t, [0, 1]))
        put(f"v{version} nowhere", "/no/such/place", (t, [0, 1]))
        put(f"v{version} relative", "somewhere", (t, [0]))
        put(f"v{version} empty", "", (t, [0]))
        put(f"v{version} unknown topic", "$dir", (n, [0]))
        put(f"v{version} unknown partition", "$dir", (t, [7, -1]))
        put(f"v{version} unknown topic nowhere", "/no/such/place", (n, [0]))
        put(f"v{version} illegal topic", "$dir", ("a b", [0]))
        put(f"v{version} no partitions", "$dir", (t, []))
        ask.request(f"v{version} nothing", "AlterReplicaLogDirs", version, {"dirs": []})


@scenario("KIP-595 KIP-853 KafkaRaftClient.handleDescribeQuorumRequest", level="detail")
def describe_quorum(ask: ScenarioBuilder) -> None:
    """DescribeQuorum returns UNKNOWN_TOPIC_OR_PARTITION for every partition of a request that names any other partition
    than that of the cluster metadata."""

    def about(*wanted: tuple[str, list[int]]) -> Step:
        return {"topics": [{"topic_name": t, "partitions": [{"partition_index": p} for p in ps]} for t, ps in wanted]}

    for v in ask.versions("DescribeQuorum"):
        ask.request(f"v{v} another topic", "DescribeQuorum", v, about(("t", [0])))
        ask.request(f"v{v} another partition", "DescribeQuorum", v, about(("__cluster_metadata", [1])))
        ask.request(f"v{v} two", "DescribeQuorum", v, about(("__cluster_metadata", [0]), ("t", [0])))
        ask.request(f"v{v} nothing", "DescribeQuorum", v, about())
        ask.request(
            f"v{v}", "DescribeQuorum", v, about(("__cluster_metadata", [0])), only=["error_code", "error_message"]
        )
