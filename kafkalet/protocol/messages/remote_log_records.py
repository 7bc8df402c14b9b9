"""The records of `__remote_log_metadata`, the topic of Kafka's TopicBasedRemoteLogMetadataManager (KIP-405).

A record has no key. Its value has the frame of the metadata log (metadata_frame.py), with its own types.
`txn_index_empty` exists since 4.0.

Source: storage/src/main/resources/message/Remote*Record.json.
"""

from typing import ClassVar

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Bool, Bytes, Int8, Int32, Int64, String, Uuid


class RemoteLogRecord(Message):
    """A record about remote segments. `TYPE` is its number."""

    TYPE: ClassVar[int]

    def __init_subclass__(cls, *, type: int) -> None:  # noqa: A002
        super().__init_subclass__(versions="0", flexible="0+")
        cls.TYPE = type


class TopicIdPartition(Struct):
    name: String
    id: Uuid
    partition: Int32


class RemoteLogSegmentId(Struct):
    topic_id_partition: TopicIdPartition
    id: Uuid


class SegmentLeaderEpoch(Struct):
    leader_epoch: Int32
    offset: Int64


class RemoteLogSegmentMetadataRecord(RemoteLogRecord, type=0):
    remote_log_segment_id: RemoteLogSegmentId
    start_offset: Int64
    end_offset: Int64
    broker_id: Int32
    max_timestamp_ms: Int64
    event_timestamp_ms: Int64
    segment_leader_epochs: list[SegmentLeaderEpoch]
    segment_size_in_bytes: Int32
    custom_metadata: Bytes | None = field(default=None)
    remote_log_segment_state: Int8
    txn_index_empty: Bool = field(tag=0, default=False)


class RemoteLogSegmentMetadataUpdateRecord(RemoteLogRecord, type=1):
    remote_log_segment_id: RemoteLogSegmentId
    broker_id: Int32
    event_timestamp_ms: Int64
    custom_metadata: Bytes | None = field(default=None)
    remote_log_segment_state: Int8


class RemotePartitionDeleteMetadataRecord(RemoteLogRecord, type=2):
    topic_id_partition: TopicIdPartition
    broker_id: Int32
    event_timestamp_ms: Int64
    remote_partition_delete_state: Int8


RECORDS: dict[int, type[RemoteLogRecord]] = {record.TYPE: record for record in RemoteLogRecord.__subclasses__()}
"""The declared records, keyed by type."""
