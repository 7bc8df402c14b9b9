"""The records of a share group, one for each kind of change (see modern/records.py).

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers.
"""

from collections.abc import Iterable, Mapping

from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.modern.records import Change, RecordTypes
from kafkalet.broker.java_order import order_of_numbers, order_of_uuids
from kafkalet.protocol.messages import share_group_metadata as messages

from .members import ShareMember
from .states import States, StateTopic

KEYS: RecordTypes = {
    10: (messages.ShareGroupMemberMetadataKey, messages.ShareGroupMemberMetadataValue),
    11: (messages.ShareGroupMetadataKey, messages.ShareGroupMetadataValue),
    12: (messages.ShareGroupTargetAssignmentMetadataKey, messages.ShareGroupTargetAssignmentMetadataValue),
    13: (messages.ShareGroupTargetAssignmentMemberKey, messages.ShareGroupTargetAssignmentMemberValue),
    14: (messages.ShareGroupCurrentMemberAssignmentKey, messages.ShareGroupCurrentMemberAssignmentValue),
    15: (messages.ShareGroupStatePartitionMetadataKey, messages.ShareGroupStatePartitionMetadataValue),
}
"""The key and value types of each kind of record, by key version."""


def member(group_id: str, of: ShareMember) -> Change:
    value = messages.ShareGroupMemberMetadataValue(
        rack_id=of.rack_id,
        client_id=of.client_id,
        client_host=of.client_host,
        subscribed_topic_names=sorted(of.topic_names),
    )
    return Change(messages.ShareGroupMemberMetadataKey(group_id=group_id, member_id=of.member_id), value)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Change:
    value = messages.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return Change(messages.ShareGroupMetadataKey(group_id=group_id), value)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Change:
    value = messages.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return Change(messages.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target(group_id: str, member_id: str, assignment: Assignment) -> Change:
    value = messages.ShareGroupTargetAssignmentMemberValue(topic_partitions=_assigned(assignment))
    return Change(messages.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def current(group_id: str, of: ShareMember) -> Change:
    value = messages.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=of.member_epoch,
        previous_member_epoch=of.previous_member_epoch,
        state=of.state,
        assigned_partitions=_assigned(of.assigned),
    )
    return Change(messages.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=of.member_id), value)


def _assigned(assignment: Assignment) -> list[messages.AssignedPartitions]:
    return [messages.AssignedPartitions(topic_id=topic_id, partitions=list(of)) for topic_id, of in assignment.items()]


def states(group_id: str, of: States) -> Change:
    value = messages.ShareGroupStatePartitionMetadataValue(
        initializing_topics=_topics(of.initializing),
        initialized_topics=_topics(of.initialized),
        deleting_topics=[
            messages.TopicInfo(topic_id=topic_id, topic_name=of.deleting[topic_id])
            for topic_id in order_of_uuids(of.deleting)
        ],
    )
    return Change(messages.ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def _topics(topics: Mapping[bytes, StateTopic]) -> list[messages.TopicPartitionsInfo]:
    return [
        messages.TopicPartitionsInfo(
            topic_id=topic_id,
            topic_name=topics[topic_id].name,
            partitions=order_of_numbers(sorted(topics[topic_id].partitions)),
        )
        for topic_id in order_of_uuids(topics)
    ]


def without_member(group_id: str, member_id: str) -> list[Change]:
    """Return the tombstones of a member."""
    keys = (
        messages.ShareGroupCurrentMemberAssignmentKey,
        messages.ShareGroupTargetAssignmentMemberKey,
        messages.ShareGroupMemberMetadataKey,
    )
    return [Change(key(group_id=group_id, member_id=member_id), None) for key in keys]


def without_group(group_id: str, member_ids: Iterable[str]) -> list[Change]:
    """Return the tombstones of a group with these members."""
    of_members = [without_member(group_id, member_id) for member_id in member_ids]
    return [
        *(current for current, _, _ in of_members),
        *(target for _, target, _ in of_members),
        Change(messages.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(member for _, _, member in of_members),
        Change(messages.ShareGroupStatePartitionMetadataKey(group_id=group_id), None),
        Change(messages.ShareGroupMetadataKey(group_id=group_id), None),
    ]
