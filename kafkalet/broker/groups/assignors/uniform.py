"""The assignor "uniform", which gives all members the same number of partitions and moves as few as possible.

If all members subscribe to the same topics, they get the same number of partitions, give or take one:

    quota       partitions / members; the first members with room get one more until the remainder is used up
    revoke      each member keeps as many of its partitions as its quota allows, in the order of Java's sets
    deal        unassigned partitions, then revoked ones, go to the members below their quota, in member order

If the subscriptions differ, the numbers are as close as the subscriptions allow:

    keep        each member keeps its partitions of the topics that it still subscribes to
    deal        topic by topic (most partitions per subscriber first), each unassigned partition goes to the subscriber
                with the fewest partitions
    balance     topic by topic, partitions move from the subscriber with the most to the one with the fewest, until a
                whole round changes nothing, or for 16 rounds

Source: org.apache.kafka.coordinator.group.assignor.UniformAssignor, UniformHomogeneousAssignmentBuilder,
UniformHeterogeneousAssignmentBuilder, AssignorHelpers.
"""

from collections.abc import Sequence

from kafkalet.broker.java_order import (
    grown,
    order_of_numbers,
    order_of_uuids,
    ordered,
    set_of,
    uuid_hash,
    with_capacity,
)

from .spec import Assignment, Spec


class Target:
    """The new target assignment of a member while it is being computed. `had` is the previous assignment.

    As in Kafka's assignors, the previous assignment is copied only when it first has to change. The capacities of the
    Java maps and sets in the copy determine the order of everything added later (AssignorHelpers.deepCopyAssignment).
    """

    __slots__ = ("_slots", "_slots_of", "had", "is_copy", "partitions")

    def __init__(self, had: Assignment) -> None:
        self.had = had
        self.is_copy = False
        self.partitions: dict[bytes, dict[int, None]] = {}
        self._slots = 0
        self._slots_of: dict[bytes, int] = {}

    def copy(self) -> None:
        """Copy the previous assignment before the first change."""
        if self.is_copy:
            return
        self.is_copy = True
        self._slots = with_capacity(len(self.had))
        for topic_id in order_of_uuids(self.had):
            self._slots = grown(len(self.partitions) + 1, self._slots)
            slots = self._slots_of[topic_id] = set_of(len(self.had[topic_id]))
            self.partitions[topic_id] = dict.fromkeys(order_of_numbers(self.had[topic_id], slots))

    def drop(self, topic_id: bytes) -> None:
        """Remove all partitions of a topic."""
        self.copy()
        self.partitions.pop(topic_id, None)

    def remove(self, topic_id: bytes, partition: int) -> None:
        self.copy()
        partitions = self.partitions[topic_id]
        partitions.pop(partition, None)
        if not partitions:
            del self.partitions[topic_id]

    def add(self, topic_id: bytes, partition: int, capacity: int = 16) -> None:
        """Add a partition. The set of a new topic is created with the given capacity."""
        self.copy()
        if len(self.partitions) > self._slots * 3 // 4:  # Map.computeIfAbsent resizes before the lookup, not afterwards
            self._slots *= 2
        partitions = self.partitions.get(topic_id)
        if partitions is None:
            partitions = {}
            self.partitions = {topic_id: partitions, **self.partitions}  # ... and it inserts at the front of the slot
            self._slots_of[topic_id] = with_capacity(capacity)
        partitions[partition] = None
        self._slots_of[topic_id] = grown(len(partitions), self._slots_of[topic_id])

    def finished(self) -> Assignment:
        """Return the assignment in the order in which it is written to its record."""
        if not self.is_copy:
            return self.had
        return {
            topic_id: order_of_numbers(list(self.partitions[topic_id]), self._slots_of[topic_id])
            for topic_id in ordered(self.partitions, uuid_hash, self._slots)
        }


Partition = tuple[bytes, int]


def assign_homogeneous(spec: Spec) -> dict[str, Assignment]:
    first = next(iter(spec.members.values()))
    topic_ids = ordered(first.topic_ids, uuid_hash, set_of(first.subscriptions))
    if not topic_ids:
        return {}
    unassigned = [
        (topic_id, partition)
        for topic_id in topic_ids
        for partition in range(spec.partition_counts[topic_id])
        if partition not in spec.assigned.get(topic_id, ())
    ]
    total = sum(spec.partition_counts[topic_id] for topic_id in topic_ids)
    targets, short = _revoke(spec, frozenset(topic_ids), total, unassigned)
    _deal(targets, short, unassigned)
    return {member_id: target.finished() for member_id, target in targets.items()}


