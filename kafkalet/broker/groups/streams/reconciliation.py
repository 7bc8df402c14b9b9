"""Reconciliation of a member's tasks with its target assignment.

    1   The member has to revoke all tasks that are not in its target. It is in UNREVOKED_TASKS and stays in its epoch
        until a heartbeat no longer lists them.
    2   Then it advances to the epoch of the target and is assigned the tasks that are free.
    3   If others still hold some of its tasks, it is in UNRELEASED_TASKS and is assigned more with later heartbeats.
    4   Otherwise it is STABLE.

An active task is free if no process has it. Standby and warm-up tasks only must not be with another member of the same
process, because the members of a process share the directory of their state. A task that changes its kind within a
member need not be revoked: a standby task becomes the active task, or the other way round.

Source: org.apache.kafka.coordinator.group.streams.CurrentAssignmentBuilder.
"""

from collections.abc import Callable
from typing import NamedTuple

from kafkalet.broker.java_order import order_of_strings
from kafkalet.protocol.errors import Code, KafkaError

from .members import MemberState, StreamsMember, StreamsMembers, Tasks, TaskSet

_IsHeld = Callable[[str, int], bool]


class Step(NamedTuple):
    """The input for the next reconciliation step of a member."""

    target_epoch: int
    target: Tasks
    held: Tasks | None  # the tasks that the member says it has; None if its heartbeat does not list them
    converts: bool = True  # whether tasks change their kind within a member; before 4.4, they are revoked first


def reconcile(member: StreamsMember, step: Step, members: StreamsMembers) -> StreamsMember:
    """Return the member after its next reconciliation step, or unchanged if there is no step to take.

    Raises FENCED_MEMBER_EPOCH if the member's state was written by a later release.
    """
    held = step.held
    if member.state == MemberState.STABLE and member.member_epoch == step.target_epoch:
        return member
    epoch = member.member_epoch
    if member.state == MemberState.UNREVOKED_TASKS:
        if held is None or held.overlaps(member.pending_revocation):
            return member
        epoch += 1
    elif member.state == MemberState.UNKNOWN:
        if held is None or held:
            raise KafkaError(
                Code.FENCED_MEMBER_EPOCH,
                "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin.",
            )
        epoch = step.target_epoch
    return _Reconciliation(member, step, members).result(epoch)


class _Difference:
    """The tasks of one kind that a member keeps, has to revoke, and may be assigned now.

    `waits` is whether it has to wait for others.
    """

    def __init__(self, current: TaskSet, target: TaskSet, epoch: int, is_held: _IsHeld) -> None:
        self.kept: TaskSet = {}
        self.revoked: TaskSet = {}
        self.added: TaskSet = {}
        self.waits = False
        for subtopology in order_of_strings(dict.fromkeys([*target, *current])):
            owned, wanted = current.get(subtopology, {}), target.get(subtopology, {})
            missing = [partition for partition in wanted if partition not in owned]
            free = [partition for partition in missing if not is_held(subtopology, partition)]
            self.waits |= len(free) < len(missing)
            found = (
                {partition: since for partition, since in owned.items() if partition in wanted},
                {partition: since for partition, since in owned.items() if partition not in wanted},
                dict.fromkeys(free, epoch),
            )
            for kind, partitions in zip((self.kept, self.revoked, self.added), found, strict=True):
                if partitions:
                    kind[subtopology] = partitions

    def grant(self, subtopology: str, partition: int) -> bool:
        """Assign a task at once, whether or not others have to be revoked first."""
        if partition not in self.added.get(subtopology, ()):
            return False
        _remove(self.added, subtopology, partition)
        self.kept.setdefault(subtopology, {})[partition] = 0
        return True


def _remove(tasks: TaskSet, subtopology: str, partition: int) -> None:
    of = tasks.get(subtopology, {})
    if of.pop(partition, None) is not None and not of:
        del tasks[subtopology]


