"""SyncGroup v0-5: accept the assignments of all members from the leader, and return to each member its own.

v5  requires the protocol type and name, to detect a mismatch (KIP-559)

Source: kafka.server.KafkaApis.handleSyncGroupRequest, GroupCoordinatorService.syncGroup.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic_protocol import sync
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalet.tasks.delayed import Delayed

PROTOCOL_SINCE = 5


def handle(request: SyncGroupRequest, context: Context) -> SyncGroupResponse | Delayed[SyncGroupResponse]:
    if context.version >= PROTOCOL_SINCE and (request.protocol_type is None or request.protocol_name is None):
        raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    shard = context.broker.coordinators.groups.shard_of(request.group_id)
    group = shard.groups.get(request.group_id)
    if group is None:
        raise KafkaError(Code.UNKNOWN_MEMBER_ID)
    return sync(group, request)
