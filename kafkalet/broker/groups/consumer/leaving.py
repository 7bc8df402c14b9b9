"""Removal of members that leave a consumer group or are fenced because they missed a timeout.

    epoch -1    the member leaves permanently
    epoch -2    a static member leaves for a restart and keeps its partitions until its session expires

A fenced member gets UNKNOWN_MEMBER_ID in response to its next heartbeat. When the last member of the consumer protocol
has left and classic members remain, the group is converted to a classic group (downgrade).

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.consumerGroupLeave, consumerGroupFenceMembers.
"""

from collections import Counter
from collections.abc import Sequence

from kafkalet.broker.groups.modern.members import LEAVING_FOR_A_RESTART
from kafkalet.broker.groups.modern.timers import Wait

from . import records
from .group import ConsumerGroup
from .members import ConsumerMember, MemberState, Preview
from .migration import can_downgrade_without, downgrade


def leave(group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int) -> int:
    """Remove a member, or mark it as restarting, depending on `epoch`. Returns the offset of the last record.

    Raises KafkaError.
    """
    if instance_id is None:
        return fence(group, [group.member(member_id)])
    member = group.static_member(member_id, instance_id)
    if epoch != LEAVING_FOR_A_RESTART:
        return fence(group, [member])
    assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()}
    away = member._replace(member_epoch=LEAVING_FOR_A_RESTART, assigned=assigned, pending_revocation={})
    return group.commit([records.current(group.group_id, away)])


def fence(group: ConsumerGroup, members: Sequence[ConsumerMember]) -> int:
    """Remove members from the group and return the offset of the last record."""
    if not members:
        return group.shard.append([])
    if can_downgrade_without(group, members):
        return downgrade(group, members)
    group_id = group.group_id
    changes = [change for member in members for change in records.without_member(group_id, member.member_id)]
    leaving = Counter(member.topic_regex for member in members if member.topic_regex)
    changes += [
        records.no_regex(group_id, regex) for regex, count in leaving.items() if group.members.regexes[regex] == count
    ]
    preview = Preview(group.members)
    for member in members:
        preview.remove(member.member_id)
    epoch = group.group_epoch + 1
    changes += group.enter_epoch(epoch, preview.topics())
    if not len(preview) and group.shard.node.release.settles_empty_groups:
        changes.append(records.target_epoch(group_id, epoch, 0))
    offset = group.commit(changes)
    for member in members:
        group.timers.forget(member.member_id)
    return offset


# Timeouts


def schedule_session_timeout(group: ConsumerGroup, member_id: str, timeout_ms: int | None = None) -> None:
    """Restart the session timeout of a member after a heartbeat."""
    delay_ms = group.session_timeout_ms if timeout_ms is None else timeout_ms
    group.timers.schedule(
        Wait.SESSION, member_id, delay_ms, lambda: fence_missing(group, member_id, "its session timed out")
    )


def schedule_rebalance_timeout(group: ConsumerGroup, member: ConsumerMember) -> None:
    """Start the rebalance timeout of a member that has to revoke partitions."""
    member_id, epoch = member.member_id, member.member_epoch

    def missed() -> None:
        now = group.members.get(member_id)
        if now is not None and now.member_epoch == epoch:
            fence_missing(group, member_id, f"still in epoch {epoch} after its rebalance timeout")

    group.timers.schedule(Wait.REBALANCE, member_id, member.rebalance_timeout_ms, missed)


def schedule_all_timeouts(group: ConsumerGroup) -> None:
    """Restart all timeouts after the log was replayed, and mark all regular expressions as outdated."""
    resolved = group.members.resolved
    resolved.update({regex: each._replace(version=0) for regex, each in resolved.items()})
    for member in group.members:
        schedule_session_timeout(group, member.member_id)
        if member.state == MemberState.UNREVOKED_PARTITIONS:
            schedule_rebalance_timeout(group, member)


def schedule_classic_session_timeouts(group: ConsumerGroup) -> None:
    """Start the session timeouts of classic members after their group was converted to a consumer group."""
    for member in group.members:
        if member.classic is not None:
            schedule_session_timeout(group, member.member_id, member.classic.session_timeout_ms)


def fence_missing(group: ConsumerGroup, member_id: str, reason: str) -> None:
    """Fence a member that missed a timeout."""
    if not group.fence_missing(member_id, reason, lambda member: fence(group, [member])):
        schedule_session_timeout(group, member_id)
