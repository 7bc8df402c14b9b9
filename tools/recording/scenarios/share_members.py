"""Members of share groups (KIP-932): epochs, subscriptions, assignments, descriptions, and groups of other types."""

from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step, protocols
from kafkalet_conformance.shares import GONE, M, N, Reader, Share, of
from tools.recording.definitions import SHARE_GROUPS, Scenarios

scenario = Scenarios("share_groups", SHARE_GROUPS, ShareGroupHeartbeat=1)

THIRD = "AAAAAAAAAAAAAAAAAAAAAw"


def describe(ask: ScenarioBuilder, case: str, *groups: str, **more: Any) -> None:
    body = {"group_ids": list(groups), "include_authorized_operations": False} | more
    ask.request(case, "ShareGroupDescribe", 1, body)


def assigned(ask: ScenarioBuilder, group: Share, member: str, epoch: int, *topics: str) -> None:
    """Send heartbeats until the member has this epoch."""
    ask.until("ShareGroupHeartbeat", 1, group.beating(member, 0, *topics), "member_epoch", epoch)


@scenario("KIP-932 GroupMetadataManager", level="must")
def share_member_life(ask: ScenarioBuilder) -> None:
    """A member joins without partitions, gets them in the next epoch, and sees them only in full heartbeats."""
    t = ask.topic()
    group = Share(ask)
    ask.until("ShareGroupHeartbeat", 1, group.beating(M, GONE), "error_code", 69)
    group.beat("join", M, 0, t)
    assigned(ask, group, M, 3, t)
    group.beat("stay", M, 3)
    group.beat("stay, with the same topics", M, 3, t)
    group.beat("the epoch before", M, 2)
    group.beat("an earlier epoch", M, 1)
    group.beat("an epoch that is too large", M, 4)
    group.beat("a negative epoch", M, -2)
    group.beat("join again", M, 0, t)
    group.beat("join again without topics", M, 0)
    describe(ask, "one member", group.id)
    group.beat("leave", M, GONE)
    describe(ask, "no member", group.id)
    group.beat("join after leaving", M, 0, t)
    describe(ask, "one member again", group.id)


@scenario("KIP-932 SimpleAssignor", level="must")
def share_two_members(ask: ScenarioBuilder) -> None:
    """When a second member joins, both get a new epoch; when one leaves, the other gets all partitions."""
    t = ask.topic(partitions=4)
    group = Share(ask)
    assigned(ask, group, M, 3, t)
    group.beat("alone", M, 0, t)
    assigned(ask, group, N, 4, t)
    assigned(ask, group, M, 4, t)
    # which member has which partitions depends on the hash of the topic id
    described = ["error_code", "member_id", "member_epoch", "heartbeat_interval_ms"]
    for case, member in (("first member", M), ("second member", N)):
        ask.request(case, "ShareGroupHeartbeat", 1, group.beating(member, 4), only=described)
    group.left(M)
    assigned(ask, group, N, 5, t)
    group.beat("the other is alone", N, 0, t)
    describe(ask, "one member", group.id)


@scenario("KIP-932 SimpleAssignor")
def share_more_members(ask: ScenarioBuilder) -> None:
    """If a group has more members than partitions, several members get the same partition."""
    t = ask.topic()
    group = Share(ask)
    assigned(ask, group, M, 3, t)
    for epoch, member in ((4, N), (5, THIRD)):
        assigned(ask, group, member, epoch, t)
    for member in (M, N, THIRD):
        assigned(ask, group, member, 5, t)
    describe(ask, "three members of one partition", group.id)


@scenario("KIP-932 SimpleAssignor")
def share_subscriptions(ask: ScenarioBuilder) -> None:
    """A member gets the partitions of the topics that exist among those that it names, and changes them at any time."""
    t, u, missing = ask.topic(partitions=2), ask.topic("u"), ask.unknown_topic()
    group = Share(ask)
    assigned(ask, group, M, 3, t, u, missing)
    group.beat("two topics that exist and one that does not", M, 3, t, u, missing)
    assigned(ask, group, M, 4, u)
    group.beat("one of them", M, 4, u)
    describe(ask, "one of them", group.id)
    assigned(ask, group, M, 5, t, u)
    group.beat("two topics", M, 5, t, u)
    group.beat("no topic", M, 5, subscribed_topic_names=[])
    describe(ask, "no topic", group.id)


