"""The assignor "uniform" where members want different topics.

    keep        everybody keeps what he had of the topics that he still wants
    deal        topic by topic (those with most partitions per subscriber first), each partition that nobody has goes
                to the subscriber with the fewest
    balance     topic by topic, partitions go from the subscriber with the most to the one with the fewest, until a
                whole round changes nothing, or 16 rounds are over

Source: org.apache.kafka.coordinator.group.assignor.UniformHeterogeneousAssignmentBuilder.
"""

from struct import Struct

from .balancer import Balancer
from .spec import Assignment, Spec
from .target import Target

_ROUNDS = 16
_NOBODY = -1
_HALVES = Struct(">qq")  # Java's Uuids are compared as two signed numbers


class Heterogeneous:
    """One assignment. Members go by their index in the order of the spec."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._member_ids = list(spec.members)
        self._targets = [Target(member.target) for member in spec.members.values()]
        self._loads = [0] * len(self._targets)
        self._subscribers: dict[bytes, list[int]] = {}
        for index, member in enumerate(spec.members.values()):
            for topic_id in member.topic_ids:
                self._subscribers.setdefault(topic_id, []).append(index)
        self._owners = {topic_id: [_NOBODY] * spec.partition_counts[topic_id] for topic_id in self._subscribers}

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
            topic_id: [partition for partition, owner in enumerate(owners) if owner == _NOBODY]
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
        """Move partitions of a topic from the most loaded of its subscribers to the least; how many."""
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
        if owner != _NOBODY:
            self._targets[owner].remove(topic_id, partition)
            self._loads[owner] -= 1
        subscribers = len(self._subscribers[topic_id])
        each = (self._spec.partition_counts[topic_id] + subscribers - 1) // subscribers
        self._targets[index].add(topic_id, partition, capacity=int(each / 0.75 + 1.0))
        self._owners[topic_id][partition] = index
        self._loads[index] += 1

    def _by_need(self, topic_ids: list[bytes]) -> list[bytes]:
        """Topics with the most partitions per subscriber first, then those with few subscribers, then by id."""

        def need(topic_id: bytes) -> tuple[float, int, int, int]:
            subscribers = len(self._subscribers[topic_id])
            high, low = (
                int.from_bytes(topic_id[:8], "big", signed=True),
                int.from_bytes(topic_id[8:], "big", signed=True),
            )
            return -(self._spec.partition_counts[topic_id] / subscribers), subscribers, high, low

        return sorted(topic_ids, key=need)
