"""AlterShareGroupOffsets (91): set the start offsets of a share group (KIP-932)."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct
from kafkalet.protocol.wire import Int16, Int32, Int64, String, Uuid


class AlterShareGroupOffsetsRequest(Request, api=Api.ALTER_SHARE_GROUP_OFFSETS):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32
            start_offset: Int64

        topic_name: String
        partitions: list[Partition]

    group_id: String
    topics: list[Topic]


class AlterShareGroupOffsetsResponse(Response, to=AlterShareGroupOffsetsRequest):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32
            error_code: Int16 = 0
            error_message: String | None = None

        topic_name: String
        topic_id: Uuid
        partitions: list[Partition]

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    responses: list[Topic]
