"""Requests of the classic protocol (JoinGroup, SyncGroup, Heartbeat, LeaveGroup) for all kinds of groups.

A classic group handles them itself. A consumer group accepts them from classic members while it is being migrated to
the consumer protocol (consumer/classic_members.py). A share group refuses them, and so does a streams group, unless it
is empty.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupJoin, classicGroupSync,
classicGroupHeartbeat, classicGroupLeave.
"""

from collections.abc import Sequence

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkalet.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalet.tasks.delayed import Delayed

from .classic.group import ClassicGroup, new_classic_group
from .classic.join import join as join_classic_group
from .consumer import classic_members
from .consumer.group import ConsumerGroup
from .group import Caller, Group
from .modern.group import CommittingGroup
from .shard import Shard


def join(group: Group, request: JoinGroupRequest, caller: Caller) -> JoinGroupResponse | Delayed[JoinGroupResponse]:
    """Add a member to the group, or let a member rejoin. Raises KafkaError."""
    if isinstance(group, CommittingGroup) and group.is_empty:
        return _become_classic(group.shard, group, request, caller)
    if isinstance(group, ConsumerGroup):
        return classic_members.join(group, request, caller)
    if not isinstance(group, ClassicGroup):
        raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
    return join_classic_group(group, request, caller)


def _become_classic(
    shard: Shard, group: Group, request: JoinGroupRequest, caller: Caller
) -> JoinGroupResponse | Delayed[JoinGroupResponse]:
    """Convert an empty group to a classic group, then let the client join it.

    A join with a member id fails. In that case the group is dropped from memory but, as in Kafka, no tombstones are
    written.
    """
    if request.member_id:
        group.close()
        del shard.groups[group.group_id]
        raise KafkaError(Code.UNKNOWN_MEMBER_ID)
    shard.append(group.tombstones())
    group.close()
    return join_classic_group(new_classic_group(shard, group.group_id), request, caller)


def sync(group: Group, request: SyncGroupRequest) -> SyncGroupResponse | Delayed[SyncGroupResponse]:
    """Return the assignment of a member once it is known. Raises KafkaError."""
    if isinstance(group, ConsumerGroup):
        return classic_members.sync(group, request)
    return _classic(group).sync(request)


def heartbeat(group: Group, request: HeartbeatRequest) -> HeartbeatResponse:
    """Extend the session of a member. Raises KafkaError."""
    if isinstance(group, ConsumerGroup):
        return classic_members.heartbeat(group, request)
    return _classic(group).heartbeat(request)


def leave(group: Group | None, leaving: Sequence[LeaveGroupRequest.Member]) -> list[LeaveGroupResponse.Member]:
    """Remove members from the group, if there is one, and return the result for each of them."""
    if isinstance(group, ConsumerGroup):
        return classic_members.leave(group, leaving)
    if isinstance(group, ClassicGroup):
        return group.leave(leaving)
    return [
        LeaveGroupResponse.Member(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            error_code=Code.UNKNOWN_MEMBER_ID,
        )
        for member in leaving
    ]


def _classic(group: Group) -> ClassicGroup:
    """Return a classic group. Raises UNKNOWN_MEMBER_ID for a share group."""
    if not isinstance(group, ClassicGroup):
        raise KafkaError(Code.UNKNOWN_MEMBER_ID)
    return group
