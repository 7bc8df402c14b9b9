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
from kafkalet.protocol.wire import Int8, Int16, Int32, Int64, String, UInt16


class StreamsGroupMetadataKey(Message, versions="17"):
    group_id: String


class StreamsGroupMetadataValue(Message, versions="0", flexible="0+"):
    class AssignmentConfig(Struct):
        key: String
        value: String

    epoch: Int32
    metadata_hash: Int64
    validated_topology_epoch: Int32 = field("0+", tag=0, default=-1)
    last_assignment_configs: list[AssignmentConfig] | None = field("0+", tag=1, default=None)
    stored_description_topology_epoch: Int32 = field("0+", tag=2, default=-1)
    failed_description_topology_epoch: Int32 = field("0+", tag=3, default=-1)


class StreamsGroupMemberMetadataKey(Message, versions="19"):
    group_id: String
    member_id: String


class StreamsGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
    class Endpoint(Struct):
        host: String
        port: UInt16

    class KeyValue(Struct):
        key: String
        value: String

    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    rebalance_timeout_ms: Int32 = -1
    topology_epoch: Int32
    process_id: String
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue]


class StreamsGroupTargetAssignmentMetadataKey(Message, versions="20"):
    group_id: String


class StreamsGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    assignment_epoch: Int32
    assignment_timestamp: Int64 = field("0+", tag=0, default=0)


class StreamsGroupTargetAssignmentMemberKey(Message, versions="21"):
    group_id: String
    member_id: String


class StreamsGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    class TaskIds(Struct):
        subtopology_id: String
        partitions: list[Int32]

    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]


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


class TopicConfig(Struct):
    key: String
    value: String


class TopicInfo(Struct):
    name: String
    partitions: Int32
    replication_factor: Int16
    topic_configs: list[TopicConfig]


class CopartitionGroup(Struct):
    source_topics: list[Int16]
    source_topic_regex: list[Int16]
    repartition_source_topics: list[Int16]


class Subtopology(Struct):
    subtopology_id: String
    source_topics: list[String]
    source_topic_regex: list[String]
    state_changelog_topics: list[TopicInfo]
    repartition_sink_topics: list[String]
    repartition_source_topics: list[TopicInfo]
    copartition_groups: list[CopartitionGroup]


class StreamsGroupTopologyValue(Message, versions="0", flexible="0+"):
    epoch: Int32
    subtopologies: list[Subtopology]
