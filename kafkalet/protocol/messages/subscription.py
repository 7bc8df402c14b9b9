"""The embedded "consumer" protocol: data that consumers put inside JoinGroup and SyncGroup requests of classic groups.

    int16 version | ConsumerProtocolSubscription        in JoinGroup, one per protocol, from each member
    int16 version | ConsumerProtocolAssignment          in SyncGroup, one per member, from the leader

v1  adds the owned partitions, for cooperative rebalances (KIP-429)
v2  adds the generation in which the member owned these partitions (KIP-792)
v3  adds the rack of the member (KIP-881)

To brokers, both messages are opaque bytes, except that brokers parse subscriptions to find the topics that a group
still reads. Readers decode an unknown version as the newest version that they know, because new versions only append
fields.
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
