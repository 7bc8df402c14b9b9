"""ShareGroupHeartbeat. These heartbeats drive all changes of a share group.

    member         find the member: a new one (epoch 0) or an existing one
    subscribe      increment the group epoch if the subscription, the subscribed topics or the initialized partitions
                   have changed
    assign         compute a target assignment for a new epoch, at most once per assignment interval
    reconcile      move the member to its target assignment
    initialize     note the partitions of new topics, whose state has to be initialized before they are assigned

All changes are computed first, then appended to the log in one batch, and finally applied to the group. So the first
heartbeat of a member returns no partitions of a new topic; they are assigned with a heartbeat after the share
coordinator has initialized them.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager: shareGroupHeartbeat, shareGroupLeave,
shareGroupFenceMember, maybeCreateInitializeShareGroupStateRequest; ShareGroupAssignmentBuilder.
"""

from collections import Counter
from collections.abc import Iterable

from kafkalet.broker.groups.assignors.simple import assign
from kafkalet.broker.groups.assignors.spec import Assignment, MemberSpec, Spec, are_same
from kafkalet.broker.groups.group import Group
from kafkalet.broker.groups.modern.members import JOINING
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.groups.modern.timers import Wait
from kafkalet.broker.groups.modern.topics import topic_ids
from kafkalet.broker.java_order import order_of_set, order_of_strings
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

from . import records
from .group import ShareGroup, in_subscription
from .initialization import Initialization
from .members import STABLE, ShareMember
from .states import States

Response = ShareGroupHeartbeatResponse


def heartbeat(
    group: ShareGroup, request: ShareGroupHeartbeatRequest, client_id: str, client_host: str
) -> tuple[Response, int, Initialization | None]:
    """Handle a heartbeat of a member that joins or stays.

    Returns the response, the offset of the last record that it depends on, and the partitions whose state has to be
    initialized after that record is replicated. Raises KafkaError.
    """
    joins = request.member_epoch == JOINING
    group.check_has_room(request.member_id, group.shard.node.config.group_share_max_size)
    known = group.members.get(request.member_id)
    before = known or (ShareMember(request.member_id) if joins else group.member(request.member_id))
    _check_epoch(group, before, request.member_epoch)
    decision = _Decision(group, before, before.updated_by(request, client_id, client_host))
    decision.subscribe()
    decision.assign()
    decision.reconcile()
    initialization = decision.initialize()
    offset = group.commit(decision.changes)
    group.metadata_version = decision.metadata_version
    after = decision.after
    schedule_session_timeout(group, after.member_id)
    answer = Response(
        member_id=after.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=group.heartbeat_interval_ms,
    )
    is_full = request.subscribed_topic_names is not None
    if joins or is_full or not are_same(before.assigned, after.assigned):
        answer.assignment = _response_assignment(after.assigned)
    return answer, offset, initialization


def _response_assignment(assigned: Assignment) -> Response.Assignment:
    topic = Response.Assignment.TopicPartitions
    return Response.Assignment(
        topic_partitions=[topic(topic_id=topic_id, partitions=list(of)) for topic_id, of in assigned.items()]
    )


def _check_epoch(group: ShareGroup, member: ShareMember, epoch: int) -> None:
    """Raise FENCED_MEMBER_EPOCH unless `epoch` is the current or the previous epoch of the member, or it rejoins."""
    rejoins = epoch == JOINING and group.shard.node.release.reconciles_subscription_changes_at_once
    if rejoins or epoch == member.member_epoch:
        return
    end = "The member must abandon all its partitions and rejoin."
    if epoch > member.member_epoch:
        raise KafkaError(
            Code.FENCED_MEMBER_EPOCH,
            f"The share group member has a greater member epoch ({epoch}) than the one known by the group coordinator "
            f"({member.member_epoch}). {end}",
        )
    if epoch != member.previous_member_epoch:
        raise KafkaError(
            Code.FENCED_MEMBER_EPOCH,
            f"The share group member has a smaller member epoch ({epoch}) than the one known by the group coordinator "
            f"({member.member_epoch}), and it does not match the previous member epoch "
            f"({member.previous_member_epoch}). {end}",
        )


