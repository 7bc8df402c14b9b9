"""Keys and values of the `__consumer_offsets` records that store share groups (KIP-932).

    key     int16 version | the message of that version; the version identifies the type of the record
            10  ShareGroupMemberMetadata                a member and its subscription
            11  ShareGroupMetadata                      the group epoch and a hash of the topic metadata
            12  ShareGroupTargetAssignmentMetadata      the group epoch of the target assignment
            13  ShareGroupTargetAssignmentMember        the target assignment of a member
            14  ShareGroupCurrentMemberAssignment       the partitions assigned to a member
            15  ShareGroupStatePartitionMetadata        the partitions whose state the share coordinator has
    value   int16 version (0) | message; a null value is a tombstone

The time at which the target was computed was added in 4.3 and is tagged.
"""

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Int8, Int32, Int64, String, Uuid


class ShareGroupMemberMetadataKey(Message, versions="10"):
    group_id: String
    member_id: String


class ShareGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: list[String]


class ShareGroupMetadataKey(Message, versions="11"):
    group_id: String


class ShareGroupMetadataValue(Message, versions="0", flexible="0+"):
    epoch: Int32
    metadata_hash: Int64


class ShareGroupTargetAssignmentMetadataKey(Message, versions="12"):
    group_id: String


class ShareGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    assignment_epoch: Int32
    assignment_timestamp: Int64 = field("0+", tag=0, default=0)


class ShareGroupTargetAssignmentMemberKey(Message, versions="13"):
    group_id: String
    member_id: String


class AssignedPartitions(Struct):
    topic_id: Uuid
    partitions: list[Int32]


class ShareGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    topic_partitions: list[AssignedPartitions]


class ShareGroupCurrentMemberAssignmentKey(Message, versions="14"):
    group_id: String
    member_id: String


class ShareGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+"):
    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: list[AssignedPartitions]


class ShareGroupStatePartitionMetadataKey(Message, versions="15"):
    group_id: String


class TopicPartitionsInfo(Struct):
    topic_id: Uuid
    topic_name: String
    partitions: list[Int32]


class TopicInfo(Struct):
    topic_id: Uuid
    topic_name: String


class ShareGroupStatePartitionMetadataValue(Message, versions="0", flexible="0+"):
    initializing_topics: list[TopicPartitionsInfo]
    initialized_topics: list[TopicPartitionsInfo]
    deleting_topics: list[TopicInfo]
