"""AddPartitionsToTxn v0-5: add partitions to a transaction (KIP-98).

v2  returns PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH (KIP-588)
v4  adds partitions to several transactions, or only verifies them; used between brokers (KIP-890)
v5  may return TRANSACTION_ABORTABLE (KIP-890)

Either all partitions are added to a transaction or none. If some partitions do not exist, they return
UNKNOWN_TOPIC_OR_PARTITION, and the existing partitions return OPERATION_NOT_ATTEMPTED.

Source: kafka.server.KafkaApis.handleAddPartitionsToTxnRequest.
"""

from collections.abc import Sequence

from kafkalet.broker.cluster.metadata import INTERNAL_TOPICS
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.transactions.coordinator import for_version
from kafkalet.broker.transactions.decisions import Producer
from kafkalet.broker.transactions.metadata import EPOCH_RISES_PER_TRANSACTION, TopicPartition
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    PartitionResult,
    TopicResult,
)
from kafkalet.protocol.messages.add_partitions_to_txn import Topic as AskedTopic
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import detached, until

PRODUCER_FENCED_SINCE = 2
BATCHED_SINCE = 4
Codes = dict[TopicPartition, Code]
Wanted = AddPartitionsToTxnRequest.Transaction
Topics = Sequence[AskedTopic]
Results = AddPartitionsToTxnResponse.TransactionResult


async def handle(request: AddPartitionsToTxnRequest, context: Context) -> AddPartitionsToTxnResponse:
    if context.version >= BATCHED_SINCE:  # sent by brokers
        context.require_on_cluster(Operation.CLUSTER_ACTION)
        return await _add_all(request.transactions, context)
    wanted = _of_client(request)
    results = await _add(wanted, wanted.topics, wanted.topics, context)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _of_client(request: AddPartitionsToTxnRequest) -> Wanted:
    """Return the only transaction of a request before v4."""
    return Wanted(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


async def _add_all(transactions: list[Wanted], context: Context) -> AddPartitionsToTxnResponse:
    """Handle several independent transactions. The response is sent when all of them are done.

    As in Kafka, a request without transactions never gets a response. If it contains a transactional id several times,
    every entry uses the partitions of the last one, and most responses name the partitions of the first one
    (AddPartitionsToTxnRequest.partitionsByTransaction, errorResponseForTransaction).
    """
    first: dict[str, Wanted] = {}
    last: dict[str, Wanted] = {}
    for wanted in transactions:
        first.setdefault(wanted.transactional_id, wanted)
        last[wanted.transactional_id] = wanted
    answered: list[Results] = []

    @detached
    async def add(wanted: Wanted) -> None:
        xid = wanted.transactional_id
        results = await _add(wanted, last[xid].topics, first[xid].topics, context)
        answered.append(Results(transactional_id=xid, topic_results=results))

    for added in [add(wanted) for wanted in transactions] or [Delayed[None]()]:
        await until(added)
    return AddPartitionsToTxnResponse(results_by_transaction=answered)


async def _add(wanted: Wanted, topics: Topics, answered: Topics, context: Context) -> list[TopicResult]:
    """Add the partitions of `topics`.

    If one result applies to all of them, it is reported for the partitions of `answered`.
    """
    version, metadata = context.version, context.metadata
    partitions = [(topic.name, index) for topic in topics for index in topic.partitions]
    by_client = version < BATCHED_SINCE
    if by_client and not context.allows(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, wanted.transactional_id):
        return _same_code(answered, Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, context)
    refused: Codes = {}
    if by_client:
        writable = {name: _may_write(name, context) for name, _ in partitions}
        refused = {each: Code.TOPIC_AUTHORIZATION_FAILED for each in partitions if not writable[each[0]]}
    for each in partitions:
        if each not in refused and metadata.partition(*each) is None:
            refused[each] = Code.UNKNOWN_TOPIC_OR_PARTITION
    if refused:
        codes: Codes = dict.fromkeys(partitions, Code.OPERATION_NOT_ATTEMPTED)
        return _by_topic(codes | refused)
    coordinator = context.broker.coordinators.transactions
    producer = Producer(wanted.producer_id, wanted.producer_epoch)
    if wanted.verify_only:
        return _by_topic(coordinator.verify_partitions(wanted.transactional_id, producer, partitions))
    is_new = version >= BATCHED_SINCE and context.release.implies_transaction_version_2
    client_version = EPOCH_RISES_PER_TRANSACTION if is_new else 0
    code = await until(coordinator.add_partitions(wanted.transactional_id, producer, partitions, client_version))
    return _same_code(answered, for_version(code, version, PRODUCER_FENCED_SINCE), context)


def _may_write(topic: str, context: Context) -> bool:
    """Return whether the client may add partitions of a topic. Internal topics are added by other requests."""
    return topic not in INTERNAL_TOPICS and context.allows(Operation.WRITE, ResourceType.TOPIC, topic)


def _same_code(topics: Topics, code: Code, context: Context) -> list[TopicResult]:
    """Return `code` for every requested partition."""
    if not context.release.returns_duplicate_added_partitions:
        return _by_topic({(topic.name, index): code for topic in topics for index in topic.partitions})
    return [
        TopicResult(
            name=topic.name,
            results_by_partition=[
                PartitionResult(partition_index=index, partition_error_code=code) for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def _by_topic(codes: Codes) -> list[TopicResult]:
    topics: dict[str, TopicResult] = {}
    for (topic, index), code in codes.items():
        result = topics.get(topic)
        if result is None:
            result = topics[topic] = TopicResult(name=topic, results_by_partition=[])
        result.results_by_partition.append(PartitionResult(partition_index=index, partition_error_code=code))
    return list(topics.values())
