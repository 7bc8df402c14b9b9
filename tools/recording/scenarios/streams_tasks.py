"""Streams groups (KIP-1071): the tasks of members, internal topics, endpoints and offsets."""

from collections.abc import Sequence
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from kafkalet_conformance.shares import GROUP_RESOURCE
from tools.recording.definitions import SHARE_GROUPS, Scenarios

from .streams_groups import GONE, Streams, topology

scenario = Scenarios("streams_groups", SHARE_GROUPS)

TASKS = "active_tasks.0.partitions.0"
A, B = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


class Application(Streams):
    """A streams group whose tasks are assigned at once."""

    def __init__(self, ask: ScenarioBuilder, name: str = "g", **config: Any) -> None:
        super().__init__(ask, name)
        given = {"streams_initial_rebalance_delay_ms": 0, "streams_assignment_interval_ms": 0} | config
        self.configure(**given)

    def configure(self, **config: Any) -> None:
        configs = [{"name": name.replace("_", "."), "value": str(value)} for name, value in config.items()]
        entries = [entry | {"config_operation": 0} for entry in configs]
        named = {"resource_type": GROUP_RESOURCE, "resource_name": self.id, "configs": entries}
        self.ask.setup("IncrementalAlterConfigs", 1, {"resources": [named]})
        asked = [
            {"resource_type": GROUP_RESOURCE, "resource_name": self.id, "configuration_keys": [configs[0]["name"]]}
        ]
        self.ask.until("DescribeConfigs", 1, {"resources": asked}, "results.0.configs.0.value", configs[0]["value"])

    def starts(self, *subtopologies: Step, **more: Any) -> None:
        """Let the first member join, until it has tasks. The coordinator has noticed all source topics before."""
        self.ask.until("StreamsGroupHeartbeat", 0, joining(self.id, A, subtopologies) | more, TASKS, 0)

    def joins(self, case: str, member: str, *subtopologies: Step, **more: Any) -> None:
        step = {"only": more.pop("only")} if "only" in more else {}
        self.ask.request(case, "StreamsGroupHeartbeat", 0, joining(self.id, member, subtopologies) | more, **step)

    def has(self, case: str, member: str, epoch: int, *active: int, standby: tuple[int, ...] = (), **more: Any) -> None:
        """Send a heartbeat with tasks of subtopology 0."""
        self.beat(case, member, epoch, 0, **tasks(active, standby) | more)

    def describe(self, case: str) -> None:
        self.ask.request(case, "StreamsGroupDescribe", 0, {"group_ids": [self.id]})


def joining(group: str, member: str, subtopologies: Sequence[Step]) -> Step:
    body: Step = {"group_id": group, "member_id": member, "member_epoch": 0, "process_id": member, "client_tags": []}
    body["topology"] = {"epoch": 0, "subtopologies": list(subtopologies)}
    return body | tasks() | {"rebalance_timeout_ms": 60000}


def source(ask: ScenarioBuilder, name: str = "t", partitions: int = 1) -> str:
    """Create a topic, and wait until the group coordinator has noticed it."""
    topic = ask.topic(name, partitions)
    other = Application(ask, f"{name}_reader")
    other.starts(reads(topic))
    return topic


def tasks(active: tuple[int, ...] = (), standby: tuple[int, ...] = ()) -> Step:
    active_tasks, standby_tasks = (
        [{"subtopology_id": "0", "partitions": list(of)}] if of else [] for of in (active, standby)
    )
    return {"active_tasks": active_tasks, "standby_tasks": standby_tasks, "warmup_tasks": []}


def reads(*topics: str, name: str = "0", **more: Any) -> Step:
    return {"subtopology_id": name, "source_topics": list(topics)} | more


def internal(name: str, partitions: int = 0, replicas: int = 0, **config: str) -> Step:
    configs = [{"key": key.replace("_", "."), "value": value} for key, value in config.items()]
    return {"name": name, "partitions": partitions, "replication_factor": replicas, "topic_configs": configs}


