"""ShareGroupDescribe v1: describe share groups and their members (KIP-932).

Missing groups and groups of other types return GROUP_ID_NOT_FOUND.

Source: kafka.server.KafkaApis.handleShareGroupDescribe, GroupCoordinatorService.shareGroupDescribe.
"""

from kafkalet.broker.apis.parts.described_groups import describe_groups
from kafkalet.broker.apis.parts.error_texts import HIDDEN_TOPICS, text_of
from kafkalet.broker.context import Context
from kafkalet.broker.groups.modern.group import group_of
from kafkalet.broker.groups.share.group import ShareGroup, runs_share_groups
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse

Group = ShareGroupDescribeResponse.Group


async def handle(request: ShareGroupDescribeRequest, context: Context) -> ShareGroupDescribeResponse:
    if not runs_share_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    groups = await describe_groups(
        request.group_ids, _describe, _refused, context, with_operations=request.include_authorized_operations
    )
    return ShareGroupDescribeResponse(groups=groups)


def _describe(group_id: str, context: Context) -> Group:
    try:
        shard = context.broker.coordinators.groups.shard_of(group_id)
        group = group_of(ShareGroup, shard.visible_group(group_id), group_id).described()
    except KafkaError as error:
        return _refused(group_id, error.code, text_of(error) if group_id else None)
    return _with_visible_topics(group, context)


def _with_visible_topics(group: Group, context: Context) -> Group:
    """Return the group, or an error if the client may not describe a topic that is assigned to a member."""
    if context.authorizer is None:
        return group
    topics = {of.topic_name for member in group.members for of in member.assignment.topic_partitions}
    if all(context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic) for topic in topics):
        return group
    return _refused(group.group_id, Code.TOPIC_AUTHORIZATION_FAILED, HIDDEN_TOPICS)


def _refused(group_id: str, code: Code, message: str | None = None) -> Group:
    return Group(group_id=group_id, error_code=code, error_message=message)
