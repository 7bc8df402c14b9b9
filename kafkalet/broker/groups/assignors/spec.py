"""The input of an assignor: members with their subscriptions and targets, and the partition counts of topics.

Source: org.apache.kafka.coordinator.group.modern.GroupSpecImpl, SubscribedTopicDescriberImpl.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

Assignment: TypeAlias = dict[bytes, list[int]]
"""Partitions, keyed by topic id, in the order in which Kafka writes them to its log."""


def are_same(before: Assignment | None, after: Assignment) -> bool:
    """Return whether two assignments have the same partitions, in any order."""
    if before is None or before is after:
        return before is after
    return before.keys() == after.keys() and all(set(before[topic_id]) == set(after[topic_id]) for topic_id in after)


class MemberSpec(NamedTuple):
    """A member as seen by an assignor: its subscribed topics that exist, and its current target assignment."""

    instance_id: str | None
    topic_ids: Sequence[bytes]
    subscriptions: int  # the number of subscribed names, including topics that do not exist
    target: Assignment


class Spec(NamedTuple):
    """A group as seen by an assignor. `members` are in the iteration order of Java's HashMap."""

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]
    assigned: Mapping[bytes, Mapping[int, str]]
    """For each topic id and partition, the member whose current target assignment contains the partition."""
    is_homogeneous: bool
    """Whether all members subscribe to the same topics."""
