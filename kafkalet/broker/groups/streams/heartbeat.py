"""StreamsGroupHeartbeat. These heartbeats drive all changes of a streams group.

    member         find the member: a new one (epoch 0), an existing one, or a restarted static one
    topology       set the topology of a new group, and check the topics of the topology if they may have changed
    enter_epoch    increment the group epoch if a member, the topics, or the configuration of the assignor has changed
    assign         compute a target assignment for a new epoch, at most once per assignment interval, and for a new
                   group only after the initial rebalance delay
    reconcile      move the member a step towards its target assignment

All changes are computed first, then appended to the log in one batch, and finally applied to the group.

Members do not change their topology yet in any release of Kafka. Warm-up tasks are not assigned yet either
(AssignmentRefiner), but their offsets are stored, and the assignor uses them.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager: streamsGroupHeartbeat, streamsGroupLeave,
streamsGroupFenceMember, maybeUpdateStreamsTargetAssignment, computeDelayedTargetAssignment;
org.apache.kafka.coordinator.group.streams: TargetAssignmentBuilder, topics.EndpointToPartitionsManager.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.assignors.sticky import TaskMember, TaskTopology, assign
from kafkalet.broker.groups.group import Group
from kafkalet.broker.groups.modern.group import check_released, fenced_epoch
from kafkalet.broker.groups.modern.members import JOINING, LEAVING_FOR_A_RESTART
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.groups.modern.timers import Wait
from kafkalet.broker.java_order import order_of_set, order_of_strings
from kafkalet.broker.quoting import quoted
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages import streams_group_structs as structs
from kafkalet.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

from . import records
from .group import RACK_TAGS, STANDBY_REPLICAS, Offsets, StreamsGroup, TaskOffsets
from .members import MemberState, StreamsMember, Tasks, TaskSet, tasks_of
from .reconciliation import Step, reconcile
from .topology import Configured, InternalTopic, Problem, Status, Topology, configure, topology_of

_LOG = logging.getLogger(__name__)

TASK_OFFSET_INTERVAL_MS = 60_000
ACCEPTABLE_RECOVERY_LAG = 10_000
"""Values for clients, from properties that are internal in Kafka."""

FIRST_WITH_CLIENT_TAGS = 1

Request = StreamsGroupHeartbeatRequest
Response = StreamsGroupHeartbeatResponse


class Beat(NamedTuple):
    """A heartbeat, the client that sent it, and the version of the request."""

    request: Request
    client_id: str
    client_host: str
    version: int


def heartbeat(
    group: StreamsGroup, beat: Beat, replacing: Sequence[StateRecord]
) -> tuple[Response, int, list[InternalTopic]]:
    """Handle a heartbeat of a member that joins or stays.

    `replacing` contains the records that delete the classic group that this one replaces. Returns the response, the
    offset of the last record that it depends on, and the internal topics to create. Raises KafkaError.
    """
    decision = _Decision(group, beat)
    decision.update_member()
    decision.update_topology()
    decision.enter_epoch()
    decision.assign()
    decision.reconcile()
    answer = decision.answer()
    offset = decision.commit(replacing)
    return answer, offset, decision.configured.missing


def _held(request: Request) -> Tasks | None:
    """Return the tasks that a member says it has, or None if its heartbeat does not list them."""
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    return tasks_of(request.active_tasks, request.standby_tasks, request.warmup_tasks)


def _find_member(group: StreamsGroup, request: Request) -> tuple[StreamsMember, list[Change]]:
    """Return the member as it was before this heartbeat. A new member has only its id.

    For a restarted static member, also return the records that replace its predecessor.
    """
    member_id, instance_id = request.member_id, request.instance_id
    joins = request.member_epoch == JOINING
    if joins and group.members.static(instance_id) is None:
        may_rejoin = group.shard.node.release.has_static_streams_members
        group.check_has_room(member_id if may_rejoin else "", group.shard.node.config.group_streams_max_size)
    if instance_id is None or joins:
        former = group.members.static(instance_id)
        if instance_id is not None and former is not None:
            check_released(former, member_id, instance_id)
            return _replaced(group, former, member_id)
        known = group.members.get(member_id) or (StreamsMember(member_id) if joins else group.member(member_id))
    else:
        known = group.static_member(member_id, instance_id)
    _check_epoch(group, known, request)
    return known, []


def _replaced(group: StreamsGroup, former: StreamsMember, member_id: str) -> tuple[StreamsMember, list[Change]]:
    """Return a restarted static member, which takes over the tasks of its predecessor, and its records."""
    member = former._replace(member_id=member_id, member_epoch=0, previous_member_epoch=0)
    group_id = group.group_id
    return member, [
        *records.without_member(group_id, former.member_id),
        records.member(group_id, member),
        records.target(group_id, member_id, group.target.get(former.member_id, Tasks())),
        records.current(group_id, member),
    ]


def _check_epoch(group: StreamsGroup, member: StreamsMember, request: Request) -> None:
    """Raise FENCED_MEMBER_EPOCH unless the member has its current epoch, or joins.

    The previous epoch is also valid if the member has only tasks that are assigned to it, because it may have missed
    the response with the current epoch.
    """
    epoch = request.member_epoch
    if epoch in (JOINING, member.member_epoch):
        return
    if epoch == member.previous_member_epoch and epoch < member.member_epoch:
        held = _held(request)
        if held is not None and member.assigned.includes(held):
            return
    raise fenced_epoch(group, member, epoch)


class _Decision:
    """The changes that result from a heartbeat.

    `before` is the member as the group knows it (with only an id if it is new), and `after` is the member with all
    changes so far.
    """

    def __init__(self, group: StreamsGroup, beat: Beat) -> None:
        self.group = group
        self.beat = beat
        self.request = beat.request
        self.joins = beat.request.member_epoch == JOINING
        former = group.members.static(beat.request.instance_id)
        self.replaced = None if former is None or former.member_id == beat.request.member_id else former
        self.before, self.changes = _find_member(group, beat.request)
        self.after = self.before
        self.epoch = group.group_epoch
        self.metadata = group.shard.node.metadata
        self.release = group.shard.node.release
        self.metadata_hash = group.metadata_hash
        self.configs = group.current_configs()
        self.status: list[Problem] = []
        self.targets: dict[str, Tasks] = {}
        self.target_epoch = group.assignment_epoch
        self._recomputes = False
        self._takes_step = False
        self.topology: Topology
        self.configured: Configured

    def update_member(self) -> None:
        """Write the member if it has changed."""
        resets = self.joins and self.release.endpoints_follow_members
        self.after = self.before.updated_by(
            self.request, self.beat.client_id, self.beat.client_host, resets_endpoint=resets
        )
        if self.after != self.before:
            self.changes.append(records.member(self.group.group_id, self.after))
            self._recomputes = self.request.instance_id is None or _decisive(self.after) != _decisive(self.before)

    def update_topology(self) -> None:
        """Set the topology of a new group, and configure it if its topics may have changed."""
        group = self.group
        self.topology = self._topology()
        if group.topology is not None and self.after.topology_epoch < group.topology.epoch:
            self.status.append(
                Problem(
                    Status.STALE_TOPOLOGY,
                    f"The member's topology epoch {self.after.topology_epoch} is behind the group's topology epoch "
                    f"{group.topology.epoch}.",
                )
            )
        is_known = group.topology is not None and group.configured is not None
        if not is_known or group.topics_have_changed():
            self.metadata_hash = group.hash_of(self.topology.required)
            if self.metadata_hash != group.metadata_hash:
                self._recomputes, is_known = True, False
        if is_known and group.configured is not None:
            self.configured = group.configured
        else:
            self.configured = configure(self.topology, self.metadata)
        if self.configured.is_ready:
            self._check_tasks(self.configured)
        self._recomputes |= self._validated_epoch != group.validated_topology_epoch

    @property
    def _validated_epoch(self) -> int:
        return self.topology.epoch if self.configured.is_ready else -1

    def _topology(self) -> Topology:
        sent, known = self.request.topology, self.group.topology
        if sent is None:
            if known is None:  # Kafka fails here
                raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
            return known
        topology = topology_of(sent)
        if known is None:
            self.changes.append(records.topology(self.group.group_id, topology.value))
            return topology
        if known.epoch <= topology.epoch and known != topology:
            raise KafkaError(Code.INVALID_REQUEST, "Topology updates are not supported yet.")
        return known

    def _check_tasks(self, configured: Configured) -> None:
        """Raise INVALID_REQUEST if the member has a task that does not exist."""
        request, subtopologies = self.request, configured.subtopologies or {}
        for of in (*(request.active_tasks or ()), *(request.standby_tasks or ()), *(request.warmup_tasks or ())):
            subtopology = subtopologies.get(of.subtopology_id)
            if subtopology is None:
                raise KafkaError(
                    Code.INVALID_REQUEST, f"Subtopology {of.subtopology_id} does not exist in the topology."
                )
            for partition in of.partitions:
                if not 0 <= partition < subtopology.tasks:
                    raise KafkaError(
                        Code.INVALID_REQUEST,
                        f"Task {partition} for subtopology {of.subtopology_id} is invalid. "
                        f"Number of tasks for this subtopology: {subtopology.tasks}",
                    )

    def enter_epoch(self) -> None:
        """Increment the group epoch if necessary, and let a new group wait for more members."""
        group = self.group
        if self.request.task_offsets is not None or self.request.task_end_offsets is not None:
            known = group.task_offsets.get(self.after.member_id, TaskOffsets())
            group.task_offsets[self.after.member_id] = TaskOffsets(
                known.offsets if self.request.task_offsets is None else _offsets(self.request.task_offsets),
                known.end_offsets if self.request.task_end_offsets is None else _offsets(self.request.task_end_offsets),
            )
        if self._recomputes or self.configs != group.assignment_configs:
            self.epoch += 1
            self.changes.append(
                records.group_epoch(group.group_id, self.epoch, self.metadata_hash, self._validated_epoch, self.configs)
            )
        delay_ms = group.initial_rebalance_delay_ms
        if group.is_empty and delay_ms > 0 and (Wait.MEMBERS, "") not in group.timers:
            group.timers.schedule(Wait.MEMBERS, "", delay_ms, lambda: _assign_after_delay(group))

    def assign(self) -> None:
        """Compute a new target assignment if the group epoch is newer and no delay prevents it."""
        group = self.group
        members, targets = _with(group, self.after)
        if (Wait.MEMBERS, "") in group.timers:
            self._delayed("initial rebalance delay")
            self.target_epoch = max(1, group.assignment_epoch)
        elif group.assignment_epoch >= self.epoch:
            self.targets = targets
        elif not group.may_assign():
            self._delayed("assignment interval")
            self.targets = targets
        else:
            self.targets, changes = _target(group, members, targets, self.configured, self.configs, self.epoch)
            self.changes += changes
            self.target_epoch = self.epoch
        epoch, handed_out = group.handed_out
        if not self.release.has_static_streams_members:
            return
        if self.epoch == group.group_epoch and group.state == "Stable":
            self.targets = group.target
        elif epoch == self.target_epoch:
            self.targets = dict(handed_out)
            if self.replaced is not None and self.replaced.member_id in handed_out:
                self.targets[self.after.member_id] = self.targets.pop(self.replaced.member_id)

    def _delayed(self, reason: str) -> None:
        text = f"Assignment delayed due to the configured {reason}."
        self.status.append(Problem(Status.ASSIGNMENT_DELAYED, text))

    def reconcile(self) -> None:
        """Move the member a step towards its target assignment."""
        target = self.targets.get(self.after.member_id, Tasks())
        step = Step(self.target_epoch, target, _held(self.request), self.release.converts_tasks_within_members)
        after = reconcile(self.after, step, self.group.members)
        if after != self.after:
            self.changes.append(records.current(self.group.group_id, after))
            self._takes_step = True
        self.after = after

    def answer(self) -> Response:
        group, before, after = self.group, self.before, self.after
        answer = Response(
            member_id=after.member_id,
            member_epoch=after.member_epoch,
            heartbeat_interval_ms=group.heartbeat_interval_ms,
            acceptable_recovery_lag=ACCEPTABLE_RECOVERY_LAG,
            task_offset_interval_ms=TASK_OFFSET_INTERVAL_MS if self.release.has_static_streams_members else 0,
            status=[],
            endpoint_information_epoch=0,
        )
        tasks_changed = before.assigned != after.assigned
        if self.joins or tasks_changed:
            answer.active_tasks, answer.standby_tasks, answer.warmup_tasks = map(_ids, after.assigned)
        endpoint_changed = before.user_endpoint != after.user_endpoint
        if self.release.endpoints_follow_members:
            raises = endpoint_changed or (tasks_changed and after.user_endpoint is not None)
        else:
            raises = (self.joins or tasks_changed) and after.user_endpoint is not None
        group.endpoint_epoch += raises
        if group.endpoint_epoch != self.request.endpoint_information_epoch:
            answer.partitions_by_user_endpoint = self._endpoints()
        if not group.is_new:
            answer.endpoint_information_epoch = group.endpoint_epoch
        if self.configured.problem is not None:
            self.status.append(self.configured.problem)
        if self.request.shutdown_application and group.shutdown_requested_by is None:
            group.shutdown_requested_by = after.member_id
        if group.shutdown_requested_by is not None:
            self.status.append(
                Problem(
                    Status.SHUTDOWN_APPLICATION,
                    f"Streams group member {group.shutdown_requested_by} encountered a fatal error and requested a "
                    "shutdown for the entire application.",
                )
            )
        missing = [tag for tag in self.configs.get(RACK_TAGS, "").split(",") if tag and tag not in after.client_tags]
        if missing and self.beat.version >= FIRST_WITH_CLIENT_TAGS:
            self.status.append(
                Problem(
                    Status.MISSING_CLIENT_TAGS,
                    f"Missing required client tags for rack-aware standby assignment: [{', '.join(missing)}]. "
                    "Configure them via 'client.tag.<tagKey>' in your Streams config.",
                )
            )
        answer.status = [Response.Status(status_code=status, status_detail=text) for status, text in self.status]
        return answer

    def _endpoints(self) -> list[Response.EndpointToPartitions]:
        """Return the partitions that each member with an endpoint reads."""
        group = self.group
        others = [
            group.member(member_id) for member_id in group.members.in_order() if member_id != self.after.member_id
        ]
        return [
            _partitions_of(member, self.configured, self.metadata, only_existing=self.release.endpoints_follow_members)
            for member in (*others, self.after)
            if member.user_endpoint is not None
            and (self.replaced is None or member.member_id != self.replaced.member_id)
        ]

    def commit(self, replacing: Sequence[StateRecord]) -> int:
        """Append the changes and apply them. Return the offset of the last record."""
        group, after = self.group, self.after
        is_new = group.is_new
        offset = group.commit(self.changes, replacing)
        group.metadata_version = self.metadata.version
        if is_new:  # Kafka applies the records to another object
            group.endpoint_epoch, group.shutdown_requested_by = 0, None
            group.task_offsets.clear()
        else:
            group.configured = self.configured
            group.handed_out = self.target_epoch, dict(self.targets)
        schedule_session_timeout(group, after.member_id)
        if self._takes_step:
            if after.state == MemberState.UNREVOKED_TASKS:
                schedule_rebalance_timeout(group, after)
            else:
                group.timers.cancel(Wait.REBALANCE, after.member_id)
        return offset


def _decisive(member: StreamsMember) -> tuple[object, ...]:
    """Return the fields of a static member whose change leads to a new assignment."""
    return member.topology_epoch, member.rack_id, member.client_tags, member.process_id


def _offsets(listed: Iterable[structs.TaskOffset]) -> Offsets:
    offsets: dict[str, dict[int, int]] = {}
    for each in listed:
        if each.partition in offsets.setdefault(each.subtopology_id, {}):
            raise KafkaError(
                Code.INVALID_REQUEST,
                f"Task offsets contain a duplicate entry for subtopology {each.subtopology_id} and partition "
                f"{each.partition}.",
            )
        offsets[each.subtopology_id][each.partition] = each.offset
    return offsets


def _ids(tasks: TaskSet) -> list[structs.TaskIds]:
    return [structs.TaskIds(subtopology_id=of, partitions=sorted(tasks[of])) for of in order_of_strings(tasks)]


def _partitions_of(
    member: StreamsMember, configured: Configured, metadata: MetadataImage, *, only_existing: bool
) -> Response.EndpointToPartitions:
    """Return the partitions that a member with an endpoint reads.

    Unless `only_existing`, a topic with fewer partitions than the member has tasks is listed with its first tasks.
    Raises UNKNOWN_SERVER_ERROR, as Kafka fails, if the number of tasks is not known or a topic does not exist.
    """
    kind = Response.EndpointToPartitions
    subtopologies, endpoint = configured.subtopologies, member.user_endpoint
    if subtopologies is None or endpoint is None:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    _, standby, warmup = member.assigned
    copies: TaskSet = {
        of: {**standby.get(of, {}), **warmup.get(of, {})} for of in order_of_strings({**standby, **warmup})
    }

    def partitions(tasks: TaskSet) -> list[Response.EndpointToPartitions.TopicPartition]:
        found = []
        for name in order_of_strings(tasks):
            of = subtopologies[name]
            sources = order_of_set(sorted({*of.sources, *(topic.name for topic in of.repartition_sources)}))
            for topic in sources:
                known = metadata.topics.get(topic)
                if known is None:
                    raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
                count = len(known.partitions)
                read = sorted(tasks[name])
                read = [partition for partition in read if partition < count] if only_existing else read[:count]
                if read:
                    found.append(kind.TopicPartition(topic=topic, partitions=read))
        return found

    return kind(
        user_endpoint=structs.Endpoint(host=endpoint.host, port=endpoint.port),
        active_partitions=partitions(member.assigned.active),
        standby_partitions=partitions(copies),
    )


# The target assignment (TargetAssignmentBuilder, UpdatedMembersAndTargetAssignmentView)


def _with(group: StreamsGroup, member: StreamsMember) -> tuple[dict[str, StreamsMember], dict[str, Tasks]]:
    """Return all members and their targets, including the changed member. A new member comes last."""
    members = {member_id: group.member(member_id) for member_id in group.members.in_order()}
    targets = group.target
    replaced = group.members.static(member.instance_id)
    if replaced is not None and replaced.member_id != member.member_id:
        targets = dict(targets)
        if (had := targets.pop(replaced.member_id, None)) is not None:
            targets[member.member_id] = had
        del members[replaced.member_id]
    members[member.member_id] = member
    return members, targets


def _target(
    group: StreamsGroup,
    members: Mapping[str, StreamsMember],
    targets: Mapping[str, Tasks],
    configured: Configured,
    configs: Mapping[str, str],
    epoch: int,
) -> tuple[dict[str, Tasks], list[Change]]:
    """Compute a target assignment. Return it, and the records of all tasks that have changed and of the epoch."""
    dealt = {member_id: Tasks() for member_id in order_of_strings(members)}
    if configured.is_ready and configured.subtopologies is not None:
        subtopologies = configured.subtopologies
        topology = TaskTopology(
            {name: of.tasks for name, of in subtopologies.items()},
            frozenset(name for name, of in subtopologies.items() if of.changelogs),
        )
        by_owners = group.shard.node.release.assigns_tasks_by_their_owners
        specs = {}
        for member_id in dealt:
            member, offsets = members[member_id], group.task_offsets.get(member_id, TaskOffsets()).offsets
            specs[member_id] = _spec(member, member.assigned if by_owners else targets.get(member_id, Tasks()), offsets)
        active, standby = assign(specs, topology, int(configs.get(STANDBY_REPLICAS, 0)), ranks_copies=by_owners)
        dealt = {
            member_id: Tasks(_task_set(active.get(member_id, ())), _task_set(standby.get(member_id, ())))
            for member_id in dealt
        }
    _LOG.debug("group %s: computed target assignment of epoch %d", quoted(group.group_id), epoch)
    changes = [
        records.target(group.group_id, member_id, tasks)
        for member_id, tasks in dealt.items()
        if targets.get(member_id) != tasks
    ]
    timestamp_ms = group.shard.clock.now_ms() if group.shard.node.release.keeps_assignment_epochs else 0
    changes.append(records.target_epoch(group.group_id, epoch, timestamp_ms))
    return dealt, changes


def _spec(member: StreamsMember, had: Tasks, offsets: Offsets) -> TaskMember:
    active, standby = (
        [(of, partition) for of, partitions in kind.items() for partition in partitions]
        for kind in (had.active, had.standby)
    )
    copies = {(of, partition): offset for of, each in offsets.items() for partition, offset in each.items()}
    return TaskMember(member.process_id, active, standby, copies)


def _task_set(tasks: Iterable[tuple[str, int]]) -> TaskSet:
    found: TaskSet = {}
    for subtopology, partition in tasks:
        found.setdefault(subtopology, {})[partition] = 0
    return found


def _assign_after_delay(group: StreamsGroup) -> None:
    """Compute the first target assignment of a group after the initial rebalance delay."""
    if group.is_empty or group.configured is None or group.group_epoch <= group.assignment_epoch:
        return  # the next heartbeat computes it
    members = {member_id: group.member(member_id) for member_id in group.members.in_order()}
    configs, epoch = group.assignment_configs, group.group_epoch
    _, changes = _target(group, members, group.target, group.configured, configs, epoch)
    try:
        group.commit(changes)
    except KafkaError as error:
        _LOG.warning("group %s: cannot assign tasks: %s", quoted(group.group_id), error.code.name)


# Leaving


def leave(group: StreamsGroup, request: Request) -> int:
    """Remove a member, or mark it as restarting. Returns the offset of the last record. Raises KafkaError."""
    if request.shutdown_application and group.shutdown_requested_by is None:
        group.shutdown_requested_by = request.member_id
    if request.instance_id is None:
        return fence(group, group.member(request.member_id))
    member = group.static_member(request.member_id, request.instance_id)
    if request.member_epoch != LEAVING_FOR_A_RESTART:
        return fence(group, member)
    return group.commit([records.current(group.group_id, member.restarting())])


def fence(group: StreamsGroup, member: StreamsMember) -> int:
    """Remove a member and return the offset of the last record."""
    epoch = group.group_epoch + 1
    changes = [*records.without_member(group.group_id, member.member_id), group.epoch_record(epoch)]
    if len(group.members) == 1 and group.shard.node.release.settles_empty_groups:
        changes.append(records.target_epoch(group.group_id, epoch, 0))
    offset = group.commit(changes)
    group.timers.forget(member.member_id)
    return offset


def remove(group: Group, member_id: str) -> None:
    """Remove a member. Raises UNKNOWN_MEMBER_ID."""
    assert isinstance(group, StreamsGroup)
    fence(group, group.member(member_id))


def schedule_session_timeout(group: StreamsGroup, member_id: str) -> None:
    """Restart the session timeout of a member after a heartbeat."""
    group.timers.schedule(
        Wait.SESSION,
        member_id,
        group.session_timeout_ms,
        lambda: _fence_missing(group, member_id, "its session timed out"),
    )


def schedule_rebalance_timeout(group: StreamsGroup, member: StreamsMember) -> None:
    """Start the rebalance timeout of a member that has to revoke tasks."""
    member_id, epoch = member.member_id, member.member_epoch

    def missed() -> None:
        now = group.members.get(member_id)
        if now is not None and now.member_epoch == epoch:
            _fence_missing(group, member_id, f"still in epoch {epoch} after its rebalance timeout")

    group.timers.schedule(Wait.REBALANCE, member_id, member.rebalance_timeout_ms, missed)


def resume(group: Group) -> None:
    """Restart all timeouts after the log was replayed."""
    assert isinstance(group, StreamsGroup)
    for member in group.members:
        schedule_session_timeout(group, member.member_id)
        if member.state == MemberState.UNREVOKED_TASKS:
            schedule_rebalance_timeout(group, member)


def _fence_missing(group: StreamsGroup, member_id: str, reason: str) -> None:
    if not group.fence_missing(member_id, reason, lambda member: fence(group, member)):
        schedule_session_timeout(group, member_id)
