"""OffsetFetch v0-10: how far groups have read.

v2     null for all partitions; an error of the whole group
v7     whether offsets that a transaction may still change are refused (88)
v8     many groups at once
v9     members of the consumer protocol say who they are; one that is not, or of another epoch, gets an error (KIP-848)
v10    topics by id

What was never committed is -1 with empty metadata, whether the topic or the group exists or not.

Source: kafka.server.KafkaApis.handleOffsetFetchRequest, OffsetMetadataManager.fetchOffsets, OffsetFetchResponse.
"""

from typing import Any

from kafkalet.broker.context import Context
from kafkalet.broker.groups.offsets_records import CommittedOffset
from kafkalet.broker.groups.shard import Shard
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkalet.protocol.wire import ZERO_UUID

OldTopic = OffsetFetchResponse.Topic
Group = OffsetFetchResponse.Group
Topic = Group.Topic
Partition = Topic.Partition

NOWHERE = CommittedOffset(-1)


def handle(request: OffsetFetchRequest, context: Context) -> OffsetFetchResponse:
    if context.version >= 8:
        groups = [_fetch(group, request.require_stable, context) for group in request.groups]
        return OffsetFetchResponse(groups=groups)
    asked = OffsetFetchRequest.Group(
        group_id=request.group_id,
        topics=None
        if request.topics is None
        else [
            OffsetFetchRequest.Group.Topic(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ],
    )
    return _as_one_group(_fetch(asked, request.require_stable, context), request, context.version)


def _as_one_group(group: Group, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
    code = Code(group.error_code)
    if code != Code.NONE and version < 2:  # there is no room for it but with the partitions
        group.topics = [
            Topic(name=topic.name, partitions=[_answer(index, NOWHERE, code) for index in topic.partition_indexes])
            for topic in request.topics or ()
        ]
    return OffsetFetchResponse(
        error_code=code,
        topics=[
            OldTopic(
                name=topic.name,
                partitions=[
                    OldTopic.Partition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


def _fetch(asked: OffsetFetchRequest.Group, require_stable: bool, context: Context) -> Group:
    try:
        shard = context.node.coordinators.groups.shard_for_offsets(asked.group_id)
        group = shard.groups.get(asked.group_id)
        if group is not None:
            group.check_fetch(asked.member_id, asked.member_epoch)
        if asked.topics is None:
            topics = _all_topics(asked.group_id, shard, require_stable, context)
        else:
            topics = [_topic(topic, asked.group_id, shard, require_stable, context) for topic in asked.topics]
        return Group(group_id=asked.group_id, topics=topics)
    except KafkaError as error:
        return Group(group_id=asked.group_id, topics=[], error_code=error.code)


def _all_topics(group_id: str, shard: Shard, require_stable: bool, context: Context) -> list[Topic]:
    found = []
    for name, by_partition in shard.offsets.committed(group_id).items():
        topic_id = ZERO_UUID
        if context.version >= 10:
            state = context.node.metadata.topics.get(name)
            if state is None:  # it cannot be named
                continue
            topic_id = state.topic_id
        partitions = _partitions(name, by_partition, by_partition, group_id, shard, require_stable)
        found.append(Topic(name=name, topic_id=topic_id, partitions=partitions))
    return found


def _topic(
    asked: OffsetFetchRequest.Group.Topic, group_id: str, shard: Shard, require_stable: bool, context: Context
) -> Topic:
    name = asked.name
    if context.version >= 10:
        state = context.node.metadata.topic_by_id(asked.topic_id)
        if state is None:
            unknown = [_answer(index, NOWHERE, Code.UNKNOWN_TOPIC_ID) for index in asked.partition_indexes]
            return Topic(topic_id=asked.topic_id, partitions=unknown)
        name = state.name
    by_partition = shard.offsets.committed(group_id).get(name, {})
    partitions = _partitions(name, asked.partition_indexes, by_partition, group_id, shard, require_stable)
    return Topic(name=name, topic_id=asked.topic_id, partitions=partitions)


def _partitions(
    topic: str, indexes: Any, by_partition: Any, group_id: str, shard: Shard, require_stable: bool
) -> list[Partition]:
    if require_stable and shard.offsets.has_transaction(group_id):
        return [
            _answer(index, NOWHERE, Code.UNSTABLE_OFFSET_COMMIT)
            if shard.offsets.is_pending(group_id, topic, index)
            else _answer(index, by_partition.get(index, NOWHERE), Code.NONE)
            for index in indexes
        ]
    return [_answer(index, by_partition.get(index, NOWHERE), Code.NONE) for index in indexes]


def _answer(index: int, committed: CommittedOffset, code: Code) -> Partition:
    return Partition(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=code,
    )
