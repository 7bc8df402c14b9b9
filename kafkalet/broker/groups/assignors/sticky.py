"""The sticky assignor of streams groups.

    active      A task stays with the member that has it, as long as that member has no more than its share. Then it
                goes to a member with a standby task, or with the most recent state of the task on its disk. The others
                go to the process with the least load, and there to the member with the fewest tasks.
    standby     A standby task goes to the member that had the active task, then to one that had the standby task, and
                otherwise to the process with the least load. A process has only one copy of a task.

Source: org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor, ProcessState.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Generic, NamedTuple, TypeVar

from kafkalet.broker.java_order import HashTable, order_of_strings, string_hash, with_capacity
from kafkalet.broker.quoting import quoted

_LOG = logging.getLogger(__name__)

Task = tuple[str, int]
"""A subtopology and a partition."""

T = TypeVar("T")


class TaskMember(NamedTuple):
    """A member as seen by the assignor. `offsets` are those that it has reported for the tasks on its disk."""

    process_id: str
    active: list[Task]
    standby: list[Task]
    offsets: Mapping[Task, int]


class TaskTopology(NamedTuple):
    """The number of tasks of each subtopology, sorted by id, and those of them with a state."""

    tasks: Mapping[str, int]
    stateful: frozenset[str]

    def all_tasks(self, *, only_stateful: bool = False) -> list[Task]:
        return [
            (subtopology, partition)
            for subtopology, count in self.tasks.items()
            if not only_stateful or subtopology in self.stateful
            for partition in range(count)
        ]


class Dealt(NamedTuple):
    """The tasks of each member."""

    active: dict[str, list[Task]]
    standby: dict[str, list[Task]]


def assign(
    members: Mapping[str, TaskMember], topology: TaskTopology, standby_replicas: int, *, ranks_copies: bool = True
) -> Dealt:
    """Return the tasks of each member. `members` are in the iteration order of Java's HashMap.

    `ranks_copies` is whether members whose processes have a task are left out when a former copy is looked for. Before
    4.4, none is found if the process of the first one has the task.
    """
    assignment = _Assignment(members, topology, standby_replicas, ranks_copies=ranks_copies)
    assignment.deal_active(topology.all_tasks())
    if standby_replicas > 0:
        assignment.deal_standby(topology.all_tasks(only_stateful=True))
    return assignment.dealt


class JavaQueue(Generic[T]):
    """java.util.PriorityQueue, in which the order of equal elements follows from its algorithm."""

    def __init__(self, elements: Iterable[T], key: Callable[[T], float]) -> None:
        self._heap: list[T] = []
        self._key = key
        for element in elements:
            self.add(element)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, element: T) -> None:
        heap, key = self._heap, self._key
        heap.append(element)
        place, value = len(heap) - 1, key(element)
        while place and value < key(heap[(place - 1) // 2]):
            heap[place] = heap[(place - 1) // 2]
            place = (place - 1) // 2
        heap[place] = element

    def poll(self) -> T | None:
        """Remove the smallest element and return it, or None if there is none."""
        heap, key = self._heap, self._key
        if not heap:
            return None
        smallest, last = heap[0], heap.pop()
        if heap:
            place, value = 0, key(last)
            while (child := 2 * place + 1) < len(heap):
                if child + 1 < len(heap) and key(heap[child]) > key(heap[child + 1]):
                    child += 1
                if value <= key(heap[child]):
                    break
                heap[place] = heap[child]
                place = child
            heap[place] = last
        return smallest


class _Process:
    """A process, its members, and the tasks that they have been given."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.tasks: set[Task] = set()
        self._by_load: JavaQueue[tuple[str, list[int]]] | None = None

    @property
    def load(self) -> float:
        return sum(self.counts.values()) / len(self.counts)

    def add(self, member_id: str, task: Task) -> int:
        """Give a task to a member, and return the number of its tasks."""
        self._by_load = None
        return self._add(member_id, task)

    def _add(self, member_id: str, task: Task) -> int:
        self.tasks.add(task)
        self.counts[member_id] += 1
        return self.counts[member_id]

    def add_to_least_loaded(self, task: Task) -> tuple[str, int]:
        """Give a task to the member with the fewest tasks. Return its id and the number of its tasks."""
        if self._by_load is None:
            entries = [(member_id, [self.counts[member_id]]) for member_id in order_of_strings(self.counts)]
            self._by_load = JavaQueue(entries, lambda entry: entry[1][0])
        member_id, count = entry = self._by_load.poll() or ("", [0])
        count[0] = self._add(member_id, task)
        self._by_load.add(entry)
        return member_id, count[0]


