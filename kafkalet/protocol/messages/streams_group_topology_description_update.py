"""StreamsGroupTopologyDescriptionUpdate (93): send the topology description of a streams group."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct
from kafkalet.protocol.wire import Int8, Int16, Int32, String


class TopologyNode(Struct):
    name: String
    node_type: Int8
    source_topics: list[String]
    sink_topic: String | None = None
    stores: list[String]
    successors: list[String]


class StreamsGroupTopologyDescriptionUpdateRequest(Request, api=Api.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE):
    class TopologyDescription(Struct):
        class Subtopology(Struct):
            subtopology_id: String
            nodes: list[TopologyNode]

        class GlobalStore(Struct):
            source: TopologyNode
            processor: TopologyNode

        subtopologies: list[Subtopology]
        global_stores: list[GlobalStore]

    group_id: String
    member_id: String
    topology_epoch: Int32
    topology_description: TopologyDescription


class StreamsGroupTopologyDescriptionUpdateResponse(Response, to=StreamsGroupTopologyDescriptionUpdateRequest):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
