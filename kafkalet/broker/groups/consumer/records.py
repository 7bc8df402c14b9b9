"""The records of a consumer group, one for each kind of change.

A change consists of a key and a value message of `consumer_group_state`; the value is None for a tombstone. Changes are
first written to the log and then applied by the same code that replays the log after a restart (ConsumerGroup.replay).

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers.
"""

from collections.abc import Iterable

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.config.release import Release
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.broker.groups.modern.records import Change, RecordTypes
from kafkalet.protocol.messages import consumer_group_state as messages

from .members import ConsumerMember, Owned, Resolved

KEYS: RecordTypes = {
    3: (messages.ConsumerGroupMetadataKey, messages.ConsumerGroupMetadataValue),
    4: (messages.ConsumerGroupPartitionMetadataKey, messages.ConsumerGroupPartitionMetadataValue),
    5: (messages.ConsumerGroupMemberMetadataKey, messages.ConsumerGroupMemberMetadataValue),
    6: (messages.ConsumerGroupTargetAssignmentMetadataKey, messages.ConsumerGroupTargetAssignmentMetadataValue),
    7: (messages.ConsumerGroupTargetAssignmentMemberKey, messages.ConsumerGroupTargetAssignmentMemberValue),
    8: (messages.ConsumerGroupCurrentMemberAssignmentKey, messages.ConsumerGroupCurrentMemberAssignmentValue),
    16: (messages.ConsumerGroupRegularExpressionKey, messages.ConsumerGroupRegularExpressionValue),
}
"""The key and value types of each kind of record, keyed by key version."""


def encoded(change: Change, release: Release) -> StateRecord:
    """Encode a record as a broker of this release writes it."""
    value = change.value
    if isinstance(value, messages.ConsumerGroupCurrentMemberAssignmentValue) and not release.keeps_assignment_epochs:
        change = Change(change.key, _without_epochs(value))
    return change.encoded()


def _without_epochs(
    value: messages.ConsumerGroupCurrentMemberAssignmentValue,
) -> messages.ConsumerGroupCurrentMemberAssignmentValue:
    lists = [
        [messages.OwnedPartitions(topic_id=of.topic_id, partitions=of.partitions) for of in owned]
        for owned in (value.assigned_partitions, value.partitions_pending_revocation)
    ]
    return messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=value.state,
        assigned_partitions=lists[0],
        partitions_pending_revocation=lists[1],
    )


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Change:
    return Change(
        messages.ConsumerGroupMetadataKey(group_id=group_id),
        messages.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def member(group_id: str, of: ConsumerMember) -> Change:
    classic = None
    if of.classic is not None:
        classic = messages.ClassicMemberMetadata(
            session_timeout_ms=of.classic.session_timeout_ms,
            supported_protocols=[
                messages.ClassicProtocol(name=name, metadata=metadata) for name, metadata in of.classic.protocols
            ],
        )
    value = messages.ConsumerGroupMemberMetadataValue(
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
    return Change(messages.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=of.member_id), value)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Change:
    return Change(
        messages.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        messages.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms),
    )


def target(group_id: str, member_id: str, assignment: Assignment) -> Change:
    partition = messages.ConsumerGroupTargetAssignmentMemberValue.TopicPartition
    value = messages.ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[partition(topic_id=topic_id, partitions=list(of)) for topic_id, of in assignment.items()]
    )
    return Change(messages.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def current(group_id: str, of: ConsumerMember) -> Change:
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=of.member_epoch,
        previous_member_epoch=of.previous_member_epoch,
        state=of.state,
        assigned_partitions=_owned(of.assigned),
        partitions_pending_revocation=_owned(of.pending_revocation),
    )
    return Change(messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=of.member_id), value)


def _owned(owned: Owned) -> list[messages.OwnedPartitions]:
    return [
        messages.OwnedPartitions(topic_id=topic_id, partitions=list(epochs), assignment_epochs=list(epochs.values()))
        for topic_id, epochs in owned.items()
    ]


def regex(group_id: str, expression: str, resolved: Resolved) -> Change:
    value = messages.ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return Change(messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression), value)


def no_regex(group_id: str, expression: str) -> Change:
    return Change(messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression), None)


def without_member(group_id: str, member_id: str) -> list[Change]:
    """Return the tombstones of a member."""
    keys = (
        messages.ConsumerGroupCurrentMemberAssignmentKey,
        messages.ConsumerGroupTargetAssignmentMemberKey,
        messages.ConsumerGroupMemberMetadataKey,
    )
    return [Change(key(group_id=group_id, member_id=member_id), None) for key in keys]


def partition_metadata(group_id: str, topics: Iterable[tuple[str, bytes, int]]) -> Change:
    """Return the record with the name, id and number of partitions of each topic."""
    topic = messages.ConsumerGroupPartitionMetadataValue.TopicMetadata
    value = messages.ConsumerGroupPartitionMetadataValue(
        topics=[
            topic(topic_id=topic_id, topic_name=name, num_partitions=count, partition_metadata=[])
            for name, topic_id, count in topics
        ]
    )
    return Change(messages.ConsumerGroupPartitionMetadataKey(group_id=group_id), value)


def no_partition_metadata(group_id: str) -> Change:
    return Change(messages.ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def without_group(group_id: str, member_ids: Iterable[str], expressions: Iterable[str]) -> list[Change]:
    """Return the tombstones of a group with these members and regular expressions."""
    of_members = [without_member(group_id, member_id) for member_id in member_ids]
    return [
        *(current for current, _, _ in of_members),
        *(target for _, target, _ in of_members),
        Change(messages.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(member for _, _, member in of_members),
        *(no_regex(group_id, expression) for expression in expressions),
        no_partition_metadata(group_id),
        Change(messages.ConsumerGroupMetadataKey(group_id=group_id), None),
    ]
