"""InitProducerId v0-6: an id and an epoch for an idempotent producer.

Without a transactional id every request gets a new producer id at epoch 0 and nothing is remembered (also when the
request names the id and epoch that the producer has: KIP-360 is for transactional producers). An id without an epoch,
or the other way round, is INVALID_REQUEST.

A transactional id needs a transaction coordinator. This broker runs none, does not advertise the APIs of one, and
answers COORDINATOR_NOT_AVAILABLE; an empty transactional id is INVALID_REQUEST.

Source: kafka.coordinator.transaction.TransactionCoordinator.handleInitProducerId.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NONE = -1


def handle(request: InitProducerIdRequest, context: Context) -> InitProducerIdResponse:
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        return _respond(Code.INVALID_REQUEST, NONE, NONE)
    if request.transactional_id is None:
        return _respond(Code.NONE, context.cluster.producer_ids.take(), 0)
    if not request.transactional_id:
        return _respond(Code.INVALID_REQUEST, NONE, NONE)
    return _respond(Code.COORDINATOR_NOT_AVAILABLE, NONE, NONE)


def _respond(code: Code, producer_id: int, producer_epoch: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        throttle_time_ms=0, error_code=code, producer_id=producer_id, producer_epoch=producer_epoch
    )
