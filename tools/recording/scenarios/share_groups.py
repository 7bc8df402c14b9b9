"""Share groups (KIP-932): their members, fetches, acknowledgements and offsets, and the errors of each API."""

from typing import Any

from kafkalet_conformance.building import UNKNOWN_TOPIC_ID, ScenarioBuilder, batch
from kafkalet_conformance.shares import ACCEPT, GONE, OPEN, REJECT, RELEASE, STATE, M, N, Share, of
from tools.recording.definitions import SHARE_GROUPS, Scenarios

scenario = Scenarios("share_groups", SHARE_GROUPS)


@scenario("KIP-932 GroupMetadataManager", ShareGroupHeartbeat=1)
def share_heartbeat_errors(ask: ScenarioBuilder) -> None:
    """ShareGroupHeartbeat refuses unknown members, wrong epochs, and requests without group, member or topics."""
    t = ask.topic()
    group = Share(ask)
    group.beat("unknown group", M, 1)
    group.beat("leave an unknown group", M, GONE)
    group.beat("join without topics", M, 0)
    group.beat("join without member id", "", 0, t)
    group.beat("join a group without name", M, 0, t, group_id="")
    group.beat("epoch -2", M, -2, t)
    group.beat("empty rack", M, 0, t, rack_id="")
    group.beat("no topic in the list", M, 0, subscribed_topic_names=[])
    group.joined(M, t)
    group.beat("unknown member", N, 1)
    group.beat("unknown member leaves", N, GONE)
    group.beat("epoch too large", M, 99)
    group.beat("leaves", M, GONE)
    group.beat("leaves again", M, GONE)
    group.beat("after leaving", M, 1)


