"""The records of a share group, one for each kind of change (see modern/records.py).

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.modern.records import Change
from kafkalet.broker.java_order import grown, order_of_numbers, order_of_uuids
from kafkalet.protocol.messages.share_group_metadata import (
    AssignedPartitions,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from kafkalet.protocol.schema import Message

from .members import ShareMember
from .states import States, StateTopic

Key: TypeAlias = (
    ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
)

KEYS: dict[int, tuple[type[Key], type[Message]]] = {
    10: (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    11: (ShareGroupMetadataKey, ShareGroupMetadataValue),
    12: (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
    13: (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    14: (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
    15: (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
}
"""The key and value types of each kind of record, by key version."""


def member(group_id: str, of: ShareMember) -> Change:
    value = ShareGroupMemberMetadataValue(
        rack_id=of.rack_id,
        client_id=of.client_id,
        client_host=of.client_host,
        subscribed_topic_names=sorted(of.topic_names),
    )
    return Change(ShareGroupMemberMetadataKey(group_id=group_id, member_id=of.member_id), value)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Change:
    value = ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return Change(ShareGroupMetadataKey(group_id=group_id), value)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Change:
    value = ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return Change(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target(group_id: str, member_id: str, assignment: Assignment) -> Change:
    value = ShareGroupTargetAssignmentMemberValue(topic_partitions=_assigned(assignment))
    return Change(ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def current(group_id: str, of: ShareMember) -> Change:
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=of.member_epoch,
        previous_member_epoch=of.previous_member_epoch,
        state=of.state,
        assigned_partitions=_assigned(of.assigned),
    )
    return Change(ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=of.member_id), value)


def _assigned(assignment: Assignment) -> list[AssignedPartitions]:
    return [AssignedPartitions(topic_id=topic_id, partitions=list(of)) for topic_id, of in assignment.items()]


def states(group_id: str, of: States) -> Change:
    value = ShareGroupStatePartitionMetadataValue(
        initializing_topics=_topics(of.initializing),
        initialized_topics=_topics(of.initialized),
        deleting_topics=[
            TopicInfo(topic_id=topic_id, topic_name=of.deleting[topic_id]) for topic_id in order_of_uuids(of.deleting)
        ],
    )
    return Change(ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def _topics(topics: Mapping[bytes, StateTopic]) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(
            topic_id=topic_id,
            topic_name=topics[topic_id].name,
            partitions=order_of_numbers(sorted(of := topics[topic_id].partitions), grown(len(of))),
        )
        for topic_id in order_of_uuids(topics)
    ]


def without_member(group_id: str, member_id: str) -> list[Change]:
    """Return the tombstones of a member."""
    return [_no_current(group_id, member_id), _no_target(group_id, member_id), _no_member(group_id, member_id)]


def without_group(group_id: str, member_ids: Iterable[str]) -> list[Change]:
    """Return the tombstones of a group with these members."""
    member_ids = list(member_ids)
    return [
        *(_no_current(group_id, member_id) for member_id in member_ids),
        *(_no_target(group_id, member_id) for member_id in member_ids),
        Change(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(_no_member(group_id, member_id) for member_id in member_ids),
        Change(ShareGroupStatePartitionMetadataKey(group_id=group_id), None),
        Change(ShareGroupMetadataKey(group_id=group_id), None),
    ]


def _no_current(group_id: str, member_id: str) -> Change:
    return Change(ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None)


def _no_target(group_id: str, member_id: str) -> Change:
    return Change(ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None)


def _no_member(group_id: str, member_id: str) -> Change:
    return Change(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)
