"""DescribeShareGroupOffsets (90): return the start offsets of share groups (KIP-932).

v1  adds the lag (KIP-1226)
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct, field
from kafkalet.protocol.wire import Int16, Int32, Int64, String, Uuid


class DescribeShareGroupOffsetsRequest(Request, api=Api.DESCRIBE_SHARE_GROUP_OFFSETS):
    class Group(Struct):
        class Topic(Struct):
            topic_name: String
            partitions: list[Int32]

        group_id: String
        topics: list[Topic] | None

    groups: list[Group]


class DescribeShareGroupOffsetsResponse(Response, to=DescribeShareGroupOffsetsRequest):
    class Group(Struct):
        class Topic(Struct):
            class Partition(Struct):
                partition_index: Int32
                start_offset: Int64
                leader_epoch: Int32
                lag: Int64 = field("1+", default=-1)
                error_code: Int16 = 0
                error_message: String | None = None

            topic_name: String
            topic_id: Uuid
            partitions: list[Partition]

        group_id: String
        topics: list[Topic]
        error_code: Int16 = 0
        error_message: String | None = None

    throttle_time_ms: Int32 = 0
    groups: list[Group]