@scenario("KIP-932 GroupMetadataManager", ShareGroupDescribe=1)
def share_describe_errors(ask: ScenarioBuilder) -> None:
    """ShareGroupDescribe returns GROUP_ID_NOT_FOUND for groups that do not exist or are of another type."""
    t = ask.topic()
    group, other = Share(ask), Share(ask, "other")
    classic = {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": ""}]}
    joining = {"group_id": other.id, "session_timeout_ms": 30000, "rebalance_timeout_ms": 30000, "member_id": ""}
    ask.setup("JoinGroup", 3, joining | classic)

    def describe(case: str, *groups: str, **more: Any) -> None:
        body = {"group_ids": list(groups), "include_authorized_operations": False}
        ask.request(case, "ShareGroupDescribe", 1, body | more)

    describe("unknown", group.id)
    describe("empty name", "")
    describe("a classic group", other.id)
    describe("no group")
    group.joined(M, t)
    group.beat("leaves", M, GONE)
    ask.request("delete the group", "DeleteGroups", 2, {"groups_names": [group.id]})
    describe("deleted", group.id)


@scenario("KIP-932 ShareSessionCache KafkaApis", level="must", ShareFetch=1)
def share_fetch_errors(ask: ScenarioBuilder) -> None:
    """ShareFetch and ShareAcknowledge return an error for unknown sessions, wrong session epochs, unknown topics and
    invalid states.
    """
    t = ask.topic()
    bogus = ask.let("bogus.id", UNKNOWN_TOPIC_ID)
    ask.produce(t, batch(10, 20, 30))
    group = Share(ask)
    group.joined(M, t)
    for v in ask.versions("ShareFetch"):
        group.fetch(f"v{v}: session that does not exist", M, 5, of("$t.id"), version=v)
        group.fetch(f"v{v}: no group", M, OPEN, of("$t.id"), version=v, group_id=None)
        group.fetch(f"v{v}: no member id", "", OPEN, of("$t.id"), version=v)
        group.fetch(f"v{v}: acknowledgement in the first request", M, OPEN, of("$t.id", (0, 0, ACCEPT)), version=v)
        group.fetch(f"v{v}: close what is not open", M, GONE, version=v)
    for v in ask.versions("ShareAcknowledge"):
        batches = of("$t.id", (0, 0, ACCEPT))
        group.acknowledge(f"v{v}: acknowledge without session", M, 1, batches, version=v)
        group.acknowledge(f"v{v}: acknowledge in the first request", M, OPEN, batches, version=v)
        group.acknowledge(f"v{v}: acknowledge for no group", M, 1, batches, version=v, group_id=None)
        group.acknowledge(f"v{v}: acknowledge without member id", "", 1, batches, version=v)
    group.fetch("unknown topic id", M, OPEN, of(bogus))
    group.fetch("wrong epoch", M, 7, of("$t.id"))
    group.acknowledge("acknowledge in the wrong epoch", M, 7, of("$t.id", (0, 0, ACCEPT)))
    group.acknowledge("acknowledge in an unknown topic", M, 1, of(bogus, (0, 0, ACCEPT)))
    group.acknowledge("acknowledge what was not acquired", M, 2, of("$t.id", (0, 0, ACCEPT)))
    group.acknowledge("unknown type", M, 3, of("$t.id", (0, 0, 9)))
    group.acknowledge("last offset before the first", M, 4, of("$t.id", (2, 1, ACCEPT)))
    group.acknowledge("unknown partition", M, 5, of("$t.id", (0, 0, ACCEPT), partition=7))


@scenario("KIP-932 SharePartition", level="must", ShareFetch=1)
def share_fetch_life(ask: ScenarioBuilder) -> None:
    """A member fetches records, and accepts, releases and rejects them; released records are delivered again."""
    t = ask.topic()
    ask.produce(t, batch(10, 20, 30))
    group = Share(ask)
    group.joined(M, t)
    body = group.fetching(M, OPEN, of("$t.id"))
    ask.until("ShareFetch", 1, body, "responses.0.partitions.0.error_code", 0)
    group.acknowledge("close", M, GONE, of("$t.id"))
    last = ask.versions("ShareFetch")[-1]
    group.fetch("all records", M, OPEN, of("$t.id"), version=last, max_wait_ms=5000)
    group.acknowledge("accept, release and reject", M, 1, of("$t.id", (0, 0, ACCEPT), (1, 1, RELEASE), (2, 2, REJECT)))
    group.acknowledge("accept again", M, 2, of("$t.id", (0, 0, ACCEPT)))
    group.acknowledge("accept what does not exist", M, 3, of("$t.id", (7, 8, ACCEPT)))
    group.fetch("the released record", M, 4, version=last)
    group.fetch("reject the first again", M, 5, of("$t.id", (0, 0, REJECT)), version=last, max_wait_ms=0)
    group.fetch("accept it", M, 6, of("$t.id", (1, 1, ACCEPT)), version=last, max_wait_ms=0)
    group.acknowledge("close again", M, GONE)
    group.acknowledge("close what is closed", M, GONE)


@scenario("KIP-932 SharePartition", level="must", ShareFetch=1)
def share_not_acquired(ask: ScenarioBuilder) -> None:
    """Acknowledgements of records that a member has not acquired fail with INVALID_RECORD_STATE."""
    t = ask.topic()
    ask.produce(t, batch(10, 20, 30))
    group = Share(ask)
    group.joined(M, t)
    body = group.fetching(M, OPEN, of("$t.id"), max_records=1, batch_size=1)
    ask.until("ShareFetch", 1, body, "responses.0.partitions.0.error_code", 0)
    group.acknowledge("close", M, GONE, of("$t.id"))
    last = ask.versions("ShareFetch")[-1]
    group.fetch("all records", M, OPEN, of("$t.id"), version=last, max_wait_ms=5000)
    ask.setup("ShareFetch", last, group.fetching(N, OPEN, of("$t.id"), max_wait_ms=0))
    for epoch, v in enumerate(ask.versions("ShareAcknowledge"), 1):
        group.acknowledge(f"v{v}: another member", N, epoch, of("$t.id", (0, 0, ACCEPT)), version=v)
    for epoch, v in enumerate(ask.versions("ShareFetch"), 3):
        group.fetch(f"v{v}: another member fetches", N, epoch, of("$t.id", (0, 0, ACCEPT)), version=v, max_wait_ms=0)
    group.acknowledge("accept", M, 1, of("$t.id", (0, 2, ACCEPT)))
    group.acknowledge("release what is accepted", M, 2, of("$t.id", (0, 2, RELEASE)))
    group.acknowledge("beyond the end", M, 3, of("$t.id", (7, 8, ACCEPT)))
    group.fetch("unknown partition", M, 4, of("$t.id", partition=7), version=last, max_wait_ms=0)
    group.fetch("unknown partition and acknowledgement", M, 5, of("$t.id", (0, 0, ACCEPT), partition=8), max_wait_ms=0)


@scenario("KIP-932 GroupCoordinatorService", DescribeShareGroupOffsets=0)
def share_offsets_errors(ask: ScenarioBuilder) -> None:
    """The offsets of a share group can always be described; they can be altered and deleted while the group has no
    members.
    """
    t, n = ask.topic(), ask.unknown_topic()
    group = Share(ask)

    def alter(case: str, topic: str, partition: int = 0, offset: int = 1, **more: Any) -> None:
        wanted = [{"topic_name": topic, "partitions": [{"partition_index": partition, "start_offset": offset}]}]
        ask.request(case, "AlterShareGroupOffsets", 0, {"group_id": group.id, "topics": wanted} | more)

    def delete(case: str, *topics: str, **more: Any) -> None:
        body = {"group_id": group.id, "topics": [{"topic_name": topic} for topic in topics]}
        ask.request(case, "DeleteShareGroupOffsets", 0, body | more)

    def describe(case: str, *topics: str, group_id: str = group.id) -> None:
        wanted = [{"topic_name": topic, "partitions": [0]} for topic in topics] or None
        asked = {"groups": [{"group_id": group_id, "topics": wanted}]}
        ask.each_version("DescribeShareGroupOffsets", {f"v#: {case}": asked})

    describe("unknown group", t)
    describe("unknown group, all topics")
    describe("group without name", t, group_id="")
    delete("delete in an unknown group", t)
    delete("delete in a group without name", t, group_id="")
    alter("alter an unknown group", n)
    alter("alter a group without name", t, group_id="")
    group.joined(M, t)
    alter("alter a group with members", t)
    delete("delete in a group with members", t)
    group.beat("leaves", M, GONE)
    describe("unknown topic", n)
    alter("unknown topic", n)
    alter("unknown partition", t, 7)
    alter("offset", t)
    alter("negative offset", t, 0, -5)
    delete("unknown topic", n)
    delete("delete", t)
    delete("no topics")


@scenario("KIP-932 ShareCoordinatorShard", InitializeShareGroupState=0)
def share_state_errors(ask: ScenarioBuilder) -> None:
    """The state of share partitions is fenced by state epochs and leader epochs, and checked before it is written."""
    ask.topic()
    g = ask.unique("g")
    bogus = ask.let("bogus.id", UNKNOWN_TOPIC_ID)
    ready = {"group_id": g, "topics": [{"topic_id": "$t.id", "partitions": [{"partition": 0, "leader_epoch": -1}]}]}
    ask.until("FindCoordinator", 6, {"key_type": 2, "coordinator_keys": [STATE]}, "coordinators.0.error_code", 0)
    ask.until("ReadShareGroupStateSummary", 0, ready, "results.0.partitions.0.error_code", 0)

    def send(case: str, api: str, version: int = 0, topic: str = "$t.id", group: str = g, **partition: Any) -> None:
        wanted = [{"topic_id": topic, "partitions": [{"partition": 0} | partition]}]
        ask.request(case, api, version, {"group_id": group, "topics": wanted})

    def initialize(case: str, **more: Any) -> None:
        send(case, "InitializeShareGroupState", **{"state_epoch": 1, "start_offset": 0} | more)

    def write(case: str, version: int, **more: Any) -> None:
        fields: dict[str, Any] = {"state_epoch": 1, "leader_epoch": 0, "start_offset": 0, "state_batches": []} | more
        send(case, "WriteShareGroupState", version, **fields)

    for v in ask.versions("WriteShareGroupState"):
        write(f"v{v}: write before initialization", v)
    initialize("group without name", group="")
    initialize("unknown topic", topic=bogus)
    initialize("zero topic", topic="ZERO")
    initialize("negative partition", partition=-1)
    initialize("epoch 1")
    initialize("epoch 0 after epoch 1", state_epoch=0)
    initialize("epoch 5", state_epoch=5)
    for v in ask.versions("WriteShareGroupState"):
        write(f"v{v}: write in an old state epoch", v, state_epoch=1)
        write(f"v{v}: write in leader epoch 3", v, state_epoch=5, leader_epoch=3)
        write(f"v{v}: write in an old leader epoch", v, state_epoch=5, leader_epoch=1)
        write(f"v{v}: write for an unknown topic", v, topic=bogus)
        write(f"v{v}: write for a group without name", v, group="")
    send("read in leader epoch 3", "ReadShareGroupState", leader_epoch=3)
    send("read in an old leader epoch", "ReadShareGroupState", leader_epoch=1)
    send("read an unknown topic", "ReadShareGroupState", topic=bogus, leader_epoch=3)
    send("read of a group without name", "ReadShareGroupState", group="", leader_epoch=3)
    for v in ask.versions("WriteShareGroupState"):
        write(f"v{v}: write in an old leader epoch after reading", v, state_epoch=5, leader_epoch=1)
    for v in ask.versions("ReadShareGroupStateSummary"):
        send(f"v{v}: summary", "ReadShareGroupStateSummary", v, leader_epoch=3)
        send(f"v{v}: summary in an old leader epoch", "ReadShareGroupStateSummary", v, leader_epoch=1)
        send(f"v{v}: summary of an unknown topic", "ReadShareGroupStateSummary", v, topic=bogus, leader_epoch=3)
        send(f"v{v}: summary of a group without name", "ReadShareGroupStateSummary", v, group="", leader_epoch=3)
    for case, partition in (("negative partition", -1), ("unknown partition", 7)):
        send(f"read: {case}", "ReadShareGroupState", partition=partition, leader_epoch=3)
        send(f"summary: {case}", "ReadShareGroupStateSummary", partition=partition, leader_epoch=3)
        send(f"write: {case}", "WriteShareGroupState", partition=partition, state_epoch=5, leader_epoch=3)
        send(f"delete: {case}", "DeleteShareGroupState", partition=partition)
    send("delete for an unknown topic", "DeleteShareGroupState", topic=bogus)
    send("delete for a group without name", "DeleteShareGroupState", group="")
    send("delete", "DeleteShareGroupState")
    send("delete again", "DeleteShareGroupState")
    send("read what was deleted", "ReadShareGroupState", leader_epoch=3)
