"""DescribeProducers v0: describe the active producers of partitions and their open transactions (KIP-664).

Any replica can answer, from the producer state of its own log.

Source: kafka.server.KafkaApis.handleDescribeProducersRequest, Partition.activeProducerState.
"""

from kafkalet.broker.cluster.metadata import check_topic_name
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from kafkalet.tasks.task import pause

Answer = DescribeProducersResponse.Topic.Partition
NONE = -1


async def handle(request: DescribeProducersRequest, context: Context) -> DescribeProducersResponse:
    topics = []
    for topic in request.topics:
        partitions = []
        for index in topic.partition_indexes:
            partitions.append(_describe(topic.name, index, context))
            await pause()
        topics.append(DescribeProducersResponse.Topic(name=topic.name, partitions=partitions))
    return DescribeProducersResponse(throttle_time_ms=0, topics=topics)


def _describe(topic: str, index: int, context: Context) -> Answer:
    try:
        if context.release.explains_errors_of_producers:
            check_topic_name(topic)
        if not context.allows(Operation.READ, ResourceType.TOPIC, topic):
            raise KafkaError(Code.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
        if topic not in context.metadata.topics:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    except KafkaError as error:
        return _refused(index, error.code, error.message if context.release.explains_errors_of_producers else None)
    try:
        log = context.node.partition(topic, index).log
    except KafkaError as error:
        return _refused(index, error.code, None)
    return Answer(
        partition_index=index,
        error_code=Code.NONE,
        active_producers=[
            Answer.Producer(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=NONE if entry.open_since is None else entry.open_since,
            )
            for entry in log.active_producers()
        ],
    )


def _refused(index: int, code: Code, message: str | None) -> Answer:
    return Answer(partition_index=index, error_code=code, error_message=message, active_producers=[])
