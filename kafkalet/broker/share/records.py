"""The records of __share_group_state.

A snapshot has the complete state of a share partition, an update what changed after it. The topic is not compacted:
every share partition is written as a snapshot now and then, and records before the oldest snapshot that is still needed
are deleted.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorRecordHelpers, ShareCoordinatorRecordSerde.
"""

from struct import Struct

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.protocol.messages import share_state_topic as messages

from .state import SharePartitionKey, SharePartitionState, StateBatch

SNAPSHOT = 0
UPDATE = 1
VALUE_VERSION = 0
_VERSION = Struct(">h")


def snapshot(key: SharePartitionKey, state: SharePartitionState) -> StateRecord:
    value = messages.ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=[messages.ShareSnapshotValue.StateBatch(**batch._asdict()) for batch in state.batches],
    )
    return StateRecord(_snapshot_key(key), _VERSION.pack(VALUE_VERSION) + value.encode(VALUE_VERSION))


def update(key: SharePartitionKey, state: SharePartitionState) -> StateRecord:
    value = messages.ShareUpdateValue(
        snapshot_epoch=state.snapshot_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        state_batches=[messages.ShareUpdateValue.StateBatch(**batch._asdict()) for batch in state.batches],
    )
    message = messages.ShareUpdateKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
    return StateRecord(
        _VERSION.pack(UPDATE) + message.encode(UPDATE), _VERSION.pack(VALUE_VERSION) + value.encode(VALUE_VERSION)
    )


def tombstone(key: SharePartitionKey) -> StateRecord:
    return StateRecord(_snapshot_key(key), None)


def _snapshot_key(key: SharePartitionKey) -> bytes:
    message = messages.ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
    return _VERSION.pack(SNAPSHOT) + message.encode(SNAPSHOT)


def decode_key(key: bytes) -> tuple[int, SharePartitionKey | None]:
    """Return the type of a record, and its share partition, which is None for an unknown type."""
    (kind,) = _VERSION.unpack_from(key)
    if kind not in (SNAPSHOT, UPDATE):
        return kind, None
    read = (messages.ShareSnapshotKey if kind == SNAPSHOT else messages.ShareUpdateKey).decode(
        key[_VERSION.size :], kind
    )
    return kind, SharePartitionKey(read.group_id, read.topic_id, read.partition)


def decode_snapshot(value: bytes) -> SharePartitionState:
    (version,) = _VERSION.unpack_from(value)
    read = messages.ShareSnapshotValue.decode(value[_VERSION.size :], version)
    return SharePartitionState(
        state_epoch=read.state_epoch,
        start_offset=read.start_offset,
        leader_epoch=read.leader_epoch,
        delivery_complete_count=read.delivery_complete_count,
        batches=_batches(read.state_batches),
        snapshot_epoch=read.snapshot_epoch,
        created_ms=read.create_timestamp,
        written_ms=read.write_timestamp,
    )


def decode_update(value: bytes) -> SharePartitionState:
    """Return an update as the state that it has on its own: state epoch 0, and only the batches that changed."""
    (version,) = _VERSION.unpack_from(value)
    read = messages.ShareUpdateValue.decode(value[_VERSION.size :], version)
    return SharePartitionState(
        state_epoch=0,
        start_offset=read.start_offset,
        leader_epoch=read.leader_epoch,
        delivery_complete_count=read.delivery_complete_count,
        batches=_batches(read.state_batches),
        snapshot_epoch=read.snapshot_epoch,
    )


def _batches(
    read: "list[messages.ShareSnapshotValue.StateBatch] | list[messages.ShareUpdateValue.StateBatch]",
) -> tuple[StateBatch, ...]:
    return tuple(StateBatch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count) for b in read)
