"""ConsumerGroupHeartbeat from members that join or stay. These heartbeats drive all changes of a consumer group.

    member         find the member: a new one (epoch 0), an existing one, or a restarted static one
    subscribe      increment the group epoch if the subscription or the subscribed topics have changed
    assign         compute a target assignment for a new epoch, at most once per assignment interval
    reconcile      move the member a step towards its target assignment

All changes are computed first, then appended to the log in one batch, and finally applied to the group.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager: consumerGroupHeartbeat, updateSubscriptionMetadata,
maybeUpdateTargetAssignment, maybeReconcile.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.assignors import ASSIGNORS
from kafkalet.broker.groups.assignors.spec import Assignment, MemberSpec, Spec, are_same
from kafkalet.broker.groups.group import TopicCheck
from kafkalet.broker.groups.modern.group import check_released, fenced_epoch
from kafkalet.broker.groups.modern.members import JOINING
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.groups.modern.timers import Wait
from kafkalet.broker.groups.modern.topics import topic_ids
from kafkalet.broker.java_order import order_of_strings
from kafkalet.broker.quoting import quoted
from kafkalet.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

from . import records
from .group import ConsumerGroup, assignors
from .leaving import schedule_rebalance_timeout, schedule_session_timeout
from .members import ConsumerMember, MemberState, Owned, Preview, new_member_id, wanted_names
from .reconciliation import ReportedPartitions, Step, reconcile
from .regexes import RegexStatus, resolve_later, update_regexes

_LOG = logging.getLogger(__name__)


class Sender(NamedTuple):
    """The client that sent a heartbeat."""

    client_id: str
    client_host: str
    may_describe: TopicCheck | None = None  # None if there is no authorizer


def heartbeat(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, sender: Sender, replacing: list[StateRecord]
) -> tuple[ConsumerGroupHeartbeatResponse, int]:
    """Handle a heartbeat. Returns the response and the offset of the last record that it depends on.

    `replacing` contains the records that replace a classic group with this consumer group. Raises KafkaError.
    """
    joins = request.member_epoch == JOINING
    check_group_size(group, request.member_id, request.instance_id)
    member_id = request.member_id or new_member_id()
    member, changes = _find_member(group, request, member_id, joins=joins)
    after = member.updated_by(request, sender.client_id, sender.client_host, member_id)
    decision = Decision(group, member, after, changes, request.topic_partitions)
    decision.subscribe(sender.may_describe)
    offset = decision.commit(replacing)
    after = decision.after
    schedule_session_timeout(group, after.member_id)
    is_full = (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    answer = ConsumerGroupHeartbeatResponse(
        member_id=after.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=group.heartbeat_interval_ms,
    )
    if joins or is_full or member.assigned != after.assigned:
        answer.assignment = _response_assignment(after.assigned)
    return answer, offset


def _response_assignment(assigned: Owned) -> ConsumerGroupHeartbeatResponse.Assignment:
    return ConsumerGroupHeartbeatResponse.Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=list(epochs)) for topic_id, epochs in assigned.items()
        ]
    )


# Finding the member


def check_group_size(group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """Raise GROUP_MAX_SIZE_REACHED if the member is not in the group yet and the group is full."""
    if group.shard.node.release.rebalances_for_another_assignor and group.members.static(instance_id) is not None:
        return
    group.check_has_room(member_id, group.shard.node.config.group_consumer_max_size)


def _find_member(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, member_id: str, *, joins: bool
) -> tuple[ConsumerMember, list[Change]]:
    """Return the member as it was before this heartbeat. A new member has only its id.

    For a restarted static member, also return the records that replace its predecessor.
    """
    instance_id = request.instance_id
    if instance_id is None:
        known = group.members.get(member_id) or (ConsumerMember(member_id) if joins else group.member(member_id))
        _check_epoch(group, known, request.member_epoch, request.topic_partitions)
        return known, []
    if not joins:
        known = group.static_member(member_id, instance_id)
        _check_epoch(group, known, request.member_epoch, request.topic_partitions)
        return known, []
    former = group.members.static(instance_id)
    if former is None:
        return group.members.get(member_id) or ConsumerMember(member_id), []
    if not former.uses_classic_protocol:
        check_released(former, member_id, instance_id)
    return replace_static_member(group, former, member_id)


def replace_static_member(
    group: ConsumerGroup, former: ConsumerMember, member_id: str
) -> tuple[ConsumerMember, list[Change]]:
    """Return a restarted static member, and the records that replace its predecessor.

    The new member takes over the complete state of its predecessor.
    """
    member = former._replace(member_id=member_id, member_epoch=0, previous_member_epoch=0)
    group_id = group.group_id
    target = group.target.get(former.member_id, {})
    return member, [
        *records.without_member(group_id, former.member_id),
        records.member(group_id, member),
        records.target(group_id, member_id, target),
        records.current(group_id, member),
    ]


def _check_epoch(group: ConsumerGroup, member: ConsumerMember, epoch: int, held: ReportedPartitions | None) -> None:
    """Raise FENCED_MEMBER_EPOCH unless `epoch` is the current epoch of the member.

    The previous epoch is also valid if the member owns only partitions that are assigned to it, because it may have
    missed the response with the current epoch.
    """
    rejoins = epoch == JOINING and group.shard.node.release.reconciles_subscription_changes_at_once
    if rejoins or epoch == member.member_epoch:
        return
    if epoch < member.member_epoch and epoch == member.previous_member_epoch and _is_subset(held, member.assigned):
        return
    raise fenced_epoch(group, member, epoch)


def _is_subset(held: ReportedPartitions | None, assigned: Owned) -> bool:
    if held is None:
        return False
    return all(
        of.topic_id in assigned and all(partition in assigned[of.topic_id] for partition in of.partitions)
        for of in held
    )


class Decision:
    """The changes that result from a heartbeat or from a classic member's JoinGroup request.

    `before` is the member as the group knows it (with only an id if it is new), and `after` is the member with all
    changes so far.
    """

    def __init__(
        self,
        group: ConsumerGroup,
        before: ConsumerMember,
        after: ConsumerMember,
        changes: list[Change],
        held: ReportedPartitions | None,
    ) -> None:
        self.group = group
        self.before = before
        self.after = after
        self.changes = changes
        self.held = held
        self._needs_resolving = False
        self._may_describe: TopicCheck | None = None
        self.epoch = group.group_epoch
        self.target_epoch = group.assignment_epoch
        self.target: Assignment = {}
        self.has_subscription_changed = False
        self._is_homogeneous: bool | None = None
        self._takes_step = False
        self._metadata_version = group.metadata_version

    def subscribe(self, may_describe: TopicCheck | None, *, raises_for_regex: bool = False) -> None:
        """Write the member if it has changed, and increment the group epoch if necessary.

        The epoch is incremented if the member's subscription or the subscribed topics have changed. With
        `raises_for_regex`, a new regular expression increments the epoch even if its topics are not known yet. Regular
        expressions match only topics for which `may_describe` is true.
        """
        group, before, after = self.group, self.before, self.after
        self._may_describe = may_describe
        names_changed = False
        if after is not before and after != before:
            self.changes.append(records.member(group.group_id, after))
            names_changed = after.topic_names != before.topic_names
        status, changes, self._needs_resolving = update_regexes(group, before, after)
        self.changes += changes
        self.has_subscription_changed = group.shard.node.release.reconciles_subscription_changes_at_once and (
            names_changed or status is not RegexStatus.SAME
        )
        raises = (
            names_changed
            or not group.group_epoch
            or status is RegexStatus.CHANGED_AND_RESOLVED
            or self._prefers_another_assignor()
        )
        raises |= raises_for_regex and status is not RegexStatus.SAME
        metadata = group.shard.node.metadata
        self._metadata_version = metadata.version
        if not raises and not group.topics_have_changed():
            return
        preview = self._preview()
        self._is_homogeneous = preview.is_homogeneous()
        if raises or group.hash_of(preview.topics()) != group.metadata_hash:
            self.epoch += 1
            self.changes += group.enter_epoch(self.epoch, preview.topics())
        if group.has_partition_metadata and group.shard.node.release.keeps_hash_of_topics:
            self.changes.append(records.no_partition_metadata(group.group_id))

    def commit(self, replacing: Sequence[StateRecord] = ()) -> int:
        """Compute the assignment, reconcile the member, and append all changes after the records in `replacing`.

        Returns the offset of the last record. If KafkaError is raised, it has a code for the client and nothing has
        changed.
        """
        self._assign()
        self.reconcile()
        offset = self.group.commit(self.changes, replacing)
        self._settle()
        if self._needs_resolving:
            resolve_later(self.group, self._may_describe)
        return offset

    def _assign(self) -> None:
        """Compute a new target assignment if the group epoch is newer and the assignment interval has passed."""
        group = self.group
        if group.assignment_epoch >= self.epoch or not group.may_assign():
            self.target = group.target_of(self.after)
            return
        homogeneous = group.members.is_homogeneous() if self._is_homogeneous is None else self._is_homogeneous
        self.target, changes = _compute_target(
            group, self.epoch, self.after, self._assignor(), is_homogeneous=homogeneous
        )
        self.target_epoch = self.epoch
        self.changes += changes

    def reconcile(self) -> None:
        """Move the member a step towards its target assignment."""
        group, after = self.group, self.after
        if not self.has_subscription_changed and after.is_reconciled_to(self.target_epoch):
            return
        names = wanted_names(after, group.members.resolved)
        within_epochs = group.shard.node.release.reconciles_subscription_changes_at_once
        if within_epochs:
            wanted = frozenset(topic_ids(names, group.shard.node.metadata))
        else:
            wanted = frozenset((*self.target, *after.assigned))
        step = Step(
            self.target_epoch,
            self.target,
            wanted,
            bool(names),
            group.members.holder_epoch,
            self.has_subscription_changed,
            self.held,
            0 if within_epochs else 1,
            not group.shard.node.release.keeps_returned_partitions_busy,
        )
        self.after = reconcile(after, step)
        if self.after is not after and self.after != after:
            self.changes.append(records.current(group.group_id, self.after))
            self._takes_step = True

    def _settle(self) -> None:
        """After the append, remember the metadata version and start or cancel the timeout for revoking partitions."""
        self.group.metadata_version = self._metadata_version
        if not self._takes_step or self.after.uses_classic_protocol:
            return
        if self.after.state == MemberState.UNREVOKED_PARTITIONS:
            schedule_rebalance_timeout(self.group, self.after)
        else:
            self.group.timers.cancel(Wait.REBALANCE, self.after.member_id)

    def _preview(self) -> Preview:
        preview = Preview(self.group.members)
        replaced = preview.static(self.after.instance_id)
        if replaced is not None and replaced.member_id != self.after.member_id:
            preview.remove(replaced.member_id)
        preview.update(self.after)
        return preview

    def _prefers_another_assignor(self) -> bool:
        group = self.group
        if self.after.server_assignor is None or not group.shard.node.release.rebalances_for_another_assignor:
            return False
        default = assignors(group.shard.node)[0]
        return (group.members.preferred_assignor() or default) != self._assignor()

    def _assignor(self) -> str:
        default = assignors(self.group.shard.node)[0]
        return self.group.members.preferred_assignor_with(self.before, self.after) or default


# The target assignment (TargetAssignmentBuilder, UpdatedMembersAndTargetAssignmentView)


def _compute_target(
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
        records.target(group.group_id, member_id, dealt.get(member_id, {}))
        for member_id in specs
        if not are_same(before.get(member_id), dealt.get(member_id, {}))
    ]
    release = group.shard.node.release
    timestamp_ms = group.shard.clock.now_ms() if release.keeps_assignment_epochs else 0
    return dealt.get(member.member_id, {}), [*changes, records.target_epoch(group.group_id, epoch, timestamp_ms)]


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