class _Decision:
    """The changes that result from a heartbeat.

    `before` is the member as the group knows it (with only an id if it is new), and `after` is the member with all
    changes so far.
    """

    def __init__(self, group: ShareGroup, before: ShareMember, after: ShareMember) -> None:
        self.group = group
        self.before = before
        self.after = after
        self.changes: list[Change] = []
        self.epoch = group.group_epoch
        self.target_epoch = group.assignment_epoch
        self.target = group.target.get(after.member_id, {})
        self.names: Iterable[str] = group.members.names
        self.metadata_version = group.shard.node.metadata.version
        self._is_homogeneous: bool | None = None
        self._has_new_epoch = False

    def subscribe(self) -> None:
        """Write the member if it has changed, and increment the group epoch if necessary."""
        group, after = self.group, self.after
        if after != self.before:
            self.changes.append(records.member(group.group_id, after))
        raises = after.topic_names != self.before.topic_names
        is_assigned = group.assignment_epoch >= group.group_epoch
        if is_assigned or not group.shard.node.release.reconciles_subscription_changes_at_once:
            raises |= _waits_for_assignment(group)
        if not raises and not group.topics_have_changed():
            return
        members = group.members.preview()
        members.update(after)
        self.names, self._is_homogeneous = members.names, members.is_homogeneous()
        if raises or group.hash_of(self.names) != group.metadata_hash:
            self.epoch += 1
            self.changes += group.enter_epoch(self.epoch, self.names)
            self._has_new_epoch = True

    def assign(self) -> None:
        """Compute a new target assignment if the group epoch is newer and the assignment interval has passed."""
        group = self.group
        if group.assignment_epoch >= self.epoch or not group.may_assign():
            return
        homogeneous = group.members.is_homogeneous() if self._is_homogeneous is None else self._is_homogeneous
        dealt, before = _target(group, self.after, is_homogeneous=homogeneous), group.target
        self.changes += [
            records.target(group.group_id, member_id, dealt.get(member_id, {}))
            for member_id in _in_order(group, self.after)
            if not are_same(before.get(member_id), dealt.get(member_id, {}))
        ]
        node = group.shard.node
        timestamp_ms = group.shard.clock.now_ms() if node.release.keeps_assignment_epochs else 0
        self.changes.append(records.target_epoch(group.group_id, self.epoch, timestamp_ms))
        self.target, self.target_epoch = dealt.get(self.after.member_id, {}), self.epoch

    def reconcile(self) -> None:
        """Move the member to its target assignment."""
        group, member, node = self.group, self.after, self.group.shard.node
        filters = node.release.reconciles_subscription_changes_at_once
        is_reconciled = member.is_reconciled_to(self.target_epoch)
        if is_reconciled and not (filters and self._has_new_epoch):
            return
        assigned = in_subscription(self.target, member, node) if filters else self.target
        if self.target_epoch != member.member_epoch:
            self.after = member._replace(
                state=STABLE,
                member_epoch=self.target_epoch,
                previous_member_epoch=member.member_epoch,
                assigned=assigned,
            )
        elif filters and self._has_new_epoch:
            self.after = member._replace(assigned=assigned)
        is_unchanged = self.after._replace(assigned={}) == member._replace(assigned={})
        if not is_unchanged or not are_same(member.assigned, self.after.assigned):
            self.changes.append(records.current(group.group_id, self.after))

    def initialize(self) -> Initialization | None:
        """Note the subscribed partitions without a state. Returns those whose initialization begins now."""
        group, node = self.group, self.group.shard.node
        known = group.states or States()
        now_ms = group.shard.clock.now_ms()
        missing = known.missing(self.names, node.metadata, now_ms, group.retry_interval_ms)
        if not missing:
            return None
        self.changes.append(group.with_states(known.begin(missing)))
        knows = known.initialized.keys() | known.initializing.keys() if node.release.reads_new_partitions_fully else ()
        return Initialization.of(group.group_id, self.epoch, missing, known=knows)


