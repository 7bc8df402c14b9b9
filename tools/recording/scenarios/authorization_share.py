"""Rights that requests of share groups need (KIP-932): on the group, and on topics."""

from kafkalet_conformance.access import DELETE, DESCRIBE, GROUPS, READ
from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from kafkalet_conformance.shares import ACCEPT, GONE, M, Share, of
from tools.recording.definitions import SHARE_GROUPS, Scenarios
from tools.recording.rights import Rights, as_user, names_of_kinds, of_kinds, together_and_alone

scenario = Scenarios("authorization", SHARE_GROUPS, acl=True, ShareFetch=1)

KINDS = {"none": (), "described": (DESCRIBE,), "readable": (READ,)}
OF_GROUPS = {"gnone": (), "gdescribed": (DESCRIBE,), "greadable": (READ,), "gdeletable": (DELETE,)}


@scenario("KIP-932 KafkaApis", level="must")
def rights_share_members(ask: ScenarioBuilder) -> None:
    """A member of a share group needs READ on the group and DESCRIBE on each topic that it names."""
    rights = Rights(ask)
    topics = of_kinds(ask, rights, KINDS, {"none": (), "described": (DESCRIBE,)})
    groups = names_of_kinds(ask, rights, GROUPS, OF_GROUPS)
    for group in groups.values():
        ask.coordinator(group)

    def joining(group: str, *names: str) -> Step:
        return {"group_id": groups[group], "member_id": M, "member_epoch": 0, "subscribed_topic_names": list(names)}

    for kind in groups:
        as_user(ask, "ShareGroupHeartbeat", {f"join {kind}": joining(kind, topics["described"])})
    for kind, topic in topics.items():
        as_user(ask, "ShareGroupHeartbeat", {f"{kind}": joining("greadable", topic)})
    as_user(ask, "ShareGroupHeartbeat", {"several topics": joining("greadable", *topics.values())})
    unnamed = joining("greadable") | {"subscribed_topic_names": None, "member_epoch": GONE}
    as_user(ask, "ShareGroupHeartbeat", {"leave": unnamed})
    for kind in ("gnone", "gdescribed"):
        as_user(ask, "ShareGroupHeartbeat", {f"leave {kind}": unnamed | {"group_id": groups[kind]}})
    rights.remove()


@scenario("KIP-932 KafkaApis")
def rights_share_described(ask: ScenarioBuilder) -> None:
    """ShareGroupDescribe needs DESCRIBE on the group, and on each topic of its members; ListGroups and DeleteGroups
    need DESCRIBE and DELETE on a share group.
    """
    rights = Rights(ask)
    topics = of_kinds(ask, rights, KINDS)
    groups = names_of_kinds(ask, rights, GROUPS, OF_GROUPS | {"gboth": (DESCRIBE,)})
    for kind, group in groups.items():
        ask.coordinator(group)
        named = [topics["described"], *([topics["none"]] if kind == "gboth" else [])]
        body: Step = {"group_id": group, "member_id": M, "member_epoch": 0, "subscribed_topic_names": named}
        ask.until("ShareGroupHeartbeat", 1, body, "assignment.topic_partitions.0.partitions.0", 0)
    together_and_alone(
        ask, "ShareGroupDescribe", groups, lambda ids: {"group_ids": ids, "include_authorized_operations": True}
    )
    keep = {"keep": {"groups": "group_id"}}
    ask.request("list", "ListGroups", 5, {"types_filter": ["share"]}, conn="user", **keep)
    for group in groups.values():
        leaving = {"group_id": group, "member_id": M, "member_epoch": GONE, "subscribed_topic_names": None}
        ask.setup("ShareGroupHeartbeat", 1, leaving)
    deleted = {"groups_names": list(groups.values())}
    ask.request("delete", "DeleteGroups", ask.versions("DeleteGroups")[-1], deleted, conn="user")
    rights.remove()


