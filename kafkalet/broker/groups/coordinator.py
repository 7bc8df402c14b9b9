"""The group coordinator of one broker: its shards, by partition of __consumer_offsets.

A handler asks for the shard of its group, `groups.shard_of(group_id)`, and does its work there.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.
"""

from collections.abc import Iterator
from typing import Any

from kafkalet.broker.state_log import StateLog
from kafkalet.broker.state_topics import CONSUMER_OFFSETS
from kafkalet.protocol.errors import Code, KafkaError

from .loading import load
from .shard import Shard


class GroupCoordinator:
    """The groups that the broker `node` coordinates."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._shards: dict[int, Shard] = {}

    def loaded(self) -> dict[int, int]:
        return {index: shard.log.leader_epoch for index, shard in self._shards.items()}

    def load(self, log: StateLog) -> None:
        self._shards[log.index] = load(Shard(self._node, log))

    def unload(self, index: int) -> None:
        self._shards.pop(index).close()

    def shard_of(self, group_id: str) -> Shard:
        """Where a group is, or would be. INVALID_GROUP_ID for the empty name, NOT_COORDINATOR where another broker
        has it; `shard_for_offsets` allows the empty name."""
        if not group_id:
            raise KafkaError(Code.INVALID_GROUP_ID)
        return self.shard_for_offsets(group_id)

    def shard_for_offsets(self, group_id: str) -> Shard:
        """The same for those who only commit or read offsets, for which the empty name is one like others."""
        return self._shards[self._node.coordinators.partition_for(CONSUMER_OFFSETS, group_id)]

    def shards(self) -> Iterator[Shard]:
        """All that this broker coordinates now (ListGroups)."""
        yield from self._shards.values()

    def transaction_ended(self, index: int, producer_id: int, *, committed: bool) -> None:
        """A marker was written to partition `index` of __consumer_offsets: the offsets that this producer has sent to
        its transaction count now, or are forgotten."""
        shard = self._shards.get(index)
        if shard is not None:
            shard.offsets.transaction_ended(producer_id, committed=committed)
