"""The share coordinator of a broker: its shards, by partition of __share_group_state.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorService.
"""

from collections.abc import Callable

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateLog
from kafkalet.formats import Malformed, parse_uuid, uuid_text
from kafkalet.properties import whole_number
from kafkalet.tasks.periodic import PeriodicRunner

from .shard import COLD_MS, StateShard
from .state import SharePartitionKey

PRUNE_MS = 300_000
"""The interval at which redundant records are deleted (share.coordinator.state.topic.prune.interval.ms)."""


def coordinator_key(key: SharePartitionKey) -> str:
    """Return the key that selects the partition of __share_group_state (SharePartitionKey.asCoordinatorKey)."""
    return f"{key.group_id}:{uuid_text(key.topic_id)}:{key.partition}"


def parse_coordinator_key(text: str) -> SharePartitionKey:
    """Parse a key of `coordinator_key`. Raises ValueError.

    The group id may contain colons. Like Java's split, this ignores colons at the end.
    """
    *group, topic_id, partition = text.rstrip(":").split(":")
    group_id = ":".join(group)
    number = whole_number(partition)
    if not group_id.strip() or number is None:
        raise ValueError(f"not a share partition: {text}")
    try:
        return SharePartitionKey(group_id, parse_uuid(topic_id), number)
    except Malformed as problem:
        raise ValueError(f"not a share partition: {text}") from problem


class ShareCoordinator:
    """The share partitions that the broker `node` coordinates.

    `partition_for` returns the partition of __share_group_state for a key of `coordinator_key`. If necessary, it first
    loads the partition's state. It raises NOT_COORDINATOR if another broker leads that partition.
    """

    def __init__(self, node: Node, partition_for: Callable[[str], int]) -> None:
        self._node = node
        self._partition_for = partition_for
        self._shards: dict[int, StateShard] = {}
        self._periodic = PeriodicRunner(node.clock)

    def loaded(self) -> dict[int, int]:
        return {index: shard.log.leader_epoch for index, shard in self._shards.items()}

    def load(self, log: StateLog) -> None:
        shard = self._shards[log.index] = StateShard(self._node, log)
        shard.load()
        if not self._periodic.is_running and not self._node.is_read_only:
            self._periodic.every(PRUNE_MS, self._prune)
            self._periodic.every(COLD_MS, self._snapshot_cold_partitions)

    def unload(self, index: int) -> None:
        del self._shards[index]
        if not self._shards:
            self._periodic.stop()

    def shard_of(self, key: SharePartitionKey) -> StateShard:
        """Return the shard of a share partition, which need not be stored. Raises NOT_COORDINATOR."""
        return self._shards[self._partition_for(coordinator_key(key))]

    def topic_deleted(self) -> None:
        """Delete the state of topics that do not exist any more."""
        for shard in self._shards.values():
            shard.remove_deleted_topics()

    def _prune(self) -> None:
        for shard in self._shards.values():
            shard.prune()

    def _snapshot_cold_partitions(self) -> None:
        for shard in self._shards.values():
            shard.snapshot_cold_partitions()
