"""Share groups and streams groups in a cluster of several brokers: requests to a broker that is not responsible."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from kafkalet_conformance.shares import ACCEPT, GROUP_RESOURCE, STATE, M, of
from tools.recording.definitions import KAFKA_4_4, SHARE_GROUPS, Scenarios

from .coordinators import ELSEWHERE, THERE, find_coordinator
from .several_brokers import lead, write

scenario = Scenarios("share_groups", SHARE_GROUPS, brokers=3)


@scenario("KIP-932 KIP-1071 GroupCoordinatorService", KAFKA_4_4, level="must", ShareGroupHeartbeat=1)
def share_not_coordinator(ask: ScenarioBuilder) -> None:
    """A broker that does not coordinate a share group or streams group returns NOT_COORDINATOR."""
    t = ask.spread_topic("t", [1, 2])
    g = find_coordinator(ask, "g")
    member: Step = {"group_id": g, "member_id": M, "member_epoch": 0, "subscribed_topic_names": [t]}
    tasks: Step = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "process_id": "p1", "client_tags": []}
    topology = {"topology": {"epoch": 0, "subtopologies": [{"subtopology_id": "0", "source_topics": [t]}]}}
    streams = {"group_id": g, "member_id": M, "member_epoch": 0, "rebalance_timeout_ms": 60000} | tasks | topology
    offsets = [{"topic_name": t, "partitions": [{"partition_index": 0, "start_offset": 0}]}]
    sent: dict[str, Step] = {
        "ShareGroupHeartbeat": member,
        "ShareGroupDescribe": {"group_ids": [g]},
        "StreamsGroupHeartbeat": streams,
        "StreamsGroupDescribe": {"group_ids": [g]},
        "DescribeShareGroupOffsets": {"groups": [{"group_id": g, "topics": [{"topic_name": t, "partitions": [0]}]}]},
        "AlterShareGroupOffsets": {"group_id": g, "topics": offsets},
        "DeleteShareGroupOffsets": {"group_id": g, "topics": [{"topic_name": t}]},
    }
    for api, body in sent.items():
        ask.each_version(api, {f"{api} v#": body}, conn=ELSEWHERE)


@scenario("KIP-932 KafkaApis", level="must", ShareFetch=1)
def share_not_leader(ask: ScenarioBuilder) -> None:
    """A broker that does not lead the partition returns NOT_LEADER_OR_FOLLOWER to ShareFetch."""
    t = ask.spread_topic("t", [1, 2])
    find_coordinator(ask, "g")
    who = {"group_id": "$g", "member_id": M}
    limits = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000, "max_records": 10, "batch_size": 10}
    for node in (2, 3):
        partition: Step = {"partition_index": 0, "acknowledgement_batches": []}
        wanted = [{"topic_id": f"{t}.id", "partitions": [partition]}]
        body = who | limits | {"share_session_epoch": 0, "topics": wanted}
        ask.each_version("ShareFetch", {f"broker {node}: fetch v#": body}, conn=f"at-{node}")
        acknowledged = [{"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}]
        wanted = [{"topic_id": f"{t}.id", "partitions": [partition | {"acknowledgement_batches": acknowledged}]}]
        for epoch, v in enumerate(ask.versions("ShareAcknowledge"), 1):
            body = who | {"share_session_epoch": epoch, "topics": wanted}
            ask.request(f"broker {node}: acknowledge v{v}", "ShareAcknowledge", v, body, conn=f"at-{node}")


@scenario("KIP-932 SharePartitionManager", level="must", ShareFetch=1)
def share_leader_moves(ask: ScenarioBuilder) -> None:
    """After the leader of a partition has changed, the new one knows what was acknowledged, and delivers the rest."""
    t = ask.spread_topic("t", [1, 2])
    g = find_coordinator(ask, "g")
    ask.until("FindCoordinator", 6, {"key_type": 2, "coordinator_keys": [STATE]}, "coordinators.0.error_code", 0)
    ask.steps[-1]["timeout_ms"] = 40000
    earliest = {"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}
    named = {"resource_type": GROUP_RESOURCE, "resource_name": g, "configs": [earliest]}
    ask.setup("IncrementalAlterConfigs", 1, {"resources": [named]})
    member: Step = {"group_id": g, "member_id": M, "member_epoch": 0, "subscribed_topic_names": [t]}
    ask.until("ShareGroupHeartbeat", 1, member, "assignment.topic_partitions.0.partitions.0", 0)
    ask.steps[-1] |= {"conn": THERE, "timeout_ms": 40000}
    write(ask, t, batch(10, 20, 30))
    last = ask.versions("ShareFetch")[-1]
    limits = {"max_wait_ms": 5000, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 100, "batch_size": 100}

    def fetch(case: str, node: int, epoch: int) -> None:
        body: Step = {"group_id": g, "member_id": M, "share_session_epoch": epoch, "topics": []} | limits
        body["topics"] = [] if epoch else [of("$t.id")]
        ask.request(case, "ShareFetch", last, body, conn=f"at-{node}")

    def accept(case: str, node: int, epoch: int, offset: int) -> None:
        body: Step = {"group_id": g, "member_id": M, "share_session_epoch": epoch}
        body["topics"] = [of("$t.id", (offset, offset, ACCEPT))]
        ask.request(case, "ShareAcknowledge", last, body, conn=f"at-{node}")

    fetch("the first leader delivers all records", 1, 0)
    accept("the first leader accepts one", 1, 1, 0)
    lead(ask, t, [2, 1])
    accept("the first leader does not lead any more", 1, 2, 1)
    fetch("the first leader has no records", 1, 3)
    fetch("the second leader delivers the others", 2, 0)
    accept("the second leader accepts one", 2, 1, 2)
    lead(ask, t, [1, 2])
    fetch("the first leader delivers the last one", 1, 4)
