"""The coordinators of a broker for groups, transactions and share partitions, created on first use.

Their state is stored in partitions of internal topics; the leader of a partition coordinates what it stores. The
state of a partition is loaded after the broker becomes its leader, and unloaded after another broker becomes its
leader. Both happen in a separate call (`refresh`) soon after the election, or before that if a request needs the
partition. So a coordinator never runs in the middle of an election.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Protocol

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage.failures import StorageFailed

from .cluster.node import Node
from .cluster.state_topics import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    STATE_TOPICS,
    TRANSACTION_STATE,
    StateTopic,
    partition_of,
)

if TYPE_CHECKING:  # imported with the first group or transaction
    from .cluster.state_log import StateLog
    from .groups.coordinator import GroupCoordinator
    from .groups.shard import Shard
    from .share.coordinator import ShareCoordinator
    from .transactions.coordinator import TransactionCoordinator
    from .transactions.shard import Transaction


class Coordinator(Protocol):
    """The methods that this module calls on a coordinator."""

    def loaded(self) -> dict[int, int]:
        """Return the partitions whose state is loaded, and the leader epoch in which each was loaded."""

    def load(self, log: StateLog) -> None:
        """Load the state from a partition that this broker leads."""

    def unload(self, index: int) -> None:
        """Unload the state of a partition: respond NOT_COORDINATOR to waiting requests, and cancel timers."""


class Coordinators:
    """The coordinators of the broker `node`.

    `take_producer_id` returns an unused producer id, or raises StorageFailed. `of_broker` takes a broker id, and
    returns the coordinators of that broker if it is running.
    """

    def __init__(
        self, node: Node, take_producer_id: Callable[[], int], of_broker: Callable[[int], Coordinators | None]
    ) -> None:
        self.node = node
        self._take_producer_id = take_producer_id
        self.of_broker = of_broker
        self._groups: GroupCoordinator | None = None
        self._transactions: TransactionCoordinator | None = None
        self._share: ShareCoordinator | None = None

    @property
    def groups(self) -> GroupCoordinator:
        if self._groups is None:
            from .groups.coordinator import GroupCoordinator

            self._groups = GroupCoordinator(self.node, partial(self.partition_for, CONSUMER_OFFSETS))
        return self._groups

    @property
    def transactions(self) -> TransactionCoordinator:
        if self._transactions is None:
            from .transactions.coordinator import TransactionCoordinator

            self._transactions = TransactionCoordinator(
                self.node,
                partial(self.partition_for, TRANSACTION_STATE),
                self._take_producer_id,
                self.of_broker,
            )
        return self._transactions

    @property
    def share(self) -> ShareCoordinator:
        if self._share is None:
            from .share.coordinator import ShareCoordinator

            self._share = ShareCoordinator(self.node, partial(self.partition_for, SHARE_GROUP_STATE))
        return self._share

    def loaded_group_shards(self) -> list[Shard]:
        """Return the shards of the groups that this broker coordinates."""
        return [] if self._groups is None else list(self._groups.shards())

    def loaded_transactions(self) -> list[Transaction]:
        """Return the transactional ids that this broker coordinates."""
        return [] if self._transactions is None else list(self._transactions.transactions())

    @property
    def made(self) -> list[Coordinator]:
        """The coordinators that have been created."""
        every = (self._groups, self._transactions, self._share)
        return [coordinator for coordinator in every if coordinator is not None]

    def _find(self, topic: str) -> Coordinator | None:
        """Return the coordinator for this internal topic, or None if it has not been created."""
        if topic == CONSUMER_OFFSETS.name:
            return self._groups
        return self._transactions if topic == TRANSACTION_STATE.name else self._share

    def of(self, topic: str) -> Coordinator:
        """Return the coordinator for this internal topic."""
        if topic == CONSUMER_OFFSETS.name:
            return self.groups
        return self.transactions if topic == TRANSACTION_STATE.name else self.share

    def partition_for(self, topic: StateTopic, key: str) -> int:
        """Return the partition of `topic` that a key maps to, after loading its state if necessary.

        Raises NOT_COORDINATOR (without a message, as in Kafka) if this broker does not lead the partition, or if the
        topic does not exist yet.
        """
        known = self.node.metadata.topics.get(topic.name)
        if known is None:
            raise KafkaError(Code.NOT_COORDINATOR)
        index = partition_of(key, len(known.partitions))
        self.refresh(topic.name, index)
        if index not in self.of(topic.name).loaded():
            raise KafkaError(Code.NOT_COORDINATOR)
        return index

    def changed(self, topic: str, index: int) -> None:
        """Schedule a `refresh` after a leader election of this partition.

        A new partition, whose log does not exist yet, has no state. It is loaded when a request needs it, so that the
        first group does not wait for the logs of all partitions.
        """

        def refresh() -> None:
            partition = self.node.partitions.get((topic, index))
            if partition is None or partition.is_open:
                self.refresh(topic, index)

        self.node.call_soon(refresh)

    def refresh(self, topic: str, index: int) -> None:
        """Load or unload the state of a partition if its leader or leader epoch has changed."""
        partition = self.node.partitions.get((topic, index))
        if partition is not None and not partition.is_leader:
            partition = None
        if partition is None and self._find(topic) is None:
            return
        coordinator = self.of(topic)
        epoch = coordinator.loaded().get(index)
        if epoch is not None and (partition is None or partition.leader_epoch != epoch):
            coordinator.unload(index)
            epoch = None
        if partition is not None and epoch is None:
            from .cluster.state_log import StateLog

            try:
                _ = partition.log  # opens, or creates, the log
            except StorageFailed:  # already logged; the partition has no leader any more
                return
            codecs = {
                CONSUMER_OFFSETS.name: self.node.config.offsets_topic_compression_codec,
                SHARE_GROUP_STATE.name: self.node.config.share_coordinator_state_topic_compression_codec,
            }
            codec = Codec(codecs.get(topic, Codec.NONE))
            coordinator.load(StateLog(partition, self.node.clock, self.node.purgatory, codec))

    def partitions_deleted(self, topic: str, partitions: Collection[int]) -> None:
        """Delete what is stored of deleted partitions: committed offsets, and the state of share partitions."""
        if self._groups is not None and topic not in STATE_TOPICS:
            self._groups.partitions_deleted(topic, partitions)
        if self._share is not None and topic not in STATE_TOPICS:
            self._share.topic_deleted()

    def load_all(self) -> None:
        """Load the state of an internal topic, from every non-empty partition that this broker leads."""
        for (topic, index), partition in list(self.node.partitions.items()):
            if topic in STATE_TOPICS and partition.log.log_end_offset:
                self.refresh(topic, index)

    def remove_members(self) -> None:
        """Remove the members of all groups."""
        if self._groups is not None:
            self._groups.remove_members()

    def close(self) -> None:
        """Unload all state when the broker stops."""
        for coordinator in self.made:
            for index in list(coordinator.loaded()):
                coordinator.unload(index)
