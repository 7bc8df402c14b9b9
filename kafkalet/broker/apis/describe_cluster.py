"""DescribeCluster v0-2: describe the brokers, the controller and the id of the cluster (KIP-700).

v1  adds the endpoint type: brokers or controllers (KIP-919)
v2  optionally includes fenced brokers, which are stopped here (KIP-1073)

The endpoint type must be that of the listener. The controller describes itself in place of the brokers.

Source: kafka.server.AuthHelper.computeDescribeClusterResponse, kafka.server.ControllerApis.handleDescribeCluster.
"""

from enum import IntEnum

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

from .metadata import cluster_operations

REGISTERS_CONTROLLERS_SINCE = 15
"""The level of metadata.version with registered controllers, 3.7-IV0."""


class EndpointType(IntEnum):
    BROKER = 1
    CONTROLLER = 2


def handle(request: DescribeClusterRequest, context: Context) -> DescribeClusterResponse:
    if context.is_at_controller:
        if context.node.feature_level("metadata.version") < REGISTERS_CONTROLLERS_SINCE:
            message = "Direct-to-controller communication is not supported with the current MetadataVersion."
            raise KafkaError(Code.UNSUPPORTED_VERSION, message)
        context.require_on_cluster(Operation.ALTER)
    served = EndpointType.CONTROLLER if context.is_at_controller else EndpointType.BROKER
    if request.endpoint_type not in list(EndpointType):
        return _refused(Code.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}")
    if request.endpoint_type != served:
        wanted = EndpointType(request.endpoint_type).name
        message = (
            f"The request was sent to an endpoint of type {served.name}, but we wanted an endpoint of type {wanted}"
        )
        return _refused(Code.MISMATCHED_ENDPOINT_TYPE if context.version else Code.INVALID_REQUEST, message)
    metadata = context.metadata
    brokers, controller_id = context.endpoints(), metadata.controller_id
    if context.is_at_controller:
        controller_id = context.controller.node_id
        brokers = {controller_id: context.controller.endpoints[context.listener]}
    elif request.include_fenced_brokers:
        brokers |= metadata.fenced_at(context.listener)
    return DescribeClusterResponse(
        endpoint_type=served,
        cluster_id=metadata.cluster_id,
        controller_id=controller_id,
        brokers=[
            DescribeClusterResponse.Broker(
                broker_id=node.node_id,
                host=node.host,
                port=node.port,
                rack=node.rack,
                is_fenced=node_id in metadata.away and not context.is_at_controller,
            )
            for node_id, node in sorted(brokers.items())
        ],
        cluster_authorized_operations=cluster_operations(request.include_cluster_authorized_operations, context),
    )


def _refused(code: Code, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=message, cluster_id="", brokers=[])
