"""StreamsGroupDescribe (89): describe streams groups, their topology and their members (KIP-1071).

v1  adds the assignor and, on request, the description of the topology
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct, field
from kafkalet.protocol.wire import Bool, Int8, Int16, Int32, String

from . import streams_group_structs as structs


class StreamsGroupDescribeRequest(Request, api=Api.STREAMS_GROUP_DESCRIBE):
    group_ids: list[String]
    include_authorized_operations: Bool
    include_topology_description: Bool = field("1+", default=False)


class StreamsGroupDescribeResponse(Response, to=StreamsGroupDescribeRequest):
    class Group(Struct):
        class Topology(Struct):
            class Subtopology(Struct):
                subtopology_id: String
                source_topics: list[String]
                repartition_sink_topics: list[String]
                state_changelog_topics: list[structs.TopicInfo]
                repartition_source_topics: list[structs.TopicInfo]

            epoch: Int32
            subtopologies: list[Subtopology] | None = None

        class Member(Struct):
            class Assignment(Struct):
                active_tasks: list[structs.TaskIds]
                standby_tasks: list[structs.TaskIds]
                warmup_tasks: list[structs.TaskIds]

            member_id: String
            member_epoch: Int32
            instance_id: String | None = None
            rack_id: String | None = None
            client_id: String
            client_host: String
            topology_epoch: Int32
            process_id: String
            user_endpoint: structs.Endpoint | None = None
            client_tags: list[structs.KeyValue]
            task_offsets: list[structs.TaskOffset]
            task_end_offsets: list[structs.TaskOffset]
            assignment: Assignment
            target_assignment: Assignment
            is_classic: Bool

        error_code: Int16 = 0
        error_message: String | None = None
        group_id: String
        group_state: String
        group_epoch: Int32
        assignment_epoch: Int32
        topology: Topology | None = None
        members: list[Member]
        authorized_operations: Int32 = -2147483648
        topology_description: structs.TopologyDescription | None = field("1+", default=None)
        topology_description_status: Int8 = field("1+", default=0)
        assignor_name: String | None = field("1+", default=None)

    throttle_time_ms: Int32 = 0
    groups: list[Group]
