"""Keys and values of the records in `__share_group_state`, which store what share groups have consumed (KIP-932).

    key     int16 version | the message of that version; the version identifies the type of the record
            0   ShareSnapshot   the complete state of a share partition; a null value is a tombstone
            1   ShareUpdate     what has changed since its last snapshot
    value   int16 version (0) | message

The number of completed deliveries (KIP-1226, since 4.2) is a tagged field.
"""

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Int8, Int16, Int32, Int64, String, Uuid


class ShareSnapshotKey(Message, versions="0"):
    group_id: String
    topic_id: Uuid
    partition: Int32


class ShareSnapshotValue(Message, versions="0", flexible="0+"):
    class StateBatch(Struct):
        first_offset: Int64
        last_offset: Int64
        delivery_state: Int8  # 0 available, 2 acknowledged, 4 archived
        delivery_count: Int16

    snapshot_epoch: Int32
    state_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64
    delivery_complete_count: Int32 = field("0+", tag=0, default=-1)
    create_timestamp: Int64
    write_timestamp: Int64
    state_batches: list[StateBatch]


class ShareUpdateKey(Message, versions="1"):
    group_id: String
    topic_id: Uuid
    partition: Int32


class ShareUpdateValue(Message, versions="0", flexible="0+"):
    class StateBatch(Struct):
        first_offset: Int64
        last_offset: Int64
        delivery_state: Int8
        delivery_count: Int16

    snapshot_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64  # -1 if it does not change
    delivery_complete_count: Int32 = field("0+", tag=0, default=-1)
    state_batches: list[StateBatch]