@scenario("KIP-932 SimpleAssignor")
def share_other_topics(ask: ScenarioBuilder) -> None:
    """Members that subscribe to different topics get the partitions of their own topics only."""
    t, u = ask.topic(), ask.topic("u")
    group = Share(ask)
    assigned(ask, group, M, 3, t, u)
    assigned(ask, group, M, 4, t)
    assigned(ask, group, N, 5, u)
    assigned(ask, group, M, 5, t)
    describe(ask, "one topic for each member", group.id)


@scenario("KIP-932 GroupMetadataManager")
def share_partitions_added(ask: ScenarioBuilder) -> None:
    """A member gets the partitions that are added to its topic."""
    t = ask.topic()
    group = Share(ask)
    assigned(ask, group, M, 3, t)
    ask.setup("CreatePartitions", 3, {"topics": [{"name": t, "count": 3, "assignments": None}], "timeout_ms": 10000})
    ask.wait_for_leader(t, 3)
    ask.until("ShareGroupHeartbeat", 1, group.beating(M, 0, t), "assignment.topic_partitions.0.partitions.2", 2)
    describe(ask, "three partitions", group.id)


@scenario("KIP-932 GroupMetadataManager")
def share_topic_deleted(ask: ScenarioBuilder) -> None:
    """A member loses the partitions of a deleted topic."""
    t, u = ask.topic(), ask.topic("u")
    group = Share(ask)
    assigned(ask, group, M, 3, t, u)
    group.beat("both topics", M, 0, t, u)
    ask.setup("DeleteTopics", 5, {"topic_names": [t], "timeout_ms": 10000})
    assigned(ask, group, M, 4, t, u)
    describe(ask, "the other topic", group.id)


@scenario("KIP-932 ShareGroupMember")
def share_racks(ask: ScenarioBuilder) -> None:
    """ShareGroupDescribe returns the rack, the client and the sorted subscription of members, but no operations."""
    t, u = ask.topic(), ask.topic("u")
    group = Share(ask)
    body = group.beating(M, 0, u, t) | {"rack_id": "rack-a"}
    ask.until("ShareGroupHeartbeat", 1, body, "member_epoch", 3)
    describe(ask, "a rack", group.id)
    group.beat("no rack", M, 3, rack_id=None)
    describe(ask, "the same rack", group.id)
    group.beat("another rack", M, 3, rack_id="rack-b")
    describe(ask, "another rack", group.id)
    describe(ask, "authorized operations", group.id, include_authorized_operations=True)
    describe(ask, "the same group twice", group.id, group.id)


@scenario("KIP-932 GroupCoordinatorService")
def share_member_ids(ask: ScenarioBuilder) -> None:
    """Any member id is accepted that is not empty; topics can be named twice."""
    t = ask.topic()
    group = Share(ask)
    group.beat("a word", "worker", 0, t)
    group.beat("spaces", " ", 0, t)
    group.beat("not in ASCII", "Müller", 0, t)
    group.beat("37 characters", "m" * 37, 0, t)
    group.beat("a topic twice", M, 0, t, t)
    group.beat("a topic without name", N, 0, "")
    group.beat("a name that is invalid", N, 0, "a/b")
    group.beat("a group whose name is a space", M, 0, t, group_id=" ")


def as_consumer(group: str, *topics: str) -> Step:
    lists = {"subscribed_topic_names": list(topics), "topic_partitions": []}
    return {"group_id": group, "member_id": M, "member_epoch": 0, "rebalance_timeout_ms": 60000} | lists


