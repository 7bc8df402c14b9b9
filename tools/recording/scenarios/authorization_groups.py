"""Responses to users with rights on groups: DESCRIBE, other insufficient rights, and sufficient ones."""

from typing import Any

from kafkalet_conformance.access import ALL, DELETE, DESCRIBE, GROUPS, READ, WRITE
from kafkalet_conformance.building import COORDINATOR_ERRORS, ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, KAFKA_4_4, Scenarios
from tools.recording.rights import (
    Rights,
    all_except,
    as_user,
    ends,
    names_of_kinds,
    of_kinds,
    together_and_alone,
    unknown_id,
)

scenario = Scenarios("authorization", EVERY_RELEASE, acl=True)

COMMITTED = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
MEMBERLESS = {"generation_id_or_member_epoch": -1, "member_id": ""}


def committed(ask: ScenarioBuilder, group: str, *topics: str) -> None:
    """Create a group with committed offsets."""
    ask.coordinator(group)
    named = [{"name": topic, "partitions": [COMMITTED]} for topic in topics]
    ask.setup("OffsetCommit", 8, {"group_id": group, "topics": named} | MEMBERLESS, retry_errors=COORDINATOR_ERRORS)


@scenario("KIP-11 KafkaApis", level="must")
def rights_group_members(ask: ScenarioBuilder) -> None:
    """Members of classic groups need READ on the group; DESCRIBE and DELETE are not sufficient."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "deleted": (DELETE,), "readable": (READ,), "again": (READ,)}
    groups = names_of_kinds(ask, rights, GROUPS, kinds)
    protocols = {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": ""}]}
    timeouts = {"session_timeout_ms": 30000, "rebalance_timeout_ms": 30000}
    sync: Step = {"assignments": [], "protocol_type": "consumer", "protocol_name": "range"}
    for group in groups.values():
        ask.coordinator(group)
    refused = {kind: group for kind, group in groups.items() if READ not in kinds[kind]}
    for kind, group in refused.items():
        member = {"group_id": group, "member_id": "m", "generation_id": 1}
        as_user(ask, "JoinGroup", {kind: {"group_id": group, "member_id": ""} | timeouts | protocols})
        as_user(ask, "SyncGroup", {kind: member | sync})
        as_user(ask, "Heartbeat", {kind: member})
        as_user(ask, "LeaveGroup", {kind: {"group_id": group, "member_id": "m"}}, 0, 2)
        as_user(ask, "LeaveGroup", {kind: {"group_id": group, "members": [{"member_id": "m"}]}}, 3)
    for kind, api_version in (("readable", 0), ("again", -1)):
        group, id_of = groups[kind], f"M_{kind}"
        versions = {api: ask.versions(api)[api_version] for api in ("JoinGroup", "SyncGroup", "Heartbeat")}
        unknown = {"group_id": group, "member_id": "m", "generation_id": 1}
        ask.request(f"{kind}: unknown member", "Heartbeat", versions["Heartbeat"], unknown, conn="user")
        joining = {"group_id": group} | timeouts | protocols
        first = versions["JoinGroup"]
        bind = {id_of: "member_id"}
        ask.request(f"{kind}: join", "JoinGroup", first, joining | {"member_id": ""}, conn="user", bind=bind)
        if first >= 4:
            ask.request(f"{kind}: join again", "JoinGroup", first, joining | {"member_id": f"${id_of}"}, conn="user")
        member = {"group_id": group, "member_id": f"${id_of}", "generation_id": 1}
        ask.request(f"{kind}: sync", "SyncGroup", versions["SyncGroup"], member | sync, conn="user")
        ask.request(f"{kind}: heartbeat", "Heartbeat", versions["Heartbeat"], member, conn="user")
        leaving: Step = {"group_id": group, "member_id": f"${id_of}", "members": [{"member_id": f"${id_of}"}]}
        version = ask.versions("LeaveGroup")[api_version]
        del leaving["members" if version < 3 else "member_id"]
        ask.request(f"{kind}: leave", "LeaveGroup", version, leaving, conn="user")
    rights.remove()


@scenario("KIP-11 KafkaApis KIP-430")
def rights_described_groups(ask: ScenarioBuilder) -> None:
    """DescribeGroups and ListGroups need DESCRIBE on each group; ListGroups shows all groups to users with DESCRIBE on
    the cluster, and the authorized operations of a group are those of the user."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "readable": (READ,), "deletable": (DELETE,), "everything": (ALL,)}
    groups = names_of_kinds(ask, rights, GROUPS, kinds | {"missing": (DESCRIBE,), "missing_none": ()})
    t = ask.topic()
    for kind in kinds:
        committed(ask, groups[kind], t)
    together_and_alone(ask, "DescribeGroups", groups, lambda ids: {"groups": ids})
    body = {"groups": list(groups.values()), "include_authorized_operations": True}
    ask.each_version("DescribeGroups", {"v#: operations": body}, 3, conn="user")
    more: Any = {"conn": "user", "keep": {"groups": "group_id"}}
    for v in ends(ask.versions("ListGroups")):
        ask.request(f"v{v}: list", "ListGroups", v, {}, **more)
    rights.on_cluster(DESCRIBE)
    for v in ends(ask.versions("ListGroups")):
        ask.request(f"v{v}: list with DESCRIBE on the cluster", "ListGroups", v, {}, **more)
    ask.request("DESCRIBE on the cluster", "DescribeGroups", 0, {"groups": [groups["none"]]}, conn="user")
    rights.remove()


