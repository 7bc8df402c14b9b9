"""A consumer group as ConsumerGroupDescribe shows it: epochs, and what each member has and is to have.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup.asDescribedGroup.
"""

from collections.abc import Iterable
from typing import Any

from kafkalet.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    TopicPartitions,
)

from .config import assignors
from .members import ConsumerMember
from .state import ConsumerState

CLASSIC, CONSUMER = 0, 1
"""Which protocol a member speaks, in `member_type`."""


def describe(group: ConsumerState) -> ConsumerGroupDescribeResponse.Group:
    return ConsumerGroupDescribeResponse.Group(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.members.preferred_assignor() or assignors(group.shard.node)[0],
        members=[_member(group, group.member(member_id)) for member_id in group.members.in_order()],
    )


def _member(group: ConsumerState, member: ConsumerMember) -> ConsumerGroupDescribeResponse.Group.Member:
    metadata = group.shard.node.metadata
    owned: dict[bytes, list[int]] = {topic_id: list(epochs) for topic_id, epochs in member.assigned.items()}
    shows_pending = group.shard.node.release.keeps_assignment_epochs
    for topic_id, epochs in member.pending_revocation.items() if shows_pending else ():
        owned.setdefault(topic_id, []).extend(epochs)
    return ConsumerGroupDescribeResponse.Group.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(owned.items(), metadata),
        target_assignment=_assignment(group.target.get(member.member_id, {}).items(), metadata),
        member_type=CLASSIC if member.uses_classic_protocol else CONSUMER,
    )


def _assignment(partitions: Iterable[tuple[bytes, list[int]]], metadata: Any) -> Assignment:
    """Partitions of the topics that still exist, with their names."""
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=list(indexes))
            for topic_id, indexes in partitions
            if (topic := metadata.topic_by_id(topic_id)) is not None
        ]
    )
