"""DescribeShareGroupOffsets v0-1: return the start offsets of share partitions, and how far they lag (KIP-932).

v1  adds the lag: the records between the start offset and the high watermark whose delivery is not complete (KIP-1226)

Null instead of topics stands for all initialized partitions of the group. Partitions without a state have the start
offset -1, even if the topic or the group does not exist, and if the share coordinator returns an error.

Source: kafka.server.KafkaApis.handleDescribeShareGroupOffsetsRequest,
GroupCoordinatorService.describeShareGroupOffsets, describeShareGroupAllOffsets.
"""

from collections.abc import Collection, Iterable

from kafkalet.broker.apis.parts.error_texts import TEXTS, text_of
from kafkalet.broker.cluster.metadata import TopicState
from kafkalet.broker.context import Context
from kafkalet.broker.groups.share.group import ShareGroup, runs_share_groups
from kafkalet.broker.groups.share.initialization import check
from kafkalet.broker.java_order import order_of_numbers, order_of_uuids
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.share.state import UNINITIALIZED, SharePartitionState
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.tasks.task import pause

Asked = DescribeShareGroupOffsetsRequest.Group
Group = DescribeShareGroupOffsetsResponse.Group
Topic = Group.Topic
Partition = Topic.Partition
LATEST = -1
CALL = "Read share group summary parameters"


async def handle(request: DescribeShareGroupOffsetsRequest, context: Context) -> DescribeShareGroupOffsetsResponse:
    groups = []
    for asked in request.groups:
        if not runs_share_groups(context.node):
            groups.append(Group(group_id=asked.group_id, topics=[], error_code=Code.UNSUPPORTED_VERSION))
        elif not context.allows(Operation.DESCRIBE, ResourceType.GROUP, asked.group_id):
            groups.append(Group(group_id=asked.group_id, topics=[], error_code=Code.GROUP_AUTHORIZATION_FAILED))
        else:
            groups.append(await _describe(asked, context))
    return DescribeShareGroupOffsetsResponse(groups=groups)


async def _describe(asked: Asked, context: Context) -> Group:
    try:
        if asked.topics is None:
            topics = await _all(asked.group_id, context)
        else:
            topics = await _some(asked.group_id, asked.topics, context)
        return Group(group_id=asked.group_id, topics=topics)
    except KafkaError as error:
        return Group(group_id=asked.group_id, topics=[], error_code=error.code, error_message=TEXTS.get(error.code))


async def _all(group_id: str, context: Context) -> list[Topic]:
    shard = context.broker.coordinators.groups.shard_for_offsets(group_id)
    group = shard.groups.get(group_id)
    if not isinstance(group, ShareGroup) or group.states is None:
        return []
    known = {
        topic: of
        for topic_id, of in group.states.assignable.items()
        if (topic := context.metadata.topic_by_id(topic_id)) is not None
        and context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
    }
    return await _read(group_id, [(topic, sorted(of)) for topic, of in known.items()], context)


async def _some(group_id: str, asked: Iterable[Asked.Topic], context: Context) -> list[Topic]:
    found, unknown, refused = [], [], []
    for each in asked:
        topic = context.metadata.topics.get(each.topic_name)
        if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, each.topic_name):
            refused.append(_without_offsets(each, Code.TOPIC_AUTHORIZATION_FAILED))
        elif topic is None:
            unknown.append(_without_offsets(each))
        else:
            check(group_id, ((topic.topic_id, index) for index in each.partitions), CALL)
            if not each.partitions:  # DefaultStatePersister.validateGroupTopicPartitionData
                raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"{CALL} partitions cannot be null or empty.")
            found.append((topic, each.partitions))
    return [*await _read(group_id, found, context), *unknown, *refused]


def _without_offsets(asked: Asked.Topic, code: Code = Code.NONE) -> Topic:
    return Topic(
        topic_name=asked.topic_name,
        topic_id=ZERO_UUID,
        partitions=[
            Partition(
                partition_index=index,
                start_offset=UNINITIALIZED,
                leader_epoch=0,
                error_code=code,
                error_message=TEXTS.get(code),
            )
            for index in asked.partitions
        ],
    )


async def _read(group_id: str, asked: Iterable[tuple[TopicState, Collection[int]]], context: Context) -> list[Topic]:
    """Return the offsets by topic, in the order of Java's hash maps."""
    by_id: dict[bytes, tuple[TopicState, dict[int, None]]] = {}
    for topic, indexes in asked:
        by_id.setdefault(topic.topic_id, (topic, {}))[1].update(dict.fromkeys(indexes))
    topics = []
    for topic_id in order_of_uuids(by_id):
        topic, wanted = by_id[topic_id]
        partitions = []
        for index in order_of_numbers(wanted):
            try:
                state = await context.broker.share_state.summary(group_id, topic_id, index)
            except KafkaError:
                state = None
            partitions.append(_partition(topic, index, state, context))
            await pause()
        topics.append(Topic(topic_name=topic.name, topic_id=topic_id, partitions=partitions))
    return topics


def _partition(topic: TopicState, index: int, state: SharePartitionState | None, context: Context) -> Partition:
    if state is None:
        return Partition(partition_index=index, start_offset=UNINITIALIZED, leader_epoch=0)
    start, completed = state.start_offset, state.delivery_complete_count
    lag = -1
    if UNINITIALIZED not in (start, completed):
        try:
            lag = _end_offset(topic.name, index, context) - start - completed
        except KafkaError as error:
            return Partition(
                partition_index=index,
                start_offset=0,
                leader_epoch=0,
                error_code=error.code,
                error_message=text_of(error),
            )
    return Partition(partition_index=index, start_offset=start, leader_epoch=state.leader_epoch, lag=lag)


def _end_offset(topic: str, index: int, context: Context) -> int:
    """Return the high watermark. Raises KafkaError."""
    leader = context.metadata.existing_partition(topic, index).leader
    broker = context.broker.brokers.get(leader)
    if broker is None:
        raise KafkaError(Code.LEADER_NOT_AVAILABLE)
    return broker.node.partition(topic, index).end_offset(LATEST, None, None, True).offset
