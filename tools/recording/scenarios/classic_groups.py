"""Groups of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, Scenarios

scenario = Scenarios("consumer_groups_classic", EVERY_RELEASE)

UNKNOWN_CLASSIC_MEMBER = "conformance-00000000-0000-0000-0000-000000000000"


class Classic:
    """A group of the classic protocol: requests of its members, whose ids are bound to names."""

    def __init__(self, ask: ScenarioBuilder, name: str = "g", protocol_type: str = "test") -> None:
        self.ask, self.protocol_type = ask, protocol_type
        self.id = ask.group(name)

    def joining(self, member: str = "", *protocols: str, **more: Any) -> Step:
        """Return the body of a JoinGroup request; a protocol is given as `name` or `name:metadata`."""
        split = [name.partition(":") for name in protocols or ("range",)]
        given = [{"name": name, "metadata": metadata or f"{name} of {self.ask.name}"} for name, _, metadata in split]
        body = {"group_id": self.id, "session_timeout_ms": 30000, "rebalance_timeout_ms": 60000, "member_id": member}
        return body | {"protocol_type": self.protocol_type, "protocols": given} | more

    def newest(self, api: str, version: int | None) -> int:
        return self.ask.versions(api)[-1] if version is None else version

    def join(self, case: str, member: str = "", *protocols: str, version: int | None = None, **more: Any) -> None:
        """Send JoinGroup; `bind` is the name to which the member id in the response is bound."""
        step: dict[str, Any] = {key: more.pop(key) for key in ("conn", "only") if key in more}
        if name := more.pop("bind", ""):
            step["bind"] = {name: "member_id"}
        self.ask.request(
            case, "JoinGroup", self.newest("JoinGroup", version), self.joining(member, *protocols, **more), **step
        )

    def send_join(self, name: str, member: str = "", *protocols: str, version: int | None = None, **more: Any) -> None:
        """Send JoinGroup on a connection with the name of the request."""
        self.ask.send(
            name, "JoinGroup", self.newest("JoinGroup", version), self.joining(member, *protocols, **more), conn=name
        )

    def enter(self, name: str, *protocols: str, version: int = 3, **more: Any) -> None:
        """Add a member, alone or after all others have rejoined; the response must have no error."""
        body = self.joining("", *protocols, **more)
        self.ask.setup("JoinGroup", version, body, bind={name: "member_id"})

    def obtain_member_id(self, name: str, **more: Any) -> None:
        """Obtain a member id that has not joined yet."""
        self.ask.setup("JoinGroup", 4, self.joining(**more), bind={name: "member_id"}, must_succeed=False)

    def syncing(self, member: str, generation: int, *assigned: str, **more: Any) -> Step:
        assignments = [{"member_id": one, "assignment": f"for {one.lstrip('$')}"} for one in assigned]
        body = {"group_id": self.id, "generation_id": generation, "member_id": member, "assignments": assignments}
        return body | {"protocol_type": self.protocol_type, "protocol_name": "range"} | more

    def sync(self, case: str, member: str, generation: int, *assigned: str, version: int = 5, **more: Any) -> None:
        self.ask.request(case, "SyncGroup", version, self.syncing(member, generation, *assigned, **more))

    def send_sync(self, name: str, member: str, generation: int, version: int = 5, **more: Any) -> None:
        self.ask.send(name, "SyncGroup", version, self.syncing(member, generation, **more), conn=name)

    def synced(self, member: str, generation: int, *assigned: str, **more: Any) -> None:
        self.ask.setup("SyncGroup", 5, self.syncing(member, generation, *assigned, **more))

    def beating(self, member: str, generation: int, **more: Any) -> Step:
        return {"group_id": self.id, "generation_id": generation, "member_id": member} | more

    def heartbeat(self, case: str, member: str, generation: int, version: int = 4, **more: Any) -> None:
        self.ask.request(case, "Heartbeat", version, self.beating(member, generation, **more))

    def beats_until(self, member: str, generation: int, error_code: int = 27, **more: Any) -> None:
        self.ask.until("Heartbeat", 4, self.beating(member, generation, **more), "error_code", error_code)

    def leave(self, case: str, *members: str | Step, version: int | None = None, **more: Any) -> None:
        """Send LeaveGroup, before version 3 for a single member."""
        version = self.newest("LeaveGroup", version)
        given = [one if isinstance(one, dict) else {"member_id": one, "group_instance_id": None} for one in members]
        body: Step = {"member_id": members[0]} if version < 3 else {"members": given}
        self.ask.request(case, "LeaveGroup", version, {"group_id": self.id} | body | more)

    def describe(self, case: str, version: int = 5, **more: Any) -> None:
        self.ask.request(case, "DescribeGroups", version, {"groups": [self.id]} | more)


@scenario("GroupMetadataManager.classicGroupJoin GroupMetadataManager.classicGroupSync", level="must")
def group_every_version(ask: ScenarioBuilder) -> None:
    """Every version of JoinGroup, SyncGroup, Heartbeat, LeaveGroup and DescribeGroups serves a group of one member from
    its first join until it is empty."""
    for version in ask.versions("JoinGroup"):
        group, m = Classic(ask, f"g{version}"), f"M{version}"
        if version >= 4:
            group.join(f"v{version} join without an id", version=version, bind=m)
            group.join(f"v{version} join", f"${m}", version=version)
        else:
            group.join(f"v{version} join", version=version, bind=m)
        low, low_leave = {"version": min(version, 4)}, min(version, ask.versions("LeaveGroup")[-1])
        group.heartbeat(f"v{low['version']} heartbeat before sync", f"${m}", 1, **low)
        group.sync(f"v{min(version, 5)} sync", f"${m}", 1, f"${m}", version=min(version, 5))
        group.sync(f"v{min(version, 5)} sync again", f"${m}", 1, version=min(version, 5))
        group.heartbeat(f"v{low['version']} heartbeat", f"${m}", 1, **low)
        group.describe(f"v{min(version, 5)} describe", min(version, 5))
        group.join(f"v{version} join again", f"${m}", version=version)
        group.heartbeat(f"v{low['version']} heartbeat of the old generation", f"${m}", 1, **low)
        group.sync(f"v{min(version, 5)} sync the second", f"${m}", 2, f"${m}", version=min(version, 5))
        group.leave(f"v{low_leave} leave", f"${m}", version=low_leave)
        group.leave(f"v{low_leave} leave again", f"${m}", version=low_leave)
        group.heartbeat(f"v{low['version']} heartbeat after leaving", f"${m}", 2, **low)
        group.describe(f"v{min(version, 5)} describe the empty group", min(version, 5))


@scenario("KIP-394 GroupMetadataManager.classicGroupJoinNewDynamicMember", level="must")
def group_member_ids(ask: ScenarioBuilder) -> None:
    """Since version 4, JoinGroup returns MEMBER_ID_REQUIRED and a member id to a new member, which then joins with this
    id; unknown ids fail with UNKNOWN_MEMBER_ID."""
    group = Classic(ask)
    for version in (0, 3, 4, ask.versions("JoinGroup")[-1]):
        group.join(f"v{version} join an unknown group with an id", UNKNOWN_CLASSIC_MEMBER, version=version)
    group.heartbeat("heartbeat in an unknown group", UNKNOWN_CLASSIC_MEMBER, 1)
    group.heartbeat("heartbeat in an unknown group without an id", "", -1)
    group.sync("sync in an unknown group", UNKNOWN_CLASSIC_MEMBER, 1)
    for version in (0, 3, ask.versions("LeaveGroup")[-1]):
        group.leave(f"v{version} leave an unknown group", UNKNOWN_CLASSIC_MEMBER, version=version)
    group.join("a promise", bind="M1")
    group.join("another promise", bind="M2")
    group.describe("describe with promises only")
    for generation in (0, 1, -1):
        group.heartbeat(f"heartbeat of a promise, generation {generation}", "$M1", 1)
        group.sync(f"sync of a promise, generation {generation}", "$M1", 1)
    group.join("with an unknown id beside promises", UNKNOWN_CLASSIC_MEMBER)
    group.leave("leave on a promise", "$M2")
    group.join("join after that", "$M2")
    group.describe("describe with one promise")
    group.join("join on the promise", "$M1")
    group.sync("sync", "$M1", 1, "$M1")
    group.join("a third promise, in a stable group", bind="M3")
    group.describe("describe a stable group with a promise")
    group.heartbeat("heartbeat of the promised one", "$M3", 1)
    group.sync("sync of the promised one", "$M3", 1)
    group.heartbeat("heartbeat of the member goes on", "$M1", 1)
    for version in (3, ask.versions("JoinGroup")[-1]):
        group.join(f"v{version} join a stable group with an unknown id", UNKNOWN_CLASSIC_MEMBER, version=version)
    group.leave("the member leaves", "$M1")
    ask.until("DescribeGroups", 0, {"groups": [group.id]}, "groups.0.group_state", "Empty")
    group.describe("describe with the promise only")
    group.join("the promised one joins", "$M3")
    group.leave("and leaves", "$M3")
    group.join("join an empty group with an unknown id", UNKNOWN_CLASSIC_MEMBER)
    group.heartbeat("heartbeat in an empty group", UNKNOWN_CLASSIC_MEMBER, 3)
    group.sync("sync in an empty group", UNKNOWN_CLASSIC_MEMBER, 3)
    group.leave("leave an empty group", UNKNOWN_CLASSIC_MEMBER)


@scenario("GroupCoordinatorService.joinGroup GroupMetadataManager.classicGroupJoinToClassicGroup", level="must")
def group_refused(ask: ScenarioBuilder) -> None:
    """JoinGroup returns INVALID_GROUP_ID for an empty group id, INVALID_SESSION_TIMEOUT for a timeout outside the
    broker's limits, and INCONSISTENT_GROUP_PROTOCOL without protocols.
    """
    group = Classic(ask)
    empty: dict[str, Any] = {"group_id": ""}
    for version in (0, 4, ask.versions("JoinGroup")[-1]):
        group.join(f"v{version} join, empty group id", version=version, **empty)
    for version in (0, 5):
        group.sync(f"v{version} sync, empty group id", UNKNOWN_CLASSIC_MEMBER, 1, version=version, **empty)
    for version in (0, ask.versions("LeaveGroup")[-1]):
        group.leave(f"v{version} leave, empty group id", UNKNOWN_CLASSIC_MEMBER, version=version, **empty)
    for version in (0, 4):
        group.heartbeat(f"v{version} heartbeat, empty group id", UNKNOWN_CLASSIC_MEMBER, 1, version=version, **empty)
    for timeout_ms in (-1, 0, 5999, 1800001, 2147483647):
        group.join(f"session timeout {timeout_ms}", session_timeout_ms=timeout_ms)
    group.join("a bad timeout, empty group id", session_timeout_ms=0, **empty)
    group.join("a bad timeout with an unknown id", UNKNOWN_CLASSIC_MEMBER, session_timeout_ms=0)
    for version in (0, 3, 4, ask.versions("JoinGroup")[-1]):
        group.join(f"v{version} no protocols", version=version, protocols=[])
        group.join(f"v{version} no protocol type", version=version, protocol_type="")
        group.join(
            f"v{version} neither, with an id", UNKNOWN_CLASSIC_MEMBER, version=version, protocol_type="", protocols=[]
        )
    for timeout_ms in (6000, 1800000):
        name = f"h{timeout_ms}"
        Classic(ask, name).join(f"session timeout {timeout_ms}", version=3, session_timeout_ms=timeout_ms, bind="M9")
    for timeout_ms in (-1, 0):
        name = f"r{-timeout_ms}"
        Classic(ask, name).join(
            f"rebalance timeout {timeout_ms}", version=3, rebalance_timeout_ms=timeout_ms, bind="M8"
        )
    odd = Classic(ask, "odd")
    odd.join("a protocol without a name", version=3, protocols=[{"name": "", "metadata": ""}], bind="M6")


@scenario(
    "KIP-559 GroupMetadataManager.validateSyncGroup GroupMetadataManager.validateClassicGroupHeartbeat", level="must"
)
def group_mismatches(ask: ScenarioBuilder) -> None:
    """A classic group returns ILLEGAL_GENERATION for another generation, and INCONSISTENT_GROUP_PROTOCOL for another
    protocol type or name."""
    group = Classic(ask)
    group.enter("M1", "range", "roundrobin")
    for state in ("before sync", "stable"):
        for generation in (-1, 0, 2):
            group.heartbeat(f"heartbeat, generation {generation}, {state}", "$M1", 1)
            group.sync(f"sync, generation {generation}, {state}", "$M1", 1)
        group.heartbeat(f"heartbeat of another, {state}", UNKNOWN_CLASSIC_MEMBER, 1)
        group.heartbeat(f"heartbeat of another and generation 5, {state}", UNKNOWN_CLASSIC_MEMBER, 5)
        group.sync(f"sync of another, {state}", UNKNOWN_CLASSIC_MEMBER, 1)
        group.sync(f"sync with another type, {state}", "$M1", 1, protocol_type="other")
        group.sync(f"sync with another name, {state}", "$M1", 1, protocol_name="roundrobin")
        group.sync(f"sync with no type, {state}", "$M1", 1, protocol_type=None)
        group.sync(f"sync with no name, {state}", "$M1", 1, protocol_name=None)
        for version in (4, ask.versions("JoinGroup")[-1]):
            more = {"version": version}
            group.join(f"v{version} join with another type, {state}", "", "range", protocol_type="other", **more)
            group.join(f"v{version} join with another protocol, {state}", "", "sticky", **more)
            group.join(f"v{version} rejoin with another protocol, {state}", "$M1", "sticky", **more)
            group.join(f"v{version} rejoin with another type, {state}", "$M1", protocol_type="other", **more)
        group.join(f"v3 join with another protocol, {state}", "", "sticky", version=3)
        if state == "before sync":
            group.synced("$M1", 1, "$M1")
    group.describe("still as it was")
    group.leave("the member leaves", "$M1")
    group.join("join the empty group with another type", "", "default", protocol_type="other", version=3, bind="M2")
    group.describe("describe it with another type")


@scenario("GroupMetadataManager.prepareRebalance GroupMetadataManager.completeClassicGroupJoin", level="must")
def group_two_members(ask: ScenarioBuilder) -> None:
    """When a second member joins, the first one gets REBALANCE_IN_PROGRESS until it rejoins, and the follower's
    SyncGroup waits for the assignment from the leader.
    """
    group = Classic(ask)
    group.enter("M1")
    group.synced("$M1", 1, "$M1")
    group.obtain_member_id("M2")
    group.send_join("b", "$M2")
    group.beats_until("$M1", 1)
    ask.pending("the second waits", "b")
    group.describe("describe while the second waits")
    group.heartbeat("heartbeat of the first", "$M1", 1)
    group.heartbeat("heartbeat of the first, next generation", "$M1", 2)
    group.sync("sync of the first", "$M1", 1, "$M1")
    group.send_join("a", "$M1")
    ask.receive("the second is in", "b")
    ask.receive("the first is in again", "a")
    group.describe("describe before sync")
    group.heartbeat("heartbeat of the first before sync", "$M1", 2)
    group.heartbeat("heartbeat of the second before sync", "$M2", 2)
    group.send_sync("c", "$M2", 2)
    ask.pending("the second waits for its assignment", "c")
    group.sync("the leader assigns", "$M1", 2, "$M1", "$M2")
    ask.receive("the second has its assignment", "c")
    group.describe("describe")
    for member in ("$M1", "$M2"):
        group.heartbeat(f"heartbeat of {member[1:]}", member, 2)
        group.sync(f"sync of {member[1:]} again", member, 2, "$M1")
    group.leave("the second leaves", "$M2")
    group.heartbeat("heartbeat of the first after that", "$M1", 2)
    group.describe("describe after that")
    group.sync("sync of the first after that", "$M1", 2)
    group.join("the first rejoins alone", "$M1")
    group.heartbeat("heartbeat before sync, alone", "$M1", 3)
    group.sync("sync alone, nothing for itself", "$M1", 3)
    group.describe("describe the one with nothing")


@scenario(
    "GroupMetadataManager.classicGroupLeaveToClassicGroup GroupMetadataManager.resetAndPropagateAssignmentWithError",
    level="must",
)
def group_leader_goes(ask: ScenarioBuilder) -> None:
    """If the leader leaves before it assigned partitions, waiting members get REBALANCE_IN_PROGRESS and another member
    becomes leader."""
    group = Classic(ask)
    group.enter("M1")
    group.send_join("b", version=3)
    group.beats_until("$M1", 1)
    group.send_join("a", "$M1")
    ask.receive("the second is in", "b", bind={"M2": "member_id"})
    ask.receive("the first is in again", "a")
    group.send_sync("c", "$M2", 2)
    ask.pending("the second waits for its assignment", "c")
    group.leave("the leader leaves", "$M1")
    ask.receive("the second is told", "c")
    group.describe("describe after the leader left")
    group.join("the second rejoins", "$M2", only=["error_code", "generation_id", "leader", "member_id", "members"])
    group.describe("describe with a new leader")
    group.sync("the new leader assigns", "$M2", 3, "$M2")
    group.send_join("d", version=3)
    group.beats_until("$M2", 3)
    group.leave("the only other member leaves while one waits", "$M2")
    ask.receive("the third is in, alone", "d", bind={"M3": "member_id"})
    group.sync("assignments for members that are not there", "$M3", 4, "$M3", UNKNOWN_CLASSIC_MEMBER)
    group.describe("describe the third")


@scenario("GroupMetadataManager.classicGroupJoinExistingMember", level="must")
def group_rejoin(ask: ScenarioBuilder) -> None:
    """A follower that rejoins a stable group without changes gets the current generation, and a rejoining leader or new
    metadata starts a rebalance."""
    group = Classic(ask)
    group.enter("M1")
    for version in ask.versions("JoinGroup"):
        group.join(f"v{version} the leader before sync, as before", "$M1", version=version)
    group.join("the leader before sync, other metadata", "$M1", "range:other")
    group.synced("$M1", 2, "$M1")
    group.send_join("b", version=3)
    group.beats_until("$M1", 2)
    group.send_join("a", "$M1", "range:other")
    ask.receive("the follower is in", "b", bind={"M2": "member_id"})
    ask.receive("the leader is in", "a")
    group.join("the follower before sync, as before", "$M2")
    group.join("the leader before sync, as before", "$M1", "range:other")
    group.synced("$M1", 3, "$M1", "$M2")
    for version in ask.versions("JoinGroup"):
        group.join(f"v{version} the follower, stable, as before", "$M2", version=version)
    group.heartbeat("heartbeat of the leader", "$M1", 3)
    group.send_join("c", "$M2", "range:changed")
    group.beats_until("$M1", 3)
    ask.pending("the follower with other metadata waits", "c")
    group.join("the leader joins", "$M1", "range:other")
    ask.receive("the follower", "c")
    group.synced("$M1", 4, "$M1", "$M2")
    group.send_join("d", "$M1", "range:other")
    group.beats_until("$M2", 4)
    ask.pending("the leader as before waits", "d")
    group.join("the follower joins", "$M2", "range:changed")
    ask.receive("the leader", "d")


@scenario("ClassicGroup.selectProtocol ClassicGroup.candidateProtocols", level="must")
def group_protocol_choice(ask: ScenarioBuilder) -> None:
    """A classic group takes the protocol with the most votes among those that all members support, and rejects members
    that support none of them."""
    cases = {
        "g1": (("x", "y"), ("y", "x"), ("y", "x")),
        "g2": (("x", "y", "z"), ("z", "y", "x"), ("y", "z")),
        "g3": (("x", "y"), ("y",), ("y", "x")),
        "g4": (("x", "y", "z"), ("y", "x", "z"), ("z", "x", "y")),
        "g5": (("y", "x"), ("x", "y"), ("w", "x")),
    }
    for name, (first, second, third) in cases.items():
        group = Classic(ask, name)
        group.enter("M1", *first)
        group.send_join("b", "", *second, version=3)
        group.beats_until("$M1", 1)
        group.send_join("a", "$M1", *first)
        ask.receive(f"{name}: the second", "b", bind={"M2": "member_id"})
        ask.receive(f"{name}: the first with the second", "a")
        group.send_join("c", "", *third, version=3)
        group.beats_until("$M1", 2)
        group.send_join("a", "$M1", *first)
        group.join(f"{name}: the second with the third", "$M2", *second)
        ask.receive(f"{name}: the third", "c", bind={"M3": "member_id"})
        ask.receive(f"{name}: the first with the third", "a")
        group.join(f"{name}: only the least liked", "", "q")


@scenario("KIP-345 GroupMetadataManager.classicGroupLeaveToClassicGroup")
def group_leave(ask: ScenarioBuilder) -> None:
    """LeaveGroup since version 3 removes several members and returns an error for each unknown one."""
    group = Classic(ask)
    for version in ask.versions("LeaveGroup", 3):
        group = Classic(ask, f"g{version}")
        group.enter("M1")
        group.obtain_member_id("M2")
        group.leave(f"v{version} nobody", version=version)
        known = {"member_id": "$M1", "group_instance_id": None, "reason": "so"}
        unknown = {"member_id": UNKNOWN_CLASSIC_MEMBER, "group_instance_id": None}
        instance = {"member_id": "", "group_instance_id": "nope"}
        wrong = {"member_id": "$M1", "group_instance_id": "nope"}
        nothing = {"member_id": "", "group_instance_id": None}
        group.leave(f"v{version} unknown ones", unknown, instance, wrong, nothing, version=version)
        group.heartbeat(f"v{version} still there", "$M1", 1)
        group.leave(f"v{version} all kinds", unknown, known, known, "$M2", instance, version=version)
        group.describe(f"v{version} what is left")
        group.leave(f"v{version} from an empty group", unknown, known, version=version)
    for version in ask.versions("LeaveGroup", 0, 2):
        group = Classic(ask, f"g{version}")
        group.enter("M1")
        group.leave(f"v{version} unknown", UNKNOWN_CLASSIC_MEMBER, version=version)
        group.leave(f"v{version} nameless", "", version=version)
        group.leave(f"v{version} known", "$M1", version=version)


@scenario(
    "GroupMetadataManager.expireClassicGroupMemberHeartbeat GroupMetadataManager.completeClassicGroupJoin", level="must"
)
def group_too_late(ask: ScenarioBuilder) -> None:
    """A classic group removes members that do not rejoin, sync or send heartbeats in time, and returns
    UNKNOWN_MEMBER_ID to them afterwards."""
    group = Classic(ask)
    group.enter("M1", rebalance_timeout_ms=500)
    group.synced("$M1", 1, "$M1")
    group.join("the second gets in without the first", version=3, rebalance_timeout_ms=500, bind="M2")
    group.heartbeat("the first is forgotten", "$M1", 1)
    group.join("it cannot come back as such", "$M1")
    group.describe("one is left")
    ask.step("sleep", ms=1500)
    group.describe("who does not sync in time")
    group.heartbeat("its heartbeat", "$M2", 2)
    silent = Classic(ask, "silent")
    silent.enter("M3", session_timeout_ms=6000)
    silent.synced("$M3", 1, "$M3")
    silent.describe("silent, at first")
    ask.until("DescribeGroups", 0, {"groups": [silent.id]}, "groups.0.group_state", "Empty")
    silent.describe("silent, later")
    silent.heartbeat("silent, too late", "$M3", 1)


@scenario("KIP-394 GroupMetadataManager.expirePendingSync")
def group_runs_out(ask: ScenarioBuilder) -> None:
    """A member id that JoinGroup allocated expires if its member does not join in time, and a member that has joined
    expires if it does not sync in time.
    """
    promised = Classic(ask, "promised")
    promised.obtain_member_id("M1", session_timeout_ms=6000)
    unsynced = Classic(ask, "unsynced")
    unsynced.enter("M2", session_timeout_ms=6000)
    beating = Classic(ask, "beating")
    beating.enter("M3", session_timeout_ms=6000)
    beating.synced("$M3", 1, "$M3")
    ask.step("sleep", ms=4000)
    beating.heartbeat("a heartbeat in time", "$M3", 1)
    unsynced.describe("in time")
    ask.step("sleep", ms=3500)
    beating.heartbeat("another in time", "$M3", 1)
    promised.join("the promise after its time", "$M1", session_timeout_ms=6000)
    unsynced.describe("after the session is over")
    unsynced.sync("a sync after the session is over", "$M2", 1, "$M2")
