"""Reconciliation of a member's assignment with its target assignment.

    1   The member has to revoke all partitions that are not in its target. It is in UNREVOKED_PARTITIONS and stays in
        its epoch until a heartbeat no longer lists them.
    2   Then it advances to the epoch of the target and is assigned the partitions that are free.
    3   If other members still hold some of its partitions, it is in UNRELEASED_PARTITIONS and is assigned more with
        later heartbeats.
    4   Otherwise it is STABLE.

Source: org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

from .members import NOT_HELD, ConsumerMember, MemberState, Owned

ReportedPartitions = Sequence[ConsumerGroupHeartbeatRequest.TopicPartitions]
"""The partitions that a member says it owns; None if its heartbeat does not list them."""


class Step(NamedTuple):
    """The input for the next reconciliation step of a member."""

    target_epoch: int
    target: Assignment
    topic_ids: frozenset[bytes]  # the subscribed topics that exist
    wants_any: bool  # whether any topic is subscribed, existing or not
    holder_epoch: Callable[[bytes, int], int]
    has_subscription_changed: bool
    held: ReportedPartitions | None
    epochs_per_revocation: int = 0  # 1 before 4.2, where each revocation advances the epoch by one
    takes_back: bool = True  # whether the partitions that the member still has to give up are free for it


def reconcile(member: ConsumerMember, step: Step) -> ConsumerMember:
    """Return the member after its next reconciliation step, or unchanged if there is no step to take.

    Raises FENCED_MEMBER_EPOCH if its state was written by a later release.
    """
    if member.state == MemberState.STABLE:
        if member.member_epoch != step.target_epoch:
            return _next(member, step, member.member_epoch)
        return _without_unwanted(member, step) if step.has_subscription_changed else member
    if member.state == MemberState.UNREVOKED_PARTITIONS:
        if not _holds_any(step.held, member.pending_revocation):
            return _next(member, step, member.member_epoch + step.epochs_per_revocation)
        return _without_unwanted(member, step) if step.has_subscription_changed else member
    if member.state == MemberState.UNRELEASED_PARTITIONS:
        return _next(member, step, member.member_epoch)
    if step.held is None or step.held:
        raise KafkaError(
            Code.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
        )
    return _next(member, step, step.target_epoch)


def _holds_any(held: ReportedPartitions | None, owned: Owned) -> bool:
    """Return whether the member still owns any of these partitions. If `held` is None, assume that it does."""
    if held is None:
        return True
    return any(partition in owned.get(of.topic_id, ()) for of in held for partition in of.partitions)


def _without_unwanted(member: ConsumerMember, step: Step) -> ConsumerMember:
    """Revoke partitions of topics that the member no longer subscribes to, without advancing its epoch."""
    unwanted = member.assigned.keys() - step.topic_ids
    if not unwanted and (step.wants_any or member.pending_revocation):
        return member
    assigned = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in unwanted}
    pending = dict(member.pending_revocation)
    for topic_id, epochs in member.assigned.items():
        if topic_id in unwanted:
            pending[topic_id] = {**pending.get(topic_id, {}), **epochs}
    if pending and _holds_any(step.held, pending):
        return member.at_epoch(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, assigned, pending)
    return member.at_epoch(member.member_epoch, member.state, assigned, member.pending_revocation)


def _next(member: ConsumerMember, step: Step, epoch: int) -> ConsumerMember:
    kept: Owned = {}
    revoked: Owned = {}
    added: dict[bytes, list[int]] = {}
    waits = False
    for topic_id in dict.fromkeys([*step.target, *member.assigned]):
        target = frozenset(step.target.get(topic_id, ())) if topic_id in step.topic_ids else frozenset()
        owned = member.assigned.get(topic_id, {})
        keep = {partition: since for partition, since in owned.items() if partition in target}
        if keep:
            kept[topic_id] = keep
        if len(keep) < len(owned):
            revoked[topic_id] = {partition: since for partition, since in owned.items() if partition not in target}
        returned = member.pending_revocation.get(topic_id, {}) if step.takes_back else {}
        missing = [partition for partition in target if partition not in keep]
        free = [
            partition
            for partition in missing
            if partition in returned or step.holder_epoch(topic_id, partition) == NOT_HELD
        ]
        waits |= len(free) < len(missing)
        if free:
            added[topic_id] = free
    if revoked and _holds_any(step.held, revoked):
        return member.at_epoch(epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    for topic_id, partitions in added.items():
        epochs = {**kept.get(topic_id, {}), **dict.fromkeys(partitions, step.target_epoch)}
        kept[topic_id] = dict(sorted(epochs.items()))
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    return member.at_epoch(step.target_epoch, state, kept, {})
