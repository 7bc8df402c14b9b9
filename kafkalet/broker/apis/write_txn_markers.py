"""WriteTxnMarkers v0-2: write the markers of completed transactions to their partitions (KIP-98).

v2  adds the transaction version, which determines how strictly epochs are checked (KIP-1228)

The coordinators of kafkalet write their markers without this API (broker/transactions/markers.py). It serves tools such
as `kafka-transactions abort`, which ends a hanging transaction. The response waits until all in-sync replicas have the
markers.

Source: kafka.server.KafkaApis.handleWriteTxnMarkersRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.broker.transactions.marker import Marker, write_marker
from kafkalet.broker.transactions.metadata import TopicPartition
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import until

Answer = WriteTxnMarkersResponse.Marker
NO_PRODUCER = -1


async def handle(request: WriteTxnMarkersRequest, context: Context) -> WriteTxnMarkersResponse:
    if not _may_write(context):
        return _all_failed(request, Code.CLUSTER_AUTHORIZATION_FAILED)
    written: list[tuple[int, TopicPartition, Delayed[Code]]] = []
    for each in request.markers:
        marker = Marker(
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.transaction_result,
            each.transaction_version,
        )
        if NO_PRODUCER in (marker.producer_id, marker.producer_epoch) and _exists_any(each, context):
            # Kafka cannot build such a marker and fails the whole request.
            return _all_failed(request, Code.UNKNOWN_SERVER_ERROR)
        for topic in each.topics:
            for index in topic.partition_indexes:
                code = write_marker(context.broker.coordinators, topic.name, index, marker)
                written.append((marker.producer_id, (topic.name, index), code))
    codes: dict[int, dict[TopicPartition, Code]] = {}
    for producer_id, partition, waiting in written:
        codes.setdefault(producer_id, {})[partition] = await until(waiting)
    return WriteTxnMarkersResponse(markers=[_answer(each, codes[each]) for each in codes])


def _may_write(context: Context) -> bool:
    may_alter = context.release.lets_administrators_write_markers and context.allows_on_cluster(Operation.ALTER)
    return may_alter or context.allows_on_cluster(Operation.CLUSTER_ACTION)


def _exists_any(marker: WriteTxnMarkersRequest.Marker, context: Context) -> bool:
    """Return whether this broker has a replica of any of the partitions."""
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
