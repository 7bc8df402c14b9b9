"""What follows from a member that has changed, for its group and for itself: the records that are to be written.

The three steps come in this order: `subscribe` may raise the group epoch, `assign` may make a new target for it,
`reconcile` takes the member a step towards the target.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager: updateSubscriptionMetadata,
maybeUpdateTargetAssignment, maybeReconcile.
"""

from . import consumer_records as records
from .assignors.spec import Assignment
from .consumer_config import assignment_interval_ms, assignors
from .consumer_epochs import enter_epoch, hash_of
from .consumer_leaving import expect_revocation
from .consumer_member import ConsumerMember, MemberState
from .consumer_members import Preview
from .consumer_reconciliation import Held, Step, reconcile
from .consumer_records import Change
from .consumer_regex import RegexStatus, look_at_regexes
from .consumer_state import NEVER_READ, ConsumerState
from .consumer_target import compute_target
from .consumer_timers import Wait
from .consumer_topics import topic_ids, wanted_names


class Decision:
    """`before` is the member as the group knows it (or a blank one), `after` as it is from now on."""

    def __init__(
        self,
        group: ConsumerState,
        before: ConsumerMember,
        after: ConsumerMember,
        changes: list[Change],
        held: Held | None,
    ) -> None:
        self.group = group
        self.before = before
        self.after = after
        self.changes = changes
        self.held = held
        self.needs_resolving = False
        self.epoch = group.group_epoch
        self.target_epoch = group.assignment_epoch
        self.target: Assignment = {}
        self.has_subscription_changed = False
        self._is_homogeneous: bool | None = None
        self._takes_step = False
        self._metadata_version = group.metadata_version

    def subscribe(self, *, raises_for_regex: bool = False) -> None:
        """Write the member down if it has changed, and raise the group epoch if that or the topics demand it.
        `raises_for_regex`: also for a regular expression whose topics are not known yet."""
        group, before, after = self.group, self.before, self.after
        names_changed = False
        if after is not before and after != before:
            self.changes.append(records.member(group.group_id, after))
            names_changed = after.topic_names != before.topic_names
        status, changes, self.needs_resolving = look_at_regexes(group, before, after)
        self.changes += changes
        self.has_subscription_changed = group.shard.node.release.looks_at_subscriptions_within_epochs and (
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
        if not raises and not self._topics_have_changed():
            return
        preview = self._preview()
        self._is_homogeneous = preview.is_homogeneous()
        if raises or hash_of(group, preview.topics()) != group.metadata_hash:
            self.epoch += 1
            self.changes += enter_epoch(group, self.epoch, preview.topics())
        if group.has_partition_metadata and group.shard.node.release.keeps_hash_of_topics:
            self.changes.append(records.no_partition_metadata(group.group_id))

    def assign(self) -> None:
        """Compute a new target if the group epoch has gone up, and the last one is old enough."""
        group = self.group
        if group.assignment_epoch >= self.epoch or not self._may_assign():
            self.target = group.target_of(self.after)
            return
        homogeneous = group.members.is_homogeneous() if self._is_homogeneous is None else self._is_homogeneous
        self.target, changes = compute_target(
            group, self.epoch, self.after, self._assignor(), is_homogeneous=homogeneous
        )
        self.target_epoch = self.epoch
        self.changes += changes

    def reconcile(self) -> ConsumerMember:
        """The member after its next step."""
        group, after = self.group, self.after
        if not self.has_subscription_changed and after.is_reconciled_to(self.target_epoch):
            return after
        names = wanted_names(after, group.members.resolved)
        within_epochs = group.shard.node.release.looks_at_subscriptions_within_epochs
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
        )
        self.after = reconcile(after, step)
        if self.after is not after and self.after != after:
            self.changes.append(records.current(group.group_id, self.after))
            self._takes_step = True
        return self.after

    def settle(self) -> None:
        """After all was written: remember what was looked at, and wait for what the member has to give back."""
        self.group.metadata_version = self._metadata_version
        if not self._takes_step or self.after.uses_classic_protocol:
            return
        if self.after.state == MemberState.UNREVOKED_PARTITIONS:
            expect_revocation(self.group, self.after)
        else:
            self.group.timers.cancel(Wait.REBALANCE, self.after.member_id)

    def _topics_have_changed(self) -> bool:
        """Whether a topic that somebody wants has changed since the group looked last."""
        group, metadata = self.group, self.group.shard.node.metadata
        since = group.metadata_version
        if since in (self._metadata_version, NEVER_READ):
            return since == NEVER_READ
        return any(metadata.may_have_changed(name, since) for name in group.members.topics())

    def _preview(self) -> Preview:
        preview = Preview(self.group.members)
        replaced = preview.static(self.after.instance_id)
        if replaced is not None and replaced.member_id != self.after.member_id:
            preview.remove(replaced.member_id)
        preview.update(self.after)
        return preview

    def _may_assign(self) -> bool:
        interval_ms, since_ms = assignment_interval_ms(self.group), self.group.assignment_timestamp_ms
        return not since_ms or not interval_ms or self.group.shard.clock.now_ms() >= since_ms + interval_ms

    def _prefers_another_assignor(self) -> bool:
        group = self.group
        if self.after.server_assignor is None or not group.shard.node.release.rebalances_for_another_assignor:
            return False
        default = assignors(group.shard.node)[0]
        return (group.members.preferred_assignor() or default) != self._assignor()

    def _assignor(self) -> str:
        default = assignors(self.group.shard.node)[0]
        return self.group.members.preferred_assignor_with(self.before, self.after) or default
