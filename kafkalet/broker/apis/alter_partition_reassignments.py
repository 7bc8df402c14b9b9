"""AlterPartitionReassignments v0-1: start or cancel the reassignment of partitions to other brokers (KIP-455).

v1  adds allow_replication_factor_change (KIP-860); responses without results always have its default

New replicas catch up immediately, so a reassignment is usually complete before the response is sent. It stays in
progress while the broker of a new replica is offline, or while a test holds that replica back. A request with null
replicas cancels the reassignment.

Source: org.apache.kafka.controller.ReplicationControlManager.alterPartitionReassignments.
"""

from kafkalet.broker.cluster.assignments import check_assignments
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)

Partition = AlterPartitionReassignmentsRequest.Topic.Partition
Topic = AlterPartitionReassignmentsResponse.Topic
Answer = AlterPartitionReassignmentsResponse.Topic.Partition


def handle(request: AlterPartitionReassignmentsRequest, context: Context) -> AlterPartitionReassignmentsResponse:
    context.require_on_cluster(Operation.ALTER)
    may_differ = request.allow_replication_factor_change
    if not request.topics:
        return AlterPartitionReassignmentsResponse(responses=[])
    if request.timeout_ms <= 0 and context.release.runs_without_zookeeper:
        raise KafkaError(Code.REQUEST_TIMED_OUT)  # Kafka checks the timeout before the topics
    topics = []
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            answer = Answer(partition_index=partition.partition_index, error_message=None)
            try:
                _move(topic.name, partition, may_differ, context)
            except KafkaError as error:
                answer.error_code, answer.error_message = error.code, error.message
            answers.append(answer)
        topics.append(Topic(name=topic.name, partitions=answers))
    context.controller.save()
    message = None
    if not context.release.runs_without_zookeeper:
        topics, message = _without_duplicates(topics), ""
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_differ, error_message=message, responses=topics
    )


def _without_duplicates(topics: list[Topic]) -> list[Topic]:
    """Drop duplicate partitions, and topics without partitions, as brokers with ZooKeeper do."""
    found: dict[str, dict[int, Answer]] = {}
    for topic in topics:
        for answer in topic.partitions:
            found.setdefault(topic.name, {})[answer.partition_index] = answer
    return [Topic(name=name, partitions=list(answers.values())) for name, answers in found.items()]


def _move(name: str, wanted: Partition, may_differ: bool, context: Context) -> None:
    metadata, leadership = context.metadata, context.controller.leadership
    if wanted.replicas is None and not context.release.runs_without_zookeeper:
        moving = metadata.partition(name, wanted.partition_index)
        if moving is None or not moving.is_moving:
            raise KafkaError(Code.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    topic = metadata.topics.get(name)
    if topic is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    state = metadata.partition(name, wanted.partition_index)
    if state is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{wanted.partition_index}.")
    if wanted.replicas is None:
        leadership.cancel_move(topic, state)
        return
    replicas = list(wanted.replicas)
    check_assignments([replicas], {*metadata.endpoints, *metadata.away, *state.replicas})
    now = len(state.replicas) - len(state.adding)
    if not may_differ and len(replicas) != now:
        message = f"The replication factor is changed from {now} to {len(replicas)}"
        raise KafkaError(Code.INVALID_REPLICATION_FACTOR, message)
    leadership.move(topic, state, replicas)
