"""OffsetCommit v0-10: keep how far a group has read.

Members of a group commit with their generation (or member epoch); clients that use no group protocol with none, into a
group without members, which is made on the way. The answer comes when the offsets are in the log of every in-sync
replica.

v0-1   v1 gives each offset a time of its own
v2-4   how long the offsets are to be kept; then they expire then, whatever becomes of the group
v9     a generation of a group that does not exist: 69 instead of 22
v10    topics by id

Source: kafka.server.KafkaApis.handleOffsetCommitRequest, OffsetMetadataManager.commitOffset.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic import classic_group
from kafkalet.broker.groups.offsets_records import NEVER
from kafkalet.broker.groups.offsets_requests import (
    Asked,
    CommitAnswer,
    commits_of,
    is_too_long,
    sort_out,
    without_duplicates,
)
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.purgatory import Delayed
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

Answer = OffsetCommitResponse.Topic
DEFAULT_RETENTION = -1


def handle(request: OffsetCommitRequest, context: Context) -> OffsetCommitResponse | Delayed[OffsetCommitResponse]:
    answer = CommitAnswer(Answer)
    asked = sort_out(request, context, answer, by_id=context.version >= 10)
    if not asked:
        return OffsetCommitResponse(topics=answer.topics)
    if context.release.commits_named_twice_once:
        asked = without_duplicates(asked)
    config = context.node.config
    metadata_max_bytes = config.offset_metadata_max_bytes

    def respond(code: Code) -> OffsetCommitResponse:
        def code_of(partition: OffsetCommitRequest.Topic.Partition) -> Code:
            return (
                Code.OFFSET_METADATA_TOO_LARGE
                if is_too_long(partition.committed_metadata, metadata_max_bytes)
                else code
            )

        answer.add_all(asked, code_of)
        return OffsetCommitResponse(topics=answer.topics)

    try:
        shard = context.node.coordinators.groups.shard_for_offsets(request.group_id)
        _check(request, asked, shard, context)
    except KafkaError as error:
        code = error.code
        answer.add_all(asked, lambda _: code)
        return OffsetCommitResponse(topics=answer.topics)
    try:
        last_offset = _commit(request, asked, shard, metadata_max_bytes)
    except KafkaError as error:
        return respond(error.code)
    waiting: OffsetCommitResponse | Delayed[OffsetCommitResponse] = shard.when_replicated(
        last_offset, config.offsets_commit_timeout_ms, respond
    )
    return waiting


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
    if check is not None:
        for name, topic_id, partitions in asked:
            for partition in partitions:
                check(name, topic_id, partition.partition_index)


def _commit(request: OffsetCommitRequest, asked: list[Asked], shard: Shard, metadata_max_bytes: int) -> int:
    now_ms = shard.clock.now_ms()
    retention_ms = request.retention_time_ms
    commits = commits_of(
        asked,
        now_ms=now_ms,
        record_offset=shard.log.end_offset,
        metadata_max_bytes=metadata_max_bytes,
        expire_timestamp_ms=NEVER if retention_ms == DEFAULT_RETENTION else now_ms + retention_ms,
    )
    return shard.offsets.commit(request.group_id, commits)
