"""The coordinator of groups stops, crashes or pauses, while groups are in each state."""

from typing import Any

from kafkalet_conformance.building import COORDINATOR_ERRORS, ScenarioBuilder, Step
from tools.recording.definitions import Scenarios
from tools.recording.faults import FAULT_MS, Cluster

scenario = Scenarios("faults", brokers=3, faults=True)

OFFSETS = "__consumer_offsets"
PREFERRED_LEADER_NOT_AVAILABLE = 80
KIP_848_MEMBER = "member-a-0000000000000"
STATES = ("empty", "stable", "preparing", "completing")


def coordinate(ask: ScenarioBuilder, topic: str, key: str, kind: int, replicas: list[int]) -> None:
    """Let the first of these replicas coordinate everything of this kind."""
    ask.until("FindCoordinator", 2, {"key": key, "key_type": kind}, "error_code", 0)
    ask.steps[-1] |= {"timeout_ms": 40_000, "conn": "at-1"}
    moved = {"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}
    asked: dict[str, Any] = {"conn": "at-1", "must_succeed": False}
    ask.setup("AlterPartitionReassignments", 0, {"topics": [moved], "timeout_ms": 30_000}, **asked)
    asked["retry_errors"] = [PREFERRED_LEADER_NOT_AVAILABLE]
    elected = [{"topic": topic, "partitions": [0]}]
    ask.setup("ElectLeaders", 2, {"election_type": 0, "topic_partitions": elected, "timeout_ms": 30_000}, **asked)
    coordinator_is(ask, key, kind, replicas[0])


def coordinator_is(ask: ScenarioBuilder, key: str, kind: int, node: int) -> None:
    """Wait until clients find this coordinator, and until it has loaded its state."""
    ask.until("FindCoordinator", 2, {"key": key, "key_type": kind}, "node_id", node)
    ask.steps[-1] |= {"timeout_ms": FAULT_MS, "conn": "at-1"}
    loaded: dict[str, Any] = {"conn": f"at-{node}", "retry_errors": COORDINATOR_ERRORS, "must_succeed": False}
    if kind == 0:
        ask.setup("DescribeGroups", 0, {"groups": [key]}, **loaded)
    else:
        ask.setup("DescribeTransactions", 0, {"transactional_ids": [key]}, **loaded)


class Group:
    """A group whose requests are sent to the broker `at`. The ids of its members are bound to names."""

    def __init__(self, ask: ScenarioBuilder, name: str, topic: str) -> None:
        self.ask, self.topic = ask, topic
        self.id = ask.unique(name)
        self.at = 2

    def _join(self, member: str, metadata: str = "of the test") -> Step:
        body = {"group_id": self.id, "session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000}
        protocols = [{"name": "range", "metadata": metadata}]
        return body | {"member_id": member, "protocol_type": "test", "protocols": protocols}

    def _sync(self, member: str, generation: int, *assigned: str) -> Step:
        assignments = [{"member_id": each, "assignment": f"for {each.lstrip('$')}"} for each in assigned]
        return {"group_id": self.id, "generation_id": generation, "member_id": member, "assignments": assignments}

    def _offset(self, offset: int, member: str, generation: int) -> Step:
        partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}
        topics = [{"name": self.topic, "partitions": [partition]}]
        return {"group_id": self.id, "generation_id_or_member_epoch": generation, "member_id": member, "topics": topics}

    def entered(self, name: str) -> None:
        """Add a member, which is the only one."""
        self.ask.setup("JoinGroup", 3, self._join(""), bind={name: "member_id"}, conn=f"at-{self.at}")

    def synced(self, member: str, generation: int) -> None:
        self.ask.setup("SyncGroup", 3, self._sync(member, generation, member), conn=f"at-{self.at}")

    def committed(self, offset: int, member: str = "", generation: int = -1) -> None:
        self.ask.setup("OffsetCommit", 7, self._offset(offset, member, generation), conn=f"at-{self.at}")

    def send_join(self, name: str, member: str) -> None:
        """Let a member join, which waits for the others; its id is bound to a name."""
        there: dict[str, Any] = {"conn": f"at-{self.at}", "must_succeed": False}
        self.ask.setup("JoinGroup", 4, self._join(""), bind={member: "member_id"}, **there)
        self.ask.send(name, "JoinGroup", 4, self._join(f"${member}"), conn=f"at-{self.at}.{name}")

    def join(self, case: str, member: str, bind: str = "") -> None:
        more = {"bind": {bind: "member_id"}} if bind else {}
        self.ask.request(case, "JoinGroup", 3, self._join(member), conn=f"at-{self.at}", **more)

    def sync(self, case: str, member: str, generation: int) -> None:
        self.ask.request(case, "SyncGroup", 3, self._sync(member, generation, member), conn=f"at-{self.at}")

    def heartbeat(self, case: str, member: str, generation: int) -> None:
        body = {"group_id": self.id, "generation_id": generation, "member_id": member}
        self.ask.request(case, "Heartbeat", 3, body, conn=f"at-{self.at}")

    def commit(self, case: str, offset: int, member: str = "", generation: int = -1) -> None:
        self.ask.request(case, "OffsetCommit", 7, self._offset(offset, member, generation), conn=f"at-{self.at}")

    def describe(self, case: str) -> None:
        """Compare the group, and the offset that it has committed."""
        body = {"groups": [self.id]}
        self.ask.request(f"{case}, described", "DescribeGroups", 4, body, conn=f"at-{self.at}")
        asked = {"group_id": self.id, "topics": [{"name": self.topic, "partition_indexes": [0]}]}
        self.ask.request(f"{case}, offset", "OffsetFetch", 5, asked, conn=f"at-{self.at}")


class Groups:
    """Groups in each state, and the partition for which they commit offsets."""

    def __init__(self, ask: ScenarioBuilder) -> None:
        self.ask, self.cluster = ask, Cluster(ask, (1, 3))
        self.by_state = {name: Group(ask, name, self.cluster.topic) for name in STATES}
        self.modern = ask.unique("modern") if ask.versions("ConsumerGroupHeartbeat", 1) else ""

    def coordinate(self, node: int, others: list[int]) -> None:
        """Let a broker coordinate all groups."""
        coordinate(self.ask, OFFSETS, self.by_state["empty"].id, 0, [node, *others])

    def describe(self, case: str, at: int = 0) -> None:
        """Compare all groups; with `at`, this and all later requests are sent to this broker."""
        for name, group in self.by_state.items():
            group.at = at or group.at
            group.describe(f"{name} {case}")

    def begin(self) -> None:
        """Bring the groups to their states."""
        empty, stable, preparing, completing = self.by_state.values()
        empty.committed(3)
        for group, member in ((stable, "M1"), (preparing, "M2"), (completing, "M3")):
            group.entered(member)
            if group is not completing:
                group.synced(f"${member}", 1)
                group.committed(5, f"${member}", 1)
        preparing.send_join("joining", "M4")
        self.ask.pending("another member joins", "joining", 50)
        preparing.heartbeat("the group rebalances", "$M2", 1)
        self.beat("join", 0, at=2)

    def proceed(self) -> None:
        """Continue at the next coordinator."""
        empty, stable, preparing, completing = self.by_state.values()
        empty.commit("empty, commit", 4)
        stable.heartbeat("stable, heartbeat", "$M1", 1)
        stable.commit("stable, commit", 6, "$M1", 1)
        preparing.heartbeat("preparing, heartbeat", "$M2", 1)
        completing.sync("completing, sync", "$M3", 1)
        completing.heartbeat("completing, heartbeat", "$M3", 1)
        completing.join("completing, join again", "$M3")
        completing.join("completing, join as a new member", "", bind="M3")
        stable.join("stable, join again", "$M1")
        stable.sync("stable, sync again", "$M1", 2)
        self.beat("heartbeat", 1, at=3)

    def beat(self, case: str, epoch: int, at: int) -> None:
        """Send the heartbeat of the only member of a group of the consumer protocol (KIP-848)."""
        if not self.modern:
            return
        body: Step = {"group_id": self.modern, "member_id": KIP_848_MEMBER, "member_epoch": epoch}
        if epoch == 0:
            topics = [self.cluster.topic]
            body |= {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": topics, "topic_partitions": []}
        self.ask.request(f"consumer protocol, {case}", "ConsumerGroupHeartbeat", 1, body, conn=f"at-{at}")


def without_coordinator(ask: ScenarioBuilder, fault: str) -> None:
    """Disturb the coordinator of groups in each state, continue at the next one, and return to the first."""
    groups = Groups(ask)
    cluster, empty, stable = groups.cluster, groups.by_state["empty"], groups.by_state["stable"]
    groups.coordinate(2, [3, 1])
    cluster.wait(topic=OFFSETS, isr_nodes=[1, 2, 3])
    groups.begin()
    groups.describe("before")
    cluster.do(fault)
    coordinator_is(ask, empty.id, 0, 3)
    if fault == "kill":
        ask.receive("the join that was waiting", "joining")
    groups.describe("at the new coordinator", at=3)
    groups.proceed()
    groups.describe("after requests to the new coordinator")
    cluster.undo(fault)
    if fault in ("pause", "isolate"):
        ask.receive("the join that was waiting", "joining")
    cluster.wait(topic=OFFSETS, isr_nodes=[1, 2, 3])
    groups.describe("at the old coordinator", at=2)
    stable.heartbeat("stable, at the old coordinator", "$M1", 2)
    stable.join("stable, join at the old coordinator", "$M1")
    stable.commit("stable, commit at the old coordinator", 7, "$M1", 2)
    groups.coordinate(2, [3, 1])
    groups.describe("at the end")
    stable.heartbeat("stable, at the end", "$M1", 2)
    stable.commit("stable, commit at the end", 7, "$M1", 2)
    groups.beat("at the end", 1, at=2)


@scenario("GroupCoordinatorService.onResignation GroupCoordinatorService.onElection", level="must")
def group_coordinator_stopped(ask: ScenarioBuilder) -> None:
    """If the coordinator of groups shuts down, the next replica of __consumer_offsets coordinates them and knows
    committed offsets and the members of stable groups, but a rebalance in progress has to begin again."""
    without_coordinator(ask, "stop")


@scenario("GroupCoordinatorService.onElection", level="must")
def group_coordinator_killed(ask: ScenarioBuilder) -> None:
    """If the coordinator of groups crashes, the next one knows everything that was committed."""
    without_coordinator(ask, "kill")


@scenario("GroupCoordinatorService.onResignation GroupCoordinatorService.onElection", level="must")
def group_coordinator_paused(ask: ScenarioBuilder) -> None:
    """A coordinator of groups that pauses for longer than its session is replaced, and when it continues, it answers
    NOT_COORDINATOR, even to a JoinGroup that had been waiting."""
    without_coordinator(ask, "pause")


@scenario("GroupCoordinatorService.onResignation GroupCoordinatorService.onElection", level="must")
def group_coordinator_isolated(ask: ScenarioBuilder) -> None:
    """If the coordinator of groups is cut off from the other brokers and the controller, the next one knows everything
    that was committed."""
    without_coordinator(ask, "isolate")
