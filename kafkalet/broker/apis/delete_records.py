"""DeleteRecords v0-2: move log start offsets up. -1 means to the high watermark; the low watermark is answered.

Nothing is deleted at once: the retention task drops segments that lie wholly below the start. The answer waits until
every replica has moved (the low watermark is the smallest log start offset), or timeout_ms is up; then it tells the
low watermark from when the wait began. A partition that is named twice counts once, with its last offset. Topics that
brokers keep for themselves are closed to everybody.

Source: kafka.server.ReplicaManager.deleteRecords, DelayedDeleteRecords.
"""

from kafkalet.broker.cluster.metadata import INTERNAL_TOPICS
from kafkalet.broker.cluster.node import Node
from kafkalet.broker.context import Context
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.broker.scheduling.work import pause
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse

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
    """Look at what still waits; say whether nothing does any more."""
    for key, offset in list(pending.items()):
        answer = answers[key]
        try:
            partition = node.partition(*key)  # anew: the topic may have been deleted
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
