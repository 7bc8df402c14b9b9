"""StreamsGroupTopologyDescriptionUpdate (93): send the topology description of a streams group."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response
from kafkalet.protocol.wire import Int16, Int32, String

from .streams_group_structs import TopologyDescription


class StreamsGroupTopologyDescriptionUpdateRequest(Request, api=Api.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE):
    group_id: String
    member_id: String
    topology_epoch: Int32
    topology_description: TopologyDescription


class StreamsGroupTopologyDescriptionUpdateResponse(Response, to=StreamsGroupTopologyDescriptionUpdateRequest):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
