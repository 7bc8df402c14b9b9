"""The assignor "uniform" where all members want the same topics.

    quota       partitions / members; the first members with room get one more until the remainder is used up
    revoke      each member keeps of what it had as much as its quota allows, in the order of Java's sets
    deal        what nobody had, then what was taken away, fills up the members that are short, in their order

Source: org.apache.kafka.coordinator.group.assignor.UniformHomogeneousAssignmentBuilder.
"""

from .java_order import order_of_numbers, order_of_uuids, ordered, set_of, uuid_hash
from .spec import Assignment, Spec
from .target import Target

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
    """What everybody keeps, and who is short of how many; what is taken away joins `unassigned`."""
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
            quota, has_extra = quota - 1, False  # there are enough others to take the odd one
        if quota > 0:
            short.append((member_id, quota))
        if has_extra:
            extras -= 1
    return targets, short


def _keep(target: Target, topic_id: bytes, quota: int, unassigned: list[Partition]) -> int:
    """Keep as many partitions of a topic as the quota allows; what is left of it."""
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
