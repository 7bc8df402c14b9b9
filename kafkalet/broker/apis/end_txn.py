"""EndTxn v0-5: commit or abort a transaction (KIP-98).

v2  returns PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH (KIP-588)
v5  bumps the epoch after every transaction and returns the next producer id and epoch (KIP-890)

The response is sent as soon as the outcome is in the transaction log. The markers are written afterwards.

Source: kafka.server.KafkaApis.handleEndTxnRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.transactions.coordinator import Result, for_version
from kafkalet.broker.transactions.decisions import End
from kafkalet.broker.transactions.metadata import EPOCH_RISES_PER_TRANSACTION
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkalet.tasks.task import until

PRODUCER_FENCED_SINCE = 2
EPOCH_BUMP_SINCE = 5


async def handle(request: EndTxnRequest, context: Context) -> EndTxnResponse:
    version = context.version
    if not context.allows(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id):
        return _respond(Result(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), version)
    end = End(
        request.producer_id,
        request.producer_epoch,
        request.committed,
        EPOCH_RISES_PER_TRANSACTION if version >= EPOCH_BUMP_SINCE else 0,
    )
    coordinator = context.broker.coordinators.transactions
    return _respond(await until(coordinator.end_transaction(request.transactional_id, end)), version)


def _respond(result: Result, version: int) -> EndTxnResponse:
    return EndTxnResponse(
        error_code=for_version(result.code, version, PRODUCER_FENCED_SINCE),
        producer_id=result.producer_id,
        producer_epoch=result.producer_epoch,
    )
