"""Routes of consumer groups: their members, offsets and lag, waits for them, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from kafkalet.control.fields import COORDINATOR, Int32, Int64, NewCoordinator, Timeout
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import (
    INT32_MAX,
    AnyOf,
    Boolean,
    Field,
    Integer,
    Json,
    ListOf,
    Nullable,
    Object,
    Text,
)
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.testing.group import DEAD, NOTHING, Seen, find_shard, group_ids, see

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster

routes = Routes("groups", "Consumer groups of both protocols.")

GroupId = Annotated[str, "The id of the group."]
NewOffset = Annotated[
    Json | None,
    AnyOf([Integer(0), Text("earliest", "latest")], lambda value: int(isinstance(value, str))),
    "An offset, `earliest` or `latest`.",
]
NewTime = Annotated[
    Int64 | None, "Milliseconds since 1970 (UTC): move to the first record with this timestamp or a later one."
]
OnlyPartition = Annotated[Int32 | None, "The partition. The default is all of the topic."]
Lag = Annotated[Int64, "The largest lag."]
MemberCount = Annotated[int | None, Integer(1, INT32_MAX), "The number of members. The default is at least one."]
PLACE = Object(
    "TopicPartition",
    "A partition of a topic.",
    Field("topic", Text(), "The topic."),
    Field("partition", Integer(0, INT32_MAX), "The partition."),
)
MEMBER = Object(
    "Member",
    "A member of a group.",
    Field("member_id", Text(), "The member id."),
    Field("client_id", Text(), "The client id."),
    Field("host", Text(), "The address of the client."),
    Field("instance_id", Nullable(Text()), "The `group.instance.id` of a static member, or null."),
    Field("assignment", ListOf(PLACE), "The partitions that the member may read."),
)
OFFSET = Object(
    "GroupOffset",
    "The position of a group in a partition.",
    *PLACE.fields.values(),
    Field("committed", Nullable(Integer(0)), "The committed offset, or null if there is none."),
    Field("end", Integer(0), "The high watermark, or the last stable offset for consumers with read_committed."),
    Field("lag", Integer(0), "The number of offsets left to process, or 0 if only transaction markers are left."),
)
GROUP = Object(
    "Group",
    "A consumer group.",
    Field("group_id", Text(), "The id."),
    Field("state", Text(), "The state as named by Kafka, such as `Stable` or `Empty`."),
    Field("protocol", Text(), "`classic` or `consumer`."),
    Field("members", ListOf(MEMBER), "The members."),
    Field("offsets", ListOf(OFFSET), "The positions, by topic and partition."),
    Field("lag", Integer(0), "The sum of the lags."),
)
GROUPS = Object("Groups", "The groups.", Field("groups", ListOf(GROUP), "The groups, by id."))


def read_groups(cluster: Cluster) -> list[Json]:
    """Return all groups by id. May be called from any thread; each turn of the event loop reads one group."""
    found = (
        (group_id, seen_group(cluster, group_id, is_share=False)) for group_id in group_ids(cluster, is_share=False)
    )
    return [_json(group_id, seen) for group_id, seen in found if seen is not None]


def seen_group(cluster: Cluster, group_id: str, *, is_share: bool) -> Seen | None:
    """Return a group with its members and lag, or None if it does not exist."""

    def look() -> Seen:
        shard = find_shard(cluster, group_id)
        return NOTHING if shard is None else see(cluster, shard, group_id, is_share=is_share)

    seen = cluster._server.call(look)
    return None if seen.state == DEAD else seen


def _json(group_id: str, seen: Seen) -> Json:
    return GROUP.of(seen, group_id=group_id, offsets=seen.positions)


@routes.get("/v1/groups", response=GROUPS)
def list_groups(call: Call) -> Json:
    """Return all consumer groups with their members and lag."""
    return {"groups": read_groups(call.cluster)}


@routes.get("/v1/groups/{group_id}", response=GROUP)
def get_group(call: Call, group_id: GroupId) -> Json:
    """Return a consumer group with its members and lag."""
    seen = seen_group(call.cluster, group_id, is_share=False)
    if seen is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"group {group_id} does not exist")
    return _json(group_id, seen)


@routes.delete("/v1/groups/{group_id}")
def delete_group(call: Call, group_id: GroupId) -> None:
    """Delete a group without members, and its offsets."""
    call.cluster.group(group_id).delete()


@routes.post("/v1/groups/{group_id}/evict", "A member to evict.", response=GROUP)
def evict_member(
    call: Call, group_id: GroupId, member_id: Annotated[str, "The member id, or the `group.instance.id`."]
) -> Json:
    """Remove a member from a group, as if its session had timed out. The other members get its partitions."""
    call.cluster.group(group_id).evict(member_id)
    return get_group(call, group_id)


@routes.post("/v1/groups/{group_id}/rebalance", response=GROUP)
def rebalance_group(call: Call, group_id: GroupId) -> Json:
    """Start a rebalance of a group, unless one is in progress."""
    call.cluster.group(group_id).rebalance()
    return get_group(call, group_id)


@routes.post("/v1/groups/{group_id}/seek", "Where to move a group: to an `offset` or to a `timestamp`.", response=GROUP)
def seek_group(
    call: Call,
    group_id: GroupId,
    offset: NewOffset = None,
    timestamp: NewTime = None,
    topic: Annotated[str | None, "The topic. The default is every partition with a committed offset."] = None,
    partition: OnlyPartition = None,
) -> Json:
    """Commit other offsets for a group without members. The group is created if it does not exist."""
    check_seek(offset, timestamp, topic, partition)
    call.cluster.group(group_id).seek(offset, topic, partition, timestamp=timestamp)
    return get_group(call, group_id)


def check_seek(offset: Json, timestamp: int | None, topic: str | None, partition: int | None) -> None:
    if (offset is None) == (timestamp is None):
        raise ValueError("give either offset or timestamp")
    if partition is not None and topic is None:
        raise ValueError(f"partition is {partition}, but no topic is given; give both")


@routes.post("/v1/groups/{group_id}/wait-for-lag", "A lag to wait for.", response=GROUP, waits=True)
def wait_for_lag(call: Call, group_id: GroupId, lag: Lag = 0, timeout: Timeout = None) -> Json:
    """Wait until the lag of a group is at most `lag`."""
    call.cluster.group(group_id).wait_for_lag(lag, timeout)
    return get_group(call, group_id)


@routes.post("/v1/groups/{group_id}/wait-until-stable", "Members to wait for.", response=GROUP, waits=True)
def wait_until_stable(call: Call, group_id: GroupId, members: MemberCount = None, timeout: Timeout = None) -> Json:
    """Wait until a group has a number of members, all with their assignments."""
    call.cluster.group(group_id).wait_until_stable(members, timeout)
    return get_group(call, group_id)


@routes.post("/v1/groups/{group_id}/wait-for-commit", "A committed offset to wait for.", response=GROUP, waits=True)
def wait_for_commit(
    call: Call,
    group_id: GroupId,
    topic: Annotated[str, "The topic."],
    *,
    partition: Annotated[Int32, "The partition."] = 0,
    offset: Annotated[Int64, "The smallest committed offset."],
    timeout: Timeout = None,
) -> Json:
    """Wait until the committed offset of a partition is at least `offset`."""
    call.cluster.group(group_id).wait_for_commit(topic, partition, offset, timeout)
    return get_group(call, group_id)


@routes.post(
    "/v1/groups/{group_id}/move-coordinator", "A new coordinator.", name="MoveCoordinator", response=COORDINATOR
)
def move_group_coordinator(call: Call, group_id: GroupId, to: NewCoordinator = None) -> Json:
    """Make another broker the coordinator of a group.

    Other groups in the same partition of __consumer_offsets move too.
    """
    return {"node_id": call.cluster.move_coordinator(group=group_id, to=to)}


@routes.post("/v1/settle", "What to wait for.", waits=True)
def settle(
    call: Call,
    groups: Annotated[
        Json,
        AnyOf([Boolean(), ListOf(Text())], lambda value: int(isinstance(value, list))),
        "`true` or `false`: whether groups with members must have no lag; or ids of groups, with or without members.",
    ] = True,
    transactions: Annotated[bool, "Whether no transaction may be open."] = True,
    requests: Annotated[bool, "Whether no request may be in progress, and every partition must have a leader."] = True,
    timeout: Timeout = None,
) -> None:
    """Wait until the brokers are quiet: no request is in progress, no group has a lag, no transaction is open.

    A record that is missing after that will not arrive. The brokers cannot see a client that is between two requests.
    """
    call.cluster.settle(timeout, groups=groups, transactions=transactions, requests=requests)
