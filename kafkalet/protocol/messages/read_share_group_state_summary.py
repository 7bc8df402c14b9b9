"""ReadShareGroupStateSummary (87): read the start offsets of share partitions, without the record states (KIP-932).

v1  adds the number of completed deliveries (KIP-1226)
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct, field
from kafkalet.protocol.wire import Int16, Int32, Int64, String, Uuid


class ReadShareGroupStateSummaryRequest(Request, api=Api.READ_SHARE_GROUP_STATE_SUMMARY):
    class Topic(Struct):
        class Partition(Struct):
            partition: Int32
            leader_epoch: Int32

        topic_id: Uuid
        partitions: list[Partition]

    group_id: String
    topics: list[Topic]


class ReadShareGroupStateSummaryResponse(Response, to=ReadShareGroupStateSummaryRequest):
    class TopicResult(Struct):
        class Partition(Struct):
            partition: Int32
            error_code: Int16 = 0
            error_message: String | None = None
            state_epoch: Int32 = 0
            leader_epoch: Int32 = 0
            start_offset: Int64 = 0
            delivery_complete_count: Int32 = field("1+", default=-1)

        topic_id: Uuid
        partitions: list[Partition]

    results: list[TopicResult]
