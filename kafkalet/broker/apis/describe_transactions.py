"""DescribeTransactions v0: describe transactions by transactional id (KIP-664).

A request has to be sent to the coordinator of the transactional id; other brokers return NOT_COORDINATOR.

Source: kafka.coordinator.transaction.TransactionCoordinator.handleDescribeTransactions.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafkalet.tasks.task import pause

Answer = DescribeTransactionsResponse.Transaction


async def handle(request: DescribeTransactionsRequest, context: Context) -> DescribeTransactionsResponse:
    states = []
    for transactional_id in request.transactional_ids:
        await pause()
        states.append(_describe(transactional_id, context))
    return DescribeTransactionsResponse(transaction_states=states)


def _describe(transactional_id: str, context: Context) -> Answer:
    if not context.allows(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return _refused(transactional_id, Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not transactional_id:
        return _refused(transactional_id, Code.INVALID_REQUEST)
    try:
        transaction = context.broker.coordinators.transactions.find(transactional_id)
    except KafkaError as error:
        return _refused(transactional_id, error.code)
    if transaction is None:
        return _refused(transactional_id, Code.TRANSACTIONAL_ID_NOT_FOUND)
    known = transaction.metadata
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(known.partitions):
        topics.setdefault(topic, []).append(index)
    return Answer(
        error_code=Code.NONE,
        transactional_id=transactional_id,
        transaction_state=known.state.title,
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.start_ms,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        topics=[
            Answer.Topic(topic=topic, partitions=indexes)
            for topic, indexes in topics.items()
            if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic)
        ],
    )


def _refused(transactional_id: str, code: Code) -> Answer:
    return Answer(error_code=code, transactional_id=transactional_id)
