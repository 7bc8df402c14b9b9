"""Errors of the most important APIs in every version, because old and new clients get them."""

from typing import Any

from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, ScenarioBuilder, Step, at, batch, one, record
from tools.recording.definitions import Scenarios

from .classic_groups import UNKNOWN_CLASSIC_MEMBER, Classic

scenario = Scenarios("produce")


@scenario("KafkaApis LogValidator", level="must")
def produce_errors_every_version(ask: ScenarioBuilder) -> None:
    """Produce returns the same errors in every version: unknown topics, acks, sizes, compression and broken batches."""
    t, c = ask.topic(max_message_bytes=300), ask.topic("c", cleanup_policy="compact")
    n = ask.unknown_topic()
    ask.produce(t, batch(10, producer_id=4711, producer_epoch=0, base_sequence=0))
    for v in ask.versions("Produce", 3):

        def send(case: str, topic: str, sent: Step, v: int = v, index: int = 0, **more: Any) -> None:
            named = {"topic_id": UNKNOWN_TOPIC_ID if topic == n else f"{topic}.id"} if v >= 13 else {"name": topic}
            wanted = [named | {"partitions": [{"index": index, "records": [sent]}]}]
            ask.request(f"v{v}: {case}", "Produce", v, {"timeout_ms": 1000, "topics": wanted} | more)

        send("unknown topic", n, batch(10))
        send("unknown partition", t, batch(10), index=7)
        send("acks 2", t, batch(10), acks=2)
        send("too large", t, batch(record(10, {"fill": "x", "size": 400})))
        send("zstd", t, batch(10, codec="zstd"))
        send("wrong checksum", t, batch(10, set={"crc": 1}))
        send("without key in a compacted topic", c, batch(10))
        send("sequence after a gap", t, batch(10, producer_id=4711, producer_epoch=0, base_sequence=5))


@scenario("KIP-227 FetchSessionCache", level="must", area="fetch_sessions")
def session_errors_every_version(ask: ScenarioBuilder) -> None:
    """Unknown sessions and wrong session epochs are errors of the whole response, in every version since 7."""
    t = ask.topic()
    for v in ask.versions("Fetch", 7):
        wanted = at(t if v < 13 else "$t.id")
        ask.fetch(f"v{v}: unknown session", wanted, version=v, session_id=4711, session_epoch=1)
        ask.fetch(f"v{v}: close an unknown session", wanted, version=v, session_id=4711, session_epoch=-1)
        body = ask.fetching(wanted, session_id=0, session_epoch=0)
        ask.request(f"v{v}: open", "Fetch", v, body, bind={f"S{v}": "session_id"})
        ask.fetch(f"v{v}: epoch 5", wanted, version=v, session_id=f"$S{v}", session_epoch=5)
        ask.fetch(f"v{v}: epoch 1", version=v, session_id=f"$S{v}", session_epoch=1)
        ask.fetch(f"v{v}: close", version=v, session_id=f"$S{v}", session_epoch=-1)


@scenario("ReplicaManager", level="must", area="fetch")
def fetch_errors_every_version(ask: ScenarioBuilder) -> None:
    """Unknown partitions, unknown topics and offsets outside of the log are errors of the partition, in every
    version."""
    t, n = ask.topic(), ask.unknown_topic()
    ask.produce(t, batch(10, 20))
    for v in ask.versions("Fetch", 0, 12):
        ask.fetch(f"v{v}: unknown topic", at(n), version=v)
        ask.fetch(f"v{v}: unknown partition", at(t, partition=7), version=v)
        ask.fetch(f"v{v}: offset 3", at(t, 3), version=v)
    for v in ask.versions("Fetch", 13):
        body = ask.fetching(at("ZERO"))
        body["topics"][0]["topic_id"] = UNKNOWN_TOPIC_ID
        ask.request(f"v{v}: unknown topic", "Fetch", v, body)
        ask.fetch(f"v{v}: unknown partition", at("$t.id", partition=7), version=v)
        ask.fetch(f"v{v}: offset 3", at("$t.id", 3), version=v)


@scenario("KIP-320 Partition", level="must", area="list_offsets")
def list_offsets_errors_every_version(ask: ScenarioBuilder) -> None:
    """ListOffsets checks the leader epoch of the request in every version since 4."""
    t, n = ask.topic(), ask.unknown_topic()
    for v in ask.versions("ListOffsets"):
        for case, topic, partition in (("unknown topic", n, 0), ("unknown partition", t, 7)):
            ask.offsets(f"v{v}: {case}", topic, -1, v, partition)
        for epoch in (-2, 1) if v >= 4 else ():
            ask.offsets(f"v{v}: epoch {epoch}", t, -1, v, current_leader_epoch=epoch)
        ask.request(f"v{v}: twice", "ListOffsets", v, {"topics": [one(t, partition_index=0, timestamp=-1)] * 2})


