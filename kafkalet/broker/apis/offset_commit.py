"""OffsetCommit v0-10: keep how far a group has read.

Members of a group commit with their generation (or member epoch); clients that use no group protocol with none, into a
group without members, which is made on the way. The answer comes when the offsets are in the log of every in-sync
replica.

v0     kept in ZooKeeper, apart from what later versions keep
v1     each offset has a time of its own
v2-4   how long the offsets are to be kept; then they expire then, whatever becomes of the group
v9     a generation of a group that does not exist: 69 instead of 22
v10    topics by id

Source: kafka.server.KafkaApis.handleOffsetCommitRequest, OffsetMetadataManager.commitOffset.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic.group import classic_group
from kafkalet.broker.groups.offsets_requests import Asked, CommitAnswer, check_each, commit, is_too_long, sort_out
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

Answer = OffsetCommitResponse.Topic


def handle(request: OffsetCommitRequest, context: Context) -> OffsetCommitResponse | Delayed[OffsetCommitResponse]:
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
    return commit(
        asked,
        answer,
        shard,
        request.group_id,
        respond=lambda topics: OffsetCommitResponse(topics=topics),
        retention_ms=request.retention_time_ms,
        by_id=by_id,
    )


def refuse(request: OffsetCommitRequest, context: Context, error: KafkaError) -> OffsetCommitResponse:
    answer = CommitAnswer(Answer)
    for topic in request.topics:
        answer.add(topic.name, topic.topic_id, topic.partitions, error.code)
    return OffsetCommitResponse(topics=answer.topics)


def _check(request: OffsetCommitRequest, asked: list[Asked], shard: Shard, context: Context) -> None:
    """May this client commit? Raises KafkaError."""
    epoch = request.generation_id_or_member_epoch
    if epoch >= 0 and request.group_id not in shard.groups:
        tells = context.version >= 9 and context.release.tells_commits_of_unknown_groups
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
    """ZooKeeper keeps the offset alone, and asks nobody who he is."""
    limit = context.node.config.offset_metadata_max_bytes

    def keep(topic: str, index: int, offset: int, metadata: str | None) -> Code:
        if is_too_long(metadata, limit):
            return Code.OFFSET_METADATA_TOO_LARGE
        if not request.group_id:
            return Code.UNKNOWN_SERVER_ERROR  # there is no such path
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