class _Reconciliation:
    """A reconciliation step of a member."""

    def __init__(self, member: StreamsMember, step: Step, members: StreamsMembers) -> None:
        self.member = member
        self.step = step
        self.members = members
        owned, target = member.assigned, step.target
        self.own = owned if step.converts else Tasks()
        """Tasks of the member that others do not have to release first, if their kind changes."""
        self.active = _Difference(owned.active, target.active, step.target_epoch, self._is_active_held)
        self.standby = _Difference(owned.standby, target.standby, 0, self._is_standby_held)
        self.warmup = _Difference(owned.warmup, target.warmup, 0, self._is_warmup_held)
        self.waits = self.active.waits or self.standby.waits or self.warmup.waits

    # Tasks of other members

    def _is_active_held(self, subtopology: str, partition: int) -> bool:
        return (
            self.members.active_process(subtopology, partition) is not None
            or self._has_other_standby(subtopology, partition)
            or self._has_other_warmup(subtopology, partition)
        )

    def _is_standby_held(self, subtopology: str, partition: int) -> bool:
        process, owned = self.member.process_id, self.own.active
        runs = self.members.active_process(subtopology, partition) == process
        return (
            (runs and partition not in owned.get(subtopology, ()))
            or self.members.has_standby(process, subtopology, partition)
            or self._has_other_warmup(subtopology, partition)
        )

    def _is_warmup_held(self, subtopology: str, partition: int) -> bool:
        process = self.member.process_id
        return (
            self.members.active_process(subtopology, partition) == process
            or self._has_other_standby(subtopology, partition)
            or self.members.has_warmup(process, subtopology, partition)
        )

    def _has_other_standby(self, subtopology: str, partition: int) -> bool:
        """Return whether another member of the same process has the standby task."""
        own = self.own.standby.get(subtopology, ())
        return self.members.has_standby(self.member.process_id, subtopology, partition) and partition not in own

    def _has_other_warmup(self, subtopology: str, partition: int) -> bool:
        own = self.own.warmup.get(subtopology, ())
        return self.members.has_warmup(self.member.process_id, subtopology, partition) and partition not in own

    # The member after the step

    def result(self, epoch: int) -> StreamsMember:
        """Return the member after the step. It has `epoch` if it has to revoke tasks before it advances."""
        owned, held = self.own, self.step.held
        for subtopology, partition in _each(owned.active):
            self.standby.grant(subtopology, partition)
        for subtopology, partition in _each(owned.standby):
            if self.warmup.grant(subtopology, partition):
                _remove(self.standby.revoked, subtopology, partition)
        for subtopology, partition in _each(owned.warmup):
            if self.standby.grant(subtopology, partition):
                _remove(self.warmup.revoked, subtopology, partition)
        copies = ((owned.standby, self.standby), (owned.warmup, self.warmup))
        promoted = [
            (difference, subtopology, partition)
            for tasks, difference in copies
            for subtopology, partition in _each(tasks)
            if partition in self.step.target.active.get(subtopology, ())
        ]
        for difference, subtopology, partition in promoted:
            _remove(difference.revoked, subtopology, partition)
        pending = Tasks(self.active.revoked, self.standby.revoked, self.warmup.revoked)
        must_revoke = bool(pending) and (held is None or held.overlaps(pending))
        for difference, subtopology, partition in promoted:
            if must_revoke or partition not in self.active.added.get(subtopology, ()):
                difference.kept.setdefault(subtopology, {})[partition] = 0
        kept = Tasks(self.active.kept, self.standby.kept, self.warmup.kept)
        if must_revoke:
            return self.member.at_epoch(epoch, MemberState.UNREVOKED_TASKS, kept, pending)
        added = Tasks(self.active.added, self.standby.added, self.warmup.added)
        state = MemberState.UNRELEASED_TASKS if self.waits else MemberState.STABLE
        return self.member.at_epoch(self.step.target_epoch, state, _merged(kept, added), Tasks())


def _each(tasks: TaskSet) -> list[tuple[str, int]]:
    return [(subtopology, partition) for subtopology, partitions in tasks.items() for partition in partitions]


def _merged(kept: Tasks, added: Tasks) -> Tasks:
    """Return all tasks. Kafka's hash table has new keys at the front of their slots (computeIfAbsent)."""
    merged = []
    for own, more in zip(kept, added, strict=True):
        new = [subtopology for subtopology in reversed(more) if subtopology not in own]
        merged.append({of: {**own.get(of, {}), **more.get(of, {})} for of in (*new, *own)})
    return Tasks(*merged)
