"""The assignor "simple" of share groups, which may assign a partition to several members.

Each partition gets the same number of members (the sharing: members / partitions, rounded up), and each member the same
number of partitions, give or take one. Partitions are taken from members that have too many, then from partitions that
have too many members, and given to the members that have too few. Only assignable partitions are assigned: those whose
state is initialized.

If all members subscribe to the same topics, all partitions are dealt at once; otherwise, the topics one by one. As in
Kafka, the iteration order of Java's hash tables decides which partitions move.

Source: org.apache.kafka.coordinator.group.assignor.SimpleAssignor, SimpleHomogeneousAssignmentBuilder,
SimpleHeterogeneousAssignmentBuilder, AssignorHelpers (4.2 to 4.4; the algorithm of the preview in 4.1 was different).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Generic, TypeVar

from kafkalet.broker.java_order import HashTable, number_hash, order_of_numbers, set_of, uuid_hash, with_capacity

from .spec import Assignment, Spec

Partition = tuple[bytes, int]
PartitionT = TypeVar("PartitionT")


def assign(spec: Spec, assignable: Mapping[bytes, AbstractSet[int]]) -> dict[str, Assignment]:
    """Return the target assignment. `assignable` has the assignable partitions by topic id."""
    names = list(spec.members)
    if not names:
        return {}
    old = [_in_order(spec.members[name].target) for name in names]
    wanted = [spec.members[name].topic_ids for name in names]
    if spec.is_homogeneous:
        if not spec.members[names[0]].subscriptions:
            return {}
        dealt = _homogeneous(old, wanted[0], spec, assignable)
    else:
        if not any(wanted):
            return {}
        dealt = _heterogeneous(old, wanted, spec, assignable)
    return {name: dealt.result(index) for index, name in enumerate(names)}


class _Assignments:
    """The assignments of all members, by index. A member keeps its old assignment object until it changes."""

    def __init__(self, old: Sequence[Assignment]) -> None:
        self.old = old
        self._new: dict[int, tuple[HashTable[bytes], dict[bytes, HashTable[int]]]] = {}

    def change(self, member: int) -> dict[bytes, HashTable[int]]:
        """Return the new assignment of a member, which may be modified."""
        return self._changed(member)[1]

    def _changed(self, member: int) -> tuple[HashTable[bytes], dict[bytes, HashTable[int]]]:
        if member not in self._new:
            old = self.old[member]
            topics = HashTable(uuid_hash, with_capacity(len(old)), old)
            numbers = {topic_id: HashTable(number_hash, set_of(len(of)), of) for topic_id, of in old.items()}
            self._new[member] = topics, numbers
        return self._new[member]

    def add(self, member: int, topic_id: bytes, partition: int) -> None:
        topics, numbers = self._changed(member)
        topics.add_if_absent(topic_id)
        numbers.setdefault(topic_id, HashTable(number_hash)).add(partition)

    def forget(self, member: int, topic_id: bytes) -> None:
        topics, numbers = self._changed(member)
        topics.discard(topic_id)
        numbers.pop(topic_id, None)

    def result(self, member: int) -> Assignment:
        if member not in self._new:
            return self.old[member]
        topics, numbers = self._new[member]
        return {topic_id: list(numbers[topic_id]) for topic_id in topics}


class _Deal(Generic[PartitionT]):
    """Deals partitions to members, which are numbered."""

    def __init__(
        self,
        dealt: _Assignments,
        members: Sequence[int],
        targets: Sequence[PartitionT],
        hash_of: Callable[[PartitionT], int],
        place: Callable[[PartitionT], Partition],
    ) -> None:
        self.dealt = dealt
        self.targets = targets
        self.place = place
        self.hash_of = hash_of
        self.sharing = -(-len(members) // len(targets)) if targets else 0
        precise = self.sharing * len(targets) / len(members)
        self.desired = {
            member: math.ceil(precise * (index + 1)) - math.ceil(precise * index)
            for index, member in enumerate(members)
        }
        self.partitions = HashTable(hash_of, with_capacity(int((len(targets) + 1) / 0.75 + 1.0)))
        self.holders: dict[PartitionT, HashTable[int]] = {}
        self.held: dict[int, HashTable[PartitionT]] = {}

    def hold(self, member: int, partition: PartitionT) -> None:
        """Note that a member holds a partition."""
        self.know(partition)
        self.holders[partition].add(member)
        self.held.setdefault(member, HashTable(self.hash_of)).add(partition)

    def know(self, partition: PartitionT) -> None:
        self.partitions.add_if_absent(partition)
        self.holders.setdefault(partition, HashTable(number_hash))

    def take_surplus(self, member: int) -> None:
        """Take partitions from a member that holds more than it should."""
        held = self.held[member]
        surplus = len(held) - self.desired.get(member, 0)
        for partition in list(held)[: max(surplus, 0)]:
            topic_id, number = self.place(partition)
            self.dealt.change(member)[topic_id].discard(number)
            self.holders[partition].discard(member)
            held.discard(partition)

    def take_shared(self) -> list[int]:
        """Take partitions that too many members hold. Returns the members that have lost one."""
        losers = []
        for partition in self.partitions:
            surplus = len(self.holders[partition]) - self.sharing
            topic_id, number = self.place(partition)
            for member in list(self.holders[partition])[: max(surplus, 0)]:
                self.dealt.change(member)[topic_id].discard(number)
                self.holders[partition].discard(member)
                self.held[member].discard(partition)
                losers.append(member)
        return losers

    def give(self, members: Iterable[int]) -> None:
        """Give partitions to members that hold fewer than they should, in turn."""
        unfilled = dict.fromkeys(sorted(members))
        turn = iter(list(unfilled))
        has_given = False
        for partition in self.partitions:
            if not unfilled:
                break
            holders = self.holders[partition]
            missing = self.sharing - len(holders)
            while missing > 0:
                member = next(turn, None)
                if member is None:
                    if not has_given or not unfilled:
                        break
                    turn, has_given = iter(list(unfilled)), False
                    continue
                if member in holders:
                    continue
                self.dealt.add(member, *self.place(partition))
                held = self.held.setdefault(member, HashTable(self.hash_of))
                held.add(partition)
                missing -= 1
                has_given = True
                if len(held) >= self.desired[member]:
                    del unfilled[member]


def _homogeneous(
    old: Sequence[Assignment], topics: Sequence[bytes], spec: Spec, assignable: Mapping[bytes, AbstractSet[int]]
) -> _Assignments:
    dealt = _Assignments(old)
    targets = [target for topic_id in topics for target in _targets(topic_id, spec, assignable)]
    deal = _Deal(dealt, range(len(old)), targets, _partition_hash, lambda partition: partition)
    subscribed = frozenset(topics)
    unfilled = set()
    for member, assignment in enumerate(old):
        for topic_id, partitions in assignment.items():
            if topic_id not in subscribed:
                dealt.forget(member, topic_id)
                continue
            for partition in partitions:
                deal.hold(member, (topic_id, partition))
        count = len(deal.held.get(member, ()))
        if count < deal.desired[member]:
            unfilled.add(member)
        elif count:  # Kafka copies the assignment here, which may change its order
            dealt.change(member)
    for member in deal.held:
        deal.take_surplus(member)
    unfilled.update(deal.take_shared())
    for target in targets:
        deal.know(target)
    deal.give(unfilled)
    return dealt


def _heterogeneous(
    old: Sequence[Assignment],
    wanted: Sequence[Sequence[bytes]],
    spec: Spec,
    assignable: Mapping[bytes, AbstractSet[int]],
) -> _Assignments:
    dealt = _Assignments(old)
    subscribers: dict[bytes, list[int]] = {}
    for member, topics in enumerate(wanted):
        for topic_id in topics:
            subscribers.setdefault(topic_id, []).append(member)
    for topic_id in HashTable(uuid_hash, 16, subscribers):
        members = subscribers[topic_id]
        targets = [number for _, number in _targets(topic_id, spec, assignable)]
        deal = _Deal(dealt, members, targets, number_hash, partial(_pair, topic_id))
        for member, assignment in enumerate(old):
            for number in assignment.get(topic_id, ()):
                deal.hold(member, number)
        for member in sorted(deal.held):
            deal.take_surplus(member)
        deal.take_shared()
        for number in targets:
            deal.know(number)
        deal.give(member for member in members if len(deal.held.get(member, ())) < deal.desired[member])
    return dealt


def _in_order(target: Assignment) -> Assignment:
    """Return an assignment with the partitions in the order of Kafka's hash tables (Assignment.fromRecord)."""
    return {topic_id: order_of_numbers(of, set_of(len(of))) for topic_id, of in target.items()}


def _targets(topic_id: bytes, spec: Spec, assignable: Mapping[bytes, AbstractSet[int]]) -> list[Partition]:
    known = assignable.get(topic_id, frozenset())
    return [(topic_id, number) for number in range(spec.partition_counts[topic_id]) if number in known]


def _pair(topic_id: bytes, number: int) -> Partition:
    return topic_id, number


def _partition_hash(partition: Partition) -> int:
    """Return TopicIdPartition.hashCode as an unsigned number."""
    return 31 * uuid_hash(partition[0]) + partition[1] & 0xFFFFFFFF
