"""JoinGroup v0-9: join a group and wait until all members of the next generation have joined.

v1  adds a rebalance timeout; v0 uses the session timeout (KIP-62)
v4  returns MEMBER_ID_REQUIRED with a member id to a new member, which then joins again (KIP-394)
v5  adds static members (KIP-345)
v7  returns null instead of "" if no protocol was chosen (KIP-559)
v9  adds skip_assignment for a static leader that rejoins (KIP-814)

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.joinGroup.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic.group import new_classic_group
from kafkalet.broker.groups.classic_protocol import join
from kafkalet.broker.groups.group import Caller
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalet.tasks.delayed import Delayed

Answer = JoinGroupResponse | Delayed[JoinGroupResponse]

NULL_PROTOCOL_SINCE = 7
_MOVED = frozenset({Code.NOT_COORDINATOR, Code.COORDINATOR_LOAD_IN_PROGRESS})


def handle(request: JoinGroupRequest, context: Context) -> Answer:
    if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
        return _refused(Code.GROUP_AUTHORIZATION_FAILED, "", context)
    node = context.node
    shard = context.broker.coordinators.groups.shard_of(request.group_id)
    config = node.config
    if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
        raise KafkaError(Code.INVALID_SESSION_TIMEOUT)
    group = shard.groups.get(request.group_id)
    if group is None:
        if request.member_id:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID)
        group = new_classic_group(shard, request.group_id)
    caller = Caller(context.client_id, f"/{context.peer[0]}", context.version, context.topic_check())
    answer = join(group, request, caller)
    if context.version >= NULL_PROTOCOL_SINCE:
        return answer
    return answer.map(_with_protocol) if isinstance(answer, Delayed) else _with_protocol(answer)


def refuse(request: JoinGroupRequest, context: Context, error: KafkaError) -> JoinGroupResponse:
    moved = error.code in _MOVED and not context.node.release.returns_member_ids_of_moved_groups
    return _refused(error.code, "" if moved else request.member_id, context)


def _refused(code: Code, member_id: str, context: Context) -> JoinGroupResponse:
    none = None if context.version >= NULL_PROTOCOL_SINCE else ""
    return JoinGroupResponse(error_code=code, protocol_name=none, leader="", member_id=member_id, members=[])


def _with_protocol(answer: JoinGroupResponse) -> JoinGroupResponse:
    answer.protocol_name = answer.protocol_name or ""
    return answer
