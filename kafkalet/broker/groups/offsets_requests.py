"""What OffsetCommit and TxnOffsetCommit have in common: which offsets can be committed, and the answer partition by
partition.

Topics and partitions that do not exist are answered without asking the coordinator; where nothing else is left, it is
never asked. What it says of the others comes behind them.

Source: kafka.server.KafkaApis.handleOffsetCommitRequest, OffsetCommitResponse.Builder.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code

from .offsets import Commit
from .offsets_records import NEVER, CommittedOffset


class Asked(NamedTuple):
    """A topic of a request with those of its partitions that exist."""

    name: str
    topic_id: bytes
    partitions: Sequence[Any]
    """Of the request's own type."""


class CommitAnswer:
    """The topics of an answer, as they are filled. `topic_type` is the answer's own type of a topic."""

    def __init__(self, topic_type: Any) -> None:
        self.topics: list[Any] = []
        self._topic_type = topic_type
        self._by_name: dict[tuple[str, bytes], Any] = {}

    def add(self, name: str, topic_id: bytes, partitions: Sequence[Any], code_of: Callable[[Any], Code]) -> None:
        """Answer these partitions of a request."""
        topic = self._by_name.get((name, topic_id))
        if topic is None:
            topic = self._topic_type(name=name, topic_id=topic_id, partitions=[])
            self._by_name[name, topic_id] = topic
            self.topics.append(topic)
        partition_type = self._topic_type.Partition
        topic.partitions += [
            partition_type(partition_index=partition.partition_index, error_code=code_of(partition))
            for partition in partitions
        ]

    def add_all(self, asked: Sequence[Asked], code_of: Callable[[Any], Code]) -> None:
        for name, topic_id, partitions in asked:
            self.add(name, topic_id, partitions, code_of)


def sort_out(request: Any, context: Context, answer: CommitAnswer, *, by_id: bool) -> list[Asked]:
    """The topics and partitions of a request that exist; `answer` gets the others."""
    metadata = context.node.metadata
    found: list[Asked] = []
    for topic in request.topics:
        partitions = topic.partitions
        state = metadata.topic_by_id(topic.topic_id) if by_id else metadata.topics.get(topic.name)
        if state is None:
            code = Code.UNKNOWN_TOPIC_ID if by_id else Code.UNKNOWN_TOPIC_OR_PARTITION
            answer.add(topic.name, topic.topic_id, partitions, lambda _, code=code: code)  # type: ignore[misc]
            continue
        count = len(state.partitions)
        unknown = [partition for partition in partitions if not 0 <= partition.partition_index < count]
        if unknown:
            answer.add(topic.name, topic.topic_id, unknown, lambda _: Code.UNKNOWN_TOPIC_OR_PARTITION)
            partitions = [partition for partition in partitions if 0 <= partition.partition_index < count]
        if partitions:
            found.append(Asked(state.name, topic.topic_id, partitions))
    return found


def commits_of(
    asked: Sequence[Asked],
    *,
    now_ms: int,
    record_offset: int,
    metadata_max_bytes: int,
    expire_timestamp_ms: int = NEVER,
) -> list[Commit]:
    """The offsets to commit: those whose metadata is not too long."""
    return [
        Commit(
            name,
            partition.partition_index,
            CommittedOffset(
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata or "",
                now_ms if (told_ms := getattr(partition, "commit_timestamp", -1)) == -1 else told_ms,
                expire_timestamp_ms,
                topic_id,
                record_offset,
            ),
        )
        for name, topic_id, partitions in asked
        for partition in partitions
        if not is_too_long(partition.committed_metadata, metadata_max_bytes)
    ]


def is_too_long(metadata: str | None, metadata_max_bytes: int) -> bool:
    """Java counts a string in units of UTF-16, whatever the property says of bytes."""
    if not metadata or 2 * len(metadata) <= metadata_max_bytes:
        return False
    return len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > metadata_max_bytes


def without_duplicates(asked: Sequence[Asked]) -> list[Asked]:
    """Each partition once, as it was named last."""
    topics: dict[tuple[str, bytes], dict[int, Any]] = {}
    for name, topic_id, partitions in asked:
        by_index = topics.setdefault((name, topic_id), {})
        for partition in partitions:
            by_index[partition.partition_index] = partition
    return [Asked(name, topic_id, list(by_index.values())) for (name, topic_id), by_index in topics.items()]
