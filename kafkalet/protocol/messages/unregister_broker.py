"""UnregisterBroker (64): remove the registration of a broker (KIP-500)."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response
from kafkalet.protocol.wire import Int16, Int32, String


class UnregisterBrokerRequest(Request, api=Api.UNREGISTER_BROKER):
    broker_id: Int32


class UnregisterBrokerResponse(Response, to=UnregisterBrokerRequest):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
