"""ShareGroupHeartbeat v1: join, stay in or leave a share group (KIP-932).

The response does not wait for the initialization of new share partitions, which begins when it is sent.

Source: kafka.server.KafkaApis.handleShareGroupHeartbeat, GroupCoordinatorService.shareGroupHeartbeat.
"""

from kafkalet.broker.apis.parts.requirements import need, need_text
from kafkalet.broker.context import Context
from kafkalet.broker.groups.modern.group import existing_group, group_of
from kafkalet.broker.groups.modern.members import JOINING, LEAVING
from kafkalet.broker.groups.share.group import ShareGroup, group_to_join, runs_share_groups
from kafkalet.broker.groups.share.heartbeat import heartbeat, leave
from kafkalet.broker.groups.share.initialization import initialize
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest as Request
from kafkalet.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse as Response
from kafkalet.tasks.task import until

LONGEST_MEMBER_ID = 36


async def handle(request: Request, context: Context) -> Response:
    if not runs_share_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    if context.release.checks_ids_of_share_members and not 0 < len(request.member_id) <= LONGEST_MEMBER_ID:
        raise KafkaError(Code.INVALID_REQUEST)
    if context.authorizer is not None:
        for topic in dict.fromkeys(request.subscribed_topic_names or ()):
            context.require(Operation.DESCRIBE, ResourceType.TOPIC, topic)
    _check(request)
    groups = context.broker.coordinators.groups
    shard, initialization = groups.shard_of(request.group_id), None
    if request.member_epoch == LEAVING:
        group = group_of(ShareGroup, shard.groups.get(request.group_id), request.group_id)
        offset = leave(group, request.member_id)
        answer = Response(member_id=request.member_id, member_epoch=request.member_epoch, heartbeat_interval_ms=0)
    else:
        joins, group_id = request.member_epoch == JOINING, request.group_id
        group = group_to_join(shard, group_id) if joins else existing_group(ShareGroup, shard, group_id)
        answer, offset, initialization = heartbeat(group, request, context.client_id, f"/{context.peer[0]}")
    code = await until(shard.replicated(offset))
    if code is not Code.NONE:
        return refuse(request, context, KafkaError(code))
    if initialization is not None:
        await context.broker.share_state.create_topic()
        initialize(context.broker.share_state, groups.shard_of, initialization)
    return answer


def refuse(request: Request, context: Context, error: KafkaError) -> Response:
    return Response(error_code=error.code, error_message=error.message, member_epoch=0, heartbeat_interval_ms=0)


def _check(request: Request) -> None:
    """Raise INVALID_REQUEST if a field is blank, if the epoch is invalid, or if a new member subscribes to nothing."""
    need_text(request.member_id, "MemberId can't be empty.")
    need_text(request.group_id, "GroupId can't be empty.")
    need_text(request.rack_id, "RackId can't be empty.")
    if request.member_epoch == JOINING:
        need(bool(request.subscribed_topic_names), "SubscribedTopicNames must be set in first request.")
    else:
        need(request.member_epoch >= LEAVING, "MemberEpoch is invalid.")
