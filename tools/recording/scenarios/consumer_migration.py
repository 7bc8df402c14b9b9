"""Classic and consumer protocol members in one group (KIP-848): upgrades, downgrades, and rejected requests."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, protocols
from tools.recording.definitions import KAFKA_4_4, Scenarios

from .classic_groups import Classic
from .consumer_groups import MEMBERS, Consumers
from .group_offsets import Offsets

scenario = Scenarios("consumer_groups_kip848", KAFKA_4_4, ConsumerGroupHeartbeat=1)

A, B, C, D, E = MEMBERS
READ = {"metadata": "subscription", "assignment": "assignment"}
DESCRIBED = {"member_metadata": "subscription", "member_assignment": "assignment"}


def assignment(**topics: list[int]) -> Step:
    assigned = [{"topic": f"${topic}", "partitions": partitions} for topic, partitions in topics.items()]
    return {"assignment": {"version": 1, "assigned_partitions": assigned}}


class Mixed(Consumers):
    """A group with members of either protocol."""

    def __init__(self, ask: ScenarioBuilder, name: str = "g") -> None:
        super().__init__(ask, name)
        self.classic = Classic.__new__(Classic)
        self.classic.ask, self.classic.id, self.classic.protocol_type = ask, self.id, "consumer"

    def describe_both(self, case: str) -> None:
        self.describe(f"{case}: as consumer group")
        self.ask.request(f"{case}: as classic group", "DescribeGroups", 6, {"groups": [self.id]}, **{"as": DESCRIBED})
        self.ask.request(f"{case}: in the list", "ListGroups", 5, {}, keep={"groups": "group_id"})

    def classic_join(self, case: str, member: str, wanted: list[Step], **more: Any) -> None:
        """Send JoinGroup with encoded subscriptions, and decode those in the response."""
        step = {"bind": {more.pop("bind"): "member_id"}} if "bind" in more else {}
        version = more.pop("version", 9)
        body = self.classic.joining(member, protocols=wanted, **more)
        self.ask.request(case, "JoinGroup", version, body, **step, **{"as": READ})

    def classic_sync(self, case: str, member: str, generation: int, given: dict[str, Step] | None = None) -> None:
        assignments = [{"member_id": one, "assignment": value} for one, value in (given or {}).items()]
        body = self.classic.syncing(member, generation, protocol_type="consumer") | {"assignments": assignments}
        self.ask.request(case, "SyncGroup", 5, body, **{"as": READ})


@scenario(
    "KIP-848 GroupMetadataManager.getOrMaybeCreateConsumerGroup GroupMetadataManager.maybeDeleteEmptyClassicGroup"
)
def consumer_group_empty_changes(ask: ScenarioBuilder) -> None:
    """An empty group changes between the classic and the consumer protocol with the next member that joins, and keeps
    its committed offsets."""
    t = ask.topic("t", 2)
    group = Mixed(ask)
    offsets = Offsets(ask, group.id)
    offsets.committed((t, (5,)))
    group.describe_both("only offsets")
    group.join("join a group with offsets", A, t)
    group.leave("leave it", A)
    group.describe_both("empty")
    group.classic_join("a classic member joins the empty group", "", protocols(t), version=3, bind="M1")
    group.describe_both("a classic member")
    group.classic_sync("it syncs", "$M1", 1, {"$M1": assignment(t=[0, 1])})
    group.classic.leave("it leaves", "$M1")
    group.describe_both("empty again")
    group.join("a consumer joins", A, t)
    group.describe_both("a consumer again")
    offsets.fetch("the offsets", (t, (0, 1)))
    other = Mixed(ask, "other")
    other.classic.protocol_type = "connect"
    other.classic.enter("M2", protocols=protocols(t))
    other.join("a consumer joins a group of another type", A, t)
    other.classic.leave("it becomes empty", "$M2")
    other.join("a consumer joins an empty group that had another type", A, t)
    other.describe_both("an empty group that had another type")


@scenario("KIP-848 GroupMetadataManager.convertToConsumerGroup ConsumerGroup.fromClassicGroup", level="must")
def consumer_group_upgrade(ask: ScenarioBuilder) -> None:
    """A stable classic group becomes a consumer group when a consumer joins, and its classic members continue with
    JoinGroup, SyncGroup and Heartbeat."""
    t = ask.topic("t", 4)
    group = Mixed(ask)
    group.classic_join("a classic member", "", protocols(t), version=3, bind="M1")
    group.classic_sync("the classic member syncs", "$M1", 1, {"$M1": assignment(t=[0, 1, 2, 3])})
    group.describe_both("classic")
    group.join("a consumer joins", A, t)
    group.describe_both("upgraded")
    group.classic.heartbeat("heartbeat of the classic member", "$M1", 1)
    group.classic.heartbeat("heartbeat of the classic member, newer generation", "$M1", 2)
    group.beat("the consumer waits", A, 2)
    group.classic_sync("sync of the classic member before it rejoins", "$M1", 1)
    owned = {t: [0, 1, 2, 3]}
    group.classic_join("the classic member rejoins", "$M1", protocols(t, owned=owned, generation_id=1))
    group.classic.heartbeat("heartbeat before its sync", "$M1", 1)
    group.classic_sync("the classic member syncs what it keeps", "$M1", 1)
    group.classic_sync("and again", "$M1", 1)
    group.describe_both("one gives up")
    group.classic.heartbeat("heartbeat after its sync", "$M1", 1)
    group.beat("the consumer, after that", A, 2)
    group.classic_join("it rejoins with what it kept", "$M1", protocols(t, owned={t: [0, 1]}, generation_id=2))
    group.classic_sync("it syncs once more", "$M1", 2)
    group.beat("the consumer gets its part", A, 2, held={})
    for generation in (1, 2, 3, 4):
        group.classic.heartbeat(f"heartbeat of the classic member, generation {generation}", "$M1", generation)
        group.beat(f"heartbeat of the consumer, epoch {generation}", A, generation)
    group.describe_both("all assigned")
    offsets = Offsets(ask, group.id)
    for generation in (-1, 1, 2, 3):
        who = {"member_id": "$M1", "generation_id_or_member_epoch": generation}
        offsets.commit(f"commit of the classic member, generation {generation}", (t, (5,)), version=8, **who)
        offsets.commit(f"commit of the classic member, generation {generation}, v9", (t, (5,)), version=9, **who)
    group.classic.heartbeat("heartbeat of the consumer as a classic member", A, 3)
    group.beat("heartbeat of the classic member as a consumer", "$M1", 3)
    group.join("the classic member joins as a consumer under its id", "$M1", t)
    group.describe_both("the classic member has become a consumer")


@scenario("KIP-848 GroupMetadataManager.convertToConsumerGroup")
def consumer_group_upgrade_early(ask: ScenarioBuilder) -> None:
    """If a consumer joins a classic group during a rebalance, waiting classic members get REBALANCE_IN_PROGRESS, and a
    group with unreadable subscriptions is not upgraded."""
    t = ask.topic("t", 1)
    codes = {"only": ["error_code", "member_epoch"]}
    group = Mixed(ask, "syncing")
    group.classic_join("a classic member", "", protocols(t), version=3, bind="M1")
    group.join("a consumer joins before the sync", A, t, **codes)
    group.classic_sync("the classic member syncs", "$M1", 1, {"$M1": assignment(t=[0])})
    group.classic.heartbeat("heartbeat of the classic member", "$M1", 1)
    group.classic_join("the classic member rejoins", "$M1", protocols(t))
    group.classic.heartbeat("heartbeat of the classic member that rejoined", "$M1", 2)
    group = Mixed(ask, "joining")
    group.classic_join("a classic member of another group", "", protocols(t), version=3, bind="M2")
    group.classic_sync("it syncs", "$M2", 1, {"$M2": assignment(t=[0])})
    ask.send("b", "JoinGroup", 3, group.classic.joining("", protocols=protocols(t)), conn="b")
    group.classic.beats_until("$M2", 1)
    group.join("a consumer joins while another waits", A, t, **codes)
    ask.receive("the one that waited", "b", bind={"M3": "member_id"})
    group.classic.heartbeat("heartbeat of the first", "$M2", 1)
    group.classic.heartbeat("heartbeat of the one that waited", "$M3", 2)
    ask.request("in the list", "ListGroups", 5, {}, keep={"groups": "group_id"})
    unreadable = Mixed(ask, "unreadable")
    unreadable.classic.enter("M4", protocols=[{"name": "range", "metadata": ""}])
    unreadable.join("a consumer joins a group with unreadable subscriptions", A, t, **codes)
    unreadable.describe_both("unreadable")


@scenario("KIP-848 GroupMetadataManager.convertToClassicGroup ClassicGroup.fromConsumerGroup", level="must")
def consumer_group_downgrade(ask: ScenarioBuilder) -> None:
    """A consumer group becomes a classic group when its last member with the consumer protocol leaves."""
    t = ask.topic("t", 4)
    group = Mixed(ask)
    group.joined(A, t)
    group.beat("the consumer holds all", A, 2, held={t: range(4)})
    group.classic_join("a classic member without an id", "", protocols(t), bind="M1")
    group.classic_join("a classic member", "$M1", protocols(t))
    group.describe_both("a classic member in a consumer group")
    group.classic_sync("it syncs before the consumer gave up", "$M1", 3)
    group.classic.heartbeat("its heartbeat before the consumer gave up", "$M1", 3)
    group.beat("the consumer hears", A, 2)
    group.beat("the consumer gives up", A, 2, held={t: (0, 1)})
    for generation in (2, 3):
        group.classic.heartbeat(f"heartbeat of the classic member, generation {generation}", "$M1", generation)
    group.classic_sync("it syncs", "$M1", 3)
    group.classic_join("it rejoins", "$M1", protocols(t, owned={}, generation_id=3))
    group.classic_sync("it syncs and gets its part", "$M1", 3)
    group.classic.heartbeat("its heartbeat with its part", "$M1", 3)
    group.describe_both("all assigned")
    group.leave("the last consumer leaves", A)
    group.describe_both("downgraded")
    group.classic.heartbeat("heartbeat of the classic member after that", "$M1", 3)
    group.classic.heartbeat("heartbeat of the classic member after that, next generation", "$M1", 4)
    group.classic_join("it rejoins after that", "$M1", protocols(t, owned={t: [2, 3]}, generation_id=3))
    group.describe_both("it has rejoined")
    group.classic_sync("it syncs after that", "$M1", 5, {"$M1": assignment(t=[0, 1, 2, 3])})
    group.describe_both("at the end")


@scenario(
    "KIP-848 GroupMetadataManager.classicGroupJoinToConsumerGroup "
    "GroupMetadataManager.throwIfClassicProtocolIsNotSupported",
)
def consumer_group_classic_refused(ask: ScenarioBuilder) -> None:
    """A classic member can join a consumer group with any version of JoinGroup, but needs the protocol type "consumer"
    and a supported protocol."""
    t = ask.topic("t", 2)
    group = Mixed(ask)
    group.joined(A, t)
    for version in ask.versions("JoinGroup"):
        group.classic_join(f"v{version} join with an unknown id", "nope", protocols(t), version=version)
    faults: dict[str, Step] = {
        "another type": {"protocol_type": "connect"},
        "no type": {"protocol_type": ""},
        "no protocols": {"protocols": []},
        "unreadable metadata": {"protocols": [{"name": "range", "metadata": "m"}]},
        "empty metadata": {"protocols": [{"name": "range", "metadata": ""}]},
        "a session timeout too small": {"session_timeout_ms": 100},
        "a session timeout too large": {"session_timeout_ms": 1800001},
        "an unknown protocol": {"protocols": protocols(t, name="my-own")},
    }
    for case, fault in faults.items():
        body = group.classic.joining("", protocols=protocols(t)) | fault
        ask.request(case, "JoinGroup", 4, body, only=["error_code"])
    group.classic_join("version 0, without promises", "", protocols(t), version=0, bind="M1")
    for version in range(4):
        topics = protocols(t, version=version)
        group.classic_join(f"subscription of version {version}", "", topics, version=3, bind=f"M2{version}")
    group.describe_both("all of them")
    group.classic.heartbeat("heartbeat with an older generation", "$M1", 1)
    group.classic.heartbeat("heartbeat with a newer generation", "$M1", 99)
    group.classic.heartbeat("heartbeat of an unknown one", "nope", 2)
    group.classic.leave("leave", "$M1")
    group.classic.leave("leave several", "$M20", "nope", "$M1", A)
    group.describe_both("after leaving")


@scenario("KIP-848 KIP-345 GroupMetadataManager.getOrMaybeSubscribeStaticConsumerGroupMember")
def consumer_group_static_changes(ask: ScenarioBuilder) -> None:
    """A static member that returns with the other protocol under its instance id takes over the assignment, and the old
    member id is fenced."""
    t = ask.topic("t", 2)
    group = Mixed(ask)
    one: dict[str, Any] = {"group_instance_id": "i1"}
    group.classic_join("a static classic member", "", protocols(t), version=5, bind="M1", **one)
    body = group.classic.syncing("$M1", 1, **one) | {
        "assignments": [{"member_id": "$M1", "assignment": assignment(t=[0, 1])}]
    }
    ask.request("it syncs", "SyncGroup", 5, body, **{"as": READ})
    group.join("it comes back as a consumer", A, t, instance_id="i1")
    group.describe_both("a static consumer")
    group.classic.heartbeat("its old self", "$M1", 1, **one)
    group.beat("its new self", A, 2, held={t: (0, 1)}, instance_id="i1")
    group.leave("it leaves for a while", A, -2, instance_id="i1")
    group.describe_both("away")
    group.classic_join("it comes back as a classic member", "", protocols(t), bind="M2", **one)
    group.describe_both("a static classic member")
    group.beat("its consumer self", A, 2, instance_id="i1")
    group.classic.heartbeat("its classic self", "$M2", 2, **one)


@scenario(
    "KIP-848 GroupMetadataManager.scheduleConsumerGroupJoinTimeoutIfAbsent "
    "GroupMetadataManager.scheduleConsumerGroupSyncTimeout",
    level="must",
)
def consumer_group_late_classic(ask: ScenarioBuilder) -> None:
    """A consumer group removes classic members that do not rejoin, sync or send heartbeats in time."""
    t = ask.topic("t", 2)
    body = {"include_authorized_operations": False}
    silent = Mixed(ask, "silent")
    silent.joined(A, t)
    silent.classic_join("one with a short session", "short", protocols(t), session_timeout_ms=6000)
    silent.beat("the consumer gives up", A, 2)
    silent.beat("the consumer gave up", A, 2, held={t: (0,)})
    silent.classic.heartbeat("its heartbeat", "short", 3)
    late = Mixed(ask, "late")
    late.classic_join(
        "a classic member that has a second", "", protocols(t), version=3, bind="M1", rebalance_timeout_ms=1000
    )
    late.classic_sync("it syncs", "$M1", 1, {"$M1": assignment(t=[0, 1])})
    late.join("a consumer joins", B, t)
    late.classic.heartbeat("it is told", "$M1", 1)
    gone = body | {"group_ids": [late.id]}
    ask.until("ConsumerGroupDescribe", 1, gone, "groups.0.members.1", None)
    late.describe_both("it did not rejoin")
    late.classic.heartbeat("its heartbeat after that", "$M1", 1)
    late.beat("the consumer after that", B, 2)
    unsynced = Mixed(ask, "unsynced")
    unsynced.joined(C, t)
    unsynced.classic_join("one that will not sync", "lazy", protocols(t), rebalance_timeout_ms=1000)
    unsynced.describe_both("before it is late")
    ask.until("ConsumerGroupDescribe", 1, body | {"group_ids": [unsynced.id]}, "groups.0.members.1", None)
    unsynced.describe_both("it did not sync")
    unsynced.classic_sync("its sync after that", "lazy", 3)
    ask.until("ConsumerGroupDescribe", 1, body | {"group_ids": [silent.id]}, "groups.0.members.1", None)
    silent.describe_both("it was silent")
    silent.classic.heartbeat("its heartbeat after it was silent", "short", 3)
