"""StreamsGroupTopologyDescriptionUpdate v0: send the description of a topology to a plugin of the broker (KIP-1331).

Brokers without a plugin, as here, do not ask clients for descriptions, and refuse them.

Source: kafka.server.KafkaApis.handleStreamsGroupTopologyDescriptionUpdate.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.streams.group import runs_streams_groups
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)


def handle(
    request: StreamsGroupTopologyDescriptionUpdateRequest, context: Context
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    if not runs_streams_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    raise KafkaError(
        Code.UNSUPPORTED_VERSION, "The broker has no streams group topology description plugin configured."
    )
