"""DeleteRecords v0-2: advance the log start offsets of partitions (KIP-107).

Offset -1 stands for the high watermark. The handler only moves the log start offset; the retention task later deletes
segments below it. The response waits until all replicas have moved their log start offsets. It contains the low
watermark, which is the smallest log start offset among the replicas. After timeout_ms, it returns REQUEST_TIMED_OUT
with the low watermark from before the wait. If a partition is listed twice, its last offset is used. Internal topics
return INVALID_TOPIC_EXCEPTION.

Source: kafka.server.ReplicaManager.deleteRecords, DelayedDeleteRecords.
"""

from kafkalet.broker.cluster.metadata import INTERNAL_TOPICS
from kafkalet.broker.cluster.node import Node
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import pause

Answer = DeleteRecordsResponse.Topic.Partition
Key = tuple[str, int]

UNKNOWN = -1


async def handle(
    request: DeleteRecordsRequest, context: Context
) -> DeleteRecordsResponse | Delayed[DeleteRecordsResponse]:
    asked = {
        (topic.name, partition.partition_index): partition.offset
        for topic in request.topics
        for partition in topic.partitions
    }
    answers: dict[Key, Answer] = {}
    pending: dict[Key, int] = {}
    for (topic, index), offset in asked.items():
        await pause()
        answer = answers[topic, index] = Answer(partition_index=index, low_watermark=UNKNOWN, error_code=Code.NONE)
        try:
            context.require(Operation.DELETE, ResourceType.TOPIC, topic)
            partition = context.node.partition(topic, index)
            if topic in INTERNAL_TOPICS:
                raise KafkaError(Code.INVALID_TOPIC_EXCEPTION)
            pending[topic, index] = partition.delete_records(offset)
            answer.low_watermark = partition.low_watermark
        except KafkaError as error:
            answer.error_code = error.code
    if _settle(answers, pending, context.node):
        return _respond(answers)
    waiting: Delayed[DeleteRecordsResponse] = context.node.purgatory.park(
        list(pending),
        max(request.timeout_ms, 0),
        lambda: _respond(answers) if _settle(answers, pending, context.node) else None,
        lambda: _respond(_time_out(answers, pending)),
    )
    return waiting


def _settle(answers: dict[Key, Answer], pending: dict[Key, int], node: Node) -> bool:
    """Complete the partitions whose replicas have moved their log start offsets. Return True if none are pending."""
    for key, offset in list(pending.items()):
        answer = answers[key]
        try:
            partition = node.partition(*key)  # the topic may have been deleted
            partition.log_for(None)
            if partition.low_watermark < offset:
                continue
            answer.low_watermark = partition.low_watermark
        except KafkaError as error:
            answer.error_code, answer.low_watermark = error.code, UNKNOWN
        del pending[key]
    return not pending


def _time_out(answers: dict[Key, Answer], pending: dict[Key, int]) -> dict[Key, Answer]:
    for key in pending:
        answers[key].error_code = Code.REQUEST_TIMED_OUT
    return answers


def _respond(answers: dict[Key, Answer]) -> DeleteRecordsResponse:
    topics: dict[str, DeleteRecordsResponse.Topic] = {}
    for (topic, _), answer in answers.items():
        if topic not in topics:
            topics[topic] = DeleteRecordsResponse.Topic(name=topic, partitions=[])
        topics[topic].partitions.append(answer)
    return DeleteRecordsResponse(throttle_time_ms=0, topics=list(topics.values()))
