"""TxnOffsetCommit v0-6: commit the offsets of a consumer group as part of a transaction (KIP-98).

v3  adds the generation, the member id and the instance id, for fencing (KIP-447)
v4  returns TRANSACTION_ABORTABLE instead of INVALID_TXN_STATE (KIP-890)
v5  adds the group to the transaction implicitly, without AddOffsetsToTxn (KIP-890)
v6  replaces topic names with topic ids; returns STALE_MEMBER_EPOCH, and GROUP_ID_NOT_FOUND for a missing group, instead
    of ILLEGAL_GENERATION

The offsets are written to the group's log as transactional records. They take effect with the commit marker; until
then, an OffsetFetch for stable offsets refuses these partitions. Before the first record is written, the transaction
coordinator verifies that the log's partition is part of the transaction (KIP-890).

Source: kafka.server.KafkaApis.handleTxnOffsetCommitRequest, OffsetMetadataManager.commitTransactionalOffset.
"""

from collections.abc import Sequence

from kafkalet.broker.apis.parts.offset_commits import (
    Asked,
    CommitAnswer,
    CommitRequest,
    check_each,
    commit,
    commit_code,
    sort_out,
)
from kafkalet.broker.context import Context
from kafkalet.broker.groups.classic.group import classic_group
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.transactions.decisions import Producer
from kafkalet.broker.transactions.verification import Operation as Verification
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from kafkalet.storage.verification import Guard
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import detached, until

Answer = TxnOffsetCommitResponse | Delayed[TxnOffsetCommitResponse]

LOAD_IN_PROGRESS_SINCE = 2
TOPIC_IDS_SINCE = 6
NO_SEQUENCE = -1


def handle(request: TxnOffsetCommitRequest, context: Context) -> Answer:
    context.require(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    context.require(Operation.READ, ResourceType.GROUP, request.group_id)
    answer = CommitAnswer(TxnOffsetCommitResponse.Topic)
    asked = sort_out(request, context, answer, by_id=context.version >= TOPIC_IDS_SINCE)
    if not asked:
        return TxnOffsetCommitResponse(topics=answer.topics)
    try:
        shard = context.broker.coordinators.groups.shard_of(request.group_id)
        if context.release.creates_groups_for_transactions:
            classic_group(shard, request.group_id)
        guard = _start_verification(request, shard, context)
    except KafkaError as error:
        return _refused(answer, asked, error.code, context)
    if guard is None:
        return _commit(request, asked, answer, shard, context)
    return _verify(request, asked, answer, shard, guard, context)


def refuse(request: TxnOffsetCommitRequest, context: Context, error: KafkaError) -> TxnOffsetCommitResponse:
    answer = CommitAnswer(TxnOffsetCommitResponse.Topic)
    for topic in request.topics:
        answer.add(topic.name, topic.topic_id, topic.partitions, error.code)
    return TxnOffsetCommitResponse(topics=answer.topics)


def _start_verification(request: TxnOffsetCommitRequest, shard: Shard, context: Context) -> Guard | None:
    """Return a guard if the transaction coordinator has to verify the transaction, otherwise None."""
    operation = Verification.of_txn_offset_commit(context.version)
    is_asked = operation is Verification.ADD or context.node.config.transaction_partition_verification_enable
    if not context.release.verifies_committed_offsets or not is_asked:
        return None
    return shard.log.partition.start_verification(
        request.producer_id, request.producer_epoch, NO_SEQUENCE, raises_epoch=operation is Verification.ADD
    )


@detached
async def _verify(
    request: TxnOffsetCommitRequest,
    asked: Sequence[Asked],
    answer: CommitAnswer[TxnOffsetCommitResponse.Topic],
    shard: Shard,
    guard: Guard,
    context: Context,
) -> TxnOffsetCommitResponse:
    """Let the transaction coordinator verify the transaction, or add the partition to it. Then commit the offsets."""
    key = (shard.log.partition.topic, shard.log.index)
    producer = Producer(request.producer_id, request.producer_epoch)
    operation = Verification.of_txn_offset_commit(context.version)
    refusals = await until(context.broker.transactions.verify(request.transactional_id, producer, [key], operation))
    try:
        if key in refusals:
            raise refusals[key]
        shard.log.partition.check_verified(request.producer_id, guard)
    except KafkaError as error:
        return _refused(answer, asked, error.code, context)
    committed = _commit(request, asked, answer, shard, context)
    return await until(committed) if isinstance(committed, Delayed) else committed


def _commit(
    request: TxnOffsetCommitRequest,
    asked: Sequence[Asked],
    answer: CommitAnswer[TxnOffsetCommitResponse.Topic],
    shard: Shard,
    context: Context,
) -> Answer:
    try:
        _check(request, asked, shard, context)
    except KafkaError as error:
        return _refused(answer, asked, error.code, context)
    wanted = CommitRequest(
        request.group_id,
        asked,
        by_id=context.version >= TOPIC_IDS_SINCE,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
    )
    topics = commit(wanted, shard, answer)
    return topics.map(_respond) if isinstance(topics, Delayed) else _respond(topics)


def _respond(topics: list[TxnOffsetCommitResponse.Topic]) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(topics=topics)


def _check(request: TxnOffsetCommitRequest, asked: Sequence[Asked], shard: Shard, context: Context) -> None:
    """Raise KafkaError unless the client may commit to the group."""
    epoch = request.generation_id_or_member_epoch
    if epoch >= 0 and request.group_id not in shard.groups:
        raise KafkaError(Code.GROUP_ID_NOT_FOUND if context.version >= TOPIC_IDS_SINCE else Code.ILLEGAL_GENERATION)
    group = classic_group(shard, request.group_id)
    try:
        check = group.check_commit(
            request.member_id, request.group_instance_id, epoch, context.version, transactional=True
        )
        check_each(asked, check)
    except KafkaError as error:
        if error.code == Code.STALE_MEMBER_EPOCH and context.version < TOPIC_IDS_SINCE:
            raise KafkaError(Code.ILLEGAL_GENERATION, error.message) from error
        raise
    if request.producer_epoch < 0:  # Kafka's MemoryRecordsBuilder throws an exception
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"Invalid negative producer epoch {request.producer_epoch}")


def _refused(
    answer: CommitAnswer[TxnOffsetCommitResponse.Topic], asked: Sequence[Asked], code: Code, context: Context
) -> TxnOffsetCommitResponse:
    returned = commit_code(code, context.release)
    if returned is Code.COORDINATOR_LOAD_IN_PROGRESS and context.version < LOAD_IN_PROGRESS_SINCE:
        returned = Code.COORDINATOR_NOT_AVAILABLE
    answer.add_all(asked, returned)
    return TxnOffsetCommitResponse(topics=answer.topics)
