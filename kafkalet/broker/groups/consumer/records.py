"""The records of a consumer group, one for each kind of change.

A change consists of a key and a value message of `consumer_group_state`; the value is None for a tombstone. Changes are
first written to the log and then applied by the same code that replays the log after a restart (ConsumerGroup.replay).

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers.
"""

from collections.abc import Iterable
from typing import TypeAlias

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.config.release import Release
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.modern.records import Change
from kafkalet.protocol.messages.consumer_group_state import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    OwnedPartitions,
)
from kafkalet.protocol.schema import Message

from .members import ConsumerMember, Owned, Resolved

Key: TypeAlias = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)

KEYS: dict[int, tuple[type[Key], type[Message]]] = {
    3: (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    7: (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    8: (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    16: (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
}
"""The key and value types of each kind of record, keyed by key version."""


def encoded(change: Change, release: Release) -> StateRecord:
    """Encode a record as a broker of this release writes it."""
    value = change.value
    if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue) and not release.keeps_assignment_epochs:
        change = Change(change.key, _without_epochs(value))
    return change.encoded()


def _without_epochs(value: ConsumerGroupCurrentMemberAssignmentValue) -> ConsumerGroupCurrentMemberAssignmentValue:
    lists = [
        [OwnedPartitions(topic_id=of.topic_id, partitions=of.partitions) for of in owned]
        for owned in (value.assigned_partitions, value.partitions_pending_revocation)
    ]
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=value.state,
        assigned_partitions=lists[0],
        partitions_pending_revocation=lists[1],
    )


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Change:
    return Change(
        ConsumerGroupMetadataKey(group_id=group_id),
        ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def member(group_id: str, of: ConsumerMember) -> Change:
    classic = None
    if of.classic is not None:
        classic = ClassicMemberMetadata(
            session_timeout_ms=of.classic.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=name, metadata=metadata) for name, metadata in of.classic.protocols
            ],
        )
    value = ConsumerGroupMemberMetadataValue(
        instance_id=of.instance_id,
        rack_id=of.rack_id,
        client_id=of.client_id,
        client_host=of.client_host,
        subscribed_topic_names=sorted(of.topic_names),
        subscribed_topic_regex=of.topic_regex,
        rebalance_timeout_ms=of.rebalance_timeout_ms,
        server_assignor=of.server_assignor,
        classic_member_metadata=classic,
    )
    return Change(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=of.member_id), value)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Change:
    return Change(
        ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms),
    )


def target(group_id: str, member_id: str, assignment: Assignment) -> Change:
    partition = ConsumerGroupTargetAssignmentMemberValue.TopicPartition
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[partition(topic_id=topic_id, partitions=list(of)) for topic_id, of in assignment.items()]
    )
    return Change(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def current(group_id: str, of: ConsumerMember) -> Change:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=of.member_epoch,
        previous_member_epoch=of.previous_member_epoch,
        state=of.state,
        assigned_partitions=_owned(of.assigned),
        partitions_pending_revocation=_owned(of.pending_revocation),
    )
    return Change(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=of.member_id), value)


def _owned(owned: Owned) -> list[OwnedPartitions]:
    return [
        OwnedPartitions(topic_id=topic_id, partitions=list(epochs), assignment_epochs=list(epochs.values()))
        for topic_id, epochs in owned.items()
    ]


def regex(group_id: str, expression: str, resolved: Resolved) -> Change:
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return Change(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression), value)


def no_regex(group_id: str, expression: str) -> Change:
    return Change(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression), None)


def no_current(group_id: str, member_id: str) -> Change:
    return Change(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None)


def no_target(group_id: str, member_id: str) -> Change:
    return Change(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None)


def no_member(group_id: str, member_id: str) -> Change:
    return Change(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)


def without_member(group_id: str, member_id: str) -> list[Change]:
    """Return the tombstones of a member."""
    return [no_current(group_id, member_id), no_target(group_id, member_id), no_member(group_id, member_id)]


def partition_metadata(group_id: str, topics: Iterable[tuple[str, bytes, int]]) -> Change:
    """Return the record with the name, id and number of partitions of each topic."""
    topic = ConsumerGroupPartitionMetadataValue.TopicMetadata
    value = ConsumerGroupPartitionMetadataValue(
        topics=[
            topic(topic_id=topic_id, topic_name=name, num_partitions=count, partition_metadata=[])
            for name, topic_id, count in topics
        ]
    )
    return Change(ConsumerGroupPartitionMetadataKey(group_id=group_id), value)


def no_partition_metadata(group_id: str) -> Change:
    return Change(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def without_group(group_id: str, member_ids: Iterable[str], expressions: Iterable[str]) -> list[Change]:
    """Return the tombstones of a group with these members and regular expressions."""
    member_ids = list(member_ids)
    return [
        *(no_current(group_id, member_id) for member_id in member_ids),
        *(no_target(group_id, member_id) for member_id in member_ids),
        Change(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(no_member(group_id, member_id) for member_id in member_ids),
        *(no_regex(group_id, expression) for expression in expressions),
        no_partition_metadata(group_id),
        Change(ConsumerGroupMetadataKey(group_id=group_id), None),
    ]
