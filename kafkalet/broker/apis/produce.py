"""Produce v0-13: append record batches to partitions.

v0  accepts message format 0, which is converted before it is appended
v2  accepts message format 1; returns the append time (KIP-32)
v3  requires message format 2, with one batch per partition; adds transactional ids (KIP-98)
v5  returns the log start offset
v8  adds record errors and the error message (KIP-467)
v10 adds the current leader to NOT_LEADER_OR_FOLLOWER (KIP-951)
v13 replaces topic names with topic ids (KIP-516)

acks=0    no response; the broker reports an error by closing the connection
acks=1    responds when the leader has appended the records
acks=-1   responds when all in-sync replicas have the records, or after timeout_ms

Writing to a topic needs WRITE on it, and transactional records need WRITE on the transactional id. If a partition is
listed twice, only its last valid records are appended; if any other entry for it is refused, the
response contains that error. Only clients that use the client id of Kafka's admin client may produce to internal
topics.

Source: kafka.server.KafkaApis.handleProduceRequest, ReplicaManager.appendRecords, DelayedProduce.
"""

import logging
from collections.abc import Coroutine, Iterator
from typing import Any, NamedTuple

from kafkalet.broker.cluster.metadata import INTERNAL_TOPICS
from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.context import Context
from kafkalet.broker.quoting import quoted
from kafkalet.broker.security.acl import Operation as AclOperation
from kafkalet.broker.security.acl import ResourceType
from kafkalet.broker.transactions.verification import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalet.protocol.records.effort import may_take_long
from kafkalet.protocol.wire import Buffer
from kafkalet.storage.refusals import AppendRefused, RecordsRefused
from kafkalet.storage.values import AppendResult
from kafkalet.storage.verification import Guard
from kafkalet.tasks.delayed import Delayed, completed
from kafkalet.tasks.task import pause, until

from .produce_rules import (
    WITHOUT_LOG_START,
    check_first_header,
    check_produced,
    is_idempotent,
    is_transactional,
    is_usual_batch,
)
from .produce_verification import NOTHING_TO_VERIFY, Verified, verify_produce

_LOG = logging.getLogger(__name__)

Answer = ProduceResponse.Topic.Partition
Key = tuple[str, bytes, int]

ALL_IN_SYNC = -1
LEADER = 1
NO_RESPONSE = 0
ACKS = (ALL_IN_SYNC, LEADER, NO_RESPONSE)
PARTITIONS_WITHOUT_PAUSE = 20
"""The largest number of partitions to append to without pausing for other requests."""
UNKNOWN = -1
ADMIN_CLIENT = "__admin_client"


class Pending(NamedTuple):
    """Records that were appended and now wait to be replicated to the other in-sync replicas."""

    answer: Answer
    required_offset: int


Answered = ProduceResponse | Delayed[ProduceResponse | None] | None


