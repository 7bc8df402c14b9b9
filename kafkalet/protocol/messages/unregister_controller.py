"""UnregisterController (94): remove the registration of a controller."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.schema import Request, Response
from kafkalet.protocol.wire import Int16, Int32, String


class UnregisterControllerRequest(Request, api=Api.UNREGISTER_CONTROLLER):
    controller_id: Int32


class UnregisterControllerResponse(Response, to=UnregisterControllerRequest):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
