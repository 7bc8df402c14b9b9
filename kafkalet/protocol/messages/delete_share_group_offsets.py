"""DeleteShareGroupOffsets (92): delete a share group's offsets for entire topics (KIP-932)."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct
from kafkalet.protocol.wire import Int16, Int32, String, Uuid


class DeleteShareGroupOffsetsRequest(Request, api=Api.DELETE_SHARE_GROUP_OFFSETS):
    class Topic(Struct):
        topic_name: String

    group_id: String
    topics: list[Topic]


class DeleteShareGroupOffsetsResponse(Response, to=DeleteShareGroupOffsetsRequest):
    class Topic(Struct):
        topic_name: String
        topic_id: Uuid
        error_code: Int16 = 0
        error_message: String | None = None

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    responses: list[Topic]
