"""Requests for a partition that are sent to its leader, to a follower, and to a broker without a replica."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios

scenario = Scenarios("several_brokers", brokers=3)

AREA = "several_brokers"
LEADER, FOLLOWER, OTHER = 1, 2, 3
"""The brokers of a partition that is placed on [1, 2]."""
PLACES = {LEADER: "leader", FOLLOWER: "follower", OTHER: "no replica"}
NOT_LEADER = 6


def lead(ask: ScenarioBuilder, topic: str, replicas: list[int], index: int = 0) -> None:
    """Let the first of these replicas become the preferred leader of the partition, and elect it."""
    moved = {"name": topic, "partitions": [{"partition_index": index, "replicas": replicas}]}
    ask.setup("AlterPartitionReassignments", 0, {"topics": [moved], "timeout_ms": 30000})
    asked = {"topics": [{"name": topic, "partition_indexes": [index]}], "timeout_ms": 30000}
    ask.until("ListPartitionReassignments", 0, asked, "topics", [])
    body = {"election_type": 0, "topic_partitions": [{"topic": topic, "partitions": [index]}], "timeout_ms": 30000}
    ask.setup("ElectLeaders", 2, body, must_succeed=False)
    ask.wait_for_leader_everywhere(topic, replicas[0], index)


def write(ask: ScenarioBuilder, topic: str, *batches: Step, at: int = LEADER, index: int = 0, **more: Any) -> None:
    """Produce batches to the broker `at`, and wait until all replicas have them."""
    content = {"transactional_id": None, "acks": -1, "timeout_ms": 10000} | more
    content["topics"] = [{"name": topic, "partitions": [{"index": index, "records": list(batches)}]}]
    ask.setup("Produce", 9, content, conn=f"at-{at}")


def produced(topic: str, *batches: Step, index: int = 0, acks: int = -1) -> Step:
    partition = {"index": index, "records": list(batches)}
    named = {"name": topic, "topic_id": f"{topic}.id", "partitions": [partition]}
    return {"transactional_id": None, "acks": acks, "timeout_ms": 10000, "topics": [named]}


def reading(topic: str, offset: int = 0, index: int = 0, **partition: Any) -> Step:
    asked = {"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20} | partition
    named = {"topic": topic, "topic_id": f"{topic}.id", "partitions": [asked]}
    return {"max_wait_ms": 0, "min_bytes": 0, "topics": [named]}


def replicated(ask: ScenarioBuilder, topic: str, offset: int, at: int = FOLLOWER, index: int = 0) -> None:
    """Wait until the high watermark of a follower has reached this offset."""
    ask.until("Fetch", 12, reading(topic, index=index), "responses.0.partitions.0.high_watermark", offset)
    ask.steps[-1]["conn"] = f"at-{at}"


def as_replica(body: Step, version: int, replica_id: int) -> Step:
    """Return a Fetch request as this replica sends it."""
    if version >= 15:
        return body | {"replica_state": {"replica_id": replica_id, "replica_epoch": -1}}
    return body | {"replica_id": replica_id}


@scenario("KIP-951 KafkaApis", level="must")
def brokers_produce(ask: ScenarioBuilder) -> None:
    """Produce to a broker that does not lead the partition fails with NOT_LEADER_OR_FOLLOWER; since version 10, the
    response names the current leader.
    """
    t = ask.spread_topic("t", [LEADER, FOLLOWER])
    for v in ask.versions("Produce"):
        magic = {0: 0, 1: 0, 2: 1}.get(v, 2)
        for node in (FOLLOWER, OTHER):
            for acks in (-1, 1):
                case = f"v{v} {PLACES[node]}, acks {acks}"
                ask.request(case, "Produce", v, produced(t, batch(10, magic=magic), acks=acks), conn=f"at-{node}")
        case = f"v{v} follower, a corrupt batch"
        corrupt = produced(t, batch(10, magic=magic, set={"crc": 1}) if magic == 2 else batch(10, magic=magic))
        ask.request(case, "Produce", v, corrupt, conn=f"at-{FOLLOWER}")
        ask.request(f"v{v} leader", "Produce", v, produced(t, batch(10, magic=magic)), conn=f"at-{LEADER}")
    newest = ask.versions("Produce")[-1]
    u = ask.spread_topic("u", [2, 3], [3, 2], [1, 3])
    several = produced(u, batch(10))
    several["topics"][0]["partitions"] += [{"index": n, "records": [batch(20)]} for n in (1, 2, 7)]
    ask.request("several leaders", "Produce", newest, several, conn="at-1")
    ask.request("several leaders, before the hints", "Produce", 9, several, conn="at-1")
    unanswered = {"api": "Produce", "version": 9, "body": produced(t, batch(10), acks=0), "conn": "at-2.unanswered"}
    ask.step("request_then_apiversions", case="acks 0 at a follower", **unanswered)


@scenario("KIP-392 KIP-951 ReplicaManager", level="must")
def brokers_fetch(ask: ScenarioBuilder) -> None:
    """A follower serves consumers since Fetch 11, and refuses older versions with NOT_LEADER_OR_FOLLOWER, as a broker
    without a replica does.
    """
    t = ask.spread_topic("t", [LEADER, FOLLOWER])
    write(ask, t, batch(10, 20))
    write(ask, t, batch(30))
    replicated(ask, t, 3)
    for v in ask.versions("Fetch"):
        for node, place in PLACES.items():
            ask.request(f"v{v} {place}", "Fetch", v, reading(t), conn=f"at-{node}")
        ask.request(f"v{v} follower, read committed", "Fetch", v, reading(t) | {"isolation_level": 1}, conn="at-2")
        ask.request(f"v{v} follower, out of range", "Fetch", v, reading(t, 4), conn="at-2")
    newest = ask.versions("Fetch")[-1]
    for epoch in (-2, 0, 1):
        for node, place in PLACES.items():
            body = reading(t, current_leader_epoch=epoch)
            ask.request(f"epoch {epoch}, {place}", "Fetch", newest, body, conn=f"at-{node}")
            ask.request(f"epoch {epoch}, {place}, before the hints", "Fetch", 11, body, conn=f"at-{node}")
    u = ask.spread_topic("u", [2, 3], [3, 2], [1, 3])
    several = reading(u)
    more = [{"partition": n, "fetch_offset": 0, "partition_max_bytes": 1000} for n in (1, 2, 7)]
    several["topics"][0]["partitions"] += more
    for v in (11, 12, 13, newest):
        ask.request(f"v{v} several leaders", "Fetch", v, several, conn="at-1")
    session = several | {"session_epoch": 0}
    ask.request("a session with several leaders", "Fetch", 12, session, conn="at-1", bind={"S1": "session_id"})
    again = {"max_wait_ms": 0, "min_bytes": 0, "topics": [], "session_id": "$S1", "session_epoch": 1}
    ask.request("the session again", "Fetch", 12, again, conn="at-1")


@scenario("KIP-903 Partition")
def brokers_fetch_replica_ids(ask: ScenarioBuilder) -> None:
    """A leader serves the replicas of the partition as followers, and refuses other replica ids."""
    t = ask.spread_topic("t", [LEADER, FOLLOWER])
    write(ask, t, batch(10, 20))
    write(ask, t, batch(30))
    replicated(ask, t, 3)
    for v in ask.versions("Fetch", 4):
        for node, place in PLACES.items():
            for replica in (FOLLOWER, OTHER, LEADER, 9, -2):
                body = as_replica(reading(t, 3), v, replica)
                ask.request(f"v{v} {place}, replica {replica}", "Fetch", v, body, conn=f"at-{node}")
    newest = ask.versions("Fetch")[-1]
    for v in (11, newest):
        for epoch in (0, 1):
            for replica in (FOLLOWER, OTHER):
                body = as_replica(reading(t, 3, current_leader_epoch=epoch), v, replica)
                ask.request(f"v{v} epoch {epoch}, replica {replica}", "Fetch", v, body, conn="at-1")
        for offset in (4, -1):
            body = as_replica(reading(t, offset), v, FOLLOWER)
            ask.request(f"v{v} replica 2 out of range at {offset}", "Fetch", v, body, conn="at-1")


@scenario("KIP-320 Partition", level="must")
def brokers_list_offsets(ask: ScenarioBuilder) -> None:
    """Only the leader serves ListOffsets, except for replica id -2, which any replica serves."""
    t = ask.spread_topic("t", [LEADER, FOLLOWER])
    write(ask, t, batch(10, 20))
    write(ask, t, batch(30))
    replicated(ask, t, 3)

    def listed(case: str, v: int, node: int, timestamp: int, replica: int = -1, **partition: Any) -> None:
        asked = {"partition_index": 0, "timestamp": timestamp} | partition
        body = {"replica_id": replica, "topics": [{"name": t, "partitions": [asked]}]}
        ask.request(case, "ListOffsets", v, body, conn=f"at-{node}")

    for v in ask.versions("ListOffsets"):
        for node, place in PLACES.items():
            for replica in (-1, -2, FOLLOWER, OTHER, 9):
                if v:
                    listed(f"v{v} {place}, replica {replica}", v, node, -1, replica)
                else:
                    listed(f"v{v} {place}, replica {replica}", v, node, -2, replica, max_num_offsets=1)
        for timestamp in (-2, -3, -4, -5, 1_600_000_000_030) if v else ():
            listed(f"v{v} follower, debugging, time {timestamp}", v, FOLLOWER, timestamp, -2)
    for epoch in (-2, 0, 1):
        for node, place in PLACES.items():
            listed(f"epoch {epoch}, {place}", 5, node, -1, current_leader_epoch=epoch)
            listed(f"epoch {epoch}, {place}, debugging", 5, node, -1, -2, current_leader_epoch=epoch)


@scenario("KIP-107 ReplicaManager")
def brokers_delete_records(ask: ScenarioBuilder) -> None:
    """DeleteRecords at the leader returns the lowest log start offset of all replicas, and followers advance their log
    start offset too.
    """
    t = ask.spread_topic("t", [LEADER, FOLLOWER])
    write(ask, t, batch(10, 20))
    write(ask, t, batch(30, 40))
    write(ask, t, batch(50))
    replicated(ask, t, 5)
    for v in ask.versions("DeleteRecords"):
        for node in (FOLLOWER, OTHER):
            for offset in (1, -1, 9):
                asked = {"name": t, "partitions": [{"partition_index": 0, "offset": offset}]}
                body = {"topics": [asked], "timeout_ms": 10000}
                ask.request(f"v{v} {PLACES[node]}, to {offset}", "DeleteRecords", v, body, conn=f"at-{node}")
        asked = {"name": t, "partitions": [{"partition_index": 0, "offset": v + 1}]}
        body = {"topics": [asked], "timeout_ms": 10000}
        ask.request(f"v{v} leader, to {v + 1}", "DeleteRecords", v, body, conn="at-1")
    start = ask.versions("DeleteRecords")[-1] + 1
    ask.until("Fetch", 12, reading(t, start), "responses.0.partitions.0.log_start_offset", start)
    ask.steps[-1]["conn"] = "at-2"
    for offset in (0, start, 5):
        ask.request(f"follower from {offset}", "Fetch", 12, reading(t, offset), conn="at-2")


@scenario("KIP-320 KIP-664 ReplicaManager")
def brokers_leader_only(ask: ScenarioBuilder) -> None:
    """Only the leader of the partition serves OffsetForLeaderEpoch and DescribeProducers."""
    t = ask.spread_topic("t", [LEADER, FOLLOWER])
    write(ask, t, batch(10, 20))
    replicated(ask, t, 2)
    for v in ask.versions("OffsetForLeaderEpoch"):
        for node, place in PLACES.items():
            for replica in (-1, -2, FOLLOWER, OTHER) if v >= 3 else (-2,):
                asked = {"topic": t, "partitions": [{"partition": 0, "leader_epoch": 0, "current_leader_epoch": 0}]}
                body = {"replica_id": replica, "topics": [asked]}
                case = f"OffsetForLeaderEpoch v{v} {place}, replica {replica}"
                ask.request(case, "OffsetForLeaderEpoch", v, body, conn=f"at-{node}")
    for node, place in PLACES.items():
        for epoch in (-2, 1):
            asked = {"topic": t, "partitions": [{"partition": 0, "leader_epoch": 0, "current_leader_epoch": epoch}]}
            body = {"replica_id": -1, "topics": [asked]}
            case = f"OffsetForLeaderEpoch {place}, in epoch {epoch}"
            ask.request(case, "OffsetForLeaderEpoch", 4, body, conn=f"at-{node}")
        producers: Step = {"topics": [{"name": t, "partition_indexes": [0, 7]}]}
        ask.request(f"DescribeProducers {place}", "DescribeProducers", 0, producers, conn=f"at-{node}")
        marker: Step = {"producer_id": 4_000_000_000, "producer_epoch": 0, "transaction_result": False}
        marker |= {"topics": [{"name": t, "partition_indexes": [0]}], "coordinator_epoch": 0}
        for v in ask.versions("WriteTxnMarkers") if node != LEADER else ():
            case = f"WriteTxnMarkers v{v} {place}"
            ask.request(case, "WriteTxnMarkers", v, {"markers": [marker]}, conn=f"at-{node}")
