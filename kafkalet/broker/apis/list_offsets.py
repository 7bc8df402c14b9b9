"""ListOffsets v0-11. One partition that fails never spoils its neighbours.

v0      offsets at which segments start, by the time of their files; any number of them
v1+     one offset by time (>= 0: the first record at or after it) or by a special time
v2+     isolation level: read_committed asks for the last stable offset instead of the high watermark
v4+     leader epochs: the request is fenced by them, the answer carries them

Checks come in this order: named twice, a special time that this version does not know, unknown partition, leader
epoch, lookup. Brokers and debugging clients (replica id other than -1) see the log to its end, whatever isolation they
ask for.

Source: kafka.server.KafkaApis.handleListOffsetRequest, ReplicaManager.fetchOffset.
"""

from collections.abc import Coroutine
from typing import Any

from kafkalet.broker.context import Context
from kafkalet.broker.scheduling.work import in_thread, pause
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.storage.lookup import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    Known,
    LongSearch,
)
from kafkalet.storage.values import Isolation

Asked = ListOffsetsRequest.Topic.Partition
Answer = ListOffsetsResponse.Topic.Partition
AnswerTopic = ListOffsetsResponse.Topic

CONSUMER = -1
DEBUGGING = -2
NO_EPOCH = -1
ISOLATION_LEVELS = {0: Isolation.HIGH_WATERMARK, 1: Isolation.LAST_STABLE}

# The first version that knows each special time; any other negative one is in no version.
SINCE = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
NEVER = 0x7FFF
LISTED_AT_ONCE = 100
"""More partitions are looked up in turns."""


def handle(
    request: ListOffsetsRequest, context: Context
) -> ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]:
    if context.version == 0:
        return _list_all_segments(request, context)
    isolation = ISOLATION_LEVELS.get(request.isolation_level)
    if isolation is None and not context.release.ignores_isolation_of_replicas:
        return _refuse_all(request, Code.UNKNOWN_SERVER_ERROR)
    twice = _named_twice(request)
    left = LISTED_AT_ONCE
    topics = []
    try:
        for topic in request.topics:
            left -= len(topic.partitions)
            if left < 0:
                return _list_in_turns(request, twice, isolation, context)
            answers = [
                _list_partition(topic.name, asked, twice, isolation, request.replica_id, context, {})
                for asked in topic.partitions
            ]
            topics.append(AnswerTopic(name=topic.name, partitions=answers))
    except LongSearch:
        return _list_in_turns(request, twice, isolation, context)
    return _answer(topics, twice, context)


async def _list_in_turns(
    request: ListOffsetsRequest, twice: set[tuple[str, int]], isolation: Isolation | None, context: Context
) -> ListOffsetsResponse:
    topics = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            await pause()
            known: Known = {}
            answer = None
            while answer is None:
                try:
                    answer = _list_partition(topic.name, asked, twice, isolation, request.replica_id, context, known)
                except LongSearch as search:
                    known[search.key] = await in_thread(search.call)
            answers.append(answer)
        topics.append(AnswerTopic(name=topic.name, partitions=answers))
    return _answer(topics, twice, context)


def _answer(topics: list[AnswerTopic], twice: set[tuple[str, int]], context: Context) -> ListOffsetsResponse:
    if not context.release.answers_every_duplicate and (
        twice or len(topics) > 1 or not all(topic.partitions for topic in topics)
    ):
        topics = _one_answer_each(topics)
    return ListOffsetsResponse(topics=topics)


def _list_partition(
    topic: str,
    asked: Asked,
    twice: set[tuple[str, int]],
    isolation: Isolation | None,
    replica_id: int,
    context: Context,
    known: Known,
) -> Answer:
    """Look up one partition. Raises LongSearch (see lookup.py)."""
    index = asked.partition_index
    timestamp = asked.timestamp
    if twice and (topic, index) in twice:
        return Answer(partition_index=index, error_code=Code.INVALID_REQUEST)
    release = context.release
    if timestamp < 0 and not release.searches_unknown_timestamps and SINCE.get(timestamp, NEVER) > context.version:
        return Answer(partition_index=index, error_code=Code.UNSUPPORTED_VERSION)
    consumer = replica_id == CONSUMER
    if consumer and isolation is None:
        return Answer(partition_index=index, error_code=Code.UNKNOWN_SERVER_ERROR)
    epoch = asked.current_leader_epoch
    try:
        partition = context.node.partition(topic, index)
        found = partition.offset_for(
            timestamp,
            isolation if consumer else None,
            None if epoch == NO_EPOCH else epoch,
            replica_id != DEBUGGING,
            known,
        )
    except KafkaError as error:
        code = error.code
        if code == Code.OFFSET_NOT_AVAILABLE and context.version < 5:  # clients older than KIP-207 do not know it
            code = Code.LEADER_NOT_AVAILABLE
        return Answer(partition_index=index, error_code=code)
    if found is None:
        return Answer(partition_index=index)
    return Answer(
        partition_index=index, timestamp=found.timestamp, offset=found.offset, leader_epoch=found.leader_epoch
    )


def _named_twice(request: ListOffsetsRequest) -> set[tuple[str, int]]:
    """The partitions that the request names more than once."""
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        return set()
    seen: set[tuple[str, int]] = set()
    twice: set[tuple[str, int]] = set()
    for topic in request.topics:
        for asked in topic.partitions:
            key = (topic.name, asked.partition_index)
            (twice if key in seen else seen).add(key)
    return twice


def _one_answer_each(topics: list[AnswerTopic]) -> list[AnswerTopic]:
    """One entry a topic and one answer a partition: what is left when a map of partitions is grouped by topic."""
    merged: dict[str, dict[int, Answer]] = {}
    for topic in topics:
        for answer in topic.partitions:
            merged.setdefault(topic.name, {})[answer.partition_index] = answer
    return [AnswerTopic(name=name, partitions=list(answers.values())) for name, answers in merged.items()]


def _refuse_all(request: ListOffsetsRequest, code: Code) -> ListOffsetsResponse:
    """A refusal of the request as a whole, which this API can only say on each partition."""
    return ListOffsetsResponse(
        topics=[
            AnswerTopic(
                name=topic.name,
                partitions=[
                    Answer(partition_index=asked.partition_index, error_code=code) for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _list_all_segments(request: ListOffsetsRequest, context: Context) -> ListOffsetsResponse:
    """Version 0 answers each entry on its own, also one that is named twice."""
    topics = []
    for topic in request.topics:
        answers: list[Answer] = []
        for asked in topic.partitions:
            await pause()
            answers.append(_list_segment(topic.name, asked, request, context))
        topics.append(AnswerTopic(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


def _list_segment(topic: str, asked: Asked, request: ListOffsetsRequest, context: Context) -> Answer:
    index = asked.partition_index
    if asked.timestamp < EARLIEST and not context.release.searches_unknown_timestamps:
        return Answer(partition_index=index, error_code=Code.UNSUPPORTED_VERSION)
    try:
        offsets = context.node.partition(topic, index).legacy_offsets(
            asked.timestamp,
            asked.max_num_offsets,
            request.replica_id == CONSUMER,
            request.replica_id != DEBUGGING,
            context.clock.now_ms(),
        )
    except KafkaError as error:
        return Answer(partition_index=index, error_code=error.code)
    return Answer(partition_index=index, old_style_offsets=offsets)
