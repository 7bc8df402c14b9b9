"""Streams groups (KIP-1071): heartbeats, descriptions, and the errors of each API."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import KAFKA_4_4, Scenarios

scenario = Scenarios("streams_groups", KAFKA_4_4)

M, N = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
GONE = -1


class Streams:
    """A streams group: requests of its members."""

    def __init__(self, ask: ScenarioBuilder, name: str = "g") -> None:
        self.ask = ask
        self.id = ask.group(name)

    def beat(self, case: str, member: str, epoch: int, version: int = 1, **more: Any) -> None:
        step = {"only": more.pop("only")} if "only" in more else {}
        body = {"group_id": self.id, "member_id": member, "member_epoch": epoch} | more
        self.ask.request(case, "StreamsGroupHeartbeat", version, body, **step)

    def join(self, case: str, member: str, *topics: str, version: int = 1, **more: Any) -> None:
        self.beat(case, member, 0, version, **joining(*topics) | more)


def joining(*topics: str) -> Step:
    """Return the fields of the first heartbeat of an application that reads the topics in one subtopology."""
    tasks: Step = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    return tasks | {"topology": topology(*topics), "rebalance_timeout_ms": 60000, "process_id": "p1", "client_tags": []}


def topology(*topics: str, epoch: int = 0, **more: Any) -> Step:
    return {"epoch": epoch, "subtopologies": [{"subtopology_id": "0", "source_topics": list(topics)} | more]}


@scenario("KIP-1071 GroupCoordinatorService", StreamsGroupHeartbeat=0)
def streams_heartbeat_errors(ask: ScenarioBuilder) -> None:
    """StreamsGroupHeartbeat refuses incomplete requests, unknown members, wrong epochs, and changed topologies."""
    t = ask.topic()
    group, other = Streams(ask), Streams(ask, "other")
    classic = {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": ""}]}
    as_classic = {"group_id": other.id, "session_timeout_ms": 30000, "rebalance_timeout_ms": 30000, "member_id": ""}
    ask.setup("JoinGroup", 3, as_classic | classic)
    for v in ask.versions("StreamsGroupHeartbeat"):
        group.beat(f"v{v}: unknown group", M, 1, v)
        group.beat(f"v{v}: leave an unknown group", M, GONE, v)
        group.join(f"v{v}: no member id", "", t, version=v)
        group.join(f"v{v}: group without name", M, t, version=v, group_id="")
        group.join(f"v{v}: no topology", M, version=v, topology=None)
        group.beat(f"v{v}: epoch -3", M, -3, v)
        other.join(f"v{v}: a classic group", M, t, version=v)
    group.join("no rebalance timeout", M, t, rebalance_timeout_ms=-1)
    group.join("no tasks", M, t, active_tasks=None)
    group.join("empty instance id", M, t, instance_id="")
    group.join("static member", M, t, instance_id="i1")
    group.join("empty rack", M, t, rack_id="")
    group.join("topology of epoch 1", M, t, topology=topology(t, epoch=1))
    group.join(
        "two subtopologies with one id", M, topology={"epoch": 0, "subtopologies": [{"subtopology_id": "0"}] * 2}
    )
    illegal = topology(t, source_topic_regex=["("])
    group.join("invalid regular expression", M, topology=illegal)
    changelog = {"name": "__bad name", "partitions": 0, "replication_factor": 0, "topic_configs": []}
    group.join("changelog with an illegal name", M, topology=topology(t, state_changelog_topics=[changelog]))
    ask.until("StreamsGroupHeartbeat", 1, {"group_id": group.id, "member_id": M} | joining(t), "error_code", 0)
    group.beat("unknown member", N, 1)
    group.beat("unknown member leaves", N, GONE)
    group.beat("epoch too large", M, 99)
    group.join("changed topology", M, t, topology=topology(t, "other"))
    group.beat("leaves", M, GONE)
    group.beat("leaves again", M, GONE)


@scenario("KIP-1071 GroupMetadataManager", StreamsGroupHeartbeat=1)
def streams_static_member(ask: ScenarioBuilder) -> None:
    """A static member of a streams group can be replaced only after it has left; it is then fenced."""
    t = ask.topic()
    group = Streams(ask)
    static = {"group_id": group.id, "member_id": M, "instance_id": "i1"}
    ask.until("StreamsGroupHeartbeat", 1, static | joining(t), "error_code", 0)
    for v in ask.versions("StreamsGroupHeartbeat"):
        group.join(f"v{v}: another member with the instance id", N, t, version=v, instance_id="i1")
        group.beat(f"v{v}: heartbeat of another member", N, 1, v, instance_id="i1")
        group.beat(f"v{v}: unknown instance", M, 1, v, instance_id="i2")
    group.beat("leaves for now", M, -2, instance_id="i1", only=["error_code", "member_id", "member_epoch"])
    group.join("another member", N, t, instance_id="i1", only=["error_code", "member_id"])
    group.beat("heartbeat of the first", M, 1, instance_id="i1", only=["error_code"])
    group.beat("the first leaves", M, GONE, instance_id="i1", only=["error_code"])
    group.beat("leaves", N, GONE, instance_id="i1", only=["error_code", "member_id"])


@scenario("KIP-1071 GroupMetadataManager", StreamsGroupDescribe=0)
def streams_describe_errors(ask: ScenarioBuilder) -> None:
    """StreamsGroupDescribe returns GROUP_ID_NOT_FOUND for groups that do not exist or are of another type."""
    group, other = Streams(ask), Streams(ask, "other")
    classic = {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": ""}]}
    as_classic = {"group_id": other.id, "session_timeout_ms": 30000, "rebalance_timeout_ms": 30000, "member_id": ""}
    ask.setup("JoinGroup", 3, as_classic | classic)

    def describe(case: str, *groups: str, **more: Any) -> None:
        body = {"group_ids": list(groups), "include_authorized_operations": False}
        ask.each_version("StreamsGroupDescribe", {f"v#: {case}": body | more})

    describe("unknown", group.id)
    describe("empty name", "")
    describe("a classic group", other.id)
    describe("no group")


@scenario("GroupCoordinatorService", StreamsGroupTopologyDescriptionUpdate=0)
def streams_topology_description_errors(ask: ScenarioBuilder) -> None:
    """A broker without a plugin for topology descriptions refuses them with UNSUPPORTED_VERSION."""
    group = Streams(ask)

    def update(case: str, member: str = M, **more: Any) -> None:
        body = {"group_id": group.id, "member_id": member, "topology_epoch": 0}
        described: Step = {"topology_description": {"subtopologies": [], "global_stores": []}}
        ask.request(case, "StreamsGroupTopologyDescriptionUpdate", 0, body | described | more)

    update("unknown group")
    update("group without name", group_id="")
    update("no member id", "")
