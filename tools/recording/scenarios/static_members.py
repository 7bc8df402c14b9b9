"""Static members of classic groups (KIP-345): returning and fenced members."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, Scenarios

from .classic_groups import UNKNOWN_CLASSIC_MEMBER, Classic

scenario = Scenarios("consumer_groups_classic", EVERY_RELEASE)

I1: dict[str, Any] = {"group_instance_id": "i1"}
I2: dict[str, Any] = {"group_instance_id": "i2"}


def instance(name: str, member: str = "") -> Step:
    return {"member_id": member, "group_instance_id": name}


@scenario("KIP-345 GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin", level="must")
def group_static_every_version(ask: ScenarioBuilder) -> None:
    """A static member that rejoins under its instance id gets a new member id in every version, and the old member id
    is fenced with FENCED_INSTANCE_ID."""
    for version in ask.versions("JoinGroup", 5):
        group, first, second = Classic(ask, f"g{version}"), f"M{version}0", f"M{version}1"
        group.join(f"v{version} join", version=version, bind=first, **I1)
        group.join(f"v{version} come back before sync", version=version, bind=second, **I1)
        group.describe(f"v{version} describe before sync")
        group.sync(f"v{version} sync of the old one", f"${first}", 1, f"${first}", version=min(version, 5), **I1)
        generation = 2
        group.sync(f"v{version} sync", f"${second}", generation, f"${second}", version=min(version, 5), **I1)
        group.join(f"v{version} come back, stable", version=version, bind=f"M{version}2", **I1)
        group.describe(f"v{version} describe")
        group.heartbeat(f"v{version} heartbeat of the newest", f"$M{version}2", generation, **I1)
        group.heartbeat(f"v{version} heartbeat of the newest, next generation", f"$M{version}2", generation + 1, **I1)
        group.heartbeat(f"v{version} heartbeat of the old one", f"${second}", generation, **I1)
        group.heartbeat(f"v{version} heartbeat of the old one, no instance", f"${second}", generation)


@scenario("KIP-345 ClassicGroup.validateMember", level="must")
def group_static_fenced(ask: ScenarioBuilder) -> None:
    """A replaced static member gets FENCED_INSTANCE_ID if its request has its instance id; if the request has another
    instance id or none, it gets UNKNOWN_MEMBER_ID."""
    t = ask.topic()
    group = Classic(ask)
    group.enter("M1", version=5, **I1)
    group.synced("$M1", 1, "$M1", **I1)
    group.join("another with this instance", bind="M2", **I1)
    for name, member in (("old", "$M1"), ("new", "$M2"), ("unknown", UNKNOWN_CLASSIC_MEMBER), ("nameless", "")):
        for who, fields in (("i1", I1), ("i2", I2), ("no instance", {})):
            for generation in (1, 7):
                group.heartbeat(f"heartbeat, {name}, {who}, {generation}", member, generation, **fields)
                group.sync(f"sync, {name}, {who}, {generation}", member, generation, **fields)
                commit = {"group_id": group.id, "generation_id_or_member_epoch": generation, "member_id": member}
                partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
                body = commit | fields | {"topics": [{"name": t, "partitions": [partition]}]}
                ask.request(f"commit, {name}, {who}, {generation}", "OffsetCommit", 8, body)
    for name, member in (("old", "$M1"), ("unknown", UNKNOWN_CLASSIC_MEMBER)):
        for who, fields in (("i1", I1), ("i2", I2), ("no instance", {})):
            group.join(f"join, {name}, {who}", member, **fields)
    for version in (3, ask.versions("LeaveGroup")[-1]):
        group.leave(f"v{version} leave, old", instance("i1", "$M1"), version=version)
        group.leave(f"v{version} leave, other instance", instance("i2", "$M2"), version=version)
        group.leave(f"v{version} leave, unknown", instance("i1", UNKNOWN_CLASSIC_MEMBER), version=version)
    group.leave("leave without an instance id", instance("i1"), instance("i1"))
    group.describe("describe")


@scenario("KIP-345 ClassicGroup.validateMember")
def group_static_ids(ask: ScenarioBuilder) -> None:
    """A static member is accepted by its member id alone in heartbeats, and can leave by its member id alone."""
    group = Classic(ask)
    group.enter("M1", version=5, **I1)
    group.synced("$M1", 1, "$M1", **I1)
    group.heartbeat("heartbeat by the member id", "$M1", 1)
    group.heartbeat("heartbeat by both", "$M1", 1, **I1)
    group.sync("sync by the member id", "$M1", 1)
    group.join("the same again, by both", "$M1", only=["error_code", "generation_id", "leader", "member_id"], **I1)
    group.sync("sync", "$M1", 2, "$M1", **I1)
    group.join("the same again, by the member id", "$M1", only=["error_code", "generation_id", "leader", "member_id"])
    group.describe("describe")
    group.sync("sync again", "$M1", 3, "$M1")
    group.describe("describe again")
    group.leave("leave by the member id", "$M1")
    group.describe("describe the empty group")
    group.heartbeat("heartbeat after that", "$M1", 3, **I1)
    group.sync("sync after that", "$M1", 3, **I1)
    group.join("join with the old member id", "$M1", **I1)
    for name, odd in {"empty": "", "long": "i" * 250, "odd": "a b/c"}.items():
        Classic(ask, name).join(f"join with an {name} instance id", bind="M5", group_instance_id=odd)


@scenario("KIP-345 KIP-814 GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin", level="must")
def group_static_two(ask: ScenarioBuilder) -> None:
    """A static member that comes back with the same subscription keeps the assignment without a rebalance; if its
    metadata has changed, a rebalance starts."""
    latest = f"$M1{ask.versions('JoinGroup')[-1]}"
    group, both = Classic(ask), ("range", "roundrobin")
    group.enter("M1", *both, version=5, **I1)
    group.send_join("b", "", *both, **I2)
    group.beats_until("$M1", 1, **I1)
    group.send_join("a", "$M1", *both, **I1)
    ask.receive("the second is in", "b", bind={"M2": "member_id"})
    ask.receive("the first is in again", "a")
    group.sync("the leader assigns", "$M1", 2, "$M1", "$M2", **I1)
    group.sync("the follower", "$M2", 2, **I2)
    group.join("the follower comes back", "", *both, bind="M3", **I2)
    group.heartbeat("nobody has to rejoin", "$M1", 2, **I1)
    group.sync("the follower syncs", "$M3", 2, **I2)
    group.heartbeat("the old follower", "$M2", 2, **I2)
    group.join("the follower comes back in version 5", "", *both, bind="M4", version=5, **I2)
    group.sync("the follower syncs again", "$M4", 2, **I2)
    for version in sorted({5, min(8, ask.versions("JoinGroup")[-1]), ask.versions("JoinGroup")[-1]}):
        name = f"M1{version}"
        group.join(f"v{version} the leader comes back", "", *both, version=version, bind=name, **I1)
        group.sync(f"v{version} the leader syncs and assigns", f"${name}", 2, f"${name}", **I1)
    group.heartbeat("nobody has to rejoin still", "$M4", 2, **I2)
    group.describe("describe")
    group.join("the follower comes back with other metadata", "", "range:other", "roundrobin", bind="M5", **I2)
    group.sync("what it is assigned", "$M5", 2, **I2)
    group.send_join("c", "", "roundrobin", **I2)
    group.beats_until(latest, 2, **I1)
    ask.pending("the follower wants something else and waits", "c")
    group.heartbeat("its old self meanwhile", "$M5", 2, **I2)
    group.send_join("a", latest, *both, **I1)
    ask.receive("the follower", "c", bind={"M6": "member_id"})
    ask.receive("the leader", "a")
    group.send_sync("d", "$M6", 3, protocol_name="roundrobin", **I2)
    ask.pending("the follower waits for its assignment", "d")
    group.send_join("e", "", "roundrobin", **I2)
    ask.receive("the follower comes back before the leader assigned: the sync of its old self", "d")
    ask.pending("its new self waits", "e")
    group.heartbeat("the leader", latest, 3, **I1)
    group.send_join("a", latest, *both, **I1)
    ask.receive("its new self", "e", bind={"M7": "member_id"})
    ask.receive("the leader is in once more", "a")
    group.describe("describe before the assignment")


@scenario("KIP-345 ClassicGroup.replaceStaticMember")
def group_static_waiting(ask: ScenarioBuilder) -> None:
    """If an instance joins again while its first JoinGroup still waits, the first one fails with
    FENCED_INSTANCE_ID."""
    group = Classic(ask)
    group.enter("M1", version=3)
    group.send_join("b", **I2)
    group.beats_until("$M1", 1)
    group.send_join("c", **I2)
    ask.receive("the one that waited first", "b", bind={"M9": "member_id"})
    ask.pending("the other waits", "c")
    group.send_join("a", "$M1")
    ask.receive("the other is in", "c", bind={"M2": "member_id"})
    ask.receive("the first is in", "a")
    group.sync("assigned", "$M1", 2, "$M1", "$M2")
    group.leave("a static member leaves by its instance", instance("i2"))
    group.heartbeat("the first has to rejoin", "$M1", 2)