@scenario("KafkaApis", level="must", area="metadata")
def metadata_errors_every_version(ask: ScenarioBuilder) -> None:
    """Metadata returns UNKNOWN_TOPIC_OR_PARTITION and INVALID_TOPIC_EXCEPTION in every version."""
    n = ask.unknown_topic()
    for v in ask.versions("Metadata", 4):
        for case, name in (("unknown topic", n), ("illegal name", "a b"), ("empty name", "")):
            body = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
            ask.request(f"v{v}: {case}", "Metadata", v, body, only=["topics"])
    body = {"topics": [{"name": None, "topic_id": UNKNOWN_TOPIC_ID}], "allow_auto_topic_creation": False}
    ask.each_version("Metadata", {"v#: unknown id": body}, 12, only=["topics"])
    ask.each_version("Metadata", {"v#: topic id": body}, 10, 11)


@scenario("ReplicationControlManager", level="must", area="topics")
def create_topics_errors_every_version(ask: ScenarioBuilder) -> None:
    """CreateTopics returns the same errors in every version, and leaves the other topics of the request alone."""
    t = ask.topic()
    for v in ask.versions("CreateTopics"):

        def create(case: str, v: int = v, **topic: Any) -> None:
            made = {"name": f"$n{v}", "num_partitions": 1, "replication_factor": 1} | topic
            ask.request(f"v{v}: {case}", "CreateTopics", v, {"topics": [made], "timeout_ms": 10000})

        ask.unique(f"n{v}")
        create("exists", name=t)
        create("illegal name", name="a b")
        create("no partitions", num_partitions=0)
        create("replication factor 0", replication_factor=0)
        create("replication factor 9", replication_factor=9)
        assigned = {"partition_index": 0, "broker_ids": [4711]}
        create("unknown broker", num_partitions=-1, replication_factor=-1, assignments=[assigned])
        create("partitions and assignment", assignments=[assigned])
        create("unknown property", configs=[{"name": "nope", "value": "1"}])
        create("wrong value", configs=[{"name": "retention.ms", "value": "x"}])


@scenario("GroupMetadataManager", level="must", area="consumer_groups_classic")
def join_group_errors_every_version(ask: ScenarioBuilder) -> None:
    """JoinGroup returns the same errors in every version: group ids, session timeouts, members and protocols."""
    group = Classic(ask)
    group.enter("M1")
    group.synced("$M1", 1, "$M1")
    for v in ask.versions("JoinGroup"):
        group.join(f"v{v}: group without name", version=v, group_id="")
        group.join(f"v{v}: session timeout 1", version=v, session_timeout_ms=1)
        group.join(f"v{v}: unknown member", UNKNOWN_CLASSIC_MEMBER, version=v)
        group.join(f"v{v}: other protocol", "$M1", "other", version=v, protocol_type="another")
    for v in ask.versions("Heartbeat"):
        group.heartbeat(f"v{v}: unknown member", UNKNOWN_CLASSIC_MEMBER, 1, v)
        group.heartbeat(f"v{v}: generation 7", "$M1", 7, v)
    for v in ask.versions("SyncGroup"):
        group.sync(f"v{v}: unknown member", UNKNOWN_CLASSIC_MEMBER, 1, version=v)
        group.sync(f"v{v}: generation 7", "$M1", 7, version=v)
    group.leave("leave", "$M1")


@scenario("OffsetMetadataManager", level="must", area="offsets")
def offset_commit_errors_every_version(ask: ScenarioBuilder) -> None:
    """OffsetCommit returns the same errors in every version: members, generations, sizes of metadata."""
    t = ask.topic()
    group = Classic(ask)
    group.enter("M1", version=5, group_instance_id="i1")
    for v in ask.versions("OffsetCommit", 1):

        def commit(case: str, v: int = v, member: str = "$M1", generation: int = 1, **more: Any) -> None:
            named = {"name": t} if v < 10 else {"topic_id": "$t.id"}
            partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": more.pop("metadata", "m")}
            body = {"group_id": group.id, "member_id": member, "generation_id_or_member_epoch": generation} | more
            ask.request(f"v{v}: {case}", "OffsetCommit", v, body | {"topics": [named | {"partitions": [partition]}]})

        commit("before the members synchronize")
        commit("unknown member", member=UNKNOWN_CLASSIC_MEMBER)
        commit("generation 7", generation=7)
        if v >= 7:
            commit("other member of the instance", member=UNKNOWN_CLASSIC_MEMBER, group_instance_id="i1")
    group.synced("$M1", 1, "$M1", group_instance_id="i1")
    for v in ask.versions("OffsetCommit", 1):
        named = {"name": t} if v < 10 else {"topic_id": "$t.id"}
        partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m" * 4097}
        body = {"group_id": group.id, "member_id": "$M1", "generation_id_or_member_epoch": 1}
        large = body | {"topics": [named | {"partitions": [partition]}]}
        ask.request(f"v{v}: metadata of 4097 bytes", "OffsetCommit", v, large)
