"""ConsumerGroupHeartbeat of a member that joins or stays: all that a consumer group does, it does in here.

    who is it          a new member (epoch 0), a known one in its epoch, a static one in the place of an older
    what does it want  a changed subscription, or changed topics, raise the group epoch
    who gets what      a new target for a new epoch, at most once per assignment interval
    what may it have   a step towards its target

All of it is decided first, then written in one batch, then remembered.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.consumerGroupHeartbeat.
"""

from typing import NamedTuple

from kafkalet.broker.cluster.metadata import new_topic_id
from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafkalet.storage.checkpoints import uuid_text

from . import consumer_records as records
from .consumer_config import heartbeat_interval_ms
from .consumer_decision import Decision
from .consumer_leaving import expect_session, static_member
from .consumer_member import JOINING, LEAVING_FOR_A_RESTART, ConsumerMember, Owned
from .consumer_reconciliation import Held
from .consumer_records import Change
from .consumer_regex import resolve_soon
from .consumer_replay import commit
from .consumer_state import ConsumerState


class Sender(NamedTuple):
    """Whose heartbeat it is, as the connection says."""

    client_id: str
    client_host: str


def heartbeat(
    group: ConsumerState, request: ConsumerGroupHeartbeatRequest, sender: Sender, before: list[StateRecord]
) -> tuple[ConsumerGroupHeartbeatResponse, int]:
    """The answer, and the offset of the last record that it depends on. `before` is what removes the group as it was,
    if it becomes a consumer group only now. Raises KafkaError."""
    joins = request.member_epoch == JOINING
    check_room(group, request.member_id, request.instance_id)
    member_id = request.member_id or uuid_text(new_topic_id())
    member, changes = find_member(group, request, member_id, joins=joins)
    after = member.told_by(request, sender.client_id, sender.client_host, member_id)
    decision = Decision(group, member, after, changes, request.topic_partitions)
    decision.subscribe()
    decision.assign()
    after = decision.reconcile()
    offset = commit(group, decision.changes, before)
    decision.settle()
    expect_session(group, after.member_id)
    if decision.needs_resolving:
        resolve_soon(group)
    is_full = (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    answer = ConsumerGroupHeartbeatResponse(
        member_id=after.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms(group),
    )
    if joins or is_full or member.assigned != after.assigned:
        answer.assignment = assignment_of(after.assigned)
    return answer, offset


def assignment_of(assigned: Owned) -> ConsumerGroupHeartbeatResponse.Assignment:
    return ConsumerGroupHeartbeatResponse.Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=list(epochs)) for topic_id, epochs in assigned.items()
        ]
    )


# who is it


def check_room(group: ConsumerState, member_id: str, instance_id: str | None) -> None:
    """Raise GROUP_MAX_SIZE_REACHED for a newcomer to a group that is full."""
    if group.shard.node.release.rebalances_for_another_assignor and group.members.static(instance_id) is not None:
        return
    most = group.shard.node.config.group_consumer_max_size
    if len(group.members) >= most and (not member_id or member_id not in group.members):
        raise KafkaError(
            Code.GROUP_MAX_SIZE_REACHED, f"The consumer group has reached its maximum capacity of {most} members."
        )


def find_member(
    group: ConsumerState, request: ConsumerGroupHeartbeatRequest, member_id: str, *, joins: bool
) -> tuple[ConsumerMember, list[Change]]:
    """The member as it was before this heartbeat: a blank one where it is new."""
    instance_id = request.instance_id
    if instance_id is None:
        known = group.members.get(member_id) or (ConsumerMember(member_id) if joins else group.member(member_id))
        _check_epoch(group, known, request.member_epoch, request.topic_partitions)
        return known, []
    if not joins:
        known = static_member(group, member_id, instance_id)
        _check_epoch(group, known, request.member_epoch, request.topic_partitions)
        return known, []
    former = group.members.static(instance_id)
    if former is None:
        return group.members.get(member_id) or ConsumerMember(member_id), []
    if not former.uses_classic_protocol and former.member_epoch != LEAVING_FOR_A_RESTART:
        raise KafkaError(
            Code.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {former.member_id} member.",
        )
    return take_place(group, former, member_id)


def take_place(group: ConsumerState, former: ConsumerMember, member_id: str) -> tuple[ConsumerMember, list[Change]]:
    """A static member that has come back under a new id: it takes over all that the old one had."""
    member = former._replace(member_id=member_id, member_epoch=0, previous_member_epoch=0)
    group_id = group.group_id
    target = group.target.get(former.member_id, {})
    return member, [
        *records.without_member(group_id, former.member_id),
        records.member(group_id, member),
        records.target(group_id, member_id, target),
        records.current(group_id, member),
    ]


def _check_epoch(group: ConsumerState, member: ConsumerMember, epoch: int, held: Held | None) -> None:
    """Raise FENCED_MEMBER_EPOCH unless a member is in its epoch, or in the one before and has only what is its own:
    then it has missed the answer that told it of the new one."""
    anew = epoch == JOINING and group.shard.node.release.looks_at_subscriptions_within_epochs
    if anew or epoch == member.member_epoch:
        return
    if epoch < member.member_epoch and epoch == member.previous_member_epoch and _is_subset(held, member.assigned):
        return
    word = "greater" if epoch > member.member_epoch else "smaller"
    raise KafkaError(
        Code.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def _is_subset(held: Held | None, assigned: Owned) -> bool:
    if held is None:
        return False
    return all(
        of.topic_id in assigned and all(partition in assigned[of.topic_id] for partition in of.partitions)
        for of in held
    )
