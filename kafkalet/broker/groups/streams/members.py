"""The members of a streams group, and which process runs which task.

A task is a partition number of a subtopology: it reads the partitions with this number of all source topics.

    active task     processes records
    standby task    keeps a copy of the state of an active task
    warm-up task    builds such a copy before the active task moves; no release assigns any yet

A member is a thread of a process. Members of the same process share the directory of their state, so that only one of
them can have a task at a time.

Source: org.apache.kafka.coordinator.group.streams.StreamsGroupMember, TasksTuple, TasksTupleWithEpochs, MemberState;
StreamsGroup, methods about processes of tasks.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from kafkalet.broker.groups.modern.members import LEAVING_FOR_A_RESTART, Members
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalet.protocol.messages.streams_group_metadata import OwnedTaskIds
from kafkalet.protocol.messages.streams_group_structs import TaskIds

TaskSet = dict[str, dict[int, int]]
"""Tasks by subtopology, each with the epoch in which it was assigned. Only the epochs of assigned active tasks count;
others are 0."""

_NONE: TaskSet = {}
_NO_TAGS: dict[str, str] = {}


class Tasks(NamedTuple):
    """Tasks of each kind."""

    active: TaskSet = _NONE
    standby: TaskSet = _NONE
    warmup: TaskSet = _NONE

    def __bool__(self) -> bool:
        return any(self)

    def overlaps(self, other: "Tasks") -> bool:
        """Return whether any task is in both, as the same kind."""
        return any(
            not own[subtopology].keys().isdisjoint(tasks)
            for own, others in zip(self, other, strict=True)
            for subtopology, tasks in others.items()
            if subtopology in own
        )

    def includes(self, other: "Tasks") -> bool:
        """Return whether these are all of the tasks of `other`, as the same kind."""
        return all(
            subtopology in own and tasks.keys() <= own[subtopology].keys()
            for own, others in zip(self, other, strict=True)
            for subtopology, tasks in others.items()
        )


def tasks_of(*kinds: Iterable[TaskIds | OwnedTaskIds]) -> Tasks:
    """Return the tasks of a request or a record, which lists active, standby and warm-up tasks."""
    return Tasks(*({of.subtopology_id: dict.fromkeys(of.partitions, 0) for of in kind} for kind in kinds))


class MemberState(IntEnum):
    """The progress of a member towards its target assignment, as numbered in its record."""

    STABLE = 1
    UNREVOKED_TASKS = 2  # has to revoke tasks before it advances
    UNRELEASED_TASKS = 3  # waits for tasks that other members have not released yet
    UNKNOWN = 127  # written by a later release


class Endpoint(NamedTuple):
    """The address at which a process serves queries of its state."""

    host: str
    port: int


class StreamsMember(NamedTuple):
    """A member of a streams group. The host is formatted as in Java: "/127.0.0.1"."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: dict[str, str] = _NO_TAGS
    assigned: Tasks = Tasks()
    pending_revocation: Tasks = Tasks()

    @property
    def topic_names(self) -> frozenset[str]:
        """The empty set: the topology decides which topics a member reads."""
        return frozenset()

    def is_reconciled_to(self, epoch: int) -> bool:
        """Return whether the member has exactly its target assignment of this epoch."""
        return self.state == MemberState.STABLE and self.member_epoch == epoch

    def at_epoch(self, epoch: int, state: MemberState, assigned: Tasks, pending: Tasks) -> "StreamsMember":
        """Return the member after a reconciliation step."""
        return self._replace(
            state=state,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
            pending_revocation=pending,
        )

    def restarting(self) -> "StreamsMember":
        """Return a static member that has left for a restart. It keeps its tasks, but not their epochs."""
        active = {subtopology: dict.fromkeys(tasks, 0) for subtopology, tasks in self.assigned.active.items()}
        return self._replace(
            member_epoch=LEAVING_FOR_A_RESTART,
            assigned=self.assigned._replace(active=active),
            pending_revocation=Tasks(),
        )

    def updated_by(
        self, request: StreamsGroupHeartbeatRequest, client_id: str, client_host: str, *, resets_endpoint: bool
    ) -> "StreamsMember":
        """Return the member updated by a heartbeat. A null field in the heartbeat means that it has not changed.

        With `resets_endpoint`, a null endpoint means that the member has none.
        """
        timeout_ms, endpoint = request.rebalance_timeout_ms, request.user_endpoint
        user_endpoint = None if endpoint is None else Endpoint(endpoint.host, endpoint.port)
        return self._replace(
            instance_id=self.instance_id if request.instance_id is None else request.instance_id,
            rack_id=self.rack_id if request.rack_id is None else request.rack_id,
            client_id=client_id,
            client_host=client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            topology_epoch=self.topology_epoch if request.topology is None else request.topology.epoch,
            process_id=self.process_id if request.process_id is None else request.process_id,
            user_endpoint=user_endpoint if resets_endpoint or user_endpoint is not None else self.user_endpoint,
            client_tags=(
                self.client_tags
                if request.client_tags is None
                else unique((tag.key, tag.value) for tag in request.client_tags)
            ),
        )


def unique(items: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a dict. Raises UNKNOWN_SERVER_ERROR for a repeated key, where Kafka fails (Collectors.toMap)."""
    items = list(items)
    found = dict(items)
    if len(found) < len(items):
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    return found


class StreamsMembers(Members[StreamsMember]):
    """The members of a group, keyed by member id, and the processes of their tasks.

    A task that a member has not revoked yet still belongs to its process.
    """

    def __init__(self) -> None:
        super().__init__()
        self._active: dict[tuple[str, int], str] = {}
        self._copies: tuple[dict[tuple[str, int], set[str]], ...] = ({}, {})

    def count(self, member: StreamsMember) -> None:
        super().count(member)
        for tasks in (member.assigned, member.pending_revocation):
            self._active.update(dict.fromkeys(_flat(tasks.active), member.process_id))
            for processes, copies in zip(self._copies, tasks[1:], strict=True):
                for task in _flat(copies):
                    processes.setdefault(task, set()).add(member.process_id)

    def uncount(self, member: StreamsMember) -> None:
        super().uncount(member)
        for tasks in (member.assigned, member.pending_revocation):
            for task in _flat(tasks.active):
                if self._active.get(task) == member.process_id:
                    del self._active[task]
            for processes, copies in zip(self._copies, tasks[1:], strict=True):
                for task in _flat(copies):
                    processes.get(task, set()).discard(member.process_id)

    def active_process(self, subtopology: str, partition: int) -> str | None:
        """Return the process with the active task, or None."""
        return self._active.get((subtopology, partition))

    def has_standby(self, process: str, subtopology: str, partition: int) -> bool:
        """Return whether a process has the standby task."""
        return process in self._copies[0].get((subtopology, partition), ())

    def has_warmup(self, process: str, subtopology: str, partition: int) -> bool:
        """Return whether a process has the warm-up task."""
        return process in self._copies[1].get((subtopology, partition), ())


def _flat(tasks: TaskSet) -> list[tuple[str, int]]:
    return [(subtopology, partition) for subtopology, partitions in tasks.items() for partition in partitions]
