"""The group coordinator of a broker: its shards, one for each partition of __consumer_offsets.

A request handler looks up the shard of a group with `groups.shard_of(group_id)` and works on that shard.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import StateLog
from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS, partition_of
from kafkalet.broker.java_order import HashTable, grown_concurrently, ordered, topic_partition_hash
from kafkalet.broker.watchers import NO_TOPIC
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.leave_group import LeaveGroupRequest
from kafkalet.tasks.periodic import PeriodicRunner

from .administration import evict
from .checked_regexes import CheckedRegexes
from .classic.group import ClassicGroup
from .consumer.group import ConsumerGroup
from .consumer.leaving import fence
from .group import GroupType
from .loading import load
from .offsets_expiration import quiet_ms, remove_expired, remove_partitions
from .recent_lookups import RecentLookups
from .shard import Shard

FOUND_GROUPS = 10_000
LONGEST_REMEMBERED = 255
"""Longer group ids are not cached: 10,000 ids of the maximum length would take 300 MB."""

_hash_of = partial(topic_partition_hash, CONSUMER_OFFSETS.name)


class GroupCoordinator:
    """The groups that the broker `node` coordinates.

    `partition_for` returns the partition of __consumer_offsets that stores a group. If necessary, it first loads the
    partition's state. It raises NOT_COORDINATOR if another broker leads that partition.
    """

    def __init__(self, node: Node, partition_for: Callable[[str], int]) -> None:
        self._node = node
        self._partition_for = partition_for
        self._shards: dict[int, Shard] = {}
        self._found: dict[str, Shard] = {}  # cache, by group id
        self._expiration = PeriodicRunner(node.clock)
        self.lookups = RecentLookups(node.real_clock)
        self.regexes = CheckedRegexes()
        self.topic_failures: dict[str, tuple[str | None, int]] = {}
        """Why internal topics of streams groups could not be created, and until when they are not tried again."""

    def loaded(self) -> dict[int, int]:
        return {index: shard.log.leader_epoch for index, shard in self._shards.items()}

    def load(self, log: StateLog) -> None:
        self._shards[log.index] = load(Shard(self._node, log, self.lookups, self.regexes))
        if not self._expiration.is_running and not self._node.is_read_only:
            self._expiration.every(
                self._node.config.offsets_retention_check_interval_ms, self._expire, quiet_ms=self._quiet_ms
            )

    def unload(self, index: int) -> None:
        self._found.clear()
        self._shards.pop(index).close()
        if not self._shards:
            self._expiration.stop()

    def shard_of(self, group_id: str) -> Shard:
        """Return the shard that a group belongs to. The group need not exist.

        Raises INVALID_GROUP_ID for an empty id and NOT_COORDINATOR if another broker coordinates the group.
        """
        if not group_id:
            raise KafkaError(Code.INVALID_GROUP_ID)
        return self.shard_for_offsets(group_id)

    def shard_for_offsets(self, group_id: str) -> Shard:
        """Return the shard of a group for committing or fetching offsets. Here, an empty group id is valid."""
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
        """Yield the shards of all partitions that this broker leads, in the order of CoordinatorRuntime."""
        leads = sum(each.topic == CONSUMER_OFFSETS.name and each.is_leader for each in self._node.partitions.values())
        yield from (self._shards[index] for index in ordered(self._shards, _hash_of, grown_concurrently(leads)))

    def by_partition(self, group_ids: Iterable[str]) -> Iterable[list[str]]:
        """Return the group ids of a request, grouped by partition, in the order of GroupCoordinatorService."""
        topic = self._node.metadata.topics.get(CONSUMER_OFFSETS.name)
        if topic is None or not self._node.release.coordinates_groups_by_partition:
            return [list(group_ids)]
        table = HashTable(_hash_of)
        partitions: dict[int, list[str]] = {}
        for group_id in group_ids:
            index = partition_of(group_id, len(topic.partitions))
            table.add_if_absent(index)
            partitions.setdefault(index, []).append(group_id)
        return [partitions[index] for index in table]

    def transaction_ended(self, index: int, producer_id: int, *, committed: bool) -> None:
        """Commit or drop the pending offsets of a producer whose transaction has ended.

        The transaction marker was written to partition `index` of __consumer_offsets.
        """
        shard = self._shards.get(index)
        if shard is not None:
            shard.offsets.transaction_ended(producer_id, committed=committed)
            self._node.watchers.touch(NO_TOPIC)

    def partitions_deleted(self, topic: str, partitions: Collection[int]) -> None:
        """Remove the committed offsets of deleted partitions, and the share partitions of deleted topics."""
        for shard in self._shards.values():
            remove_partitions(shard, topic, partitions)
            if any(group.type is GroupType.SHARE for group in shard.groups.values()):
                from .share.group import forget_deleted_topics

                forget_deleted_topics(shard)

    def remove_members(self) -> None:
        """Remove the members of all groups. Their clients learn of it with the next heartbeat. Offsets stay."""
        for shard in self._shards.values():
            for group in list(shard.groups.values()):
                if isinstance(group, ConsumerGroup):
                    fence(group, list(group.members))
                elif not isinstance(group, ClassicGroup):
                    for member in list(group.members):
                        evict(group, member.member_id)
                elif not group.is_empty:
                    group.leave(
                        [
                            LeaveGroupRequest.Member(member_id=member.member_id, group_instance_id=member.instance_id)
                            for member in group.members
                        ]
                    )

    def _quiet_ms(self) -> float:
        return min(map(quiet_ms, self._shards.values()), default=math.inf)

    def _expire(self) -> None:
        for shard in self._shards.values():
            remove_expired(shard)
