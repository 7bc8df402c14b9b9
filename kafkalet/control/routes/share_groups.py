"""Routes of share groups: their members, the state of their records, waits for them, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from kafkalet.control.data import RECORD, OutputEncoding, record_json
from kafkalet.control.fields import Timeout
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import (
    Field,
    Integer,
    Json,
    ListOf,
    MapOf,
    Nullable,
    Object,
    Text,
)
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.testing.share_group import share_places
from kafkalet.testing.share_records import STATES, ShareState

from .groups import PLACE, GroupId, Lag, MemberCount, NewOffset, NewTime, OnlyPartition, check_seek, seen_group

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster
    from kafkalet.testing.group import Seen
    from kafkalet.testing.share_group import ShareGroup

routes = Routes("share groups", "Share groups: members, and the state of records (KIP-932).")

MAX_RECORDS = 100_000

Topic = Annotated[str | None, "The topic. The default is all topics."]
Count = Annotated[int | None, Integer(1), "At least this number of records must be in the state."]
MEMBER = Object(
    "ShareMember",
    "A member of a share group.",
    Field("member_id", Text(), "The member id."),
    Field("client_id", Text(), "The client id."),
    Field("host", Text(), "The address of the client."),
    Field("rack_id", Nullable(Text()), "The rack of the client, or null."),
    Field("topics", ListOf(Text()), "The topics to which the member subscribes."),
    Field("assignment", ListOf(PLACE), "The partitions that the member may read."),
)
POSITION = Object(
    "SharePosition",
    "A partition, as consumed by a share group.",
    *PLACE.fields.values(),
    Field("start_offset", Nullable(Integer(0)), "All records below it are done. null until the first fetch."),
    Field("end", Integer(0), "The high watermark."),
    Field("lag", Integer(0), "The number of records from the start offset to the end that are not done."),
    Field("available", Integer(0), "The number of records that a member can acquire."),
    Field("acquired", Integer(0), "The number of records that members have acquired."),
    Field("acknowledged", Integer(0), "The number of records that members have accepted."),
    Field("archived", Integer(0), "The number of records that were rejected or delivered too often."),
)
GROUP = Object(
    "ShareGroup",
    "A share group.",
    Field("group_id", Text(), "The id."),
    Field("state", Text(), "`Empty`, or `Stable` if the group has members."),
    Field("members", ListOf(MEMBER), "The members."),
    Field("positions", ListOf(POSITION), "The state of each partition, by topic and partition."),
    Field("lag", Integer(0), "The sum of the lags."),
    Field("config", MapOf(Text()), "The properties of the group, by Kafka's names."),
)
GROUPS = Object("ShareGroups", "The share groups.", Field("share_groups", ListOf(GROUP), "The groups, by id."))
SHARE_RECORD = Object(
    "ShareRecord",
    "A record, and what a share group has done with it.",
    *RECORD.fields.values(),
    Field("state", Text(*STATES), "The state."),
    Field("deliveries", Integer(0), "How often the record was delivered."),
    Field("member_id", Nullable(Text()), "The member that has acquired the record, or null."),
)
RECORDS = Object(
    "ShareRecords",
    "Records of a share group.",
    Field("records", ListOf(SHARE_RECORD), "The records, by topic, partition and offset."),
)
CONFIG = Object(
    "ShareGroupConfig",
    "The properties of a share group.",
    Field("config", MapOf(Text()), "The properties that are set, by Kafka's names."),
)
EXPIRED = Object(
    "ExpiredLocks", "Locks that were ended.", Field("expired", Integer(0), "How many records were locked.")
)


def read_share_groups(cluster: Cluster) -> list[Json]:
    """Return all share groups by id. May be called from any thread; each turn of the event loop reads one group."""
    found = ((group, seen_group(cluster, group.group_id, is_share=True)) for group in cluster.share_groups())
    return [_json(group, seen) for group, seen in found if seen is not None]


def _json(group: ShareGroup, seen: Seen) -> Json:
    positions = [POSITION.of(each, **{state: each.count(state) for state in STATES}) for each in share_places(seen)]
    known = GROUP.of(seen, group_id=group.group_id, config=group.config, positions=())
    return known | {"positions": positions}


@routes.get("/v1/share-groups", response=GROUPS)
def list_share_groups(call: Call) -> Json:
    """Return all share groups with their members and the state of their records."""
    return {"share_groups": read_share_groups(call.cluster)}


@routes.get("/v1/share-groups/{group_id}", response=GROUP)
def get_share_group(call: Call, group_id: GroupId) -> Json:
    """Return a share group with its members and the state of its records."""
    seen = seen_group(call.cluster, group_id, is_share=True)
    if seen is None:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND, f"share group {group_id} does not exist")
    return _json(call.cluster.share_group(group_id), seen)


@routes.delete("/v1/share-groups/{group_id}")
def delete_share_group(call: Call, group_id: GroupId) -> None:
    """Delete a share group without members, and the state of its records."""
    call.cluster.share_group(group_id).delete()


@routes.get("/v1/share-groups/{group_id}/records", response=RECORDS)
def read_share_group_records(
    call: Call,
    group_id: GroupId,
    state: Annotated[ShareState | None, "The state of the records. The default is all states."] = None,
    topic: Topic = None,
    limit: Annotated[int, Integer(1, MAX_RECORDS), "The largest number of records."] = 1000,
    encoding: OutputEncoding = "auto",
) -> Json:
    """Return the records that a share group has consumed or can consume, with their state and deliveries."""
    found = call.cluster.share_group(group_id).records(state, topic)
    return {"records": [SHARE_RECORD.of(each, **record_json(each.record, encoding)) for each in found[:limit]]}


@routes.post("/v1/share-groups/{group_id}/configure", "Properties to set or to remove.", response=CONFIG)
def configure_share_group(
    call: Call,
    group_id: GroupId,
    config: Annotated[
        dict[str, str | None], 'The properties, as in `{"share.auto.offset.reset": "earliest"}`. null removes one.'
    ],
) -> Json:
    """Change properties of a share group, which need not exist, and return all that are set."""
    return {"config": call.cluster.share_group(group_id).configure(config).config}


@routes.post("/v1/share-groups/{group_id}/evict", "A member to evict.", response=GROUP)
def evict_share_member(call: Call, group_id: GroupId, member_id: Annotated[str, "The member id."]) -> Json:
    """Remove a member from a share group, as if its session had timed out. Its records stay locked."""
    call.cluster.share_group(group_id).evict(member_id)
    return get_share_group(call, group_id)


@routes.post("/v1/share-groups/{group_id}/expire-locks", "Locks to end.", response=EXPIRED)
def expire_locks(
    call: Call,
    group_id: GroupId,
    topic: Topic = None,
    member_id: Annotated[str | None, "The member. The default is all members."] = None,
) -> Json:
    """End the acquisition locks of a share group now, as if share.record.lock.duration.ms had passed."""
    return {"expired": call.cluster.share_group(group_id).expire_locks(topic, member_id=member_id)}


@routes.post(
    "/v1/share-groups/{group_id}/seek",
    "Where to move a share group: to an `offset` or to a `timestamp`.",
    response=GROUP,
)
def seek_share_group(
    call: Call,
    group_id: GroupId,
    offset: NewOffset = None,
    timestamp: NewTime = None,
    topic: Annotated[str | None, "The topic. The default is every partition that the group has consumed."] = None,
    partition: OnlyPartition = None,
) -> Json:
    """Set other start offsets of a share group without members. The group is created if it does not exist."""
    check_seek(offset, timestamp, topic, partition)
    call.cluster.share_group(group_id).seek(offset, topic, partition, timestamp=timestamp)
    return get_share_group(call, group_id)


@routes.post("/v1/share-groups/{group_id}/wait", "The states to wait for.", response=GROUP, waits=True)
def wait_for_share_group(
    call: Call,
    group_id: GroupId,
    *,
    available: Count = None,
    acquired: Count = None,
    acknowledged: Count = None,
    archived: Count = None,
    topic: Topic = None,
    timeout: Timeout = None,
) -> Json:
    """Wait until at least these numbers of records are available, acquired, acknowledged or archived."""
    if available is acquired is acknowledged is archived is None:
        raise ValueError("give a number of records, as in acknowledged")
    call.cluster.share_group(group_id).wait_for(
        available=available,
        acquired=acquired,
        acknowledged=acknowledged,
        archived=archived,
        topic=topic,
        timeout=timeout,
    )
    return get_share_group(call, group_id)


@routes.post("/v1/share-groups/{group_id}/wait-for-lag", "A lag to wait for.", response=GROUP, waits=True)
def wait_for_share_lag(call: Call, group_id: GroupId, lag: Lag = 0, timeout: Timeout = None) -> Json:
    """Wait until the deliveries of all records of a share group but `lag` have ended."""
    call.cluster.share_group(group_id).wait_for_lag(lag, timeout)
    return get_share_group(call, group_id)


@routes.post("/v1/share-groups/{group_id}/wait-until-stable", "Members to wait for.", response=GROUP, waits=True)
def wait_until_share_group_is_stable(
    call: Call, group_id: GroupId, members: MemberCount = None, timeout: Timeout = None
) -> Json:
    """Wait until a share group has a number of members, and all partitions are assigned."""
    call.cluster.share_group(group_id).wait_until_stable(members, timeout)
    return get_share_group(call, group_id)
