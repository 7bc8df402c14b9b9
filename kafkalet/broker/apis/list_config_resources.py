"""ListConfigResources v0-1: list the resources that have a configuration.

v0  lists only client metrics; the API was then called ListClientMetricsResources (KIP-1000)
v1  lists resources of the requested types, or of all types if the request has none (KIP-1142)

Topics and brokers are listed even if all of their properties have default values.

Source: kafka.server.KafkaApis.handleListConfigResources.
"""

from collections.abc import Iterable

from kafkalet.broker.apis.parts.config_changes import ResourceType
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

Resource = ListConfigResourcesResponse.ConfigResource


def handle(request: ListConfigResourcesRequest, context: Context) -> ListConfigResourcesResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE_CONFIGS):
        return ListConfigResourcesResponse(error_code=Code.CLUSTER_AUTHORIZATION_FAILED, config_resources=[])
    types = set(request.resource_types) if context.version else {int(ResourceType.CLIENT_METRICS)}
    every = {int(known) for known in ResourceType}
    if not types <= every:
        return ListConfigResourcesResponse(error_code=Code.UNSUPPORTED_VERSION, config_resources=[])
    resources = [
        Resource(resource_name=name, resource_type=kind)
        for kind in sorted(types or every, reverse=True)
        for name in _names(kind, context)
    ]
    return ListConfigResourcesResponse(config_resources=resources)


def _names(kind: int, context: Context) -> Iterable[str]:
    metadata = context.metadata
    if kind == ResourceType.TOPIC:
        return list(metadata.topics)
    if kind == ResourceType.GROUP:
        return list(metadata.group_config)
    if kind == ResourceType.CLIENT_METRICS:
        return list(metadata.client_metrics)
    return [str(node_id) for node_id in sorted(metadata.endpoints)]
