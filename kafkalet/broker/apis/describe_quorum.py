"""DescribeQuorum v0-2: describe the voters of the metadata log and their progress (KIP-595).

v1  adds the times of the last fetch and of the last caught-up fetch (KIP-836)
v2  adds directory ids and endpoints (KIP-853)

All brokers here share one metadata image instead of a replicated log. The controller is the leader. The other voters,
if `controller.quorum.voters` names some, and the brokers that are not voters have caught up. The log end offset
is the epoch of the finalized features in ApiVersions.

Source: org.apache.kafka.raft.KafkaRaftClient.handleDescribeQuorumRequest, DescribeQuorumRequest.
"""

from kafkalet.broker.cluster.features import Features
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.formats import METADATA_TOPIC
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse, Replica

Topic = DescribeQuorumResponse.Topic
Answer = DescribeQuorumResponse.Topic.Partition
Node = DescribeQuorumResponse.Node

METADATA = (METADATA_TOPIC, [0])
EPOCH = 1
NOT_HOSTED = "This server does not host this topic-partition."


def handle(request: DescribeQuorumRequest, context: Context) -> DescribeQuorumResponse:
    context.require_on_cluster(Operation.DESCRIBE)
    asked = [(topic.topic_name, [one.partition_index for one in topic.partitions]) for topic in request.topics]
    if asked != [METADATA]:  # any other partition in the request makes Kafka refuse all of them
        return DescribeQuorumResponse(
            topics=[
                Topic(topic_name=name, partitions=[_unknown(index) for index in indexes]) for name, indexes in asked
            ]
        )
    metadata = context.metadata
    end = max(Features(context.release, metadata).epoch, 0)
    now_ms = context.clock.now_ms()
    leader_id, voters = context.controller.node_id, context.controller.voters
    replicas = [
        Replica(replica_id=node_id, log_end_offset=end, last_fetch_timestamp=now_ms, last_caught_up_timestamp=now_ms)
        for node_id in (*voters, *sorted(metadata.endpoints.keys() - set(voters)))
    ]
    quorum = Answer(
        partition_index=0,
        leader_id=leader_id,
        leader_epoch=EPOCH,
        high_watermark=end,
        current_voters=replicas[: len(voters)],
        observers=replicas[len(voters) :],
    )
    listeners = [
        Node.Listener(name=name, host=at.host, port=at.port) for name, at in context.controller.endpoints.items()
    ]
    return DescribeQuorumResponse(
        topics=[Topic(topic_name=METADATA_TOPIC, partitions=[quorum])],
        nodes=[Node(node_id=leader_id, listeners=listeners)],
    )


def _unknown(index: int) -> Answer:
    return Answer(
        partition_index=index,
        error_code=Code.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=NOT_HOSTED,
        leader_id=0,
        leader_epoch=0,
        high_watermark=0,
        current_voters=[],
        observers=[],
    )