@scenario("KIP-11 KafkaApis KIP-229")
def rights_deleted_groups(ask: ScenarioBuilder) -> None:
    """DeleteGroups needs DELETE on each group; READ and DESCRIBE are not sufficient."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "readable": (READ,), "first": (DELETE,), "second": (DELETE,)}
    missing = {"missing_none": (), "missing_described": (DESCRIBE,), "missing_deletable": (DELETE,)}
    groups = names_of_kinds(ask, rights, GROUPS, kinds | missing)
    t = ask.topic()
    for kind in kinds:
        committed(ask, groups[kind], t)
    for kind in ("missing_none", "missing_described", "missing_deletable"):
        ask.coordinator(groups[kind])
    for kind, group in groups.items():
        if kind not in ("first", "second"):
            as_user(ask, "DeleteGroups", {kind: {"groups_names": [group]}})
    versions = ends(ask.versions("DeleteGroups"))
    for v, kind in zip(versions, ("first", "second"), strict=True):
        names = [groups[kind], groups["readable"], groups["missing_deletable"], groups["missing_none"]]
        ask.request(f"v{v}: mixed", "DeleteGroups", v, {"groups_names": names}, conn="user")
        ask.request(f"v{v}: again", "DeleteGroups", v, {"groups_names": [groups[kind]]}, conn="user")
    twice = {"groups_names": [groups["none"], groups["none"]]}
    ask.request("an unauthorized group twice", "DeleteGroups", versions[-1], twice, conn="user")
    rights.remove()


@scenario("KIP-11 KafkaApis KIP-699", level="must")
def rights_find_group_coordinator(ask: ScenarioBuilder) -> None:
    """FindCoordinator needs DESCRIBE on the group, which READ and DELETE imply; in a request for several groups, each
    has its own error."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "readable": (READ,), "deletable": (DELETE,)}
    groups = names_of_kinds(ask, rights, GROUPS, kinds)
    ask.coordinator(groups["readable"])
    for kind, group in groups.items():
        as_user(ask, "FindCoordinator", {kind: {"key": group, "key_type": 0}}, 0, 3)
    together_and_alone(ask, "FindCoordinator", groups, lambda some: {"coordinator_keys": some, "key_type": 0}, 4)
    rights.remove()


