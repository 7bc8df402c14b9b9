"""Keys and values of the `__consumer_offsets` records that store consumer protocol groups (KIP-848).

    key     int16 version | the message of that version; the version identifies the type of the record
            3   ConsumerGroupMetadata                   the group epoch
            4   ConsumerGroupPartitionMetadata          metadata of the subscribed topics (up to 4.0)
            5   ConsumerGroupMemberMetadata             a member and its subscription
            6   ConsumerGroupTargetAssignmentMetadata   the group epoch of the target assignment
            7   ConsumerGroupTargetAssignmentMember     the target assignment of a member
            8   ConsumerGroupCurrentMemberAssignment    partitions assigned to a member and pending revocation
            16  ConsumerGroupRegularExpression          the topics that match a regular expression (since 4.0)
    value   int16 version (0) | message; a null value is a tombstone

Fields added after 4.0 are tagged: a hash of the topic metadata, which replaces key 4 (4.1); the time at which the
target was computed (4.3); the epoch at which each partition was assigned (KIP-1251, 4.3).
"""

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Bytes, Int8, Int32, Int64, String, Uuid


class ConsumerGroupMetadataKey(Message, versions="3"):
    group_id: String


class ConsumerGroupMetadataValue(Message, versions="0", flexible="0+"):
    epoch: Int32
    metadata_hash: Int64 = field("0+", tag=0, default=0)


class ConsumerGroupPartitionMetadataKey(Message, versions="4"):
    group_id: String


class ConsumerGroupPartitionMetadataValue(Message, versions="0", flexible="0+"):
    class TopicMetadata(Struct):
        class PartitionMetadata(Struct):
            partition: Int32
            racks: list[String]

        topic_id: Uuid
        topic_name: String
        num_partitions: Int32
        partition_metadata: list[PartitionMetadata]

    topics: list[TopicMetadata]


class ConsumerGroupMemberMetadataKey(Message, versions="5"):
    group_id: String
    member_id: String


class ClassicProtocol(Struct):
    name: String
    metadata: Bytes


class ClassicMemberMetadata(Struct):
    session_timeout_ms: Int32
    supported_protocols: list[ClassicProtocol]


class ConsumerGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: list[String]
    subscribed_topic_regex: String | None
    rebalance_timeout_ms: Int32 = -1
    server_assignor: String | None
    classic_member_metadata: ClassicMemberMetadata | None = field("0+", tag=0, nullable="0+", default=None)


class ConsumerGroupTargetAssignmentMetadataKey(Message, versions="6"):
    group_id: String


class ConsumerGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    assignment_epoch: Int32
    assignment_timestamp: Int64 = field("0+", tag=0, default=0)


class ConsumerGroupTargetAssignmentMemberKey(Message, versions="7"):
    group_id: String
    member_id: String


class ConsumerGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    class TopicPartition(Struct):
        topic_id: Uuid
        partitions: list[Int32]

    topic_partitions: list[TopicPartition]


class ConsumerGroupCurrentMemberAssignmentKey(Message, versions="8"):
    group_id: String
    member_id: String


class OwnedPartitions(Struct):
    topic_id: Uuid
    partitions: list[Int32]
    assignment_epochs: list[Int32] | None = field("0+", tag=0, default=None)


class ConsumerGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+"):
    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: list[OwnedPartitions]
    partitions_pending_revocation: list[OwnedPartitions]


class ConsumerGroupRegularExpressionKey(Message, versions="16"):
    group_id: String
    regular_expression: String


class ConsumerGroupRegularExpressionValue(Message, versions="0", flexible="0+"):
    topics: list[String]
    version: Int64
    timestamp: Int64
