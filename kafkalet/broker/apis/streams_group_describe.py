"""StreamsGroupDescribe v0-1: describe streams groups, their topology and their members (KIP-1071).

v1  adds the assignor, and on request the description of the topology (KIP-1331), which a plugin of the broker stores.
    There is none here

Missing groups and groups of other types return GROUP_ID_NOT_FOUND.

Source: kafka.server.KafkaApis.handleStreamsGroupDescribe, GroupCoordinatorService.streamsGroupDescribe.
"""

from kafkalet.broker.apis.parts.described_groups import describe_groups
from kafkalet.broker.context import Context
from kafkalet.broker.groups.modern.group import group_of
from kafkalet.broker.groups.streams.group import Described, StreamsGroup, runs_streams_groups
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse

_HIDDEN_TOPICS = "The described group uses topics that the client is not authorized to describe."
_NOT_STORED = 1
"""The status of a topology description that no plugin stores."""


async def handle(request: StreamsGroupDescribeRequest, context: Context) -> StreamsGroupDescribeResponse:
    if not runs_streams_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    groups = await describe_groups(
        request.group_ids, _describe, _refused, context, with_operations=request.include_authorized_operations
    )
    for group in groups:
        if request.include_topology_description and group.error_code == Code.NONE:
            group.topology_description_status = _NOT_STORED
    return StreamsGroupDescribeResponse(groups=groups)


def _describe(group_id: str, context: Context) -> Described:
    try:
        shard = context.broker.coordinators.groups.shard_of(group_id)
        group = group_of(StreamsGroup, shard.visible_group(group_id), group_id).described()
    except KafkaError as error:
        return _refused(group_id, error.code, error.message if error.code == Code.GROUP_ID_NOT_FOUND else None)
    return _with_visible_topics(group, context)


def _with_visible_topics(group: Described, context: Context) -> Described:
    """Return the group, or an error if the client may not describe a topic of its topology."""
    if context.authorizer is None or group.topology is None:
        return group
    topics = {
        topic
        for of in group.topology.subtopologies or ()
        for topic in (
            *(*of.source_topics, *of.repartition_sink_topics),
            *(each.name for each in (*of.repartition_source_topics, *of.state_changelog_topics)),
        )
    }
    if all(context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic) for topic in topics):
        return group
    return _refused(group.group_id, Code.TOPIC_AUTHORIZATION_FAILED, _HIDDEN_TOPICS)


def _refused(group_id: str, code: Code, message: str | None = None) -> Described:
    return Described(
        group_id=group_id,
        error_code=code,
        error_message=message,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        members=[],
    )
