"""Heartbeat v0-4: keep a member in its group and inform it about rebalances.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.heartbeat.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic_protocol import heartbeat
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalet.tasks.delayed import Delayed


def handle(request: HeartbeatRequest, context: Context) -> HeartbeatResponse | Delayed[HeartbeatResponse]:
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    shard = context.broker.coordinators.groups.shard_of(request.group_id)
    group = shard.groups.get(request.group_id)
    if group is None:
        raise KafkaError(Code.UNKNOWN_MEMBER_ID)
    response = heartbeat(group, request)
    earlier = shard.replicated(shard.log.end_offset - 1)
    if not earlier.is_waiting or not context.release.answers_heartbeats_after_changes:
        return response
    return earlier.map(lambda code: HeartbeatResponse(error_code=code) if code else response)
