"""Keys and values of the records in `__consumer_offsets` that the classic protocol leaves there.

    key     int16 version | OffsetCommitKey (0, 1) or GroupMetadataKey (2)
    value   int16 version | OffsetCommitValue or GroupMetadataValue; no value removes what was under the key

The version of a key tells which kind of record it is; those of KIP-848 are in consumer_group_state, later ones are not
declared. Which version of the values is written follows from the broker's release:

v1 of an offset says when it expires, and is still written where a commit gives its own retention time; v3 has the
leader epoch (KIP-320); v4 is flexible. v1 of a group has the rebalance timeout, v2 the time of its last change
(KIP-211), v3 static members (KIP-345); v4 is flexible.
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
        rebalance_timeout: Int32 = field("1+", default=-1)  # in milliseconds, as the next
        session_timeout: Int32
        subscription: Bytes
        assignment: Bytes

    protocol_type: String
    generation: Int32
    protocol: String | None
    leader: String | None
    current_state_timestamp: Int64 = field("2+", default=-1)
    members: list[Member]
