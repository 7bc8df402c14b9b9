"""DescribeCluster v0-2: describe the brokers, the controller and the id of the cluster (KIP-700).

v1  adds the endpoint type: brokers or controllers (KIP-919); every listener here is a broker endpoint
v2  optionally includes fenced brokers, which are stopped here (KIP-1073)

Source: kafka.server.AuthHelper.computeDescribeClusterResponse.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

from .metadata import cluster_operations

BROKERS = 1
CONTROLLERS = 2


def handle(request: DescribeClusterRequest, context: Context) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        return _refused(Code.MISMATCHED_ENDPOINT_TYPE, message)
    if request.endpoint_type != BROKERS:
        return _refused(Code.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}")
    metadata = context.metadata
    brokers = context.endpoints()
    if request.include_fenced_brokers:
        brokers |= metadata.fenced_at(context.listener)
    return DescribeClusterResponse(
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller_id,
        brokers=[
            DescribeClusterResponse.Broker(
                broker_id=node.node_id,
                host=node.host,
                port=node.port,
                rack=node.rack,
                is_fenced=node_id in metadata.away,
            )
            for node_id, node in sorted(brokers.items())
        ],
        cluster_authorized_operations=cluster_operations(request.include_cluster_authorized_operations, context),
    )


def _refused(code: Code, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=message, cluster_id="", brokers=[])
