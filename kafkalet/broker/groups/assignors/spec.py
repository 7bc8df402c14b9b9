"""What an assignor is told: members with their topics and what they have, topics with their partitions.

Source: org.apache.kafka.coordinator.group.modern.GroupSpecImpl, SubscribedTopicDescriberImpl.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

Assignment: TypeAlias = dict[bytes, list[int]]
"""Partitions by topic id, each in the order in which Kafka would write them into its log."""


class MemberSpec(NamedTuple):
    """A member as an assignor sees it: the topics it wants that exist, and the target it had so far."""

    instance_id: str | None
    topic_ids: Sequence[bytes]
    subscriptions: int  # how many names that were, also of topics that do not exist
    target: Assignment


class Spec(NamedTuple):
    """A group as an assignor sees it. `members` are in the order in which Java's HashMap has them."""

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]
    assigned: Mapping[bytes, Mapping[int, str]]
    """The partitions that are in somebody's target, with him, as long as nobody has computed a new one."""
    is_homogeneous: bool
    """All members want the same topics."""
