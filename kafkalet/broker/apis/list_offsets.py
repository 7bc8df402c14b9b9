"""ListOffsets v0-11: look up the earliest or latest offset of a partition, or the first offset at or after a timestamp.

v0  returns base offsets of segments, found by the modification times of the segment files
v1  returns one offset with its timestamp; negative timestamps have special meanings (KIP-79)
v2  adds the isolation level: with read_committed, the latest offset is the last stable offset (KIP-98)
v4  adds leader epochs, for fencing (KIP-320)
v7  adds timestamp -3, the record with the largest timestamp (KIP-734)

Partitions of topics that the client may not describe come after all others in the response, with
TOPIC_AUTHORIZATION_FAILED and offset -1. A partition that fails does not affect the others. The checks run in this
order: duplicate partition, special timestamp that the version does not support, unknown partition, leader epoch,
lookup. Requests with a replica id other than -1 (brokers and debugging clients) see the log up to its end, regardless
of the isolation level.

Source: kafka.server.KafkaApis.handleListOffsetRequest, ReplicaManager.fetchOffset.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.storage.lookup import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from kafkalet.storage.values import Isolation
from kafkalet.tasks.task import pause

from .list_offsets_plan import learn

AskedTopic = ListOffsetsRequest.Topic
Asked = ListOffsetsRequest.Topic.Partition
Answer = ListOffsetsResponse.Topic.Partition
AnswerTopic = ListOffsetsResponse.Topic

NOTHING_REFUSED: list[AnswerTopic] = []
CONSUMER = -1
DEBUGGING = -2
NO_EPOCH = -1
ISOLATION_LEVELS = {0: Isolation.HIGH_WATERMARK, 1: Isolation.LAST_STABLE}

# The first version that supports each special timestamp. No version supports any other negative timestamp.
SINCE = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
NEVER = 0x7FFF
ENDS = (LATEST, EARLIEST)
PARTITIONS_PER_PAUSE = 32


async def handle(request: ListOffsetsRequest, context: Context) -> ListOffsetsResponse:
    asked, refused = request.topics, NOTHING_REFUSED
    if context.authorizer is not None:
        asked, refused = _split_by_rights(request, context)
    if context.version == 0:
        return await _list_all_segments(asked, refused, request, context)
    isolation = ISOLATION_LEVELS.get(request.isolation_level)
    if isolation is None and asked and not context.release.ignores_isolation_of_replicas:
        return _refuse_all(request, Code.UNKNOWN_SERVER_ERROR)
    lookup = _Lookup(request, context, isolation)
    topics = []
    listed = 0
    for topic in asked:
        name = topic.name
        answers: list[Answer] = []
        for one in topic.partitions:
            answers.append(lookup.list_end(name, one) if one.timestamp in ENDS else await lookup.search(name, one))
            listed += 1
            if not listed % PARTITIONS_PER_PAUSE:
                await pause()
        topics.append(AnswerTopic(name=name, partitions=answers))
    if not context.release.returns_duplicate_partitions and (
        lookup.duplicates or len(topics) > 1 or not all(topic.partitions for topic in topics)
    ):
        topics = _without_duplicates(topics)
    response = ListOffsetsResponse(topics=topics + refused if refused else topics)
    learn(request, response, context, isolation)
    return response


class _Lookup:
    """Looks up offsets in single partitions. The attributes are the same for all partitions of a request."""

    def __init__(self, request: ListOffsetsRequest, context: Context, isolation: Isolation | None) -> None:
        self._context = context
        self._is_consumer = request.replica_id == CONSUMER
        self._isolation = isolation if self._is_consumer else None
        self._is_refused = self._is_consumer and isolation is None
        self._only_leader = request.replica_id != DEBUGGING
        self.duplicates = _duplicate_partitions(request)
        self._may_refuse = bool(self.duplicates) or self._is_refused

    def list_end(self, topic: str, asked: Asked) -> Answer:
        """Return the latest or earliest offset. This is what clients request most often, so it is not a coroutine."""
        index, epoch = asked.partition_index, asked.current_leader_epoch
        try:
            if self._may_refuse:
                self._check(topic, asked)
            timestamp, offset, leader_epoch = self._context.node.partition(topic, index).end_offset(
                asked.timestamp, self._isolation, None if epoch == NO_EPOCH else epoch, self._only_leader
            )
        except KafkaError as error:
            return self._refused(asked, error)
        if self._is_consumer:
            self._context.remember_offset((topic, index), offset)
        return Answer(partition_index=index, timestamp=timestamp, offset=offset, leader_epoch=leader_epoch)

    async def search(self, topic: str, asked: Asked) -> Answer:
        """Return the offset for a timestamp."""
        index, epoch = asked.partition_index, asked.current_leader_epoch
        try:
            self._check(topic, asked)
            found = await self._context.node.partition(topic, index).offset_for(
                asked.timestamp, self._isolation, None if epoch == NO_EPOCH else epoch, self._only_leader
            )
        except KafkaError as error:
            return self._refused(asked, error)
        if found is None:
            return Answer(partition_index=index)
        if self._is_consumer:
            self._context.remember_offset((topic, index), found.offset)
        return Answer(
            partition_index=index, timestamp=found.timestamp, offset=found.offset, leader_epoch=found.leader_epoch
        )

    def _check(self, topic: str, asked: Asked) -> None:
        """Raise KafkaError if the partition may not be searched."""
        context, timestamp = self._context, asked.timestamp
        if self.duplicates and (topic, asked.partition_index) in self.duplicates:
            raise KafkaError(Code.INVALID_REQUEST)
        if (
            timestamp < 0
            and SINCE.get(timestamp, NEVER) > context.version
            and not context.release.searches_unknown_timestamps
        ):
            raise KafkaError(Code.UNSUPPORTED_VERSION)
        if self._is_refused:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)

    def _refused(self, asked: Asked, error: KafkaError) -> Answer:
        code = error.code
        if code == Code.OFFSET_NOT_AVAILABLE and self._context.version < 5:  # KIP-207 added this error in v5
            code = Code.LEADER_NOT_AVAILABLE
        return Answer(partition_index=asked.partition_index, error_code=code)


def _split_by_rights(request: ListOffsetsRequest, context: Context) -> tuple[list[AskedTopic], list[AnswerTopic]]:
    """Return the topics that the client may describe, and the results of the others."""
    allowed, refused = [], []
    for topic in request.topics:
        if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
            allowed.append(topic)
        else:
            answers = [
                Answer(partition_index=one.partition_index, error_code=Code.TOPIC_AUTHORIZATION_FAILED)
                for one in topic.partitions
            ]
            refused.append(AnswerTopic(name=topic.name, partitions=answers))
    return allowed, refused


def _duplicate_partitions(request: ListOffsetsRequest) -> set[tuple[str, int]]:
    """Return the partitions that are listed more than once in the request."""
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        return set()
    seen: set[tuple[str, int]] = set()
    duplicates: set[tuple[str, int]] = set()
    for topic in request.topics:
        for asked in topic.partitions:
            key = (topic.name, asked.partition_index)
            (duplicates if key in seen else seen).add(key)
    return duplicates


def _without_duplicates(topics: list[AnswerTopic]) -> list[AnswerTopic]:
    """Merge duplicate topics and partitions, as Kafka does when it groups a map of partitions by topic."""
    merged: dict[str, dict[int, Answer]] = {}
    for topic in topics:
        for answer in topic.partitions:
            merged.setdefault(topic.name, {})[answer.partition_index] = answer
    return [AnswerTopic(name=name, partitions=list(answers.values())) for name, answers in merged.items()]


def _refuse_all(request: ListOffsetsRequest, code: Code) -> ListOffsetsResponse:
    """Return the error for every partition, because the response has no top-level error code."""
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


async def _list_all_segments(
    asked_topics: list[AskedTopic], refused: list[AnswerTopic], request: ListOffsetsRequest, context: Context
) -> ListOffsetsResponse:
    """Handle version 0, which allows duplicate partitions."""
    topics = []
    for topic in asked_topics:
        answers: list[Answer] = []
        for asked in topic.partitions:
            await pause()
            answers.append(_list_segment(topic.name, asked, request, context))
        topics.append(AnswerTopic(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics + refused)


def _list_segment(topic: str, asked: Asked, request: ListOffsetsRequest, context: Context) -> Answer:
    index, timestamp = asked.partition_index, asked.timestamp
    if timestamp == EARLIEST_LOCAL and context.release.lists_local_start_in_version_0:
        timestamp = EARLIEST
    if timestamp < EARLIEST and not context.release.searches_unknown_timestamps:
        return Answer(partition_index=index, error_code=Code.UNSUPPORTED_VERSION)
    try:
        offsets = context.node.partition(topic, index).legacy_offsets(
            timestamp,
            asked.max_num_offsets,
            request.replica_id == CONSUMER,
            request.replica_id != DEBUGGING,
            context.clock.now_ms(),
        )
    except KafkaError as error:
        return Answer(partition_index=index, error_code=error.code)
    return Answer(partition_index=index, old_style_offsets=offsets)
