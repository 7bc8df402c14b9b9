"""ReadShareGroupState (84): read the state of share partitions; sent by partition leaders (KIP-932)."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct, field
from kafkalet.protocol.wire import Int8, Int16, Int32, Int64, String, Uuid


class ReadShareGroupStateRequest(Request, api=Api.READ_SHARE_GROUP_STATE):
    class Topic(Struct):
        class Partition(Struct):
            partition: Int32
            leader_epoch: Int32

        topic_id: Uuid
        partitions: list[Partition]

    group_id: String
    topics: list[Topic]


class ReadShareGroupStateResponse(Response, to=ReadShareGroupStateRequest):
    class TopicResult(Struct):
        class Partition(Struct):
            class StateBatch(Struct):
                first_offset: Int64
                last_offset: Int64
                delivery_state: Int8
                delivery_count: Int16

            partition: Int32
            error_code: Int16 = 0
            error_message: String | None = None
            state_epoch: Int32 = 0
            start_offset: Int64 = 0
            state_batches: list[StateBatch] = field(default=[])

        topic_id: Uuid
        partitions: list[Partition]

    results: list[TopicResult]