def _waits_for_assignment(group: ShareGroup) -> bool:
    """Return whether initialized partitions of a subscribed topic are not assigned to any member yet."""
    if group.states is None or not group.states.initialized or not group.members.names:
        return False
    assigned: dict[bytes, frozenset[int]] = {}
    for target in group.target.values():
        for topic_id, partitions in target.items():
            assigned[topic_id] = assigned.get(topic_id, frozenset()).union(partitions)
    if not group.shard.node.release.reconciles_subscription_changes_at_once:  # compares even other topics
        return group.states.assignable != assigned
    return any(
        topic.name in group.members.names and assigned.get(topic_id) != topic.partitions
        for topic_id, topic in group.states.initialized.items()
    )


def _target(group: ShareGroup, member: ShareMember, *, is_homogeneous: bool) -> dict[str, Assignment]:
    """Compute the target assignment of a group in which `member` has changed or is new."""
    metadata = group.shard.node.metadata
    specs: dict[str, MemberSpec] = {}
    for member_id in _in_order(group, member):
        each = member if member_id == member.member_id else group.member(member_id)
        topics = topic_ids(order_of_set(sorted(each.topic_names)), metadata)
        specs[member_id] = MemberSpec(None, topics, len(each.topic_names), group.target.get(member_id, {}))
    counts = {
        topic_id: len(topic.partitions)
        for spec in specs.values()
        for topic_id in spec.topic_ids
        if (topic := metadata.topic_by_id(topic_id)) is not None
    }
    states = group.states or States()
    return assign(Spec(specs, counts, group.assigned, is_homogeneous), states.assignable)


def _in_order(group: ShareGroup, member: ShareMember) -> list[str]:
    """Return the member ids, with that of a new member, in the iteration order of Kafka's hash table."""
    members = group.members.preview()
    members.update(member)
    return order_of_strings(members.in_order())


# Leaving


def leave(group: ShareGroup, member_id: str) -> int:
    """Remove a member and return the offset of the last record. Raises KafkaError."""
    return fence(group, group.member(member_id))


def fence(group: ShareGroup, member: ShareMember) -> int:
    """Remove a member and return the offset of the last record."""
    names: Counter[str] = group.members.names - Counter(member.topic_names)
    epoch = group.group_epoch + 1
    changes = records.without_member(group.group_id, member.member_id)
    changes += group.enter_epoch(epoch, names)
    if len(group.members) == 1 and group.shard.node.release.settles_empty_groups:
        changes.append(records.target_epoch(group.group_id, epoch, 0))
    offset = group.commit(changes)
    group.timers.forget(member.member_id)
    return offset


def remove(group: Group, member_id: str) -> None:
    """Remove a member. Raises UNKNOWN_MEMBER_ID."""
    assert isinstance(group, ShareGroup)
    leave(group, member_id)


def resume(group: Group) -> None:
    """Restart all session timeouts after the log was replayed."""
    assert isinstance(group, ShareGroup)
    for member in group.members:
        schedule_session_timeout(group, member.member_id)


def schedule_session_timeout(group: ShareGroup, member_id: str) -> None:
    """Restart the session timeout of a member after a heartbeat."""
    group.timers.schedule(Wait.SESSION, member_id, group.session_timeout_ms, lambda: _fence_missing(group, member_id))


def _fence_missing(group: ShareGroup, member_id: str) -> None:
    if not group.fence_missing(member_id, "its session timed out", lambda member: fence(group, member)):
        schedule_session_timeout(group, member_id)
