"""Keys and values of the `__consumer_offsets` records that store streams groups (KIP-1071).

    key     int16 version | the message of that version; the version identifies the type of the record
            17  StreamsGroupMetadata                    the group epoch, a hash of the topic metadata, configuration
            19  StreamsGroupMemberMetadata              a member
            20  StreamsGroupTargetAssignmentMetadata    the group epoch of the target assignment
            21  StreamsGroupTargetAssignmentMember      the target assignment of a member
            22  StreamsGroupCurrentMemberAssignment     the tasks assigned to a member
            23  StreamsGroupTopology                    the topology
    value   int16 version (0) | message; a null value is a tombstone

The time at which the target was computed was added in 4.3, the epochs of topology descriptions in 4.4. All are tagged.
"""

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Int8, Int32, Int64, String

from . import streams_group_structs as structs


class StreamsGroupMetadataKey(Message, versions="17"):
    group_id: String


class StreamsGroupMetadataValue(Message, versions="0", flexible="0+"):
    epoch: Int32
    metadata_hash: Int64
    validated_topology_epoch: Int32 = field("0+", tag=0, default=-1)
    last_assignment_configs: list[structs.KeyValue] | None = field("0+", tag=1, default=None)
    stored_description_topology_epoch: Int32 = field("0+", tag=2, default=-1)
    failed_description_topology_epoch: Int32 = field("0+", tag=3, default=-1)


class StreamsGroupMemberMetadataKey(Message, versions="19"):
    group_id: String
    member_id: String


class StreamsGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    rebalance_timeout_ms: Int32 = -1
    topology_epoch: Int32
    process_id: String
    user_endpoint: structs.Endpoint | None = None
    client_tags: list[structs.KeyValue]


class StreamsGroupTargetAssignmentMetadataKey(Message, versions="20"):
    group_id: String


class StreamsGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    assignment_epoch: Int32
    assignment_timestamp: Int64 = field("0+", tag=0, default=0)


class StreamsGroupTargetAssignmentMemberKey(Message, versions="21"):
    group_id: String
    member_id: String


class StreamsGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    active_tasks: list[structs.TaskIds]
    standby_tasks: list[structs.TaskIds]
    warmup_tasks: list[structs.TaskIds]


class StreamsGroupCurrentMemberAssignmentKey(Message, versions="22"):
    group_id: String
    member_id: String


class OwnedTaskIds(Struct):
    subtopology_id: String
    partitions: list[Int32]
    assignment_epochs: list[Int32] | None = field("0+", tag=0, default=None)


class StreamsGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+"):
    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    active_tasks: list[OwnedTaskIds]
    standby_tasks: list[OwnedTaskIds]
    warmup_tasks: list[OwnedTaskIds]
    active_tasks_pending_revocation: list[OwnedTaskIds]
    standby_tasks_pending_revocation: list[OwnedTaskIds]
    warmup_tasks_pending_revocation: list[OwnedTaskIds]


class StreamsGroupTopologyKey(Message, versions="23"):
    group_id: String


class StreamsGroupTopologyValue(Message, versions="0", flexible="0+"):
    epoch: Int32
    subtopologies: list[structs.Subtopology]
