"""The fast path of Fetch for sessions with many partitions: partitions that have nothing new are not read.

A consumer or follower of a thousand partitions sends a request with one or none of them, and the broker looks at all
partitions of the session. Most of them are *quiet*: the reader is at the end of what it may read, and the high
watermark and the log start offset are those that it knows. Reading such a partition returns nothing, and the response
leaves it out (IncrementalContext.settle). So the general handler (fetch.py) sees only the other partitions, until a
quiet one changes while the request waits.

A partition is never quiet if anything about it needs the general handler, such as an error, a leader epoch or a reader
that may have diverged.
"""

from collections.abc import Iterable

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.fetch_sessions import Key, Known, RequestedPartition
from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.values import Isolation, LogOffsetMetadata

MOST_PARTITIONS = 5000
"""Sessions with more partitions are left to the general handler, which pauses for other requests."""


class QuietPartitions:
    """The quiet partitions of a request by a consumer."""

    def __init__(self, node: Node, isolation: Isolation, *, only_leader: bool) -> None:
        self._node = node
        self._isolation = isolation
        self._only_leader = only_leader
        self._found: list[tuple[Key, Partition, int, LogOffsetMetadata, RequestedPartition]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def set_aside(self, known: Iterable[tuple[Key, Known]]) -> list[tuple[Key, RequestedPartition]]:
        """Find the quiet partitions of a session, and return the others."""
        self._found.clear()
        others = []
        for key, cached in known:
            if not self._is_quiet(key, cached):
                others.append((key, cached.asked))
        return others

    def _is_quiet(self, key: Key, cached: Known) -> bool:
        """Note a partition and return True if it is quiet."""
        name, topic_id, index = key
        partition = self._node.partitions.get((name, index))
        if partition is None or (topic_id is not None and topic_id != partition.topic_id):
            return False
        asked, state = cached.asked, partition.state
        if (
            (asked.current_leader_epoch is not None and asked.current_leader_epoch != state.leader_epoch)
            or asked.last_fetched_epoch is not None
            or (self._only_leader and state.leader != self._node.node_id)
        ):
            return False
        try:
            log = partition.log
            limit = log.limit(self._isolation)
        except (KafkaError, OSError):
            return False
        if (
            limit.offset != asked.fetch_offset
            or cached.high_watermark != log.high_watermark
            or cached.log_start_offset != log.log_start_offset
            or log.log_start_offset > limit.offset
            or log.failures.offline is not None
        ):
            return False
        self._found.append((key, partition, state.leader_epoch, limit, asked))
        return True

    def changed(self) -> list[tuple[Key, RequestedPartition, LogOffsetMetadata]]:
        """Return the partitions that are no longer quiet, with the positions of their readers."""
        partitions, isolation = self._node.partitions, self._isolation
        return [
            (key, asked, limit)
            for key, partition, leader_epoch, limit, asked in self._found
            if partition.state.leader_epoch != leader_epoch
            or partition.log.limit(isolation) is not limit
            or partition.log.failures.offline is not None
            or partitions.get((key[0], key[2])) is not partition
        ]
