"""InitProducerId v0-5: an id and an epoch for an idempotent or transactional producer.

v3      a producer names the id and epoch it has, and goes on with the next epoch (KIP-360)
v4      PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH

Without a transactional id every request gets a new producer id at epoch 0 and nothing is remembered (also when the
request names the id and epoch that the producer has: KIP-360 is for transactional producers). An id without an epoch,
or the other way round, is INVALID_REQUEST.

With a transactional id the coordinator answers, and remembers: the same id, the next epoch, so that whoever had it
before is fenced. What that one has left open is aborted first; CONCURRENT_TRANSACTIONS until that is done.

Source: kafka.server.KafkaApis.handleInitProducerIdRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.broker.transactions.answering import answer_of
from kafkalet.broker.transactions.coordinator import NO_IDS_LEFT, Result, for_version
from kafkalet.broker.transactions.decisions import Producer
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkalet.storage.failures import StorageFailed

NONE = -1
KNOWS_FENCED = 4


def handle(
    request: InitProducerIdRequest, context: Context
) -> InitProducerIdResponse | Delayed[InitProducerIdResponse]:
    transactional_id = request.transactional_id
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        return _respond(Result(Code.INVALID_REQUEST), context.version)
    if transactional_id is None:
        try:
            result = Result(Code.NONE, context.controller.producer_ids.take(), 0)
        except StorageFailed:
            result = Result(NO_IDS_LEFT)
        return _respond(result, context.version)
    expected = None if request.producer_id == NONE else Producer(request.producer_id, request.producer_epoch)
    coordinator, version = context.broker.coordinators.transactions, context.version
    return answer_of(
        lambda then: coordinator.init_producer_id(
            transactional_id,
            request.transaction_timeout_ms,
            expected,
            lambda result: then(_respond(result, version)),
        )
    )


def _respond(result: Result, version: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=for_version(result.code, version, KNOWS_FENCED),
        producer_id=result.producer_id,
        producer_epoch=result.producer_epoch,
    )
