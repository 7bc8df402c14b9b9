"""DeleteRecords v0-2: move log start offsets up. -1 means to the high watermark; the low watermark is answered.

Nothing is deleted at once: the retention task drops segments that lie wholly below the start. The answer waits until
every replica has moved (the low watermark is the smallest log start offset), or timeout_ms is up. A partition that is
named twice counts once, with its last offset.

Source: kafka.server.ReplicaManager.deleteRecords, DelayedDeleteRecords.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.partition import Partition
from kafkalet.broker.purgatory import Delayed
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse

Answer = DeleteRecordsResponse.Topic.Partition
Key = tuple[str, int]

UNKNOWN = -1


def handle(request: DeleteRecordsRequest, context: Context) -> DeleteRecordsResponse | Delayed[DeleteRecordsResponse]:
    asked = {
        (topic.name, partition.partition_index): partition.offset
        for topic in request.topics
        for partition in topic.partitions
    }
    answers: dict[Key, Answer] = {}
    pending: dict[Key, tuple[Partition, int]] = {}
    for (topic, index), offset in asked.items():
        answer = answers[topic, index] = Answer(partition_index=index, low_watermark=UNKNOWN, error_code=Code.NONE)
        try:
            partition = context.node.partition(topic, index)
            pending[topic, index] = (partition, partition.delete_records(offset))
        except KafkaError as error:
            answer.error_code = error.code
    if _settle(answers, pending):
        return _respond(answers)
    waiting: Delayed[DeleteRecordsResponse] = context.node.purgatory.park(
        list(pending),
        max(request.timeout_ms, 0),
        lambda: _respond(answers) if _settle(answers, pending) else None,
        lambda: _respond(_time_out(answers, pending)),
    )
    return waiting


def _settle(answers: dict[Key, Answer], pending: dict[Key, tuple[Partition, int]]) -> bool:
    """Look at what still waits; say whether nothing does any more."""
    for key, (partition, offset) in list(pending.items()):
        if not partition.is_leader:
            answers[key].error_code = Code.NOT_LEADER_OR_FOLLOWER
        elif partition.low_watermark < offset:
            continue
        else:
            answers[key].low_watermark = partition.low_watermark
        del pending[key]
    return not pending


def _time_out(answers: dict[Key, Answer], pending: dict[Key, tuple[Partition, int]]) -> dict[Key, Answer]:
    for key, (partition, _) in pending.items():
        answers[key].error_code = Code.REQUEST_TIMED_OUT
        answers[key].low_watermark = partition.low_watermark
    return answers


def _respond(answers: dict[Key, Answer]) -> DeleteRecordsResponse:
    topics: dict[str, DeleteRecordsResponse.Topic] = {}
    for (topic, _), answer in answers.items():
        if topic not in topics:
            topics[topic] = DeleteRecordsResponse.Topic(name=topic, partitions=[])
        topics[topic].partitions.append(answer)
    return DeleteRecordsResponse(throttle_time_ms=0, topics=list(topics.values()))
