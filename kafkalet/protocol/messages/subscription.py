"""What consumers of the classic protocol put inside JoinGroup and SyncGroup: the embedded "consumer" protocol.

    int16 version | ConsumerProtocolSubscription        in JoinGroup's protocols, by each member
    int16 version | ConsumerProtocolAssignment          in SyncGroup, by the leader for each member

v1  partitions that a member owns, for cooperative rebalances (KIP-429)
v2  the generation it owns them from (KIP-792)
v3  its rack (KIP-881)

To a broker they are bytes; it looks into subscriptions only to tell which topics a group still reads. Readers take a
version that they do not know for the newest that they know: versions only ever add at the end.
"""

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Bytes, Int32, String


class TopicPartition(Struct):
    topic: String
    partitions: list[Int32]


class ConsumerProtocolSubscription(Message, versions="0-3"):
    topics: list[String]
    user_data: Bytes | None = None
    owned_partitions: list[TopicPartition] = field("1+", default=[])
    generation_id: Int32 = field("2+", default=-1)
    rack_id: String | None = field("3+", default=None)


class ConsumerProtocolAssignment(Message, versions="0-3"):
    assigned_partitions: list[TopicPartition]
    user_data: Bytes | None = None
