"""WriteShareGroupState (85): write the state of share partitions; sent by partition leaders (KIP-932).

v1  adds the number of completed deliveries (KIP-1226)
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct, field
from kafkalet.protocol.wire import Int8, Int16, Int32, Int64, String, Uuid


class WriteShareGroupStateRequest(Request, api=Api.WRITE_SHARE_GROUP_STATE):
    class Topic(Struct):
        class Partition(Struct):
            class StateBatch(Struct):
                first_offset: Int64
                last_offset: Int64
                delivery_state: Int8
                delivery_count: Int16

            partition: Int32
            state_epoch: Int32
            leader_epoch: Int32
            start_offset: Int64
            delivery_complete_count: Int32 = field("1+", default=-1)
            state_batches: list[StateBatch]

        topic_id: Uuid
        partitions: list[Partition]

    group_id: String
    topics: list[Topic]


class WriteShareGroupStateResponse(Response, to=WriteShareGroupStateRequest):
    class TopicResult(Struct):
        class Partition(Struct):
            partition: Int32
            error_code: Int16 = 0
            error_message: String | None = None

        topic_id: Uuid
        partitions: list[Partition]

    results: list[TopicResult]
