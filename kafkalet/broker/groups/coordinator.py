"""The group coordinator of one broker: its shards, by partition of __consumer_offsets.

A handler asks for the shard of its group, `groups.shard_of(group_id)`, and does its work there.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.
"""

from collections.abc import Callable, Collection, Iterator

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateLog
from kafkalet.broker.scheduling.periodic import PeriodicRunner
from kafkalet.protocol.errors import Code, KafkaError

from .classic.arrivals import Arrivals
from .consumer.checked_regexes import CheckedRegexes
from .loading import load
from .offsets_expiration import remove_expired, remove_partitions
from .shard import Shard

FOUND_GROUPS = 10_000
LONGEST_REMEMBERED = 255
"""Longer names of groups are looked for again each time: 10,000 of the longest would take 300 MB."""


class GroupCoordinator:
    """The groups that the broker `node` coordinates.

    `partition_for` gives the partition of __consumer_offsets that keeps a group, with its state loaded;
    NOT_COORDINATOR if another broker leads it.
    """

    def __init__(self, node: Node, partition_for: Callable[[str], int]) -> None:
        self._node = node
        self._partition_for = partition_for
        self._shards: dict[int, Shard] = {}
        self._found: dict[str, Shard] = {}  # by group, to find it quickly
        self._expiration = PeriodicRunner(node.clock)
        self.arrivals = Arrivals(node.clock)
        self.regexes = CheckedRegexes()

    def loaded(self) -> dict[int, int]:
        return {index: shard.log.leader_epoch for index, shard in self._shards.items()}

    def load(self, log: StateLog) -> None:
        self._shards[log.index] = load(Shard(self._node, log, self.arrivals, self.regexes))
        if not self._expiration.is_running:
            self._expiration.every(self._node.config.offsets_retention_check_interval_ms, self._expire)

    def unload(self, index: int) -> None:
        self._found.clear()
        self._shards.pop(index).close()
        if not self._shards:
            self._expiration.stop()

    def shard_of(self, group_id: str) -> Shard:
        """Where a group is, or would be. INVALID_GROUP_ID for the empty name, NOT_COORDINATOR where another broker
        has it; `shard_for_offsets` allows the empty name."""
        if not group_id:
            raise KafkaError(Code.INVALID_GROUP_ID)
        return self.shard_for_offsets(group_id)

    def shard_for_offsets(self, group_id: str) -> Shard:
        """The same for those who only commit or read offsets, for which the empty name is one like others."""
        shard = self._found.get(group_id)
        if shard is not None and shard.log.is_current and shard.log.partition is self._node.partitions.get(shard.place):
            return shard
        shard = self._shards[self._partition_for(group_id)]
        if len(group_id) <= LONGEST_REMEMBERED:
            if len(self._found) >= FOUND_GROUPS:
                self._found.clear()
            self._found[group_id] = shard
        return shard

    def shards(self) -> Iterator[Shard]:
        """All that this broker coordinates now (ListGroups)."""
        yield from self._shards.values()

    def transaction_ended(self, index: int, producer_id: int, *, committed: bool) -> None:
        """A marker was written to partition `index` of __consumer_offsets: the offsets that this producer has sent to
        its transaction count now, or are forgotten."""
        shard = self._shards.get(index)
        if shard is not None:
            shard.offsets.transaction_ended(producer_id, committed=committed)

    def partitions_deleted(self, topic: str, partitions: Collection[int]) -> None:
        """These partitions are no more: nor are the offsets in them."""
        for shard in self._shards.values():
            remove_partitions(shard, topic, partitions)

    def _expire(self) -> None:
        for shard in self._shards.values():
            remove_expired(shard)