def _revoke(
    spec: Spec, topic_ids: frozenset[bytes], total: int, unassigned: list[Partition]
) -> tuple[dict[str, Target], list[tuple[str, int]]]:
    """Return the partitions that each member keeps, and how many more partitions each member needs.

    Revoked partitions are appended to `unassigned`.
    """
    members = len(spec.members)
    minimum, extras = divmod(total, members)
    targets: dict[str, Target] = {}
    short: list[tuple[str, int]] = []
    for index, (member_id, member) in enumerate(spec.members.items()):
        target = targets[member_id] = Target(member.target)
        quota, has_extra = minimum, False
        if extras > 0:
            quota, has_extra = quota + 1, True
        for topic_id in order_of_uuids(member.target):
            if topic_id in topic_ids:
                quota = _keep(target, topic_id, quota, unassigned)
            else:
                target.drop(topic_id)
        if quota > 0 and has_extra and members - index > extras:
            quota, has_extra = quota - 1, False  # enough members remain to take the extra partitions
        if quota > 0:
            short.append((member_id, quota))
        if has_extra:
            extras -= 1
    return targets, short


def _keep(target: Target, topic_id: bytes, quota: int, unassigned: list[Partition]) -> int:
    """Keep as many partitions of a topic as the quota allows, and return the remaining quota."""
    partitions = target.had[topic_id]
    if len(partitions) <= quota:
        return quota - len(partitions)
    for partition in order_of_numbers(partitions, set_of(len(partitions)))[quota:]:
        target.remove(topic_id, partition)
        unassigned.append((topic_id, partition))
    return 0


def _deal(targets: dict[str, Target], short: list[tuple[str, int]], unassigned: list[Partition]) -> None:
    dealt = iter(unassigned)
    for member_id, quota in short:
        target = targets[member_id]
        target.copy()
        for _, (topic_id, partition) in zip(range(quota), dealt, strict=False):
            target.add(topic_id, partition)


class Balancer:
    """Finds the least and the most loaded subscribers of a topic while partitions are moved between them.

    The subscribers are sorted by load. At each end, the members of equal load form a range and are returned in turn.
    Once each member in the lower range has received one more partition, the range is extended by the members with the
    next higher load. The upper range is extended downwards in the same way. `loads` is the number of partitions of each
    member, by member index; the caller keeps it up to date.

    Source: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer.
    """

    def __init__(self, loads: list[int]) -> None:
        self._loads = loads
        self._members: list[int] = []
        self._least_end = self._next_least = 0
        self._least_load = -1
        self._most_start = self._most_end = 0
        self._most_load = 1
        self._next_most = -1

    def begin(self, members: Sequence[int]) -> int:
        """Start with the given subscribers, and return the difference between their highest and lowest load."""
        loads = self._loads
        self._members = sorted(members, key=lambda index: (loads[index], index))
        least, most = loads[self._members[0]], loads[self._members[-1]]
        self._least_end, self._least_load, self._next_least = 0, least - 1, 0
        self._most_start = self._most_end = len(self._members)
        self._most_load, self._next_most = most + 1, len(self._members) - 1
        return most - least

    def is_balanced(self) -> bool:
        return self._most_load - self._least_load <= 1

    def next_least_loaded(self) -> int:
        """Return the next member with the fewest partitions. The caller gives it one more."""
        members, loads = self._members, self._loads
        if self._next_least >= self._least_end:
            self._least_load += 1
            while self._least_end < len(members) and loads[members[self._least_end]] == self._least_load:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return members[self._next_least - 1]

    def next_most_loaded(self) -> int | None:
        """Return the next member with the most partitions, or None if none is left. The caller may take one away."""
        members, loads = self._members, self._loads
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_load = loads[members[self._most_start - 1]]  # all members returned so far were excluded
            else:
                self._most_load -= 1
            while self._most_start > 0 and loads[members[self._most_start - 1]] == self._most_load:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        self._next_most -= 1
        return members[self._next_most + 1]

    def exclude_most_loaded(self) -> None:
        """Exclude the member that was returned last, because it has no partitions of the topic."""
        members, at, last = self._members, self._next_most + 1, self._most_end - 1
        members[at], members[last] = members[last], members[at]
        self._most_end = last


