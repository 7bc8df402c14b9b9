"""OffsetCommit and OffsetFetch, by members of classic groups and by other clients."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, KAFKA_4_4, Scenarios

from .classic_groups import UNKNOWN_CLASSIC_MEMBER, Classic

scenario = Scenarios("offsets")

MISSING_TOPIC_ID = "00000000-0000-4000-8000-0000000000ff"
Topic = tuple[str, tuple[Any, ...]]


class Offsets:
    """The offsets of a group."""

    def __init__(self, ask: ScenarioBuilder, group: str) -> None:
        self.ask, self.group = ask, group

    def commit(self, case: str, *topics: Topic, version: int = 8, **more: Any) -> None:
        """Send OffsetCommit; a partition is either an offset, for the next index, or a dict of its fields."""
        self.ask.request(case, "OffsetCommit", version, self.committing(*topics, version=version) | more)

    def committed(self, *topics: Topic, **more: Any) -> None:
        self.ask.setup("OffsetCommit", 8, self.committing(*topics) | more)

    def committing(self, *topics: Topic, version: int = 8) -> Step:
        asked = []
        for topic, partitions in topics:
            given = [{"committed_offset": p} if isinstance(p, int) else p for p in partitions]
            whole = [{"partition_index": n, "committed_metadata": "m"} | p for n, p in enumerate(given)]
            asked.append(named(topic, version) | {"partitions": whole})
        body = {"group_id": self.group, "generation_id_or_member_epoch": -1, "member_id": ""}
        return body | {"topics": asked}

    def fetch(self, case: str, *topics: Topic, version: int = 7, **more: Any) -> None:
        """Send OffsetFetch, by default for all topics."""
        body = {key: more.pop(key) for key in ("require_stable",) if key in more}
        self.ask.request(case, "OffsetFetch", version, fetching(version, (self.group, topics), **more) | body)


def named(topic: str, version: int) -> Step:
    """Return a topic for a request: its id since version 10, its name before."""
    by_id = topic in ("ZERO", MISSING_TOPIC_ID)
    if version < 10:
        return {"name": "by-id-only" if by_id else topic}
    is_known = topic.startswith("$") and topic != "$nope"
    return {"topic_id": topic if by_id else f"{topic}.id" if is_known else MISSING_TOPIC_ID}


def fetching(version: int, *groups: tuple[str, tuple[Topic, ...] | None], **more: Any) -> Step:
    """Return the body of an OffsetFetch request; None requests all topics of a group."""
    asked = []
    for group, topics in groups:
        wanted = [named(topic, version) | {"partition_indexes": list(which)} for topic, which in topics or ()]
        asked.append({"group_id": group, "topics": wanted or None} | more)
    return {"groups": asked} if version >= 8 else asked[0]


@scenario(
    "GroupMetadataManager OffsetMetadataManager.commitOffset OffsetMetadataManager.fetchOffsets",
    EVERY_RELEASE,
    level="must",
)
def offsets_every_version(ask: ScenarioBuilder) -> None:
    """OffsetCommit since version 1 stores offsets that OffsetFetch since version 1 returns; partitions without an
    offset have offset -1 and no error."""
    t, u, n = ask.topic("t", 2), ask.topic("u"), ask.unknown_topic()
    group = Classic(ask).id
    offsets = Offsets(ask, group)
    for version in ask.versions("OffsetCommit"):
        at = 100 * version
        offsets.commit(f"v{version} commit", (t, (at + 1, at + 2)), (u, (at + 3,)), version=version)
        offsets.commit(f"v{version} with unknown ones", (t, (5, 6, 7)), (n, (8,)), (u, (9,)), version=version)
        offsets.commit(f"v{version} only unknown ones", (n, (8,)), version=version)
        offsets.commit(f"v{version} no topics", version=version)
        offsets.commit(f"v{version} no partitions", (t, ()), version=version)
        offsets.commit(f"v{version} nameless group", (t, (1,)), version=version, group_id="")
        offsets.fetch(f"after v{version}", (t, (0, 1, 2)), (u, (0,)), (n, (8, 0)))
    for version in ask.versions("OffsetFetch"):
        offsets.fetch(f"v{version} fetch", (t, (1, 0)), (u, (0,)), version=version)
        offsets.fetch(f"v{version} fetch unknown ones", (t, (0, 9)), (n, (0, 1)), version=version)
        offsets.fetch(f"v{version} fetch no partitions", (t, ()), version=version)
        unknown = Offsets(ask, "no-such-group")
        unknown.fetch(f"v{version} fetch an unknown group", (t, (0, 1)), (n, (0,)), version=version)
        if version >= 2:
            offsets.fetch(f"v{version} fetch all", version=version)
            unknown.fetch(f"v{version} fetch all of an unknown group", version=version)
        Offsets(ask, "").fetch(f"v{version} fetch of a nameless group", (t, (0,)), version=version)
    ask.setup("DeleteGroups", 0, {"groups_names": [""]}, must_succeed=False)  # other scenarios use this group id too


@scenario(
    "KIP-709 OffsetMetadataManager.fetchAllOffsets OffsetMetadataManager.fetchOffsets", EVERY_RELEASE, level="must"
)
def offsets_fetch_lists(ask: ScenarioBuilder) -> None:
    """OffsetFetch returns nothing for an empty list, all offsets for a null list, repeated partitions repeatedly, and
    several groups since version 8."""
    t, u = ask.topic("t", 2), ask.topic("u")
    first, second = Classic(ask, "g1").id, Classic(ask, "g2").id
    Offsets(ask, first).committed((t, (1, 2)), (u, (3,)))
    Offsets(ask, second).committed((u, (4,)))
    body = {"group_id": first, "topics": []}
    ask.each_version("OffsetFetch", {"v# an empty list of topics": body}, 0, 7)
    for version in ask.versions("OffsetFetch"):
        offsets = Offsets(ask, first)
        offsets.fetch(f"v{version} partitions twice", (t, (0, 0, 1, 0)), version=version)
        offsets.fetch(f"v{version} a topic twice", (t, (0,)), (u, (0,)), (t, (1,)), version=version)
        offsets.fetch(f"v{version} odd partitions", (t, (-1, 2147483647)), version=version)
    for version in ask.versions("OffsetFetch", 8):
        several: dict[str, tuple[tuple[str, tuple[Topic, ...]], ...]] = {
            "two groups": ((first, ((t, (0, 5)),)), (second, ())),
            "all of two groups": ((first, ()), (second, ())),
            "one known, one unknown": (("no-such-group", ((t, (0,)),)), (first, ((t, (0,)),))),
            "all of an unknown one": (("no-such-group", ()), (second, ())),
            "a nameless one": (("", ((t, (0,)),)), (first, ((t, (0,)),))),
            "the same twice": ((first, ((t, (0,)),)), (first, ((u, (0,)),))),
        }
        for name, groups in several.items():
            ask.request(f"v{version} {name}", "OffsetFetch", version, fetching(version, *groups))
            if name == "two groups":
                body = fetching(version, *groups) | {"require_stable": True}
                ask.request(f"v{version} {name}, stable", "OffsetFetch", version, body)
        if ask.release >= "4":  # earlier releases do not answer
            ask.request(f"v{version} no groups", "OffsetFetch", version, {"groups": []})
        empty = {"groups": [{"group_id": first, "topics": []}]}
        ask.request(f"v{version} an empty list of topics", "OffsetFetch", version, empty)


@scenario("KIP-320 OffsetMetadataManager.isMetadataInvalid", EVERY_RELEASE, level="must")
def offsets_fields(ask: ScenarioBuilder) -> None:
    """OffsetCommit stores metadata up to offset.metadata.max.bytes and any leader epoch and offset, and returns
    OFFSET_METADATA_TOO_LARGE above the limit."""
    t = ask.topic("t", 4)
    offsets = Offsets(ask, Classic(ask).id)
    high = ask.versions("OffsetCommit")[-1]
    for version in sorted({2, 6, 8, high}):
        for name, metadata in {"null": None, "empty": "", "4096": "m" * 4096, "4097": "m" * 4097}.items():
            one = {"committed_offset": version, "committed_metadata": metadata}
            offsets.commit(f"v{version} metadata {name}", (t, (one, 50 + version)), version=version)
            if name != "4096":
                offsets.fetch(f"fetch v{version} metadata {name}", (t, (0, 1)))
    two_bytes = {"committed_offset": 1, "committed_metadata": "\u00e9" * 2049}
    offsets.commit("metadata of 2049 letters, 4098 bytes", (t, (two_bytes,)))
    wide = {"committed_offset": 1, "committed_metadata": "\u00e9" * 4097}
    offsets.commit("metadata of 4097 letters", (t, (wide,)))
    for at in (0, -1, -2, -9223372036854775808, 9223372036854775807):
        offsets.commit(f"offset {at}", (t, (at,)))
        offsets.fetch(f"fetch offset {at}", (t, (0,)), version=5)
    for epoch in (-1, 0, 5, 2147483647, -2):
        offsets.commit(f"leader epoch {epoch}", (t, ({"committed_offset": 7, "committed_leader_epoch": epoch},)))
        offsets.fetch(f"fetch leader epoch {epoch}", (t, (0,)), version=5)
        offsets.fetch(f"fetch all, leader epoch {epoch}", version=8)
    for version in ask.versions("OffsetCommit", 2, 4):
        for retention_ms in (-1, 0, 60000, -2):
            body = {"retention_time_ms": retention_ms}
            offsets.commit(f"v{version} retention {retention_ms}", (t, (8, 8)), version=version, **body)
    if 1 in ask.versions("OffsetCommit"):
        for timestamp in (-1, 0, 1_600_000_000_000):
            one = {"committed_offset": 9, "commit_timestamp": timestamp}
            offsets.commit(f"v1 at {timestamp}", (t, (one,)), version=1)
    twice = {"partition_index": 0, "committed_offset": 1}, {"partition_index": 0, "committed_offset": 2}
    offsets.commit("a partition twice", (t, twice))
    offsets.fetch("fetch a partition that was there twice", (t, (0,)))
    offsets.commit("a topic twice", (t, (3,)), (t, (4, 5)))
    offsets.fetch("fetch a topic that was there twice", (t, (0, 1)))
    offsets.commit("odd partitions", (t, ({"partition_index": -1, "committed_offset": 1},)))
    offsets.commit("a topic without a name", ("", (1,)))
    offsets.commit("a topic with an illegal name", ("a b", (1,)))
    offsets.fetch("fetch odd topics", ("", (0,)), ("a b", (0,)))


@scenario("ClassicGroup.validateOffsetCommit OffsetMetadataManager.validateOffsetCommit", EVERY_RELEASE, level="must")
def offsets_members(ask: ScenarioBuilder) -> None:
    """OffsetCommit into a classic group with members requires a member id and generation of the group, and an empty
    group accepts commits without them."""
    t = ask.topic()
    group = Classic(ask)
    offsets = Offsets(ask, group.id)

    def commits(state: str) -> None:
        for member in ("", "$M1", UNKNOWN_CLASSIC_MEMBER):
            for generation in (-1, 0, 1, 2):
                who: dict[str, Any] = {"member_id": member, "generation_id_or_member_epoch": generation}
                name = {"": "nobody", "$M1": "the member"}.get(member, "another")
                offsets.commit(f"{state}: {name}, generation {generation}", (t, (1,)), **who)
        instance: dict[str, Any] = {"member_id": "$M1", "generation_id_or_member_epoch": 1, "group_instance_id": "i1"}
        offsets.commit(f"{state}: the member with an instance id", (t, (1,)), **instance)
        nobody: dict[str, Any] = {"member_id": "", "generation_id_or_member_epoch": -1, "group_instance_id": "i1"}
        offsets.commit(f"{state}: nobody with an instance id", (t, (1,)), **nobody)
        if 1 in ask.versions("OffsetCommit"):
            offsets.commit(f"{state}: nobody in version 1", (t, (1,)), version=1)
        offsets.commit(f"{state}: the member, unknown topic", ("nope", (1,)), member_id="$M1")

    ask.let("M1", UNKNOWN_CLASSIC_MEMBER.replace("0000-0000", "1111-1111"))
    commits("unknown")
    commits("only offsets")
    group.obtain_member_id("M1")
    commits("promised")
    group.join("join", "$M1")
    commits("before sync")
    group.synced("$M1", 1, "$M1")
    commits("stable")
    group.obtain_member_id("M2")
    group.send_join("b", "$M2")
    group.beats_until("$M1", 1)
    commits("preparing")
    group.send_join("a", "$M1")
    ask.receive("the second is in", "b")
    ask.receive("the first is in", "a")
    commits("generation 2 before sync")
    group.leave("all leave", "$M1", "$M2")
    ask.until("DescribeGroups", 0, {"groups": [group.id]}, "groups.0.group_state", "Empty")
    commits("empty")
    offsets.fetch("what was committed", (t, (0,)))


@scenario("KIP-848 ClassicGroup.validateOffsetFetch", OffsetFetch=9)
def offsets_fetch_members(ask: ScenarioBuilder) -> None:
    """OffsetFetch since version 9 does not check the member id and epoch against a classic group."""
    t = ask.topic()
    group = Classic(ask)
    offsets = Offsets(ask, group.id)
    offsets.committed((t, (5,)))
    for state in ("only offsets", "before sync", "stable"):
        for version in ask.versions("OffsetFetch", 9):
            for member in (None, "", "$M1", UNKNOWN_CLASSIC_MEMBER):
                for epoch in (-1, 0, 1, 2):
                    if member == "$M1" and state == "only offsets":
                        continue
                    name = {None: "null", "": "nobody", "$M1": "the member"}.get(member, "another")
                    case = f"v{version} {state}, {name}, epoch {epoch}"
                    offsets.fetch(case, (t, (0,)), version=version, member_id=member, member_epoch=epoch)
        if state == "only offsets":
            group.enter("M1")
        elif state == "before sync":
            group.synced("$M1", 1, "$M1")


@scenario("KIP-516 OffsetMetadataManager.commitOffset", KAFKA_4_4, level="must", OffsetCommit=10)
def offsets_topic_ids(ask: ScenarioBuilder) -> None:
    """OffsetCommit and OffsetFetch v10 name topics by id and return UNKNOWN_TOPIC_ID for unknown, zero and outdated
    ids."""
    t, u = ask.topic("t", 2), ask.topic("u")
    offsets = Offsets(ask, Classic(ask).id)
    offsets.commit("known, unknown and zero", (t, (1, 2, 3)), (MISSING_TOPIC_ID, (4, 5)), ("ZERO", (6,)), version=10)
    offsets.commit("only unknown", (MISSING_TOPIC_ID, (4,)), version=10)
    offsets.commit("only zero", ("ZERO", (4,)), version=10)
    offsets.fetch("known, unknown and zero", (t, (0, 1, 2)), (MISSING_TOPIC_ID, (4, 5)), ("ZERO", (6,)), version=10)
    offsets.fetch("only unknown", (MISSING_TOPIC_ID, (4,)), version=10)
    offsets.fetch("all", version=10)
    offsets.committed((u, (7,)))
    offsets.fetch("committed by name, by id", (u, (0,)), version=10)
    ask.setup("DeleteTopics", 6, {"topics": [{"name": u}]})
    ask.until(
        "OffsetFetch", 7, fetching(7, (offsets.group, ((u, (0,)),))), "topics.0.partitions.0.committed_offset", -1
    )
    offsets.fetch("of a deleted topic by id", (u, (0,)), version=10)
    offsets.fetch("all, one was deleted", version=10)
    offsets.commit("to a deleted topic", (u, (8,)), version=10)


@scenario("OffsetMetadataManager.onPartitionsDeleted", EVERY_RELEASE)
def offsets_deleted_topic(ask: ScenarioBuilder) -> None:
    """The deletion of a topic deletes the committed offsets of its partitions."""
    t, u = ask.topic("t"), ask.topic("u")
    offsets = Offsets(ask, Classic(ask).id)
    offsets.committed((t, (1,)), (u, (2,)))
    offsets.fetch("before", (t, (0,)), (u, (0,)))
    ask.setup("DeleteTopics", 6, {"topics": [{"name": u}]})
    ask.until(
        "OffsetFetch", 7, fetching(7, (offsets.group, ((u, (0,)),))), "topics.0.partitions.0.committed_offset", -1
    )
    offsets.fetch("after", (t, (0,)), (u, (0,)))
    offsets.fetch("all after")
    offsets.commit("to a deleted topic", (t, (3,)), (u, (4,)))
    offsets.fetch("all at the end")


@scenario("KIP-848 OffsetMetadataManager", level="must")
def offsets_of_unknown_group(ask: ScenarioBuilder) -> None:
    """A commit with a generation for a group that does not exist is refused: ILLEGAL_GENERATION, and since Kafka 4.0
    GROUP_ID_NOT_FOUND in version 9 and later."""
    t = ask.topic()
    offsets = Offsets(ask, Classic(ask).id)
    for v in ask.versions("OffsetCommit", 1):
        for case, generation in (("generation 1", 1), ("generation 0", 0)):
            member: Step = {"generation_id_or_member_epoch": generation, "member_id": "m"}
            offsets.commit(f"v{v} commit, {case}", (t, (1,)), version=v, **member)
    for v in ask.versions("OffsetFetch", 9):
        for epoch in (0, 1):
            member = {"member_id": "m", "member_epoch": epoch}
            offsets.fetch(f"v{v} fetch, epoch {epoch}", (t, (0,)), version=v, **member)


@scenario("GroupCoordinatorService")
def offsets_too_large(ask: ScenarioBuilder) -> None:
    """A commit that is larger than a batch of the offsets topic is refused: INVALID_COMMIT_OFFSET_SIZE, and since Kafka
    4.0 UNKNOWN_SERVER_ERROR."""
    t = ask.topic(partitions=300)
    offsets = Offsets(ask, Classic(ask).id)
    large = tuple({"committed_offset": n, "committed_metadata": "m" * 4000} for n in range(300))
    for v in (2, 8):
        offsets.commit(f"v{v}", (t, large), version=v)
    offsets.fetch("nothing is committed", (t, (0, 299)))
    ask.transactional_id()
    ask.init_producer(timeout_ms=60_000)
    ask.add_offsets(offsets.group)
    partitions = [{"partition_index": n, "committed_offset": n, "committed_metadata": "m" * 4000} for n in range(300)]
    body = ask.of_producer("X1") | {"group_id": offsets.group, "topics": [{"name": t, "partitions": partitions}]}
    ask.request("in a transaction", "TxnOffsetCommit", 3, body)
    ask.setup("EndTxn", 3, ask.of_producer("X1") | {"committed": False})
