"""LeaveGroup v0-5: remove members from a group.

v3  accepts several members, including static ones, and returns an error code for each (KIP-345)

Before v3, the top-level error code is the error code of the only member.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.leaveGroup, LeaveGroupResponse.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic_protocol import leave
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

SEVERAL_MEMBERS_SINCE = 3


def handle(request: LeaveGroupRequest, context: Context) -> LeaveGroupResponse:
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    shard = context.broker.coordinators.groups.shard_of(request.group_id)
    group = shard.groups.get(request.group_id)
    many = context.version >= SEVERAL_MEMBERS_SINCE
    leaving = request.members if many else [LeaveGroupRequest.Member(member_id=request.member_id)]
    left = leave(group, leaving)
    return LeaveGroupResponse(members=left) if many else LeaveGroupResponse(error_code=left[0].error_code)


def refuse(request: LeaveGroupRequest, context: Context, error: KafkaError) -> LeaveGroupResponse:
    is_left_out = context.version < SEVERAL_MEMBERS_SINCE and context.release.leaves_out_errors_of_leaving_groups
    return LeaveGroupResponse(error_code=Code.UNSUPPORTED_VERSION if is_left_out else error.code)