@scenario("KIP-932 KIP-848 GroupMetadataManager", level="must")
def share_other_types(ask: ScenarioBuilder) -> None:
    """A share group has no members of other protocols, and groups of other types have no members of share groups."""
    t = ask.topic()
    classic, consumer = Share(ask, "classic"), Share(ask, "consumer")
    timeouts = {"session_timeout_ms": 30000, "rebalance_timeout_ms": 30000}
    joining: Step = timeouts | {"member_id": "", "protocol_type": "consumer", "protocols": protocols(t)}
    ask.setup("JoinGroup", 3, joining | {"group_id": classic.id})
    ask.setup("ConsumerGroupHeartbeat", 1, as_consumer(consumer.id, t))
    for name, other in (("classic", classic), ("consumer", consumer)):
        other.beat(f"join a {name} group", M, 0, t)
        other.beat(f"stay in a {name} group", M, 1)
        other.beat(f"leave a {name} group", M, GONE)
        describe(ask, f"describe a {name} group", other.id)
        other.offsets(f"offsets of a {name} group", t)
        deleted = {"group_id": other.id, "topics": [{"topic_name": t}]}
        ask.request(f"delete offsets of a {name} group", "DeleteShareGroupOffsets", 0, deleted)
        offsets = [{"topic_name": t, "partitions": [{"partition_index": 0, "start_offset": 0}]}]
        altered = {"group_id": other.id, "topics": offsets}
        ask.request(f"alter offsets of a {name} group", "AlterShareGroupOffsets", 0, altered)
    group = Share(ask)
    group.joined(M, t)
    ask.each_version("JoinGroup", {"v#: join as a classic member": joining | {"group_id": group.id}}, 5)
    ask.request("join as a consumer", "ConsumerGroupHeartbeat", 1, as_consumer(group.id, t))
    ask.request("stay as a consumer", "ConsumerGroupHeartbeat", 1, as_consumer(group.id) | {"member_epoch": 1})
    ask.request("describe as a consumer group", "ConsumerGroupDescribe", 1, {"group_ids": [group.id]})
    ask.each_version("DescribeGroups", {"v#: describe as a classic group": {"groups": [group.id]}})
    member = {"group_id": group.id, "member_id": M, "generation_id": 1}
    ask.request("heartbeat of a classic member", "Heartbeat", 4, member)
    ask.request("a classic member leaves", "LeaveGroup", 4, {"group_id": group.id, "members": [{"member_id": M}]})
    offset = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    body: Step = {"group_id": group.id, "member_id": "", "generation_id_or_member_epoch": -1}
    ask.request("commit an offset", "OffsetCommit", 8, body | {"topics": [{"name": t, "partitions": [offset]}]})
    body = {"group_id": group.id, "topics": [{"name": t, "partition_indexes": [0]}], "require_stable": False}
    ask.request("committed offsets", "OffsetFetch", 7, body)
    body = {"group_id": group.id, "topics": [{"name": t, "partitions": [{"partition_index": 0}]}]}
    ask.request("delete committed offsets", "OffsetDelete", 0, body)


@scenario("KIP-932 KIP-518 KIP-848 GroupMetadataManager")
def share_groups_listed(ask: ScenarioBuilder) -> None:
    """ListGroups lists share groups with their type, and filters by type and state; old versions list them too."""
    t = ask.topic()
    members, empty = Share(ask, "members"), Share(ask, "empty")
    members.joined(M, t)
    empty.joined(M, t)
    empty.left(M)
    keep = {"keep": {"groups": "group_id"}}
    for v in ask.versions("ListGroups"):
        ask.request(f"v{v}: list", "ListGroups", v, {}, **keep)
    filters: dict[str, tuple[list[str], list[str]]] = {
        "share groups": ([], ["share"]),
        "share groups in capitals": ([], ["SHARE"]),
        "other groups": ([], ["consumer", "classic"]),
        "empty groups": (["Empty"], []),
        "stable groups": (["stable"], []),
        "dead groups": (["Dead"], []),
        "empty share groups": (["Empty"], ["share"]),
        "stable and empty groups": (["Stable", "Empty"], ["share", "consumer"]),
        "a state of another type": (["PreparingRebalance"], ["share"]),
    }
    for case, (states, types) in filters.items():
        ask.request(case, "ListGroups", 5, {"states_filter": states, "types_filter": types}, **keep)
    describe(ask, "describe both", members.id, empty.id)


