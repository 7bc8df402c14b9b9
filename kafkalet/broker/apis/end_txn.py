"""EndTxn v0-5: commit or abort a transaction.

v2      PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
v5      the epoch rises with each transaction, and the answer says which producer id and epoch to go on with (KIP-890)

The answer is there as soon as the transaction is decided; the markers follow.

Source: kafka.server.KafkaApis.handleEndTxnRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.broker.transactions.answering import answer_of
from kafkalet.broker.transactions.coordinator import Result, for_version
from kafkalet.broker.transactions.decisions import End
from kafkalet.broker.transactions.metadata import EPOCH_RISES_PER_TRANSACTION
from kafkalet.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

KNOWS_FENCED = 2
RAISES_EPOCH = 5


def handle(request: EndTxnRequest, context: Context) -> EndTxnResponse | Delayed[EndTxnResponse]:
    version = context.version
    end = End(
        request.producer_id,
        request.producer_epoch,
        request.committed,
        EPOCH_RISES_PER_TRANSACTION if version >= RAISES_EPOCH else 0,
    )
    coordinator = context.broker.coordinators.transactions
    return answer_of(
        lambda then: coordinator.end_transaction(
            request.transactional_id, end, lambda result: then(_respond(result, version))
        )
    )


def _respond(result: Result, version: int) -> EndTxnResponse:
    return EndTxnResponse(
        error_code=for_version(result.code, version, KNOWS_FENCED),
        producer_id=result.producer_id,
        producer_epoch=result.producer_epoch,
    )