@scenario("KIP-11 KafkaApis", level="must")
def rights_commit_offsets(ask: ScenarioBuilder) -> None:
    """OffsetCommit needs READ on the group, and then on each topic: topics without READ fail with
    TOPIC_AUTHORIZATION_FAILED, and the others are committed."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "neighbors": all_except(READ), "readable": (READ,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,), "readable": (READ,)})
    groups = names_of_kinds(ask, rights, GROUPS, {"gnone": (), "gdescribed": (DESCRIBE, DELETE), "greadable": (READ,)})
    for group in groups.values():
        ask.coordinator(group)

    def body(named: list[Any], group: str = groups["greadable"]) -> Step:
        return {"group_id": group, "topics": named} | MEMBERLESS

    named = {kind: {"name": topic, "partitions": [COMMITTED]} for kind, topic in topics.items()}
    versions = ask.versions("OffsetCommit", 1, 9)  # v0 is for ZooKeeper
    together_and_alone(ask, "OffsetCommit", named, body, versions[0], versions[-1])
    refused = {kind: body(list(named.values()), groups[kind]) for kind in ("gnone", "gdescribed")}
    as_user(ask, "OffsetCommit", refused, 1, 9)
    by_id = {kind: {"topic_id": f"${kind}.id", "partitions": [COMMITTED]} for kind in kinds}
    by_id["unknown id"] = {"topic_id": unknown_id(ask), "partitions": [COMMITTED]}
    together_and_alone(ask, "OffsetCommit", by_id, body, 10)
    as_user(ask, "OffsetCommit", {"by id, gdescribed": body(list(by_id.values()), groups["gdescribed"])}, 10)
    nothing = body([])
    as_user(ask, "OffsetCommit", {"no topics": nothing}, 1, 9)
    wanted = {"group_id": groups["greadable"], "topics": None}
    ask.request("what was committed", "OffsetFetch", 7, wanted)
    rights.remove()


@scenario("KIP-11 KafkaApis KIP-709", level="must")
def rights_fetch_offsets(ask: ScenarioBuilder) -> None:
    """OffsetFetch needs DESCRIBE on the group, and then on each topic; a request for all topics omits those without
    DESCRIBE.
    """
    rights = Rights(ask)
    kinds = {
        "none": (),
        "neighbors": all_except(READ, WRITE, DELETE, 7, DESCRIBE),
        "described": (DESCRIBE,),
        "readable": (READ,),
    }
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,)})
    of_group = {"gnone": (), "gdescribed": (DESCRIBE,), "greadable": (READ,), "gmissing": (DESCRIBE,)}
    groups = names_of_kinds(ask, rights, GROUPS, of_group)
    for kind in ("gnone", "gdescribed", "greadable"):
        committed(ask, groups[kind], *(topics[each] for each in kinds))
    ask.coordinator(groups["gmissing"])
    named = {kind: {"name": topic, "partition_indexes": [0]} for kind, topic in topics.items()}
    first = 1  # v0 is for ZooKeeper
    wanted = list(named.values())
    for kind, group in groups.items():
        as_user(ask, "OffsetFetch", {kind: {"group_id": group, "topics": wanted}}, first, 7)
        as_user(ask, "OffsetFetch", {f"{kind}, all topics": {"group_id": group, "topics": None}}, 2, 7)
    for kind, one in named.items():
        as_user(ask, "OffsetFetch", {kind: {"group_id": groups["gdescribed"], "topics": [one]}}, 7, 7)
    several = [{"group_id": group, "topics": wanted} for group in groups.values()]
    everything = [{"group_id": group, "topics": None} for group in groups.values()]
    as_user(ask, "OffsetFetch", {"groups": {"groups": several}}, 8, 9)
    as_user(ask, "OffsetFetch", {"groups, all topics": {"groups": everything}}, 8)
    by_id = [
        {"topic_id": topic, "partition_indexes": [0]} for topic in (*(f"${kind}.id" for kind in kinds), unknown_id(ask))
    ]
    several = [{"group_id": group, "topics": by_id} for group in groups.values()]
    as_user(ask, "OffsetFetch", {"groups, by id": {"groups": several}}, 10)
    rights.remove()


@scenario("KIP-11 KafkaApis KIP-496")
def rights_delete_offsets(ask: ScenarioBuilder) -> None:
    """OffsetDelete needs DELETE on the group, and READ on each topic."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "neighbors": all_except(READ), "readable": (READ,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "readable": (READ,)})
    of_group = {"greadable": (READ, DESCRIBE), "gdeletable": (DELETE,), "gmissing": (DELETE,)}
    groups = names_of_kinds(ask, rights, GROUPS, of_group)
    for kind in ("greadable", "gdeletable"):
        committed(ask, groups[kind], *(topics[each] for each in kinds))
    ask.coordinator(groups["gmissing"])
    wanted = [{"name": topic, "partitions": [{"partition_index": 0}]} for topic in topics.values()]
    for kind, group in groups.items():
        as_user(ask, "OffsetDelete", {kind: {"group_id": group, "topics": wanted}})
    only_refused = {"group_id": groups["gdeletable"], "topics": wanted[:2]}
    as_user(
        ask,
        "OffsetDelete",
        {
            "no authorized topic": only_refused,
            "gmissing, no authorized topic": only_refused | {"group_id": groups["gmissing"]},
        },
    )
    left = {"group_id": groups["gdeletable"], "topics": None}
    ask.request("what is left", "OffsetFetch", 7, left)
    rights.remove()


