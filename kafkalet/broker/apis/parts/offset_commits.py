"""The code shared by OffsetCommit and TxnOffsetCommit: validation, records and response.

Unknown topics and partitions get errors here, and the coordinator only handles the others. It is not called if there
are none. In the response, the coordinator's results come after these errors.

Source: kafka.server.KafkaApis.handleOffsetCommitRequest, OffsetCommitResponse.Builder.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from kafkalet.broker.cluster.metadata import TopicState
from kafkalet.broker.cluster.state_log import NO_PRODUCER, client_code
from kafkalet.broker.config.release import Release
from kafkalet.broker.context import Context
from kafkalet.broker.groups.group import PartitionCheck
from kafkalet.broker.groups.offsets_records import NEVER, Commit, CommittedOffset
from kafkalet.broker.groups.shard import Shard
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkalet.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from kafkalet.protocol.records.record import wrapped
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet.tasks.delayed import Delayed

TopicT = TypeVar("TopicT", OffsetCommitResponse.Topic, TxnOffsetCommitResponse.Topic)

Committed: TypeAlias = list[TopicT] | Delayed[list[TopicT]]
RequestPartition: TypeAlias = OffsetCommitRequest.Topic.Partition | TxnOffsetCommitRequest.Topic.Partition

Verdict = Code | Callable[[RequestPartition], Code]
"""The error code for partitions in a response: one code for all of them, or a function that returns each code."""

OffsetCommitPartition = OffsetCommitRequest.Topic.Partition
"""The partition type of OffsetCommit. Unlike that of TxnOffsetCommit, it has a commit timestamp (in v1)."""
DEFAULT_TIMESTAMP = -1
TOO_LARGE = (Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE, Code.INVALID_FETCH_SIZE)
MINUTE_MS = 60_000


class Asked(NamedTuple):
    """A topic in a request, with the requested partitions that exist."""

    topic: TopicState
    partitions: Sequence[RequestPartition]


class CommitAnswer(Generic[TopicT]):
    """Builds the topics of a response. `topic_type` is the class that represents a topic in the response."""

    def __init__(self, topic_type: type[TopicT]) -> None:
        self.topics: list[TopicT] = []
        self._topic_type: type[TopicT] = topic_type
        self._by_name: dict[tuple[str, bytes], TopicT] = {}

    def add(self, name: str, topic_id: bytes, partitions: Sequence[RequestPartition], code: Verdict) -> None:
        """Add partitions of the request to the response, with their error code."""
        topic = self._by_name.get((name, topic_id))
        if topic is None:
            topic = self._by_name[name, topic_id] = self._add_topic(name, topic_id)
        self._fill(topic, partitions, code)

    def add_all(self, asked: Sequence[Asked], code: Verdict) -> None:
        """Add the partitions that the coordinator has handled. Must be called last."""
        if self.topics:
            for topic, partitions in asked:
                self.add(topic.name, topic.topic_id, partitions, code)
        else:  # a topic that the request contains twice appears twice in the response
            for topic, partitions in asked:
                self._fill(self._add_topic(topic.name, topic.topic_id), partitions, code)

    def _add_topic(self, name: str, topic_id: bytes) -> TopicT:
        topic = self._topic_type(name=name, topic_id=topic_id, partitions=[])
        self.topics.append(topic)
        return topic

    def _fill(self, topic: TopicT, partitions: Sequence[RequestPartition], code: Verdict) -> None:
        answer = self._topic_type.Partition
        if isinstance(code, Code):
            topic.partitions += [answer(partition_index=each.partition_index, error_code=code) for each in partitions]
        else:
            topic.partitions += [
                answer(partition_index=each.partition_index, error_code=code(each)) for each in partitions
            ]


def sort_out(
    request: OffsetCommitRequest | TxnOffsetCommitRequest,
    context: Context,
    answer: CommitAnswer[TopicT],
    *,
    by_id: bool,
) -> list[Asked]:
    """Return the topics and partitions of a request that exist, and that the client may read.

    Add errors for all others to `answer`.
    """
    metadata = context.node.metadata
    checks = context.authorizer is not None
    found: list[Asked] = []
    for topic in request.topics:
        partitions: Sequence[RequestPartition] = topic.partitions
        state = metadata.topic_by_id(topic.topic_id) if by_id else metadata.topics.get(topic.name)
        if state is None:
            code = Code.UNKNOWN_TOPIC_ID if by_id else Code.UNKNOWN_TOPIC_OR_PARTITION
            if checks and not by_id and not context.allows(Operation.READ, ResourceType.TOPIC, topic.name):
                code = Code.TOPIC_AUTHORIZATION_FAILED
            answer.add(topic.name, topic.topic_id, partitions, code)
            continue
        if checks and not context.allows(Operation.READ, ResourceType.TOPIC, state.name):
            answer.add(state.name, topic.topic_id, partitions, Code.TOPIC_AUTHORIZATION_FAILED)
            continue
        count = len(state.partitions)
        unknown = [partition for partition in partitions if not 0 <= partition.partition_index < count]
        if unknown:
            answer.add(state.name, state.topic_id, unknown, Code.UNKNOWN_TOPIC_OR_PARTITION)
            partitions = [partition for partition in partitions if 0 <= partition.partition_index < count]
        if partitions:
            found.append(Asked(state, partitions))
    return _each_once(found) if context.release.commits_only_last_duplicate else found


def check_each(asked: Sequence[Asked], check: PartitionCheck | None) -> None:
    """Call `check` for every partition before any offset is committed. Errors that it raises are passed on."""
    if check is not None:
        for topic, partitions in asked:
            for partition in partitions:
                check(topic.name, topic.topic_id, partition.partition_index)


class CommitRequest(NamedTuple):
    """The offsets of an OffsetCommit or TxnOffsetCommit request, after validation."""

    group_id: str
    asked: Sequence[Asked]
    retention_ms: int = -1
    by_id: bool = False
    producer_id: int = NO_PRODUCER
    producer_epoch: int = NO_PRODUCER


def commit(request: CommitRequest, shard: Shard, answer: CommitAnswer[TopicT]) -> Committed[TopicT]:
    """Append the offsets to the log. Return the topics of the response once they are replicated."""
    config, release = shard.node.config, shard.node.release
    commits = _commits_of(request, shard)
    fits_all = len(commits) == sum(len(topic.partitions) for topic in request.asked)

    def settle(code: Code) -> list[TopicT]:
        returned = commit_code(code, release)
        if fits_all:
            answer.add_all(request.asked, returned)
        else:
            limit, too_long = config.offset_metadata_max_bytes, Code.OFFSET_METADATA_TOO_LARGE
            answer.add_all(
                request.asked,
                lambda partition: too_long if is_too_long(partition.committed_metadata, limit) else returned,
            )
        return answer.topics

    if not commits:
        return settle(Code.NONE)
    try:
        last_offset = shard.offsets.commit(request.group_id, commits, request.producer_id, request.producer_epoch)
    except KafkaError as error:
        if request.producer_id != NO_PRODUCER and release.forgets_pending_offsets_of_failed_commits:
            shard.offsets.forget_pending(request.producer_id, request.group_id, commits)
        return settle(error.code)
    if shard.log.is_replicated(last_offset):
        return settle(Code.NONE)
    return shard.log.replicated(last_offset, config.offsets_commit_timeout_ms).map(settle)


def _commits_of(request: CommitRequest, shard: Shard) -> list[Commit]:
    now_ms, retention_ms = shard.clock.now_ms(), request.retention_ms
    record_offset = shard.log.end_offset
    expire_timestamp_ms = NEVER if retention_ms == -1 else wrapped(now_ms + retention_ms)
    config, release = shard.node.config, shard.node.release
    keep_ids = request.by_id or release.keeps_topic_ids_of_offsets
    dates_all = release.expires_offsets_of_active_groups
    new = tuple.__new__  # takes a third of the time of CommittedOffset(...)
    commits: list[Commit] = []
    for topic, partitions in request.asked:
        topic_id = topic.topic_id if keep_ids else ZERO_UUID
        for partition in partitions:
            metadata = partition.committed_metadata or ""
            if metadata and is_too_long(metadata, config.offset_metadata_max_bytes):
                continue
            timestamp_ms = now_ms
            if isinstance(partition, OffsetCommitPartition) and partition.commit_timestamp != DEFAULT_TIMESTAMP:
                timestamp_ms = partition.commit_timestamp
            if dates_all and retention_ms == -1:
                expire_timestamp_ms = wrapped(timestamp_ms + config.offsets_retention_minutes * MINUTE_MS)
            committed = new(
                CommittedOffset,
                (
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    metadata,
                    timestamp_ms,
                    expire_timestamp_ms,
                    topic_id,
                    record_offset,
                ),
            )
            commits.append((topic.name, partition.partition_index, committed))
    return commits


def is_too_long(metadata: str | None, metadata_max_bytes: int) -> bool:
    """Return whether metadata exceeds the limit, counted in UTF-16 code units as in Java, not in bytes."""
    if not metadata or 2 * len(metadata) <= metadata_max_bytes:
        return False
    return len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > metadata_max_bytes


def commit_code(code: Code, release: Release) -> Code:
    """Map an error from the log to the error code for a commit response."""
    if code is Code.NONE:
        return code
    if release.names_cause_of_failed_commits:
        if code in TOO_LARGE:
            return Code.INVALID_COMMIT_OFFSET_SIZE
        if code is Code.REQUEST_TIMED_OUT:
            return code
    return client_code(code)


def _each_once(asked: Sequence[Asked]) -> list[Asked]:
    """Remove duplicate partitions, keeping the last occurrence of each."""
    if len(asked) == 1 and len(asked[0].partitions) == 1:
        return list(asked)
    topics: dict[str, tuple[TopicState, dict[int, RequestPartition]]] = {}
    for topic, partitions in asked:
        _, by_index = topics.setdefault(topic.name, (topic, {}))
        for partition in partitions:
            by_index[partition.partition_index] = partition
    return [Asked(topic, list(by_index.values())) for topic, by_index in topics.values()]
