"""The target assignment of a consumer group, which a server-side assignor computes for each group epoch.

Source: org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder, util.UpdatedMembersAndTargetAssignmentView.
"""

import logging

from kafkalet.broker.groups.assignors import ASSIGNORS
from kafkalet.broker.groups.assignors.spec import Assignment, MemberSpec, Spec
from kafkalet.broker.java_order import order_of_strings
from kafkalet.broker.quoting import quoted

from .group import ConsumerGroup
from .members import ConsumerMember
from .records import Change, target, target_epoch
from .topics import topic_ids, wanted_names

_LOG = logging.getLogger(__name__)


def compute_target(
    group: ConsumerGroup, epoch: int, member: ConsumerMember, assignor: str, *, is_homogeneous: bool
) -> tuple[Assignment, list[Change]]:
    """Compute the target assignment of a group in which `member` has changed.

    `member` may be new or replace a static member. Returns the assignment of `member`, and the records of all
    assignments that have changed.
    """
    members, before = _with(group, member)
    metadata = group.shard.node.metadata
    topics: dict[tuple[frozenset[str], str | None], tuple[list[bytes], int]] = {}
    specs: dict[str, MemberSpec] = {}
    for member_id in order_of_strings(members):
        each = members[member_id]
        key = each.topic_names, each.topic_regex
        if key not in topics:
            names = wanted_names(each, group.members.resolved)
            topics[key] = topic_ids(names, metadata), len(names)
        specs[member_id] = MemberSpec(each.instance_id, *topics[key], before.get(member_id, {}))
    counts = {
        topic_id: len(topic.partitions)
        for wanted, _ in topics.values()
        for topic_id in wanted
        if (topic := metadata.topic_by_id(topic_id)) is not None
    }
    dealt = ASSIGNORS[assignor](Spec(specs, counts, group.assigned, is_homogeneous))
    _LOG.debug("group %s: computed target assignment of epoch %d with %s", quoted(group.group_id), epoch, assignor)
    changes = [
        target(group.group_id, member_id, dealt.get(member_id, {}))
        for member_id in specs
        if not _are_same(before.get(member_id), dealt.get(member_id, {}))
    ]
    release = group.shard.node.release
    timestamp_ms = group.shard.clock.now_ms() if release.keeps_assignment_epochs else 0
    return dealt.get(member.member_id, {}), [*changes, target_epoch(group.group_id, epoch, timestamp_ms)]


def _with(group: ConsumerGroup, member: ConsumerMember) -> tuple[dict[str, ConsumerMember], dict[str, Assignment]]:
    """Return all members and their targets, including the changed member. A new member comes last."""
    members = {each.member_id: each for member_id in group.members.in_order() if (each := group.member(member_id))}
    before = group.target
    replaced = group.members.static(member.instance_id)
    if replaced is not None and replaced.member_id != member.member_id:
        before = dict(before)
        if (had := before.pop(replaced.member_id, None)) is not None:
            before[member.member_id] = had
        del members[replaced.member_id]
    members[member.member_id] = member
    return members, before


def _are_same(before: Assignment | None, after: Assignment) -> bool:
    if before is None or before is after:
        return before is after
    return before.keys() == after.keys() and all(set(before[topic_id]) == set(after[topic_id]) for topic_id in after)