class _Quota:
    """The number of tasks that each member should have, as long as not all tasks have been given."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members

    @property
    def each(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0

    def reached(self, count: int) -> None:
        """Note that a member has this number of tasks. If it has its share, the others share the rest."""
        if count == self.each:
            self._members -= 1
            self._tasks -= count


class _Assignment:
    """An assignment in progress."""

    def __init__(
        self,
        members: Mapping[str, TaskMember],
        topology: TaskTopology,
        standby_replicas: int,
        *,
        ranks_copies: bool,
    ) -> None:
        self.dealt = Dealt({}, {})
        self._members = members
        self._standby_replicas = standby_replicas
        self._ranks_copies = ranks_copies
        active = sum(topology.tasks.values())
        stateful = sum(topology.tasks[subtopology] for subtopology in topology.stateful)
        self._active_quota = _Quota(active, len(members))
        self._quota = _Quota(active + stateful * standby_replicas, len(members))
        self._processes: dict[str, _Process] = {}
        self._process_order = HashTable(string_hash, with_capacity(len(members)))
        self._had_active: dict[Task, str] = {}
        candidates: dict[Task, list[tuple[bool, int, str]]] = {}  # sorts standby tasks before offsets
        for member_id, member in members.items():
            (self._process_order.add_if_absent if ranks_copies else self._process_order.add)(member.process_id)
            self._processes.setdefault(member.process_id, _Process()).counts[member_id] = 0
            self._had_active.update(dict.fromkeys(member.active, member_id))
            for task in member.standby:
                candidates.setdefault(task, []).append((False, -member.offsets.get(task, 0), member_id))
            for task, offset in member.offsets.items():
                if task not in member.standby:
                    candidates.setdefault(task, []).append((True, -offset, member_id))
        self._had_copy = {
            task: [member_id for *_, member_id in sorted(found, key=lambda candidate: candidate[:2])]
            for task, found in candidates.items()
        }

    def deal_active(self, tasks: list[Task]) -> None:
        tasks.sort(key=lambda task: (task[1], task[0]))
        for is_active in (True, False):
            left = []
            for task in tasks:
                former = self._had_active.get(task) if is_active else self._least_loaded_with_copy(task)
                if former is not None and self._count(former) < self._active_quota.each:
                    self._give_active(former, task, self._process(former).add(former, task))
                else:
                    left.append(task)
            tasks = left
        by_load = self._by_load()
        for task in sorted(tasks):
            process = by_load.poll()
            assert process is not None
            member_id, count = process.add_to_least_loaded(task)
            self._give_active(member_id, task, count)
            by_load.add(process)

    def deal_standby(self, tasks: list[Task]) -> None:
        left: list[tuple[Task, int]] = []
        for task in sorted(tasks, key=lambda task: (task[1], task[0]), reverse=True):
            for given in range(self._standby_replicas):
                member_id = self._former_active(task) or self._former_standby(task)
                if member_id is None:
                    left.append((task, self._standby_replicas - given))
                    break
                self._give_standby(member_id, task, self._process(member_id).add(member_id, task))
        by_load = self._by_load()
        for task, replicas in sorted(left, reverse=True):
            for given in range(replicas):
                if not self._deal_to_least_loaded(by_load, task):
                    name = quoted(f"{task[0]}_{task[1]}")
                    _LOG.warning(
                        "unable to assign %d of %d standby tasks for task %s", replicas - given, replicas, name
                    )
                    break

    def _former_active(self, task: Task) -> str | None:
        """Return the member that had the active task, if it may have the standby task now."""
        former = self._had_active.get(task)
        return former if former is not None and self._may_copy(former, task) else None

    def _former_standby(self, task: Task) -> str | None:
        former = self._least_loaded_with_copy(task, is_standby=True)
        return former if former is not None and self._may_copy(former, task) else None

    def _may_copy(self, member_id: str, task: Task) -> bool:
        return task not in self._process(member_id).tasks and self._count(member_id) < self._quota.each

    def _least_loaded_with_copy(self, task: Task, *, is_standby: bool = False) -> str | None:
        """Return a member that had a copy of a task: the first one, or a later one with less load."""
        found, process_load, member_load = None, inf, inf
        for member_id in self._had_copy.get(task, ()):
            process = self._process(member_id)
            if is_standby and task in process.tasks:
                if found is None and not self._ranks_copies:
                    return None
                continue
            count = process.counts[member_id]
            if found is None or (process.load < process_load and count < member_load):
                found, process_load, member_load = member_id, process.load, count
        return found

    def _deal_to_least_loaded(self, by_load: JavaQueue[_Process], task: Task) -> bool:
        """Give a standby task to the process with the least load that has no copy. Return whether there is one."""
        process = by_load.poll()
        if process is None:
            return False
        found = False
        if task not in process.tasks:
            member_id, count = process.add_to_least_loaded(task)
            self._give_standby(member_id, task, count)
            found = True
        elif by_load:
            found = self._deal_to_least_loaded(by_load, task)
        by_load.add(process)
        return found

    def _by_load(self) -> JavaQueue[_Process]:
        return JavaQueue([self._processes[name] for name in self._process_order], lambda process: process.load)

    def _process(self, member_id: str) -> _Process:
        return self._processes[self._members[member_id].process_id]

    def _count(self, member_id: str) -> int:
        return self._process(member_id).counts[member_id]

    def _give_active(self, member_id: str, task: Task, count: int) -> None:
        self.dealt.active.setdefault(member_id, []).append(task)
        self._active_quota.reached(count)
        self._quota.reached(count)

    def _give_standby(self, member_id: str, task: Task, count: int) -> None:
        self.dealt.standby.setdefault(member_id, []).append(task)
        self._quota.reached(count)
