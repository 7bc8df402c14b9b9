"""Classic members of a consumer group, which exist while a group is migrated between the protocols (KIP-848).

To them the group looks like a classic group without a leader. JoinGroup is answered immediately with the member epoch
as the generation, and SyncGroup with the assigned partitions. When the member has to take the next step of its
reconciliation, the heartbeat response tells it to join again. It must do so within its rebalance timeout.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupJoinToConsumerGroup,
classicGroupSyncToConsumerGroup, classicGroupHeartbeatToConsumerGroup, classicGroupLeaveToConsumerGroup.
"""

from collections.abc import Sequence

from kafkalet.broker.groups.classic.consumer_protocol import (
    NAME,
    Malformed,
    by_ids,
    read_subscription,
    version_of,
    write_assignment,
)
from kafkalet.broker.groups.group import Caller
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.groups.modern.timers import Wait
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkalet.protocol.messages.subscription import ConsumerProtocolSubscription
from kafkalet.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalet.tasks.delayed import Delayed

from .group import ConsumerGroup
from .heartbeat import Decision, check_group_size, replace_static_member
from .leaving import fence, fence_missing, schedule_session_timeout
from .members import NOT_HELD, ClassicProtocols, ConsumerMember, MemberState, new_member_id
from .migration import can_downgrade_with, downgrade, may_migrate

FIRST_WITH_MEMBER_IDS = 4

Joined = JoinGroupResponse | Delayed[JoinGroupResponse]


def join(group: ConsumerGroup, request: JoinGroupRequest, caller: Caller) -> Joined:
    """Add a classic member to the group, or let an existing one take its next reconciliation step."""
    try:
        return _join(group, request, caller)
    except KafkaError as error:
        return _answer(error.code, "")


def _join(group: ConsumerGroup, request: JoinGroupRequest, caller: Caller) -> Joined:
    instance_id = request.group_instance_id
    member_id = request.member_id or new_member_id()
    protocols = _check_join(group, request, member_id)
    if not request.member_id and instance_id is None and caller.version >= FIRST_WITH_MEMBER_IDS:
        return _answer(Code.MEMBER_ID_REQUIRED, member_id)
    member, changes = _member(group, request, member_id)
    downgrades = can_downgrade_with(group, group.members.static(instance_id))
    subscription = _subscription(protocols)
    after = _updated(member, request, subscription, protocols, caller)
    decision = Decision(group, member, after, changes, _held(group, subscription))
    decision.subscribe(caller.may_describe, raises_for_regex=True)
    if downgrades:
        offset = _downgrade(group, decision)
    else:
        offset = decision.commit()
        _schedule_timeouts(group, request, decision.after.member_id)
    after = decision.after
    answer = _answer(Code.NONE, after.member_id, after.member_epoch, next(iter(protocols)))

    def replicated(code: Code) -> JoinGroupResponse:
        return answer if code == Code.NONE else _answer(code, after.member_id)

    return group.shard.replicated(offset).map(replicated)


def _check_join(group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> dict[str, bytes]:
    """Return the protocols of a JoinGroup request. Raises KafkaError if the client may not join."""
    node = group.shard.node
    if not (may_migrate(node, "upgrade") or may_migrate(node, "downgrade")):
        raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
    check_group_size(group, member_id, request.group_instance_id)
    protocols: dict[str, bytes] = {}
    for protocol in request.protocols:
        protocols.setdefault(protocol.name, protocol.metadata)  # the first occurrence of a name wins
    if request.protocol_type != NAME or not _has_common_protocol(group, protocols):
        raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
    return protocols


def _subscription(protocols: dict[str, bytes]) -> ConsumerProtocolSubscription:
    """Decode the subscription in the metadata of the member's preferred protocol. Raises KafkaError."""
    try:
        return read_subscription(next(iter(protocols.values())))
    except Malformed as problem:
        raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL, str(problem)) from problem


def sync(group: ConsumerGroup, request: SyncGroupRequest) -> SyncGroupResponse:
    """Return the assigned partitions of a member. Raises KafkaError."""
    member = _known(group, request.member_id, request.group_instance_id)
    classic = _classic_of(member)
    _check_generation(member, request.generation_id)
    name, metadata = classic.protocols[0]
    if request.protocol_type not in (None, NAME) or request.protocol_name not in (None, name):
        raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
    if member.member_epoch < _epoch_to_reach(group) and member.state != MemberState.UNREVOKED_PARTITIONS:
        _schedule_join_timeout(group, member)
        raise KafkaError(Code.REBALANCE_IN_PROGRESS)
    group.timers.cancel(Wait.SYNC, member.member_id)
    schedule_session_timeout(group, member.member_id, classic.session_timeout_ms)
    partitions = {topic_id: list(epochs) for topic_id, epochs in member.assigned.items()}
    return SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=write_assignment(partitions, group.shard.node.metadata, version_of(metadata)),
    )