_ROUNDS = 16
_UNASSIGNED = -1


class Heterogeneous:
    """The computation of one assignment. Members are identified by their index in the spec."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._member_ids = list(spec.members)
        self._targets = [Target(member.target) for member in spec.members.values()]
        self._loads = [0] * len(self._targets)
        self._subscribers: dict[bytes, list[int]] = {}
        for index, member in enumerate(spec.members.values()):
            for topic_id in member.topic_ids:
                self._subscribers.setdefault(topic_id, []).append(index)
        self._owners = {topic_id: [_UNASSIGNED] * spec.partition_counts[topic_id] for topic_id in self._subscribers}

    def assign(self) -> dict[str, Assignment]:
        if not self._subscribers:
            return {}
        self._keep()
        self._deal()
        self._balance()
        return {member_id: target.finished() for member_id, target in zip(self._member_ids, self._targets, strict=True)}

    def _keep(self) -> None:
        for index, (member, target) in enumerate(zip(self._spec.members.values(), self._targets, strict=True)):
            wanted = frozenset(member.topic_ids)
            for topic_id, partitions in member.target.items():
                if topic_id not in wanted:
                    target.drop(topic_id)
                    continue
                self._loads[index] += len(partitions)
                for partition in partitions:
                    self._owners[topic_id][partition] = index

    def _deal(self) -> None:
        balancer = Balancer(self._loads)
        unassigned = {
            topic_id: [partition for partition, owner in enumerate(owners) if owner == _UNASSIGNED]
            for topic_id, owners in self._owners.items()
        }
        for topic_id in self._by_need([topic_id for topic_id, partitions in unassigned.items() if partitions]):
            balancer.begin(self._subscribers[topic_id])
            for partition in unassigned[topic_id]:
                self._give(topic_id, partition, balancer.next_least_loaded())

    def _balance(self) -> None:
        shared = [topic_id for topic_id, members in self._subscribers.items() if len(members) >= 2]
        topic_ids = self._by_need(shared)
        last_changed = -1
        balancer = Balancer(self._loads)
        for _ in range(_ROUNDS):
            for index, topic_id in enumerate(topic_ids):
                if index == last_changed:
                    return
                if self._balance_topic(topic_id, balancer) or last_changed == -1:
                    last_changed = index

    def _balance_topic(self, topic_id: bytes, balancer: Balancer) -> int:
        """Move partitions of a topic from its most loaded to its least loaded subscribers.

        Returns how many were moved.
        """
        if balancer.begin(self._subscribers[topic_id]) <= 1:
            return 0
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic_id]):
            held.setdefault(owner, []).append(partition)
        moved = 0
        while not balancer.is_balanced():
            while (giver := balancer.next_most_loaded()) is not None and not held.get(giver):
                balancer.exclude_most_loaded()
            if giver is None:
                break
            partition = held[giver].pop()
            taker = balancer.next_least_loaded()
            if balancer.is_balanced():
                break
            self._give(topic_id, partition, taker)
            moved += 1
        return moved

    def _give(self, topic_id: bytes, partition: int, index: int) -> None:
        owner = self._owners[topic_id][partition]
        if owner != _UNASSIGNED:
            self._targets[owner].remove(topic_id, partition)
            self._loads[owner] -= 1
        subscribers = len(self._subscribers[topic_id])
        each = (self._spec.partition_counts[topic_id] + subscribers - 1) // subscribers
        self._targets[index].add(topic_id, partition, capacity=int(each / 0.75 + 1.0))
        self._owners[topic_id][partition] = index
        self._loads[index] += 1

    def _by_need(self, topic_ids: list[bytes]) -> list[bytes]:
        """Sort topics: most partitions per subscriber first, then fewest subscribers, then by id."""

        def need(topic_id: bytes) -> tuple[float, int, int, int]:
            subscribers = len(self._subscribers[topic_id])
            high, low = (
                int.from_bytes(topic_id[:8], "big", signed=True),
                int.from_bytes(topic_id[8:], "big", signed=True),
            )
            return -(self._spec.partition_counts[topic_id] / subscribers), subscribers, high, low

        return sorted(topic_ids, key=need)


def assign(spec: Spec) -> dict[str, Assignment]:
    if not spec.members:
        return {}
    return assign_homogeneous(spec) if spec.is_homogeneous else Heterogeneous(spec).assign()