@scenario("KIP-932 KafkaApis", level="must")
def rights_share_records(ask: ScenarioBuilder) -> None:
    """ShareFetch and ShareAcknowledge need READ on the group and on each topic; others fail with
    TOPIC_AUTHORIZATION_FAILED.
    """
    rights = Rights(ask)
    topics = of_kinds(ask, rights, KINDS)
    groups = names_of_kinds(ask, rights, GROUPS, OF_GROUPS)
    for topic in topics.values():
        ask.produce(topic, batch(10, 20))
    readers = {kind: of(f"${kind}.id") for kind in topics}
    group = Share(ask, "unused")
    group.id = groups["greadable"]
    for other in groups.values():
        ask.coordinator(other)
    group.joined(M, topics["readable"])
    for v in ask.versions("ShareFetch"):
        for kind, other in groups.items():
            if kind != "greadable":
                body = group.fetching(M, 0, *readers.values(), max_wait_ms=0) | {"group_id": other}
                ask.request(f"v{v}: fetch in {kind}", "ShareFetch", v, body, conn="user")
                body = {"group_id": other, "member_id": M, "share_session_epoch": 1, "topics": list(readers.values())}
                ask.request(f"v{v}: acknowledge in {kind}", "ShareAcknowledge", v, body, conn="user")
    last = ask.versions("ShareFetch")[-1]
    body = group.fetching(M, 0, *readers.values(), max_wait_ms=5000)
    ask.request("fetch from all", "ShareFetch", last, body, conn="user")
    accepted = [of(f"${kind}.id", (0, 0, ACCEPT)) for kind in topics]
    body = {"group_id": group.id, "member_id": M, "share_session_epoch": 1, "topics": accepted}
    ask.request("acknowledge in all", "ShareAcknowledge", last, body, conn="user")
    body = group.fetching(M, 2, *[of(f"${kind}.id", (1, 1, ACCEPT)) for kind in topics], max_wait_ms=0)
    ask.request("fetch and acknowledge in all", "ShareFetch", last, body, conn="user")
    rights.remove()


@scenario("KIP-932 KafkaApis")
def rights_share_offsets(ask: ScenarioBuilder) -> None:
    """Offsets of share groups are described with DESCRIBE on the group and on topics, altered with READ on both, and
    deleted with DELETE on the group and READ on topics.
    """
    rights = Rights(ask)
    topics = of_kinds(ask, rights, KINDS, {"none": (), "readable": (READ,)})
    groups = names_of_kinds(ask, rights, GROUPS, OF_GROUPS)
    for group in groups.values():
        ask.coordinator(group)
        named = [topics[kind] for kind in KINDS]
        body: Step = {"group_id": group, "member_id": M, "member_epoch": 0, "subscribed_topic_names": named}
        ask.until("ShareGroupHeartbeat", 1, body, "assignment.topic_partitions.2.partitions.0", 0)
        leaving: Step = body | {"member_epoch": GONE, "subscribed_topic_names": None}
        ask.setup("ShareGroupHeartbeat", 1, leaving)
    for kind, group in groups.items():
        wanted = [{"topic_name": topic, "partitions": [0]} for topic in topics.values()]
        for case, asked in ((f"describe {kind}", wanted), (f"describe all topics of {kind}", None)):
            as_user(ask, "DescribeShareGroupOffsets", {case: {"groups": [{"group_id": group, "topics": asked}]}})
        offset = [{"partition_index": 0, "start_offset": 1}]
        altered = [{"topic_name": topic, "partitions": offset} for topic in topics.values()]
        as_user(ask, "AlterShareGroupOffsets", {f"alter {kind}": {"group_id": group, "topics": altered}})
        named_topics = [{"topic_name": topic} for topic in topics.values()]
        as_user(ask, "DeleteShareGroupOffsets", {f"delete {kind}": {"group_id": group, "topics": named_topics}})
    rights.remove()
