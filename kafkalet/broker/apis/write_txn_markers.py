"""WriteTxnMarkers v0-2: write the markers of completed transactions to their partitions (KIP-98).

v2  adds the transaction version, which determines how strictly epochs are checked (KIP-1228)

The coordinators of kafkalet write their markers without this API (broker/transactions/markers.py). It serves tools such
as `kafka-transactions abort`, which ends a hanging transaction. The response waits until all in-sync replicas have the
markers.

Source: kafka.server.KafkaApis.handleWriteTxnMarkersRequest.
"""

from collections.abc import Callable
from functools import partial

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.broker.transactions.answering import answer_of
from kafkalet.broker.transactions.marker import Marker, write_marker
from kafkalet.broker.transactions.metadata import TopicPartition
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kafkalet.tasks.delayed import Delayed

Answer = WriteTxnMarkersResponse.Marker
NO_PRODUCER = -1


def handle(
    request: WriteTxnMarkersRequest, context: Context
) -> WriteTxnMarkersResponse | Delayed[WriteTxnMarkersResponse]:
    if not _may_write(context):
        return _all_failed(request, Code.CLUSTER_AUTHORIZATION_FAILED)
    return answer_of(lambda then: _write_all(request, context, then))


def _may_write(context: Context) -> bool:
    may_alter = context.release.lets_administrators_write_markers and context.allows_on_cluster(Operation.ALTER)
    return may_alter or context.allows_on_cluster(Operation.CLUSTER_ACTION)


def _write_all(
    request: WriteTxnMarkersRequest, context: Context, then: Callable[[WriteTxnMarkersResponse], None]
) -> None:
    wanted = [
        (Marker(each.producer_id, each.producer_epoch, each.coordinator_epoch, each.transaction_result, version), each)
        for each in request.markers
        for version in [each.transaction_version]
    ]
    codes: dict[int, dict[TopicPartition, Code]] = {}
    left = 1 + sum(len(topic.partition_indexes) for _, each in wanted for topic in each.topics)

    def written(producer_id: int, partition: TopicPartition | None, code: Code) -> None:
        nonlocal left
        left -= 1
        if partition is not None:
            codes[producer_id][partition] = code
        if not left:
            then(WriteTxnMarkersResponse(markers=[_answer(each, codes[each]) for each in codes if codes[each]]))

    for marker, each in wanted:
        if NO_PRODUCER in (marker.producer_id, marker.producer_epoch) and _exists_any(each, context):
            # Kafka cannot build such a marker and fails the whole request.
            then(_all_failed(request, Code.UNKNOWN_SERVER_ERROR))
            return
        codes.setdefault(marker.producer_id, {})
        for topic in each.topics:
            for index in topic.partition_indexes:
                partition = (topic.name, index)
                write_marker(
                    context.broker.coordinators, *partition, marker, partial(written, marker.producer_id, partition)
                )
    written(-1, None, Code.NONE)


def _exists_any(marker: WriteTxnMarkersRequest.Marker, context: Context) -> bool:
    """Return True if this broker has a replica of any of the partitions."""
    return any(
        (topic.name, index) in context.node.partitions for topic in marker.topics for index in topic.partition_indexes
    )


def _all_failed(request: WriteTxnMarkersRequest, code: Code) -> WriteTxnMarkersResponse:
    codes: dict[int, dict[TopicPartition, Code]] = {}
    for marker in request.markers:
        partitions = [(topic.name, index) for topic in marker.topics for index in topic.partition_indexes]
        codes[marker.producer_id] = dict.fromkeys(partitions, code)
    return WriteTxnMarkersResponse(markers=[_answer(each, codes[each]) for each in codes])


def _answer(producer_id: int, codes: dict[TopicPartition, Code]) -> Answer:
    topics: dict[str, Answer.Topic] = {}
    for (topic, index), code in codes.items():
        if topic not in topics:
            topics[topic] = Answer.Topic(name=topic, partitions=[])
        topics[topic].partitions.append(Answer.Topic.Partition(partition_index=index, error_code=code))
    return Answer(producer_id=producer_id, topics=list(topics.values()))
