"""DescribeGroups v0-6: describe classic protocol groups and their members.

v3  optionally returns authorized operations (KIP-430)
v6  adds error messages; returns GROUP_ID_NOT_FOUND for a missing group (KIP-1043)

Member metadata and the chosen protocol are returned only while the group is stable. Missing groups and groups of other
types are reported in the state Dead.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.describeGroups.
"""

from itertools import chain

from kafkalet.broker.apis.parts.authorized_operations import authorized_operations
from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic.group import ClassicGroup, State
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafkalet.tasks.task import pause

Described = DescribeGroupsResponse.Group

GROUP_ID_NOT_FOUND_SINCE = 6


async def handle(request: DescribeGroupsRequest, context: Context) -> DescribeGroupsResponse:
    described: list[Described] = []
    refused: list[Described] = []
    for group_id in chain(*context.broker.coordinators.groups.by_partition(request.groups)):
        if context.allows(Operation.DESCRIBE, ResourceType.GROUP, group_id):
            group = _describe(group_id, context)
            if request.include_authorized_operations and group.error_code == Code.NONE:
                group.authorized_operations = authorized_operations(context, ResourceType.GROUP, group_id)
            described.append(group)
        else:
            answered = refused if context.release.returns_refused_groups_first else described
            answered.append(_without_members(group_id, "", Code.GROUP_AUTHORIZATION_FAILED))
        await pause()
    return DescribeGroupsResponse(groups=refused + described)


def _describe(group_id: str, context: Context) -> Described:
    try:
        shard = context.broker.coordinators.groups.shard_for_offsets(group_id)
    except KafkaError as error:
        return _without_members(group_id, "", error.code)
    group = shard.visible_group(group_id)
    if isinstance(group, ClassicGroup):
        return _described(group, hides=context.release.hides_assignments_of_rebalances)
    if context.version < GROUP_ID_NOT_FOUND_SINCE:
        return _without_members(group_id, State.DEAD)
    message = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a classic group."
    return _without_members(group_id, State.DEAD, Code.GROUP_ID_NOT_FOUND, message)


def _without_members(group_id: str, state: str, code: Code = Code.NONE, message: str | None = None) -> Described:
    return Described(
        error_code=code,
        error_message=message,
        group_id=group_id,
        group_state=state,
        protocol_type="",
        protocol_data="",
        members=[],
    )


def _described(group: ClassicGroup, *, hides: bool) -> Described:
    name = group.protocol_name if group.state is State.STABLE else None
    return Described(
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=name or "",
        members=[
            Described.Member(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=b"" if name is None else member.protocols[name],
                member_assignment=b"" if name is None and hides else member.assignment,
            )
            for member in group.members
        ],
    )
