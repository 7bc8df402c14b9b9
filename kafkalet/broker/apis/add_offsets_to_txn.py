"""AddOffsetsToTxn v0-4: add the offsets of a consumer group to a transaction (KIP-98).

v2  returns PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH (KIP-588)

The handler adds the group's partition of __consumer_offsets to the transaction.

Source: kafka.server.KafkaApis.handleAddOffsetsToTxnRequest.
"""

from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS, partition_of
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.transactions.coordinator import for_version
from kafkalet.broker.transactions.decisions import Producer
from kafkalet.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafkalet.tasks.task import until

PRODUCER_FENCED_SINCE = 2


async def handle(request: AddOffsetsToTxnRequest, context: Context) -> AddOffsetsToTxnResponse:
    context.require(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    topic = context.metadata.topics.get(CONSUMER_OFFSETS.name)
    count = context.node.config.offsets_topic_num_partitions if topic is None else len(topic.partitions)
    partition = (CONSUMER_OFFSETS.name, partition_of(request.group_id, count))
    producer = Producer(request.producer_id, request.producer_epoch)
    coordinator = context.broker.coordinators.transactions
    code = await until(coordinator.add_partitions(request.transactional_id, producer, [partition], 0))
    return AddOffsetsToTxnResponse(error_code=for_version(code, context.version, PRODUCER_FENCED_SINCE))