def handle(request: ProduceRequest, context: Context) -> Answered | Coroutine[Any, Any, Answered]:
    given = list(_records(request, context))
    metadata = context.metadata
    if len(given) == 1 and context.authorizer is None and request.transactional_id is None:
        key, chunk = given[0]
        if chunk and is_usual_batch(chunk, context.version) and metadata.partition(key[0], key[2]) is not None:
            # None of the checks below concerns this request; see `is_usual_batch`.
            if may_take_long(chunk):
                return _append_all({key: chunk}, {}, _verify({}, request, context), request, context)
            parked: dict[Key, Pending] = {}
            answer = _append(key, chunk, NOTHING_TO_VERIFY, request, context, parked)
            return _answer_or_wait({key: answer}, parked, request, context)
    if not _may_be_transactional(request, context) and any(is_transactional(chunk) for _, chunk in given if chunk):
        return _answer(
            {key: _refused(key, Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for key, _ in given}, request, context
        )
    unauthorized: dict[Key, Answer] = {}
    if context.authorizer is not None:
        _check_idempotent_records(given, context)
        given, unauthorized = _split_by_rights(given, context)
    if context.release.hangs_after_null_records and any(
        chunk is None and metadata.partition(key[0], key[2]) for key, chunk in given
    ):
        return _hang(context)
    sound, refused = _split_by_validity(given, context)
    refused |= unauthorized
    asked = _verify(sound, request, context)
    if asked.is_waiting or len(sound) > PARTITIONS_WITHOUT_PAUSE or any(map(may_take_long, sound.values())):
        return _append_all(sound, refused, asked, request, context)
    verified = asked.result()
    pending: dict[Key, Pending] = {}
    answers = {key: _append(key, chunk, verified, request, context, pending) for key, chunk in sound.items()}
    return _answer_or_wait(answers | refused, pending, request, context)


def _hang(context: Context) -> Delayed[ProduceResponse | None]:
    """Return a response that is never sent.

    Null records crash Kafka's handler, and its connection hangs from then on.
    """
    _LOG.warning(
        "the Produce request of client %s has null records: like Apache Kafka, the broker responds neither to this "
        "request nor to later ones of the connection",
        quoted(context.client_id),
    )
    return Delayed()


def _verify(sound: dict[Key, Buffer], request: ProduceRequest, context: Context) -> Delayed[Verified]:
    """Let the transaction coordinator verify transactional records.

    The result is known at once if there are none, or if the transaction is already open in all partitions.
    """
    if request.transactional_id is None or not context.release.verifies_transactions:
        return completed(NOTHING_TO_VERIFY)
    chunks = {(name, index): chunk for (name, _, index), chunk in sound.items()}
    return verify_produce(chunks, request.transactional_id, Operation.of_produce(context.version), context.broker)


async def _append_all(
    sound: dict[Key, Buffer],
    refused: dict[Key, Answer],
    asked: Delayed[Verified],
    request: ProduceRequest,
    context: Context,
) -> Answered:
    """Append records that take a long time to validate, or that the transaction coordinator must verify first."""
    verified = await until(asked)
    pending: dict[Key, Pending] = {}
    answers: dict[Key, Answer] = {}
    for key, chunk in sound.items():
        if answers:
            await pause()
        if may_take_long(chunk):
            answers[key] = await _append_in_turns(key, chunk, verified, request, context, pending)
        else:
            answers[key] = _append(key, chunk, verified, request, context, pending)
    return _answer_or_wait(answers | refused, pending, request, context)


def _answer_or_wait(
    answers: dict[Key, Answer], pending: dict[Key, Pending], request: ProduceRequest, context: Context
) -> Answered:
    if not pending:
        return _answer(answers, request, context)
    waiting: Delayed[ProduceResponse | None] = context.node.purgatory.park(
        [(key[0], key[2]) for key in pending],
        max(request.timeout_ms, 0),
        lambda: _answer(answers, request, context) if _complete_replicated(pending, context) else None,
        lambda: _answer(_time_out(answers, pending), request, context),
    )
    return waiting


def _records(request: ProduceRequest, context: Context) -> Iterator[tuple[Key, Buffer | None]]:
    for topic in request.topic_data:
        name = topic.name
        if context.version >= 13:
            known = context.metadata.topic_by_id(topic.topic_id)
            name = "" if known is None else known.name
        for partition in topic.partition_data:
            yield (name, topic.topic_id, partition.index), partition.records


def _may_be_transactional(request: ProduceRequest, context: Context) -> bool:
    """Return whether the request may contain transactional records."""
    transactional_id = request.transactional_id
    if transactional_id is None:
        return False
    return context.authorizer is None or context.allows(
        AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
    )


def _check_idempotent_records(given: list[tuple[Key, Buffer | None]], context: Context) -> None:
    """Raise CLUSTER_AUTHORIZATION_FAILED if idempotent records need IDEMPOTENT_WRITE, as they did before 2.8."""
    if context.release.lets_writers_be_idempotent or context.allows_on_cluster(AclOperation.IDEMPOTENT_WRITE):
        return
    if any(is_idempotent(chunk) and not is_transactional(chunk) for _, chunk in given if chunk):
        raise KafkaError(Code.CLUSTER_AUTHORIZATION_FAILED)


def _split_by_rights(
    given: list[tuple[Key, Buffer | None]], context: Context
) -> tuple[list[tuple[Key, Buffer | None]], dict[Key, Answer]]:
    """Separate the entries of topics to which the client may not write.

    Entries with unknown topic ids are not among them.
    """
    allowed: list[tuple[Key, Buffer | None]] = []
    refused: dict[Key, Answer] = {}
    for key, chunk in given:
        is_named = bool(key[0]) or context.version < 13
        if is_named and not context.allows(AclOperation.WRITE, ResourceType.TOPIC, key[0]):
            refused[key] = _refused(key, Code.TOPIC_AUTHORIZATION_FAILED)
        else:
            allowed.append((key, chunk))
    return allowed, refused


def _split_by_validity(
    given: list[tuple[Key, Buffer | None]], context: Context
) -> tuple[dict[Key, Buffer], dict[Key, Answer]]:
    """Separate the entries to append from those that are refused before they reach a log.

    Raises KafkaError (UNKNOWN_SERVER_ERROR) for records that make Kafka fail the whole request.
    """
    sound: dict[Key, Buffer] = {}
    refused: dict[Key, Answer] = {}
    for key, chunk in given:
        if context.metadata.partition(key[0], key[2]) is None:
            unknown_id = context.version >= 13 and not key[0]
            refused[key] = _refused(key, Code.UNKNOWN_TOPIC_ID if unknown_id else Code.UNKNOWN_TOPIC_OR_PARTITION)
            continue
        if chunk is None:
            refused[key] = _refused(key, Code.UNKNOWN_SERVER_ERROR)
            continue
        try:
            check_produced(chunk, context.version)
            sound[key] = chunk
        except KafkaError as error:
            if error.code == Code.UNKNOWN_SERVER_ERROR:
                raise
            refused[key] = _refused(key, error.code, error.message)
    fails_whole = context.release.fails_with_short_batches
    for key, chunk in list(sound.items()):
        try:
            check_first_header(chunk, reads_producer=fails_whole)
        except KafkaError as error:
            if error.code == Code.UNKNOWN_SERVER_ERROR and fails_whole:
                raise
            del sound[key]
            refused.setdefault(key, _refused(key, error.code))
    return sound, refused


def _append(
    key: Key, chunk: Buffer, verified: Verified, request: ProduceRequest, context: Context, pending: dict[Key, Pending]
) -> Answer:
    """Append to one partition."""
    try:
        partition, guard = _checked(key, verified, request, context)
        return _appended(key, partition, partition.produce(chunk, guard), request, pending)
    except KafkaError as error:
        return _append_refused(key, error, context)


async def _append_in_turns(
    key: Key, chunk: Buffer, verified: Verified, request: ProduceRequest, context: Context, pending: dict[Key, Pending]
) -> Answer:
    """Append to one partition, and validate the records in a thread if that takes long.

    A producer that waits for a response and disconnects does not know whether its records were appended; one that does
    not wait may disconnect at any time.
    """
    try:
        partition, guard = _checked(key, verified, request, context)
        accepted = await partition.validate(chunk, guard, droppable=request.acks != NO_RESPONSE)
        partition, guard = _checked(key, verified, request, context)  # the cluster may have changed
        appended = partition.produce_validated(accepted, guard) or partition.produce(chunk, guard)
        return _appended(key, partition, appended, request, pending)
    except KafkaError as error:
        return _append_refused(key, error, context)


def _checked(key: Key, verified: Verified, request: ProduceRequest, context: Context) -> tuple[Partition, Guard | None]:
    """Return the partition if the request may append to it, and the guard of its transaction. Raises KafkaError."""
    name, _, index = key
    guard = None
    if verified is not NOTHING_TO_VERIFY:
        if (refusal := verified.refusals.get((name, index))) is not None:
            explains = refusal.message is None and context.release.explains_refused_transactions
            raise KafkaError(refusal.code, refusal.code.name if explains else refusal.message)
        guard = verified.guards.get((name, index))
    if request.acks not in ACKS:
        raise KafkaError(Code.INVALID_REQUIRED_ACKS)
    if name in INTERNAL_TOPICS and context.client_id != ADMIN_CLIENT:
        raise KafkaError(Code.INVALID_TOPIC_EXCEPTION)
    partition = context.node.partition(name, index)
    partition.log_for(None)
    if request.acks == ALL_IN_SYNC and not partition.has_enough_replicas:
        raise AppendRefused(Code.NOT_ENOUGH_REPLICAS, "too few replicas are in sync")
    return partition, guard


def _appended(
    key: Key, partition: Partition, appended: AppendResult, request: ProduceRequest, pending: dict[Key, Pending]
) -> Answer:
    answer = Answer(
        index=key[2],
        error_code=Code.NONE,
        base_offset=appended.first_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )
    if request.acks == ALL_IN_SYNC and partition.log.high_watermark <= appended.last_offset:
        pending[key] = Pending(answer, appended.last_offset + 1)
    return answer


def _append_refused(key: Key, error: KafkaError, context: Context) -> Answer:
    if not isinstance(error, AppendRefused):
        return _refused_by(error, key, context)
    answer = _refused(key, error.code, error.message)
    partition = context.node.partitions.get((key[0], key[2]))
    if partition is not None and error.code not in WITHOUT_LOG_START:
        answer.log_start_offset = partition.log.log_start_offset
    if isinstance(error, RecordsRefused):  # with an error for each bad record (KIP-467)
        answer.record_errors = [
            Answer.RecordError(batch_index=each.batch_index, batch_index_error_message=each.message)
            for each in error.record_errors
        ]
    return answer


def _refused(key: Key, code: Code, message: str | None = None) -> Answer:
    return Answer(index=key[2], error_code=code, base_offset=UNKNOWN, log_start_offset=UNKNOWN, error_message=message)


def _refused_by(error: KafkaError, key: Key, context: Context) -> Answer:
    if error.code == Code.NOT_LEADER_OR_FOLLOWER:
        return _name_leader(_refused(key, error.code), key, context)
    return _refused(key, error.code, error.message)


def _name_leader(answer: Answer, key: Key, context: Context) -> Answer:
    """Add the current leader, if the version supports it (KIP-951)."""
    state = context.metadata.partition(key[0], key[2])
    if context.version >= 10 and state is not None:
        answer.current_leader = Answer.LeaderIdAndEpoch(leader_id=state.leader, leader_epoch=state.leader_epoch)
    return answer


def _complete_replicated(pending: dict[Key, Pending], context: Context) -> bool:
    """Complete the partitions that are fully replicated (DelayedProduce.tryComplete). Return True if none are left."""
    for key, (answer, required_offset) in list(pending.items()):
        try:
            partition = context.node.partition(key[0], key[2])  # the topic may have been deleted
            log = partition.log_for(None)
            if log.log_end_offset < required_offset:  # truncated, while another replica was the leader for a moment
                raise KafkaError(Code.NOT_LEADER_OR_FOLLOWER)
            if log.high_watermark < required_offset:
                continue
            if not partition.has_enough_replicas:
                answer.error_code = Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        except KafkaError as error:
            answer.error_code = error.code
            if error.code == Code.NOT_LEADER_OR_FOLLOWER:
                _name_leader(answer, key, context)
        del pending[key]
    return not pending


def _time_out(answers: dict[Key, Answer], pending: dict[Key, Pending]) -> dict[Key, Answer]:
    for waiting in pending.values():
        waiting.answer.error_code = Code.REQUEST_TIMED_OUT
    return answers


def _answer(answers: dict[Key, Answer], request: ProduceRequest, context: Context) -> ProduceResponse | None:
    if request.acks == NO_RESPONSE:
        failed = {f"{key[0]}-{key[2]}": answer.error_code for key, answer in answers.items() if answer.error_code}
        if failed:
            refusals = ", ".join(f"{name}: {Code(code).name}" for name, code in failed.items())
            context.client.close(f"a produce request with acks=0 failed ({refusals})")
        return None
    if len(answers) == 1:
        [((name, topic_id, _), answer)] = answers.items()
        topic = ProduceResponse.Topic(name=name, topic_id=topic_id, partition_responses=[answer])
        return ProduceResponse(
            responses=[topic], node_endpoints=[] if answer.current_leader is None else _endpoints(answers, context)
        )
    topics: dict[tuple[str, bytes], ProduceResponse.Topic] = {}
    for (name, topic_id, _), answer in answers.items():
        if (name, topic_id) not in topics:
            topics[name, topic_id] = ProduceResponse.Topic(name=name, topic_id=topic_id, partition_responses=[])
        topics[name, topic_id].partition_responses.append(answer)
    return ProduceResponse(responses=list(topics.values()), node_endpoints=_endpoints(answers, context))


def _endpoints(answers: dict[Key, Answer], context: Context) -> list[ProduceResponse.NodeEndpoint]:
    """Return the endpoints of the current leaders in the response (KIP-951)."""
    leaders = {answer.current_leader.leader_id for answer in answers.values() if answer.current_leader is not None}
    return [
        ProduceResponse.NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
        for node in context.endpoints(leaders).values()
    ]