@scenario("KIP-932 KIP-229 GroupCoordinatorService", level="must")
def share_groups_deleted(ask: ScenarioBuilder) -> None:
    """DeleteGroups deletes share groups without members, and their state; the group begins again afterwards."""
    t = ask.topic()
    versions = ask.versions("DeleteGroups")
    groups = {v: Share(ask, f"g{v}") for v in versions}
    for v, group in groups.items():
        group.joined(M, t)
        ask.request(f"v{v}: a group with members", "DeleteGroups", v, {"groups_names": [group.id]})
        group.left(M)
        ask.request(f"v{v}: an empty group", "DeleteGroups", v, {"groups_names": [group.id]})
        ask.request(f"v{v}: the same group again", "DeleteGroups", v, {"groups_names": [group.id]})
    group = groups[versions[-1]]
    describe(ask, "deleted", group.id)
    group.offsets("offsets of a deleted group", t)
    ask.request("not listed", "ListGroups", 5, {}, keep={"groups": "group_id"})
    group.beat("stay in a deleted group", M, 2)
    group.beat("join a deleted group", M, 0, t)
    assigned(ask, group, M, 3, t)
    describe(ask, "a new group of the same name", group.id)


@scenario("KIP-932 GroupCoordinatorService")
def share_group_deleted_while_read(ask: ScenarioBuilder) -> None:
    """After its group has been deleted, the state of a share partition is lost."""
    t = ask.topic()
    group = Share(ask)
    group.joined(M, t)
    Reader(group).open(of("$t.id"))
    group.left(M)
    ask.request("delete", "DeleteGroups", 2, {"groups_names": [group.id]})
    ask.request("read the state", "ReadShareGroupState", 0, group.state("$t.id"))
    ask.request("read the summary", "ReadShareGroupStateSummary", 0, group.state("$t.id"))


@scenario("KIP-932 ShareCoordinatorService KIP-699", FindCoordinator=6)
def share_coordinator_keys(ask: ScenarioBuilder) -> None:
    """FindCoordinator finds the coordinator of a share partition by group, topic id and partition, since v6."""
    ask.topic()
    g = ask.unique("g")
    topic = "AAAAAAAAAAAAAAAAAAAAAQ"
    keys = {
        "group, topic id and partition": f"group:{topic}:0",
        "a partition that does not exist": f"group:{topic}:99",
        "a group with a colon": f"my:group:{topic}:0",
        "no group": f":{topic}:0",
        "a negative partition": f"group:{topic}:-1",
        "no partition": f"group:{topic}",
        "partition without number": f"group:{topic}:",
        "a word for a partition": f"group:{topic}:first",
        "a name for a topic id": "group:topic:0",
        "only a group": "group",
        "nothing": "",
    }
    first = {"key_type": 2, "coordinator_keys": [keys["group, topic id and partition"]]}
    ask.until("FindCoordinator", 6, first, "coordinators.0.error_code", 0)
    for case, key in keys.items():
        ask.request(case, "FindCoordinator", 6, {"key_type": 2, "coordinator_keys": [key]})
    ask.request("all", "FindCoordinator", 6, {"key_type": 2, "coordinator_keys": list(keys.values())})
    for v in ask.versions("FindCoordinator", 1, 5):
        one = {"key": keys["group, topic id and partition"], "coordinator_keys": [], "key_type": 2}
        ask.request(f"v{v}", "FindCoordinator", v, one if v < 4 else {**first})
    ask.request("a group as such a key", "FindCoordinator", 6, {"key_type": 2, "coordinator_keys": [g]})


@scenario("KIP-932 GroupMetadataManager")
def share_group_full(ask: ScenarioBuilder) -> None:
    """A share group has at most 200 members, the default of group.share.max.size; those that it has can stay."""
    t = ask.topic()
    group = Share(ask)
    for number in range(200):
        ask.setup("ShareGroupHeartbeat", 1, group.beating(f"m{number}", 0, t))
    group.beat("one member too many", M, 0, t)
    group.beat("a member that the group does not have", N, 1)
    ask.request("a member that it has", "ShareGroupHeartbeat", 1, group.beating("m7", 0, t), only=["error_code"])
    group.left("m3")
    ask.request("after one has left", "ShareGroupHeartbeat", 1, group.beating(M, 0, t), only=["error_code"])
