"""DescribeTopicPartitions v0: describe topics page by page, in the order of their names (KIP-966).

A response contains at most `response_partition_limit` partitions, and a cursor for the next page. A request's cursor
names the topic and partition at which its page starts; the topic has to be one of the requested topics. Each page
is followed by the requested topics that the client may not describe.

Source: kafka.server.handlers.DescribeTopicPartitionsRequestHandler, KRaftMetadataCache.
"""

from kafkalet.broker.apis.parts.authorized_operations import authorized_operations
from kafkalet.broker.cluster.metadata import PartitionState, TopicState, check_topic_name
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.tasks.task import pause

Answer = DescribeTopicPartitionsResponse.Topic
Partition = DescribeTopicPartitionsResponse.Topic.Partition
Cursor = DescribeTopicPartitionsResponse.Cursor


async def handle(request: DescribeTopicPartitionsRequest, context: Context) -> DescribeTopicPartitionsResponse:
    metadata = context.metadata
    cursor = request.cursor
    asked = {topic.name for topic in request.topics} or set(metadata.topics)
    if cursor is not None and ((request.topics and cursor.topic_name not in asked) or cursor.partition_index < 0):
        return _refused(request, Code.INVALID_REQUEST)
    unauthorized: list[Answer] = []
    if context.authorizer is not None:
        refused = {name for name in asked if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name)}
        asked -= refused
        if request.topics:
            first_name = "" if cursor is None else cursor.topic_name
            unauthorized = [_unauthorized(name) for name in sorted(refused) if name >= first_name]
    if cursor is None and "" in asked:
        return _refused(request, Code.UNKNOWN_SERVER_ERROR)  # as in Kafka, which compares "" with a null cursor
    left = max(min(context.node.config.max_request_partition_size_limit, request.response_partition_limit), 1)
    answers: list[Answer] = []
    for name in sorted(asked):
        await pause()
        if cursor is not None and name < cursor.topic_name:
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left == 0:
            return DescribeTopicPartitionsResponse(
                topics=answers + unauthorized, next_cursor=Cursor(topic_name=name, partition_index=first)
            )
        topic = metadata.topics.get(name)
        if topic is None:
            answers.append(_unknown(name, context))
            continue
        page = topic.partitions[first : first + left]
        answers.append(_known(topic, page, context))
        left -= len(page)
        if first + len(page) < len(topic.partitions):
            return DescribeTopicPartitionsResponse(
                topics=answers + unauthorized,
                next_cursor=Cursor(topic_name=name, partition_index=first + len(page)),
            )
    return DescribeTopicPartitionsResponse(topics=answers + unauthorized)


def _refused(request: DescribeTopicPartitionsRequest, code: Code) -> DescribeTopicPartitionsResponse:
    """Return the same error for every requested topic, for example if the cursor is invalid."""
    return DescribeTopicPartitionsResponse(
        topics=[Answer(error_code=code, name=topic.name, topic_id=ZERO_UUID, partitions=[]) for topic in request.topics]
    )


def _unauthorized(name: str) -> Answer:
    return Answer(error_code=Code.TOPIC_AUTHORIZATION_FAILED, name=name, topic_id=ZERO_UUID, partitions=[])


def _unknown(name: str, context: Context) -> Answer:
    code = Code.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
    except KafkaError as error:
        code = error.code
    return Answer(
        error_code=code,
        name=name,
        topic_id=ZERO_UUID,
        partitions=[],
        topic_authorized_operations=authorized_operations(context, ResourceType.TOPIC, name),
    )


def _known(topic: TopicState, partitions: list[PartitionState], context: Context) -> Answer:
    return Answer(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[_partition(topic.name, partition, context) for partition in partitions],
        topic_authorized_operations=authorized_operations(context, ResourceType.TOPIC, topic.name),
    )


def _partition(topic: str, state: PartitionState, context: Context) -> Partition:
    """Describe a partition. Unlike in Metadata, a partition without a leader has no error code."""
    return Partition(
        partition_index=state.index,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=list(state.elr),
        last_known_elr=list(state.last_known_elr),
        offline_replicas=context.controller.leadership.offline_replicas(topic, state, context.metadata),
    )
