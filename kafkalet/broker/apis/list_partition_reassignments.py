"""ListPartitionReassignments v0: list the ongoing reassignments of partitions (KIP-455).

Source: org.apache.kafka.controller.ReplicationControlManager.listPartitionReassignments.
"""

from collections.abc import Iterable, Iterator

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

Topic = ListPartitionReassignmentsResponse.Topic


def handle(request: ListPartitionReassignmentsRequest, context: Context) -> ListPartitionReassignmentsResponse:
    context.require_on_cluster(Operation.DESCRIBE)
    topics = [
        Topic(name=name, partitions=list(_moving(name, indexes, context))) for name, indexes in _asked(request, context)
    ]
    message = None if context.release.runs_without_zookeeper else ""
    return ListPartitionReassignmentsResponse(
        error_message=message, topics=[topic for topic in topics if topic.partitions]
    )


def _asked(request: ListPartitionReassignmentsRequest, context: Context) -> Iterator[tuple[str, Iterable[int]]]:
    if request.topics is not None:
        for asked in request.topics:
            yield asked.name, asked.partition_indexes
        return
    for topic in context.metadata.topics.values():
        yield topic.name, range(len(topic.partitions))


def _moving(name: str, indexes: Iterable[int], context: Context) -> Iterator[Topic.Partition]:
    for index in indexes:
        state = context.metadata.partition(name, index)
        if state is not None and state.is_moving:
            yield Topic.Partition(
                partition_index=index,
                replicas=state.replicas,
                adding_replicas=state.adding,
                removing_replicas=state.removing,
            )