@scenario("KIP-848 KafkaApis", releases=KAFKA_4_4, level="must")
def rights_consumer_members(ask: ScenarioBuilder) -> None:
    """A member of the consumer protocol needs READ on the group and DESCRIBE on the topics that it names; a regular
    expression resolves to topics with DESCRIBE."""
    rights = Rights(ask)
    topics = of_kinds(ask, rights, {"none": (), "described": (DESCRIBE,)}, {"described": (DESCRIBE,), "none": ()})
    of_group = {"gnone": (), "gdescribed": (DESCRIBE, DELETE), "greadable": (READ,), "gregex": (READ,)}
    groups = names_of_kinds(ask, rights, GROUPS, of_group)
    for group in groups.values():
        ask.coordinator(group)
    member = {"member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": 0, "rebalance_timeout_ms": 60000}

    def joining(kind: str, *names: str) -> Step:
        return member | {"group_id": groups[kind], "subscribed_topic_names": list(names), "topic_partitions": []}

    bodies = {kind: joining(kind, topics["described"]) for kind in ("gnone", "gdescribed")}
    bodies["a topic without DESCRIBE"] = joining("greadable", topics["described"], topics["none"])
    bodies["a missing topic without DESCRIBE"] = joining("greadable", topics["missing none"])
    as_user(ask, "ConsumerGroupHeartbeat", bodies)
    joined = joining("greadable", topics["described"], topics["missing described"])
    only = {"only": ["error_code", "member_id", "member_epoch"]}
    ask.request("topics with DESCRIBE", "ConsumerGroupHeartbeat", 1, joined, conn="user", **only)
    more = joining("greadable", topics["described"], topics["none"]) | {"member_epoch": 1}
    ask.request("subscribe to another topic", "ConsumerGroupHeartbeat", 1, more, conn="user", **only)
    described = {
        "group_ids": [groups["greadable"], groups["gdescribed"], groups["gnone"]],
        "include_authorized_operations": True,
    }
    as_user(ask, "ConsumerGroupDescribe", {"describe": described}, only=["groups"])
    leaving = {"member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": -1}
    ask.request("leave", "ConsumerGroupHeartbeat", 1, leaving | {"group_id": groups["greadable"]}, conn="user")
    pattern = ask.let("pattern", f"c<unique>.{ask.name}.(none|described)")
    by_pattern = member | {"group_id": groups["gregex"], "subscribed_topic_regex": pattern, "topic_partitions": []}
    ask.request("join by expression", "ConsumerGroupHeartbeat", 1, by_pattern, conn="user", **only)
    beating = {"group_id": groups["gregex"], "member_id": member["member_id"], "member_epoch": 1}
    ask.until("ConsumerGroupHeartbeat", 1, beating, "assignment.topic_partitions.0.topic_id", "$described.id")
    ask.steps[-1]["conn"] = "user"
    ask.request("members, as admin", "ConsumerGroupDescribe", 1, {"group_ids": [groups["gregex"]]}, only=["groups"])
    ask.request(
        "leave by expression", "ConsumerGroupHeartbeat", 1, leaving | {"group_id": groups["gregex"]}, conn="user"
    )
    rights.remove()


@scenario("KIP-848 KafkaApis", releases=KAFKA_4_4)
def rights_consumer_describe(ask: ScenarioBuilder) -> None:
    """ConsumerGroupDescribe needs DESCRIBE on the group, and on each topic of its members: otherwise it returns
    TOPIC_AUTHORIZATION_FAILED without members."""
    rights = Rights(ask)
    topics = of_kinds(ask, rights, {"none": (), "described": (DESCRIBE,)})
    of_group = {"gnone": (), "gone": (DESCRIBE,), "gboth": (READ,), "gmissing": (DESCRIBE,), "gall": (ALL,)}
    groups = names_of_kinds(ask, rights, GROUPS, of_group)
    member = {"member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": 0, "rebalance_timeout_ms": 60000}
    for kind in ("gnone", "gone", "gboth", "gall"):
        ask.coordinator(groups[kind])
        names = list(topics.values()) if kind == "gboth" else [topics["described"]]
        body = member | {"group_id": groups[kind], "subscribed_topic_names": names, "topic_partitions": []}
        ask.until("ConsumerGroupHeartbeat", 1, body, "error_code", 0)
        path = "groups.0.members.0.assignment.topic_partitions.0.partitions.0"
        ask.until("ConsumerGroupDescribe", 1, {"group_ids": [groups[kind]]}, path, 0)
    together_and_alone(
        ask, "ConsumerGroupDescribe", groups, lambda ids: {"group_ids": ids, "include_authorized_operations": True}
    )
    classic = {"groups": list(groups.values()), "include_authorized_operations": True}
    ask.request("as classic groups", "DescribeGroups", ask.versions("DescribeGroups")[-1], classic, conn="user")
    leaving = {"member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": -1}
    for kind in ("gnone", "gone", "gboth", "gall"):
        ask.setup("ConsumerGroupHeartbeat", 1, leaving | {"group_id": groups[kind]})
    rights.remove()