def heartbeat(group: ConsumerGroup, request: HeartbeatRequest) -> HeartbeatResponse:
    """Extend the session of a member. REBALANCE_IN_PROGRESS tells it to join again. Raises KafkaError."""
    member = _known(group, request.member_id, request.group_instance_id)
    classic = _classic_of(member)
    _check_generation(member, request.generation_id)
    schedule_session_timeout(group, member.member_id, classic.session_timeout_ms)
    if (
        member.member_epoch < _epoch_to_reach(group)
        or member.state == MemberState.UNREVOKED_PARTITIONS
        or (member.state == MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(group, member))
    ):
        _schedule_join_timeout(group, member)
        return HeartbeatResponse(error_code=Code.REBALANCE_IN_PROGRESS)
    return HeartbeatResponse(error_code=Code.NONE)


def _epoch_to_reach(group: ConsumerGroup) -> int:
    """Return the epoch that members have to reach. Since 4.3, the assignment may be older than the group."""
    return group.assignment_epoch if group.shard.node.release.keeps_assignment_epochs else group.group_epoch


def leave(group: ConsumerGroup, leaving: Sequence[LeaveGroupRequest.Member]) -> list[LeaveGroupResponse.Member]:
    """Remove members of either protocol and return the result for each of them."""
    answers, gone = [], {}
    for identity in leaving:
        code = Code.NONE
        try:
            member = _leaving(group, identity.member_id, identity.group_instance_id)
            gone[member.member_id] = member
        except KafkaError as error:
            code = error.code
        answers.append(
            LeaveGroupResponse.Member(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code
            )
        )
    fence(group, list(gone.values()))
    return answers


# Joining


def _has_common_protocol(group: ConsumerGroup, protocols: dict[str, bytes]) -> bool:
    """Return whether one of these protocols is supported by all classic members."""
    members = group.members
    return any(members.classic_protocols[name] == members.classic for name in protocols)


def _member(group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> tuple[ConsumerMember, list[Change]]:
    """Return the member as it was before this request. A new member has only its id.

    For a restarted static member, also return the records that replace its predecessor.
    """
    if request.group_instance_id is None:
        return group.members.get(member_id) or ConsumerMember(member_id), []
    if request.member_id:
        return group.static_member(member_id, request.group_instance_id), []
    former = group.members.static(request.group_instance_id)
    if former is None:
        return ConsumerMember(member_id), []
    return replace_static_member(group, former, member_id)


def _updated(
    member: ConsumerMember,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    protocols: dict[str, bytes],
    caller: Caller,
) -> ConsumerMember:
    rebalance_timeout_ms = request.rebalance_timeout_ms
    return member._replace(
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=request.session_timeout_ms if rebalance_timeout_ms == -1 else rebalance_timeout_ms,
        topic_names=frozenset(subscription.topics),
        topic_regex="",
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=ClassicProtocols(request.session_timeout_ms, tuple(protocols.items())),
    )


def _held(
    group: ConsumerGroup, subscription: ConsumerProtocolSubscription
) -> list[ConsumerGroupHeartbeatRequest.TopicPartitions]:
    owned = by_ids(subscription.owned_partitions, group.shard.node.metadata)
    return [
        ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=partitions)
        for topic_id, partitions in owned.items()
    ]


def _downgrade(group: ConsumerGroup, decision: Decision) -> int:
    rebalances = group.assignment_epoch < decision.epoch
    if not rebalances:
        decision.target = group.target_of(decision.after)
        decision.reconcile()
    return downgrade(group, (), decision.after, decision.changes, rebalances=rebalances)


def _schedule_timeouts(group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> None:
    group.timers.cancel(Wait.JOIN, member_id)
    schedule_session_timeout(group, member_id, request.session_timeout_ms)
    timeout_ms = request.session_timeout_ms if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms
    group.timers.schedule(
        Wait.SYNC,
        member_id,
        timeout_ms,
        lambda: fence_missing(group, member_id, "no SyncGroup within its rebalance timeout"),
    )


def _schedule_join_timeout(group: ConsumerGroup, member: ConsumerMember) -> None:
    member_id = member.member_id
    if (Wait.JOIN, member_id) not in group.timers:
        group.timers.schedule(
            Wait.JOIN,
            member_id,
            member.rebalance_timeout_ms,
            lambda: fence_missing(group, member_id, "no JoinGroup within its rebalance timeout"),
        )


def _answer(code: Code, member_id: str, generation: int = -1, protocol: str | None = None) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=code,
        generation_id=generation,
        protocol_type=NAME if code == Code.NONE else None,
        protocol_name=protocol,
        leader="",
        member_id=member_id,
        members=[],
    )


# Finding members


def _known(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    return group.member(member_id) if instance_id is None else group.static_member(member_id, instance_id)


def _leaving(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """Return the member that is leaving. An administrator identifies a static member by its instance id alone."""
    former = group.members.static(instance_id)
    return former if former is not None and not member_id else _known(group, member_id, instance_id)


def _classic_of(member: ConsumerMember) -> ClassicProtocols:
    if member.classic is None:
        raise KafkaError(Code.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol.")
    return member.classic


def _check_generation(member: ConsumerMember, generation: int) -> None:
    if generation != member.member_epoch:
        raise KafkaError(Code.ILLEGAL_GENERATION)


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return whether another member still holds a partition of the member's target assignment."""
    return any(
        partition not in member.assigned.get(topic_id, {})
        and group.members.holder_epoch(topic_id, partition) != NOT_HELD
        for topic_id, partitions in group.target.get(member.member_id, {}).items()
        for partition in partitions
    )