@scenario("KIP-1071 StreamsGroup", level="must", StreamsGroupHeartbeat=0)
def streams_tasks_move(ask: ScenarioBuilder) -> None:
    """A task of a streams group moves to a new member after the former one has revoked it."""
    t = source(ask, partitions=2)
    group = Application(ask)
    group.starts(reads(t))
    group.describe("one member")
    group.joins("another member joins", B, reads(t))
    group.describe("tasks have to move")
    group.has("it waits", B, 3)
    group.has("the first member has to revoke", A, 2, 0, 1)
    group.has("the other still waits", B, 3)
    group.has("the first member has revoked", A, 2, 0)
    group.has("the other gets the task", B, 3)
    group.has("a lost response", A, 2, 0)
    group.has("the previous epoch with a foreign task", A, 2, 1)
    group.has("a task that does not exist", A, 3, 7)
    group.describe("both have a task")
    group.beat("the first member leaves", A, GONE, 0)
    group.has("the other gets all tasks", B, 3, 1)
    group.describe("one member again")
    group.beat("the other leaves", B, GONE, 0)
    group.describe("no member")
    ask.request("delete", "DeleteGroups", 2, {"groups_names": [group.id]})
    group.describe("deleted")


@scenario("KIP-1071 StickyTaskAssignor", StreamsGroupHeartbeat=0)
def streams_standby_tasks(ask: ScenarioBuilder) -> None:
    """Standby tasks of a streams group are assigned to other processes, and become active when a member leaves."""
    t = source(ask, partitions=2)
    group = Application(ask, streams_num_standby_replicas=1)
    store = reads(t, state_changelog_topics=[internal(ask.unique("store"))])
    group.starts(store)
    group.joins("another process", B, store)
    group.has("the first revokes", A, 3, 0, 1)
    group.has("it has revoked", A, 3, 0)
    group.has("the other gets tasks", B, 4)
    group.has("the first gets a standby task", A, 4, 0)
    group.describe("both have both")
    group.beat("the first leaves", A, GONE, 0)
    group.describe("it has left")
    group.has("the other runs all", B, 4, 1, standby=(0,))
    group.describe("one process")
    group.configure(streams_num_standby_replicas=0)
    group.has("no standby tasks", B, 5, 0, 1)
    group.describe("another epoch")


@scenario("KIP-1071 InternalTopicManager", level="must", StreamsGroupHeartbeat=0)
def streams_internal_topics(ask: ScenarioBuilder) -> None:
    """The broker creates the internal topics of a topology with their configuration and enough partitions."""
    t = source(ask, partitions=2)
    words, counts = ask.unique("words"), ask.unique("counts")
    group = Application(ask)
    first = reads(t, repartition_sink_topics=[words])
    second = reads(
        name="1",
        repartition_source_topics=[internal(words, cleanup_policy="delete")],
        state_changelog_topics=[internal(counts, 0, 1, cleanup_policy="compact", segment_bytes="1048576")],
    )
    group.starts(first, second)
    group.describe("ready")
    names = [{"name": words}, {"name": counts}]
    only = [f"topics.{index}.{field}" for index in (0, 1) for field in ("error_code", "name", "is_internal")]
    ask.request("topics", "Metadata", 8, {"topics": names, "allow_auto_topic_creation": False}, only=only)
    keys = ["cleanup.policy", "segment.bytes"]
    asked = [{"resource_type": 2, "resource_name": name, "configuration_keys": keys} for name in (words, counts)]
    ask.request("configuration", "DescribeConfigs", 1, {"resources": asked})


