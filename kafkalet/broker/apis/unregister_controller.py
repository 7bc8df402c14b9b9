"""UnregisterController v0: remove the registration of a controller. The active controller, the only one, refuses it.

Source: org.apache.kafka.controller.ClusterControlManager.unregisterController.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.unregister_controller import UnregisterControllerRequest, UnregisterControllerResponse

SUPPORTED_SINCE = 33
"""The level of metadata.version with this API."""


def handle(request: UnregisterControllerRequest, context: Context) -> UnregisterControllerResponse:
    context.require_on_cluster(Operation.ALTER)
    if context.node.feature_level("metadata.version") < SUPPORTED_SINCE:
        message = "The current MetadataVersion is too old to support controller unregistration."
        raise KafkaError(Code.UNSUPPORTED_VERSION, message)
    if request.controller_id != context.controller.node_id:
        message = f"Controller ID {request.controller_id} is not currently registered."
        raise KafkaError(Code.CONTROLLER_ID_NOT_REGISTERED, message)
    raise KafkaError(Code.INVALID_REQUEST, "Controller cannot unregister itself while it is active.")
