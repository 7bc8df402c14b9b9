"""OffsetCommit v0-10: commit the offsets of a consumer group.

v0  stores offsets in ZooKeeper, separately from those of later versions
v1  stores offsets in Kafka; adds the generation and the member id, for fencing, and a timestamp for each offset
v2  replaces the timestamps with one retention time; up to v4, the offsets expire after it, even if the group is active
v9  returns GROUP_ID_NOT_FOUND instead of ILLEGAL_GENERATION if the group of a member does not exist (KIP-848)
v10 replaces topic names with topic ids (KIP-848)

Group members commit with their generation or member epoch. A client without a group protocol commits without a
generation, and only to a group without members. The group is created if it does not exist. The response waits until all
in-sync replicas have the offsets.

Source: kafka.server.KafkaApis.handleOffsetCommitRequest, OffsetMetadataManager.commitOffset.
"""

from kafkalet.broker.apis.parts.offset_commits import (
    Asked,
    CommitAnswer,
    CommitRequest,
    check_each,
    commit,
    is_too_long,
    sort_out,
)
from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic.group import classic_group
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkalet.tasks.delayed import Delayed

Answer = OffsetCommitResponse.Topic


def handle(request: OffsetCommitRequest, context: Context) -> OffsetCommitResponse | Delayed[OffsetCommitResponse]:
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    by_id = context.version >= 10
    answer = CommitAnswer(Answer)
    asked = sort_out(request, context, answer, by_id=by_id)
    if not asked:
        return OffsetCommitResponse(topics=answer.topics)
    if context.version == 0 and context.release.refuses_old_offsets:
        raise KafkaError(Code.UNSUPPORTED_VERSION, "OffsetCommit v0 needs ZooKeeper")
    if context.version == 0 and context.release.keeps_old_offsets_in_zookeeper:
        return _commit_to_zookeeper(request, asked, answer, context)
    try:
        shard = context.broker.coordinators.groups.shard_for_offsets(request.group_id)
        _check(request, asked, shard, context)
    except KafkaError as error:
        answer.add_all(asked, error.code)
        return OffsetCommitResponse(topics=answer.topics)
    topics = commit(CommitRequest(request.group_id, asked, request.retention_time_ms, by_id), shard, answer)
    return topics.map(_respond) if isinstance(topics, Delayed) else _respond(topics)


def refuse(request: OffsetCommitRequest, context: Context, error: KafkaError) -> OffsetCommitResponse:
    answer = CommitAnswer(Answer)
    for topic in request.topics:
        answer.add(topic.name, topic.topic_id, topic.partitions, error.code)
    return OffsetCommitResponse(topics=answer.topics)


def _respond(topics: list[Answer]) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=topics)


def _check(request: OffsetCommitRequest, asked: list[Asked], shard: Shard, context: Context) -> None:
    """Raise KafkaError unless the client may commit to the group."""
    epoch = request.generation_id_or_member_epoch
    if epoch >= 0 and request.group_id not in shard.groups:
        tells = context.version >= 9 and context.release.reports_unknown_groups_to_commits
        raise KafkaError(Code.GROUP_ID_NOT_FOUND if tells else Code.ILLEGAL_GENERATION)
    group = classic_group(shard, request.group_id)
    check = group.check_commit(
        request.member_id, request.group_instance_id, epoch, context.version, transactional=False
    )
    group.offset_committed(request.member_id)
    check_each(asked, check)


def _commit_to_zookeeper(
    request: OffsetCommitRequest, asked: list[Asked], answer: CommitAnswer[Answer], context: Context
) -> OffsetCommitResponse:
    """Store the offsets as in ZooKeeper: without metadata, and without checking the member."""
    limit = context.node.config.offset_metadata_max_bytes

    def keep(topic: str, index: int, offset: int, metadata: str | None) -> Code:
        if is_too_long(metadata, limit):
            return Code.OFFSET_METADATA_TOO_LARGE
        if not request.group_id:
            return Code.UNKNOWN_SERVER_ERROR  # Kafka fails here: the ZooKeeper path would be invalid
        context.node.metadata.keep_zookeeper_offset(request.group_id, topic, index, offset)
        return Code.NONE

    for topic, partitions in asked:
        answer.add(
            topic.name,
            topic.topic_id,
            partitions,
            lambda one, name=topic.name: keep(  # type: ignore[misc]
                name, one.partition_index, one.committed_offset, one.committed_metadata
            ),
        )
    return OffsetCommitResponse(topics=answer.topics)