@scenario("KIP-1071 InternalTopicManager", StreamsGroupHeartbeat=0)
def streams_topics_do_not_fit(ask: ScenarioBuilder) -> None:
    """A streams group does not start while topics are missing, or have the wrong number of partitions."""
    t, u = source(ask, partitions=2), source(ask, "u", 3)
    nope = ask.unknown_topic()
    names = {name: ask.unique(name) for name in "rsv"}
    both = [{"source_topics": [0, 1], "source_topic_regex": [], "repartition_source_topics": []}]
    mixed = [{"source_topics": [0], "source_topic_regex": [], "repartition_source_topics": [0]}]
    fixed = [{"source_topics": [], "source_topic_regex": [], "repartition_source_topics": [0, 1]}]
    outside = [{"source_topics": [3], "source_topic_regex": [], "repartition_source_topics": []}]
    writes = reads(t, repartition_sink_topics=[names["r"], names["s"]])
    r, s = internal(names["r"], 4), internal(names["s"], 5)
    cases: dict[str, list[Step]] = {
        "missing source": [reads(nope)],
        "sources with different partitions": [reads(t, u, copartition_groups=both)],
        "fixed partitions that differ from a source": [
            writes,
            reads(u, name="1", repartition_source_topics=[r], copartition_groups=mixed),
        ],
        "different fixed partitions": [
            writes,
            reads(name="1", repartition_source_topics=[r, s], copartition_groups=fixed),
        ],
        "changelog with other partitions": [reads(t, state_changelog_topics=[internal(u)])],
        "changelog with fixed partitions": [reads(t, state_changelog_topics=[internal(names["v"], 3)])],
        "no source": [reads()],
        "repartition topic that is not written": [
            reads(t),
            reads(name="1", repartition_source_topics=[internal(names["v"])]),
        ],
        "loop": [reads(repartition_source_topics=[internal(names["v"])], repartition_sink_topics=[names["v"]])],
        "position that does not exist": [reads(t, copartition_groups=outside)],
        "internal topic of Kafka": [reads("__consumer_offsets")],
        "illegal name": [reads("a b")],
    }
    for number, (case, subtopologies) in enumerate(cases.items()):
        group = Application(ask, f"g{number}")
        group.joins(
            case, A, *subtopologies, only=["error_code", "member_epoch", "active_tasks", "status.0.status_code"]
        )


@scenario("KIP-1071 EndpointToPartitionsManager", StreamsGroupHeartbeat=0)
def streams_endpoints(ask: ScenarioBuilder) -> None:
    """Members of a streams group learn which partitions the members with endpoints read."""
    t = source(ask, partitions=2)
    group = Application(ask)
    here, there = {"host": "here", "port": 8080}, {"host": "there", "port": 65535}
    group.starts(reads(t), user_endpoint=here)
    group.has("known epoch", A, 2, 0, 1, endpoint_information_epoch=-1)
    group.joins("another member", B, reads(t), user_endpoint=there)
    group.has("the first revokes", A, 2, 0, 1)
    group.has("it has revoked", A, 2, 0, endpoint_information_epoch=1)
    group.has("the other gets a task", B, 3)
    group.has("the first knows an older epoch", A, 3, 0)
    group.beat("the other leaves", B, GONE, 0)
    group.has("one endpoint", A, 3, 0)


@scenario("KIP-1071 StreamsGroup", StreamsGroupHeartbeat=0)
def streams_offsets(ask: ScenarioBuilder) -> None:
    """Members of a streams group commit with the epoch of a task or a later one, and fetch with the current epoch."""
    t, u = source(ask, partitions=2), source(ask, "u")
    group = Application(ask)
    group.starts(reads(t))

    def commit(case: str, epoch: int, member: str = A, topic: str = t, partition: int = 0, version: int = 9) -> None:
        offset = {"partition_index": partition, "committed_offset": 0, "committed_metadata": ""}
        body: Step = {"group_id": group.id, "generation_id_or_member_epoch": epoch, "member_id": member}
        body["topics"] = [{"name": topic, "partitions": [offset]}]
        ask.request(case, "OffsetCommit", version, body)

    def fetch(case: str, member: str | None, epoch: int) -> None:
        asked: Step = {"group_id": group.id, "member_id": member, "member_epoch": epoch}
        asked["topics"] = [{"name": t, "partition_indexes": [0, 1]}]
        ask.request(case, "OffsetFetch", 9, {"groups": [asked], "require_stable": False})

    commit("current epoch", 2)
    commit("older epoch", 1)
    commit("newer epoch", 3)
    commit("no member", -1, "")
    commit("unknown member", 2, "unknown")
    commit("a topic that is not read", 2, topic=u)
    commit("a topic that is not read, older epoch", 1, topic=u)
    commit("too old version", 2, version=8)
    group.joins("another member", B, reads(t))
    group.has("the first revokes", A, 2, 0, 1)
    commit("a task to be revoked", 2, partition=1)
    group.has("it has revoked", A, 2, 0)
    commit("the task that it keeps, older epoch", 2)
    commit("the task that it has revoked, older epoch", 2, partition=1)
    group.has("the other gets the task", B, 3)
    commit("a task, epoch before it was assigned", 2, B, partition=1)
    commit("a task of another member", 2, B)
    fetch("current epoch", A, 3)
    fetch("older epoch", A, 2)
    fetch("no member", None, -1)
    fetch("unknown member", "unknown", 3)
    topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in (t, u)]
    ask.request("delete offsets", "OffsetDelete", 0, {"group_id": group.id, "topics": topics})
    ask.request("delete the group", "DeleteGroups", 2, {"groups_names": [group.id]})


