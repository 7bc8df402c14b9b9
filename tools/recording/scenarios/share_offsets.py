"""Start offsets of share groups (KIP-932, KIP-1226): how they are described, altered and deleted."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, batch
from kafkalet_conformance.shares import ACCEPT, RELEASE, M, Reader, Share, of
from tools.recording.definitions import SHARE_GROUPS, Scenarios

from .share_acquisition import FIVE

scenario = Scenarios("share_groups", SHARE_GROUPS, DescribeShareGroupOffsets=0)


def alter(group: Share, case: str, *offsets: tuple[str, int, int], **more: Any) -> None:
    """Alter the start offset of partitions; `offsets` has topic, partition and offset."""
    topics: dict[str, list[Any]] = {}
    for topic, partition, offset in offsets:
        topics.setdefault(topic, []).append({"partition_index": partition, "start_offset": offset})
    wanted = [{"topic_name": topic, "partitions": partitions} for topic, partitions in topics.items()]
    group.ask.request(case, "AlterShareGroupOffsets", 0, {"group_id": group.id, "topics": wanted} | more)


def delete(group: Share, case: str, *topics: str) -> None:
    body = {"group_id": group.id, "topics": [{"topic_name": topic} for topic in topics]}
    group.ask.request(case, "DeleteShareGroupOffsets", 0, body)


@scenario("KIP-1226 GroupCoordinatorService", level="must")
def share_lag(ask: ScenarioBuilder) -> None:
    """The lag of a share partition counts the records that are not acknowledged, from its start offset to the end."""
    t = ask.topic()
    ask.produce_each(t, [FIVE, FIVE])
    group = Share(ask)
    group.joined(M, t)
    versions = range(len(ask.versions("DescribeShareGroupOffsets")))

    def offsets(case: str) -> None:
        for version in versions:
            group.offsets(f"v{version}: {case}", t, version=version)

    offsets("before the first fetch")
    reader = Reader(group)
    reader.fetch("", of("$t.id"), max_records=1)
    offsets("five records are acquired")
    reader.acknowledge("", of("$t.id", (0, 1, ACCEPT)))
    offsets("two are accepted")
    reader.acknowledge("", of("$t.id", (3, 3, ACCEPT)))
    offsets("one in the middle is accepted")
    reader.acknowledge("", of("$t.id", (2, 2, RELEASE)))
    offsets("one is released")
    reader.acknowledge("", of("$t.id", (4, 4, 3)))
    offsets("one is rejected")
    ask.produce(t, batch(60))
    offsets("one more is written")


@scenario("KIP-932 GroupCoordinatorService", level="must")
def share_offsets_described(ask: ScenarioBuilder) -> None:
    """DescribeShareGroupOffsets returns the offsets of the partitions that the request names, or of all that the group
    has read.
    """
    t, u, missing = ask.topic(partitions=2), ask.topic("u"), ask.unknown_topic()
    group = Share(ask)
    group.joined(M, t, u)
    for version in range(len(ask.versions("DescribeShareGroupOffsets"))):
        group.offsets(f"v{version}: one partition", t, version=version)
        group.offsets(f"v{version}: all partitions", t, partitions=(1, 0), version=version)
        group.offsets(f"v{version}: unknown partitions", t, partitions=(0, 7, -1), version=version)
        group.offsets(f"v{version}: two topics, and an unknown one", t, missing, u, version=version)
        group.offsets(f"v{version}: all topics", version=version)
        group.offsets(f"v{version}: no partitions", t, partitions=(), version=version)
        group.offsets(f"v{version}: a partition twice", t, partitions=(0, 0), version=version)
    other = Share(ask, "other")
    several = [{"group_id": each, "topics": [{"topic_name": t, "partitions": [0]}]} for each in (group.id, other.id)]
    version = ask.versions("DescribeShareGroupOffsets")[-1]
    ask.request("two groups", "DescribeShareGroupOffsets", version, {"groups": several})
    ask.request("a group twice", "DescribeShareGroupOffsets", version, {"groups": several[:1] * 2})
    ask.request("no groups", "DescribeShareGroupOffsets", version, {"groups": []})
    ask.request("no topics", "DescribeShareGroupOffsets", version, {"groups": [{"group_id": group.id, "topics": []}]})


@scenario("KIP-932 GroupCoordinatorService", level="must")
def share_offsets_altered(ask: ScenarioBuilder) -> None:
    """AlterShareGroupOffsets moves the start offset of a group without members, and deliveries begin there, with a
    delivery count of 1.
    """
    t = ask.topic()
    ask.produce_each(t, [FIVE, batch(60)])
    group = Share(ask)
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    reader.acknowledge("accept", of("$t.id", (0, 3, ACCEPT)))
    reader.close("close")
    group.left(M)
    for offset in (2, 6, 0, 100, -1):
        alter(group, f"to {offset}", (t, 0, offset))
        group.offsets(f"offsets at {offset}", t)
    alter(group, "to 3", (t, 0, 3))
    group.joined(M, t)
    reader = Reader(group)
    reader.fetch("from 3", of("$t.id"))


@scenario("KIP-932 GroupCoordinatorService")
def share_offsets_altered_partitions(ask: ScenarioBuilder) -> None:
    """AlterShareGroupOffsets alters several partitions at once, and returns an error for each that is unknown."""
    t, u, missing = ask.topic(partitions=2), ask.topic("u"), ask.unknown_topic()
    group = Share(ask)
    group.joined(M, t)
    group.left(M)
    alter(group, "two partitions", (t, 0, 1), (t, 1, 2))
    group.offsets("offsets", t, partitions=(0, 1))
    alter(group, "a topic that the group has never read", (u, 0, 4))
    group.offsets("offsets of this topic", u)
    alter(group, "unknown partitions and topics", (t, 0, 3), (t, 7, 3), (missing, 0, 3))
    group.offsets("offsets after errors", t, partitions=(0, 1))
    alter(group, "a partition twice", (t, 0, 5), (t, 0, 6))
    group.offsets("offsets after altering twice", t, partitions=(0, 1))
    alter(group, "nothing")
    group.offsets("all offsets")


@scenario("KIP-932 GroupCoordinatorService")
def share_offsets_altered_first(ask: ScenarioBuilder) -> None:
    """AlterShareGroupOffsets creates a group that does not exist, and gives it a start offset."""
    t = ask.topic()
    ask.produce(t, FIVE)
    group = Share(ask)
    alter(group, "a group that does not exist", (t, 0, 2))
    ask.request("describe the group", "ShareGroupDescribe", 1, {"group_ids": [group.id]})
    group.offsets("offsets", t)
    alter(group, "again", (t, 0, 3))
    group.offsets("offsets after the second time", t)


@scenario("KIP-932 GroupCoordinatorService", level="must")
def share_offsets_deleted(ask: ScenarioBuilder) -> None:
    """DeleteShareGroupOffsets deletes the state of topics, and the group begins again with its reset strategy."""
    t, u, missing = ask.topic(), ask.topic("u"), ask.unknown_topic()
    ask.produce(t, FIVE)
    group = Share(ask)
    group.joined(M, t, u)
    reader = Reader(group)
    reader.fetch("all records", of("$t.id"))
    reader.acknowledge("accept all", of("$t.id", (0, 4, ACCEPT)))
    reader.close("close")
    group.left(M)
    delete(group, "a topic, and an unknown one", t, missing)
    group.offsets("offsets of the topic", t)
    group.offsets("all offsets")
    delete(group, "the topic again", t)
    delete(group, "a topic twice", u, u)
    group.offsets("no offsets")
    ask.request("the group is left", "ShareGroupDescribe", 1, {"group_ids": [group.id]})
    group.joined(M, t)
    Reader(group).fetch("all records again", of("$t.id"))


@scenario("KIP-932 GroupCoordinatorService")
def share_offsets_of_deleted_topic(ask: ScenarioBuilder) -> None:
    """Offsets of a topic that was deleted are not described; those of the others stay."""
    t, u = ask.topic(), ask.topic("u")
    group = Share(ask)
    group.joined(M, t, u)
    group.left(M)
    ask.setup("DeleteTopics", 5, {"topic_names": [t], "timeout_ms": 10000})
    asked = {"groups": [{"group_id": group.id, "topics": [{"topic_name": t, "partitions": [0]}]}]}
    ask.until("DescribeShareGroupOffsets", 0, asked, "groups.0.topics.0.topic_id", "ZERO")
    group.offsets("the deleted topic", t)
    group.offsets("the other one", u)
    group.offsets("all topics")
    delete(group, "delete both", t, u)
