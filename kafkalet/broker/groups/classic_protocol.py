"""Requests of the classic protocol, JoinGroup, SyncGroup, Heartbeat and LeaveGroup, to a group of either kind.

A classic group answers them itself. A consumer group answers them while it migrates from one protocol to the other
(consumer/classic_members.py).

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupJoin, classicGroupSync,
classicGroupHeartbeat, classicGroupLeave.
"""

from collections.abc import Sequence

from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkalet.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

from .classic.group import ClassicGroup
from .classic.join import join as join_classic_group
from .consumer import classic_members
from .consumer.group import ConsumerGroup
from .group import Caller, Group


def join(group: Group, request: JoinGroupRequest, caller: Caller) -> JoinGroupResponse | Delayed[JoinGroupResponse]:
    """A client wants to be a member. Raises KafkaError."""
    if isinstance(group, ConsumerGroup):
        return classic_members.join(group, request, caller)
    return join_classic_group(_classic(group), request, caller)


def sync(group: Group, request: SyncGroupRequest) -> SyncGroupResponse | Delayed[SyncGroupResponse]:
    """A member wants its assignment. Raises KafkaError."""
    if isinstance(group, ConsumerGroup):
        return classic_members.sync(group, request)
    return _classic(group).sync(request)


def heartbeat(group: Group, request: HeartbeatRequest) -> HeartbeatResponse:
    """A member is alive. Raises KafkaError."""
    if isinstance(group, ConsumerGroup):
        return classic_members.heartbeat(group, request)
    return _classic(group).heartbeat(request)


def leave(group: Group, leaving: Sequence[LeaveGroupRequest.Member]) -> list[LeaveGroupResponse.Member]:
    """Members leave, each with a response of its own."""
    if isinstance(group, ConsumerGroup):
        return classic_members.leave(group, leaving)
    return _classic(group).leave(leaving)


def _classic(group: Group) -> ClassicGroup:
    assert isinstance(group, ClassicGroup), f"a group of type {group.type}"
    return group
