"""InitProducerId v0-5: allocate a producer id and epoch for idempotence and transactions (KIP-98).

v3  allows a producer to bump the epoch of its current producer id (KIP-360)
v4  returns PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH (KIP-588)

Without a transactional id, every request returns a new producer id with epoch 0 and leaves no state on the broker. This
also applies to requests with a current producer id, because KIP-360 only covers transactional producers. A producer id
without an epoch, or an epoch without a producer id, returns INVALID_REQUEST.

With a transactional id, the transaction coordinator returns the same producer id with the next epoch, which fences the
previous producer. If a transaction is open, the coordinator aborts it first, and returns CONCURRENT_TRANSACTIONS until
the abort is complete.

Source: kafka.server.KafkaApis.handleInitProducerIdRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.transactions.coordinator import NO_IDS_LEFT, Result, for_version
from kafkalet.broker.transactions.decisions import Producer
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkalet.storage.failures import StorageFailed
from kafkalet.tasks.task import until

NONE = -1
PRODUCER_FENCED_SINCE = 4


async def handle(request: InitProducerIdRequest, context: Context) -> InitProducerIdResponse:
    transactional_id = request.transactional_id
    if transactional_id is not None:
        if not context.allows(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
            return _respond(Result(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), context.version)
    elif not may_write_idempotently(context):
        return _respond(Result(Code.CLUSTER_AUTHORIZATION_FAILED), context.version)
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        return _respond(Result(Code.INVALID_REQUEST), context.version)
    if transactional_id is None:
        try:
            result = Result(Code.NONE, context.controller.producer_ids.take(), 0)
        except StorageFailed:
            result = Result(NO_IDS_LEFT)
        return _respond(result, context.version)
    expected = None if request.producer_id == NONE else Producer(request.producer_id, request.producer_epoch)
    coordinator = context.broker.coordinators.transactions
    result = await until(coordinator.init_producer_id(transactional_id, request.transaction_timeout_ms, expected))
    return _respond(result, context.version)


def may_write_idempotently(context: Context) -> bool:
    """Return whether the client may get a producer id without a transactional id."""
    return context.allows_on_cluster(Operation.IDEMPOTENT_WRITE) or (
        context.release.lets_writers_be_idempotent and context.allows_any(Operation.WRITE, ResourceType.TOPIC)
    )


def _respond(result: Result, version: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=for_version(result.code, version, PRODUCER_FENCED_SINCE),
        producer_id=result.producer_id,
        producer_epoch=result.producer_epoch,
    )
