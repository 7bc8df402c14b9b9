"""The records of a streams group, one for each kind of change (see modern/records.py).

Source: org.apache.kafka.coordinator.group.streams.StreamsCoordinatorRecordHelpers.
"""

from collections.abc import Iterable, Mapping

from kafkalet.broker.groups.modern.records import Change, RecordTypes
from kafkalet.protocol.messages import streams_group_metadata as messages
from kafkalet.protocol.messages import streams_group_structs as structs

from .members import StreamsMember, Tasks, TaskSet

KEYS: RecordTypes = {
    17: (messages.StreamsGroupMetadataKey, messages.StreamsGroupMetadataValue),
    19: (messages.StreamsGroupMemberMetadataKey, messages.StreamsGroupMemberMetadataValue),
    20: (messages.StreamsGroupTargetAssignmentMetadataKey, messages.StreamsGroupTargetAssignmentMetadataValue),
    21: (messages.StreamsGroupTargetAssignmentMemberKey, messages.StreamsGroupTargetAssignmentMemberValue),
    22: (messages.StreamsGroupCurrentMemberAssignmentKey, messages.StreamsGroupCurrentMemberAssignmentValue),
    23: (messages.StreamsGroupTopologyKey, messages.StreamsGroupTopologyValue),
}
"""The key and value types of each kind of record, by key version."""


def member(group_id: str, of: StreamsMember) -> Change:
    endpoint = of.user_endpoint
    return Change(
        messages.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=of.member_id),
        messages.StreamsGroupMemberMetadataValue(
            instance_id=of.instance_id,
            rack_id=of.rack_id,
            client_id=of.client_id,
            client_host=of.client_host,
            rebalance_timeout_ms=of.rebalance_timeout_ms,
            topology_epoch=of.topology_epoch,
            process_id=of.process_id,
            user_endpoint=None if endpoint is None else structs.Endpoint(host=endpoint.host, port=endpoint.port),
            client_tags=[structs.KeyValue(key=key, value=of.client_tags[key]) for key in sorted(of.client_tags)],
        ),
    )


def group_epoch(
    group_id: str, epoch: int, metadata_hash: int, validated_topology_epoch: int, configs: Mapping[str, str]
) -> Change:
    value = messages.StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=[structs.KeyValue(key=key, value=configs[key]) for key in sorted(configs)],
    )
    return Change(messages.StreamsGroupMetadataKey(group_id=group_id), value)


def topology(group_id: str, value: messages.StreamsGroupTopologyValue) -> Change:
    return Change(messages.StreamsGroupTopologyKey(group_id=group_id), value)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Change:
    value = messages.StreamsGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp_ms
    )
    return Change(messages.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target(group_id: str, member_id: str, tasks: Tasks) -> Change:
    active, standby, warmup = (
        [structs.TaskIds(subtopology_id=of, partitions=sorted(kind[of])) for of in sorted(kind)] for kind in tasks
    )
    return Change(
        messages.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        messages.StreamsGroupTargetAssignmentMemberValue(
            active_tasks=active, standby_tasks=standby, warmup_tasks=warmup
        ),
    )


def current(group_id: str, of: StreamsMember) -> Change:
    value = messages.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=of.member_epoch,
        previous_member_epoch=of.previous_member_epoch,
        state=of.state,
        active_tasks=_owned(of.assigned.active, has_epochs=True),
        standby_tasks=_owned(of.assigned.standby),
        warmup_tasks=_owned(of.assigned.warmup),
        active_tasks_pending_revocation=_owned(of.pending_revocation.active, has_epochs=True),
        standby_tasks_pending_revocation=_owned(of.pending_revocation.standby),
        warmup_tasks_pending_revocation=_owned(of.pending_revocation.warmup),
    )
    return Change(messages.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=of.member_id), value)


def _owned(tasks: TaskSet, *, has_epochs: bool = False) -> list[messages.OwnedTaskIds]:
    return [
        messages.OwnedTaskIds(
            subtopology_id=of,
            partitions=sorted(tasks[of]),
            assignment_epochs=[tasks[of][partition] for partition in sorted(tasks[of])] if has_epochs else None,
        )
        for of in sorted(tasks)
    ]


def owned_tasks(kind: Iterable[messages.OwnedTaskIds], member_epoch: int) -> TaskSet:
    """Return tasks that were read from the log. Before 4.3, active tasks have the epoch of the member."""
    owned: TaskSet = {}
    for of in kind:
        epochs = of.assignment_epochs
        if epochs is None or len(epochs) != len(of.partitions):
            epochs = [member_epoch] * len(of.partitions)
        owned[of.subtopology_id] = dict(zip(of.partitions, epochs, strict=True))
    return owned


def without_member(group_id: str, member_id: str) -> list[Change]:
    """Return the tombstones of a member."""
    keys = (
        messages.StreamsGroupCurrentMemberAssignmentKey,
        messages.StreamsGroupTargetAssignmentMemberKey,
        messages.StreamsGroupMemberMetadataKey,
    )
    return [Change(key(group_id=group_id, member_id=member_id), None) for key in keys]


def without_group(group_id: str, member_ids: Iterable[str]) -> list[Change]:
    """Return the tombstones of a group with these members."""
    of_members = [without_member(group_id, member_id) for member_id in member_ids]
    return [
        *(current for current, _, _ in of_members),
        *(target for _, target, _ in of_members),
        Change(messages.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(member for _, _, member in of_members),
        Change(messages.StreamsGroupMetadataKey(group_id=group_id), None),
        Change(messages.StreamsGroupTopologyKey(group_id=group_id), None),
    ]
