"""Look up any number of timestamps with ListOffsets requests to one leader.

A request has one timestamp per partition, and Kafka rejects requests that name a partition twice. Therefore, the
lookups are distributed over several requests in which each partition occurs at most once. The requests are pipelined,
but there are never more in flight than fit into the socket buffers, so that the two sides cannot block each other.

Negative timestamps are special values. Each of them requires a minimum request version: with an older version, a broker
would reject the value or, worse, treat it as a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, DecodeError, code_of
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

from .client_properties import Settings
from .connection import Connection
from .metadata import Leader, TopicPartition
from .refusals import PartitionRefused

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

LOWEST_VERSION = 2
"""The first version with isolation levels (0.11)."""
SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
CONSUMER = -1
UNDER_WAY_BYTES = 16 << 10


class Lookup(NamedTuple):
    """A partition, and a timestamp or special value to look up in it."""

    topic: str
    partition: int
    timestamp: int


class Found(NamedTuple):
    """The result of a lookup. Offset and timestamp are -1 if no record is late enough; the leader epoch is -1 if
    unknown."""

    offset: int
    timestamp: int
    leader_epoch: int


Answer = Found | PartitionRefused


def ask_leader(
    connection: Connection,
    lookups: Sequence[Lookup],
    isolation_level: int,
    leaders: Mapping[TopicPartition, Leader],
    settings: Settings,
) -> Iterator[tuple[int, Answer]]:
    """Send the lookups to the broker, and yield each result with the index of its lookup.

    Raises KafkaError if the broker does not support one of the special values.
    """
    lowest = max((SINCE.get(timestamp, 0) for timestamp in {lookup.timestamp for lookup in lookups}), default=0)
    version = connection.version(Api.LIST_OFFSETS, max(lowest, LOWEST_VERSION))
    rounds = iter(_rounds(lookups))
    under_way: deque[tuple[dict[TopicPartition, int], int]] = deque()
    bytes_under_way = 0
    try:
        while True:
            frames = []
            while bytes_under_way < UNDER_WAY_BYTES and (indexes := next(rounds, None)):
                request = _request(lookups, indexes, isolation_level, leaders, settings.request_timeout_ms)
                frames.append(connection.encode(request, version))
                under_way.append((indexes, len(frames[-1])))
                bytes_under_way += len(frames[-1])
            if frames:
                connection.send_frame(b"".join(frames))
            if not under_way:
                return
            for _ in range(len(under_way) // 2 + 1):
                indexes, size = under_way[0]
                yield from _answers(lookups, indexes, cast(ListOffsetsResponse, connection.receive()))
                under_way.popleft()
                bytes_under_way -= size
    finally:
        if under_way:
            connection.close()  # otherwise, the next caller would receive the pending responses


def _rounds(lookups: Sequence[Lookup]) -> list[dict[TopicPartition, int]]:
    """Distribute the lookups over requests so that no partition is in a request twice. Return the indexes of the
    lookups."""
    rounds: list[dict[TopicPartition, int]] = []
    dealt: dict[TopicPartition, int] = {}
    for index, (topic, partition, _) in enumerate(lookups):
        number = dealt[topic, partition] = dealt.get((topic, partition), -1) + 1
        if number == len(rounds):
            rounds.append({})
        rounds[number][topic, partition] = index
    return rounds


def _request(
    lookups: Sequence[Lookup],
    indexes: Mapping[TopicPartition, int],
    isolation_level: int,
    leaders: Mapping[TopicPartition, Leader],
    timeout_ms: int,
) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsRequest.Topic.Partition]] = {}
    for (topic, partition), index in indexes.items():
        leader = leaders.get((topic, partition))
        row = ListOffsetsRequest.Topic.Partition(
            partition_index=partition,
            current_leader_epoch=-1 if leader is None else leader.epoch,
            timestamp=lookups[index].timestamp,
        )
        topics.setdefault(topic, []).append(row)
    return ListOffsetsRequest(
        replica_id=CONSUMER,
        isolation_level=isolation_level,
        topics=[ListOffsetsRequest.Topic(name=name, partitions=rows) for name, rows in topics.items()],
        timeout_ms=timeout_ms,
    )


def _answers(
    lookups: Sequence[Lookup], indexes: Mapping[TopicPartition, int], answer: ListOffsetsResponse
) -> Iterator[tuple[int, Answer]]:
    for topic in answer.topics:
        for row in topic.partitions:
            if (index := indexes.get((topic.name, row.partition_index))) is None:
                raise DecodeError(f"ListOffsets returned {topic.name}-{row.partition_index}, which was not requested")
            if row.error_code == Code.NONE:
                yield index, Found(row.offset, row.timestamp, row.leader_epoch)
            else:
                doing = f"ListOffsets for {lookups[index].timestamp} of"
                yield index, PartitionRefused(code_of(row.error_code), topic.name, row.partition_index, doing)
