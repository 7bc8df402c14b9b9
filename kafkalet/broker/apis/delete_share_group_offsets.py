"""DeleteShareGroupOffsets v0: delete the state of all share partitions of topics, in an empty group (KIP-932).

Members that join later begin as `share.auto.offset.reset` says.

Source: kafka.server.KafkaApis.handleDeleteShareGroupOffsetsRequest, GroupCoordinatorService.deleteShareGroupOffsets,
GroupMetadataManager.sharePartitionsEligibleForOffsetDeletion, completeDeleteShareGroupOffsets.
"""

from collections.abc import Iterable

from kafkalet.broker.apis.parts.error_texts import TEXTS, text_of
from kafkalet.broker.context import Context
from kafkalet.broker.groups.modern.group import group_of
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.groups.share.group import ShareGroup, runs_share_groups
from kafkalet.broker.groups.share.initialization import delete_states
from kafkalet.broker.java_order import order_of_uuids
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.tasks.task import until

Topic = DeleteShareGroupOffsetsResponse.Topic
NOTHING_TO_DELETE = "There is no offset information to delete."


async def handle(request: DeleteShareGroupOffsetsRequest, context: Context) -> DeleteShareGroupOffsetsResponse:
    if not runs_share_groups(context.node):
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    context.require(Operation.DELETE, ResourceType.GROUP, request.group_id)
    found, refused = [], []
    for topic in request.topics:
        if context.allows(Operation.READ, ResourceType.TOPIC, topic.topic_name):
            found.append(topic.topic_name)
        else:
            refused.append(_refused(topic.topic_name, Code.TOPIC_AUTHORIZATION_FAILED))
    return DeleteShareGroupOffsetsResponse(responses=refused + await _delete(request.group_id, found, context))


def refuse(
    request: DeleteShareGroupOffsetsRequest, context: Context, error: KafkaError
) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=error.code, error_message=text_of(error), responses=[])


def _refused(name: str, code: Code, message: str | None = None) -> Topic:
    return Topic(topic_name=name, topic_id=ZERO_UUID, error_code=code, error_message=message or TEXTS[code])


async def _delete(group_id: str, names: Iterable[str], context: Context) -> list[Topic]:
    """Delete the states of topics, and return the results. Raises KafkaError."""
    groups = context.broker.coordinators.groups
    shard = groups.shard_of(group_id)
    group = group_of(ShareGroup, shard.groups.get(group_id), group_id)
    group.check_delete()
    if group.states is None:
        return []
    wanted, unknown = _begin(group, names, context)
    await _replicated(shard, shard.log.end_offset - 1)
    failures = await until(delete_states(context.broker.share_state, group_id, wanted))
    deleted, failed = [], []
    for topic_id in order_of_uuids(wanted):
        topic = context.metadata.topic_by_id(topic_id)
        name = "" if topic is None else topic.name
        errors = [error for (id_, _), error in failures.items() if id_ == topic_id]
        if errors:
            code = errors[0].code
            failed.append(Topic(topic_name=name, topic_id=topic_id, error_code=code, error_message=TEXTS.get(code)))
        else:
            deleted.append(Topic(topic_name=name, topic_id=topic_id))
    if deleted:
        await _end(groups.shard_of(group_id), group_id, {topic.topic_id for topic in deleted})
    return deleted + unknown + failed


def _begin(
    group: ShareGroup, names: Iterable[str], context: Context
) -> tuple[dict[bytes, frozenset[int]], list[Topic]]:
    """Record that the states of topics are being deleted. Return their partitions, and the results of other topics."""
    assert group.states is not None
    initialized, deleting = dict(group.states.initialized), dict(group.states.deleting)
    wanted: dict[bytes, frozenset[int]] = {}
    unknown: list[Topic] = []
    for name in names:
        topic = context.metadata.topics.get(name)
        if topic is None:
            unknown.append(_refused(name, Code.UNKNOWN_TOPIC_OR_PARTITION))
        elif topic.topic_id in initialized:
            wanted[topic.topic_id] = initialized.pop(topic.topic_id).partitions
            deleting[topic.topic_id] = name
        elif topic.topic_id in deleting:
            wanted[topic.topic_id] = frozenset(range(len(topic.partitions)))
        else:
            unknown.append(_refused(name, Code.UNKNOWN_TOPIC_OR_PARTITION, NOTHING_TO_DELETE))
    group.commit([group.with_states(group.states._replace(initialized=initialized, deleting=deleting))])
    return wanted, unknown


async def _end(shard: Shard, group_id: str, topic_ids: set[bytes]) -> None:
    """Record that the states of topics have been deleted. Raises KafkaError."""
    group = shard.groups.get(group_id)
    if isinstance(group, ShareGroup) and group.states is not None:
        deleting = {id_: name for id_, name in group.states.deleting.items() if id_ not in topic_ids}
        await _replicated(shard, group.commit([group.with_states(group.states._replace(deleting=deleting))]))


async def _replicated(shard: Shard, offset: int) -> None:
    code = await until(shard.replicated(offset))
    if code is not Code.NONE:
        raise KafkaError(code)
