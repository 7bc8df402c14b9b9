"""Share groups and streams groups in a cluster of several brokers: requests to a broker that is not responsible."""

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import KAFKA_4_4, Scenarios

from .coordinators import ELSEWHERE, find_coordinator

scenario = Scenarios("share_groups", KAFKA_4_4, brokers=3)

M = "AAAAAAAAAAAAAAAAAAAAAQ"


@scenario("KIP-932 KIP-1071 GroupCoordinatorService", level="must", ShareGroupHeartbeat=1)
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
