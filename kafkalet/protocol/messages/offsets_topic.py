"""Keys and values of the `__consumer_offsets` records that store committed offsets and classic groups.

    key     int16 version | OffsetCommitKey (0, 1) or GroupMetadataKey (2)
    value   int16 version | OffsetCommitValue or GroupMetadataValue; a null value is a tombstone

The version of a key identifies the record type. The record types of KIP-848 are declared in consumer_group_state; the
types that Kafka added later are not declared. The broker's release determines which version of the values is written.

OffsetCommitValue
v1  stores the expiry time; still written for commits with an explicit retention time
v3  adds the leader epoch (KIP-320)
v4  flexible encoding

GroupMetadataValue
v1  adds the rebalance timeout
v2  adds the time of the last change (KIP-211)
v3  adds static members (KIP-345)
v4  flexible encoding
"""

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import ZERO_UUID, Bytes, Int32, Int64, String, Uuid


class OffsetCommitKey(Message, versions="0-1"):
    group: String
    topic: String
    partition: Int32


class OffsetCommitValue(Message, versions="0-4", flexible="4+"):
    offset: Int64
    leader_epoch: Int32 = field("3+", default=-1)
    metadata: String
    commit_timestamp: Int64
    expire_timestamp: Int64 = field("1", default=-1)
    topic_id: Uuid = field("4+", tag=0, default=ZERO_UUID)


class GroupMetadataKey(Message, versions="2"):
    group: String


class GroupMetadataValue(Message, versions="0-4", flexible="4+"):
    class Member(Struct):
        member_id: String
        group_instance_id: String | None = field("3+", default=None)
        client_id: String
        client_host: String
        rebalance_timeout: Int32 = field("1+", default=-1)  # in milliseconds, like session_timeout
        session_timeout: Int32
        subscription: Bytes
        assignment: Bytes

    protocol_type: String
    generation: Int32
    protocol: String | None
    leader: String | None
    current_state_timestamp: Int64 = field("2+", default=-1)
    members: list[Member]
