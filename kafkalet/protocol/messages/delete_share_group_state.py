"""DeleteShareGroupState (86): delete the state of share partitions; sent by group coordinators (KIP-932)."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct
from kafkalet.protocol.wire import Int16, Int32, String, Uuid


class DeleteShareGroupStateRequest(Request, api=Api.DELETE_SHARE_GROUP_STATE):
    class Topic(Struct):
        class Partition(Struct):
            partition: Int32

        topic_id: Uuid
        partitions: list[Partition]

    group_id: String
    topics: list[Topic]


class DeleteShareGroupStateResponse(Response, to=DeleteShareGroupStateRequest):
    class TopicResult(Struct):
        class Partition(Struct):
            partition: Int32
            error_code: Int16 = 0
            error_message: String | None = None

        topic_id: Uuid
        partitions: list[Partition]

    results: list[TopicResult]
