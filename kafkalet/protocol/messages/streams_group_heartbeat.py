"""StreamsGroupHeartbeat (88): join, stay in or leave a streams group (KIP-1071).

v1  widens acceptable_recovery_lag to 64 bits; adds topology_description_required
"""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response, Struct, field
from kafkalet.protocol.wire import Bool, Int8, Int16, Int32, Int64, String

from . import streams_group_structs as structs


class StreamsGroupHeartbeatRequest(Request, api=Api.STREAMS_GROUP_HEARTBEAT):
    class Topology(Struct):
        epoch: Int32
        subtopologies: list[structs.Subtopology]

    group_id: String
    member_id: String
    member_epoch: Int32  # 0 to join, -1 to leave, -2 to leave temporarily (static members)
    endpoint_information_epoch: Int32
    instance_id: String | None = None
    rack_id: String | None = None
    rebalance_timeout_ms: Int32 = -1
    topology: Topology | None = None
    active_tasks: list[structs.TaskIds] | None = None
    standby_tasks: list[structs.TaskIds] | None = None
    warmup_tasks: list[structs.TaskIds] | None = None
    process_id: String | None = None
    user_endpoint: structs.Endpoint | None = None
    client_tags: list[structs.KeyValue] | None = None
    task_offsets: list[structs.TaskOffset] | None = None
    task_end_offsets: list[structs.TaskOffset] | None = None
    shutdown_application: Bool


class StreamsGroupHeartbeatResponse(Response, to=StreamsGroupHeartbeatRequest):
    class Status(Struct):
        status_code: Int8
        status_detail: String

    class EndpointToPartitions(Struct):
        class TopicPartition(Struct):
            topic: String
            partitions: list[Int32]

        user_endpoint: structs.Endpoint
        active_partitions: list[TopicPartition]
        standby_partitions: list[TopicPartition]

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    member_id: String
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    acceptable_recovery_lag_legacy: Int32 = field("0", default=0)
    task_offset_interval_ms: Int32
    acceptable_recovery_lag: Int64 = field("1+", default=-1)
    status: list[Status] | None
    active_tasks: list[structs.TaskIds] | None = None
    standby_tasks: list[structs.TaskIds] | None = None
    warmup_tasks: list[structs.TaskIds] | None = None
    topology_description_required: Bool = field("1+", default=False)
    endpoint_information_epoch: Int32
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
