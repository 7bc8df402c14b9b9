"""The coordinators of one broker: of groups and of transactions. They are made when somebody first needs them.

A broker coordinates what lies in the partitions of an internal topic that it leads. When it begins to lead one, the
coordinator reads it; when another broker takes over, the coordinator forgets it. Both happen soon after the election,
in a call of their own (`refresh`), or with the first request that asks for a key of that partition, whichever comes
first: so a coordinator never works in the middle of an election.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Protocol

from kafkalet.protocol.errors import Code, KafkaError

from .cluster.node import Node
from .cluster.state_topics import CONSUMER_OFFSETS, STATE_TOPICS, TRANSACTION_STATE, StateTopic, partition_of

if TYPE_CHECKING:  # loaded with the first group, or the first transaction
    from .cluster.state_log import StateLog
    from .groups.coordinator import GroupCoordinator
    from .transactions.coordinator import TransactionCoordinator


class Coordinator(Protocol):
    """What this module asks of a coordinator."""

    def loaded(self) -> dict[int, int]:
        """The partitions whose state it holds, each with the leader epoch in which it was read."""

    def load(self, log: StateLog) -> None:
        """Read the state in a partition that this broker leads now."""

    def unload(self, index: int) -> None:
        """Forget the state in a partition: whoever waits for it is told NOT_COORDINATOR, timers are cancelled."""


class Coordinators:
    """The coordinators of the broker `node`.

    `take_producer_id` gives an unused producer id, or raises StorageFailed; `of_broker` gives the coordinators of a
    running broker by its id.
    """

    def __init__(
        self, node: Node, take_producer_id: Callable[[], int], of_broker: Callable[[int], Coordinators | None]
    ) -> None:
        self.node = node
        self._take_producer_id = take_producer_id
        self.of_broker = of_broker
        self._groups: GroupCoordinator | None = None
        self._transactions: TransactionCoordinator | None = None

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
    def made(self) -> list[Coordinator]:
        """Those that were needed so far."""
        return [coordinator for coordinator in (self._groups, self._transactions) if coordinator is not None]

    def _find(self, topic: str) -> Coordinator | None:
        """The coordinator of this internal topic, if it was needed before."""
        return self._groups if topic == CONSUMER_OFFSETS.name else self._transactions

    def of(self, topic: str) -> Coordinator:
        """The coordinator that keeps its state in this internal topic."""
        return self.groups if topic == CONSUMER_OFFSETS.name else self.transactions

    def partition_for(self, topic: StateTopic, key: str) -> int:
        """The partition of `topic` that keeps a key, with its state loaded. NOT_COORDINATOR unless this broker
        leads it, also before the topic is made."""
        known = self.node.metadata.topics.get(topic.name)
        if known is None:
            raise KafkaError(Code.NOT_COORDINATOR, f"{topic.name} does not exist yet")
        index = partition_of(key, len(known.partitions))
        self.refresh(topic.name, index)
        if index not in self.of(topic.name).loaded():
            raise KafkaError(Code.NOT_COORDINATOR, f"broker {self.node.node_id} does not lead {topic.name}-{index}")
        return index

    def changed(self, topic: str, index: int) -> None:
        """Somebody was elected to lead this partition: look soon who."""
        self.node.call_soon(lambda: self.refresh(topic, index))

    def refresh(self, topic: str, index: int) -> None:
        """Load or forget the state in a partition, if leadership has changed since it was last looked at."""
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

            coordinator.load(StateLog(partition, self.node.clock, self.node.purgatory))

    def partitions_deleted(self, topic: str, partitions: Collection[int]) -> None:
        """These partitions are no more; so is what was kept about them."""
        if self._groups is not None and topic not in STATE_TOPICS:
            self._groups.partitions_deleted(topic, partitions)

    def load_all(self) -> None:
        """Load the state in every partition that this broker leads and that holds any."""
        for (topic, index), partition in list(self.node.partitions.items()):
            if topic in STATE_TOPICS and partition.log.log_end_offset:
                self.refresh(topic, index)

    def close(self) -> None:
        """Forget everything; the broker stops."""
        for coordinator in self.made:
            for index in list(coordinator.loaded()):
                coordinator.unload(index)
