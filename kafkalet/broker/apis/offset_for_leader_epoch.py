"""OffsetForLeaderEpoch v0-4: return the end offset of a leader epoch, so that a log can be truncated to it (KIP-101).

v1  returns the epoch that was found, which may be lower than the requested one (KIP-279)
v2  may be used by consumers; adds the current leader epoch, for fencing (KIP-320)

The response contains the largest epoch that is not above the requested one, and its end offset: the start offset of the
next epoch, or the log end offset for the latest epoch. An epoch above the latest returns -1 for both, without an error.
Only the leader of the partition answers. Brokers need CLUSTER_ACTION on the cluster, other clients DESCRIBE on the
topic; the topics that a client may not describe come last in the response.

Source: kafka.server.ReplicaManager.lastOffsetForLeaderEpoch.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafkalet.tasks.task import pause

Asked = OffsetForLeaderEpochRequest.Topic.Partition
Answer = OffsetForLeaderEpochResponse.Topic.Partition
NO_EPOCH = -1
UNKNOWN = -1


async def handle(request: OffsetForLeaderEpochRequest, context: Context) -> OffsetForLeaderEpochResponse:
    follows = context.allows_on_cluster(Operation.CLUSTER_ACTION)
    topics, refused = [], []
    for topic in request.topics:
        if not follows and not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.topic):
            code = Code.TOPIC_AUTHORIZATION_FAILED
            refusals = [_refused(asked.partition, code) for asked in topic.partitions]
            refused.append(OffsetForLeaderEpochResponse.Topic(topic=topic.topic, partitions=refusals))
            continue
        answers = []
        for asked in topic.partitions:
            await pause()
            answers.append(_end_of_epoch(topic.topic, asked, context))
        topics.append(OffsetForLeaderEpochResponse.Topic(topic=topic.topic, partitions=answers))
    return OffsetForLeaderEpochResponse(topics=topics + refused)


def _end_of_epoch(topic: str, asked: Asked, context: Context) -> Answer:
    epoch = asked.current_leader_epoch
    try:
        partition = context.node.partition(topic, asked.partition)
        partition.log_for(None if epoch == NO_EPOCH else epoch)
        end = partition.end_of_epoch(asked.leader_epoch)
    except KafkaError as error:
        return _refused(asked.partition, error.code)
    return Answer(
        error_code=Code.NONE, partition=asked.partition, leader_epoch=end.leader_epoch, end_offset=end.end_offset
    )


def _refused(index: int, code: Code) -> Answer:
    return Answer(error_code=code, partition=index, leader_epoch=UNKNOWN, end_offset=UNKNOWN)