@scenario("KIP-1071 GroupMetadataManager", StreamsGroupHeartbeat=0)
def streams_other_protocols(ask: ScenarioBuilder) -> None:
    """Members of other protocols cannot join a streams group unless it is empty and they are classic members."""
    t = source(ask)
    group = Application(ask)
    group.starts(reads(t))
    g = group.id
    joining: Step = {"group_id": g, "session_timeout_ms": 30000, "rebalance_timeout_ms": 30000, "member_id": ""}
    joining |= {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": ""}]}
    consumer: Step = {"group_id": g, "member_id": B, "member_epoch": 0, "subscribed_topic_names": [t]}
    full: Step = consumer | {"rebalance_timeout_ms": 1000, "topic_partitions": []}
    ask.request("JoinGroup", "JoinGroup", 3, joining)
    synced: Step = {"group_id": g, "generation_id": 2, "member_id": A, "assignments": []}
    ask.request("SyncGroup", "SyncGroup", 3, synced)
    ask.request("Heartbeat", "Heartbeat", 3, {"group_id": g, "generation_id": 2, "member_id": A})
    ask.request("LeaveGroup", "LeaveGroup", 3, {"group_id": g, "members": [{"member_id": A}]})
    ask.request("ConsumerGroupHeartbeat", "ConsumerGroupHeartbeat", 1, full)
    ask.request("ShareGroupHeartbeat", "ShareGroupHeartbeat", 1, consumer)
    ask.request("DescribeGroups", "DescribeGroups", 6, {"groups": [g]})
    ask.request("ConsumerGroupDescribe", "ConsumerGroupDescribe", 1, {"group_ids": [g]})
    ask.request("ShareGroupDescribe", "ShareGroupDescribe", 1, {"group_ids": [g]})
    group.beat("leaves", A, GONE, 0)
    ask.request("ConsumerGroupHeartbeat to an empty group", "ConsumerGroupHeartbeat", 1, full)
    ask.request(
        "JoinGroup to an empty group", "JoinGroup", 3, joining, bind={"member": "member_id"}, only=["error_code"]
    )
    group.describe("classic group")
    group.joins("streams member of a classic group", A, reads(t))
    ask.setup("LeaveGroup", 3, {"group_id": g, "members": [{"member_id": "$member"}]})
    group.joins("streams member of an empty classic group", A, reads(t))


@scenario("KIP-1071 GroupMetadataManager", StreamsGroupHeartbeat=0)
def streams_status(ask: ScenarioBuilder) -> None:
    """The status of a heartbeat tells of older topologies and of a shutdown that another member has requested."""
    t = source(ask)
    group = Application(ask)
    group.starts(reads(t), topology={"epoch": 1, "subtopologies": [reads(t)]})
    group.joins("older topology", B, reads(t, t))
    group.joins("newer topology", B, topology=topology(t, epoch=2))
    group.has("shut down", B, 3, shutdown_application=True)
    group.has("another member", A, 2, 0)
    group.has("again", A, 2, 0)
    group.beat("leaves", A, GONE, 0)
    group.beat("the other leaves", B, GONE, 0)
    group.joins("new member", A, topology=topology(t, epoch=1))
