"""The assignor "range", which gives each subscriber of a topic contiguous partitions.

Members are sorted by id: first the static members by instance id, then the others by member id. If the partitions of a
topic cannot be divided evenly, the first members get one more each. If two topics have the same number of partitions
and the same subscribers, each member therefore gets the same partition numbers of both. Previous assignments are not
taken into account.

Source: org.apache.kafka.coordinator.group.assignor.RangeAssignor.
"""

from collections import Counter

from kafkalet.broker.java_order import ordered, uuid_hash, with_capacity

from .spec import Assignment, Spec


class _Range:
    """The partitions of a topic that have not been assigned yet."""

    __slots__ = ("extra", "next", "partitions", "quota")

    def __init__(self, partitions: int, members: int) -> None:
        self.partitions = partitions
        self.quota, self.extra = divmod(partitions, members)
        self.next = 0

    def deal(self) -> list[int]:
        """Return the partitions of the next member."""
        count = self.quota
        if self.extra > 0:
            count += 1
            self.extra -= 1
        start, self.next = self.next, min(self.next + count, self.partitions)
        return list(range(start, self.next))


def assign(spec: Spec) -> dict[str, Assignment]:
    member_ids = sorted(spec.members, key=lambda member_id: _rank(member_id, spec))
    wanted = {member_id: spec.members[member_id].topic_ids for member_id in member_ids}
    if spec.is_homogeneous and member_ids:  # like Kafka, look only at the first member
        wanted = dict.fromkeys(member_ids, wanted[member_ids[0]])
    subscribers = Counter(topic_id for topic_ids in wanted.values() for topic_id in topic_ids)
    ranges = {topic_id: _Range(spec.partition_counts[topic_id], count) for topic_id, count in subscribers.items()}
    assignments: dict[str, Assignment] = {}
    for member_id, topic_ids in wanted.items():
        dealt = {topic_id: ranges[topic_id].deal() for topic_id in topic_ids}
        topics = len(topic_ids) if spec.is_homogeneous else spec.members[member_id].subscriptions
        slots = with_capacity(int(topics / 0.75 + 1.0))
        in_order = ordered((topic_id for topic_id in dealt if dealt[topic_id]), uuid_hash, slots)
        assignments[member_id] = {topic_id: dealt[topic_id] for topic_id in in_order}
    return assignments


def _rank(member_id: str, spec: Spec) -> tuple[bool, bytes]:
    instance_id = spec.members[member_id].instance_id
    return instance_id is None, (member_id if instance_id is None else instance_id).encode("utf-16-be", "surrogatepass")
