"""The coordinators of one broker: of groups and of transactions. They are made when somebody first needs them.

A broker coordinates what lies in the partitions of an internal topic that it leads. When it begins to lead one, the
coordinator reads it; when another broker takes over, the coordinator forgets it. Both happen soon after the election,
in a call of their own (`refresh`), or with the first request that asks for a key of that partition, whichever comes
first: so a coordinator never works in the middle of an election.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

from kafkalet.protocol.errors import Code, KafkaError

from .state_topics import CONSUMER_OFFSETS, STATE_TOPICS, TRANSACTION_STATE, StateTopic, partition_of

if TYPE_CHECKING:
    from kafkalet.broker.groups.coordinator import GroupCoordinator
    from kafkalet.broker.transactions.coordinator import TransactionCoordinator

    from .state_log import StateLog


class Coordinator(Protocol):
    """What this module asks of a coordinator."""

    def loaded(self) -> dict[int, int]:
        """The partitions whose state it holds, each with the leader epoch in which it was read."""

    def load(self, log: StateLog) -> None:
        """Read the state in a partition that this broker leads now."""

    def unload(self, index: int) -> None:
        """Forget the state in a partition: whoever waits for it is told NOT_COORDINATOR, timers are cancelled."""


class Coordinators:
    """The coordinators of the broker `node`."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._made: dict[str, Coordinator] = {}

    @property
    def groups(self) -> GroupCoordinator:
        coordinator: Any = self._made.get(CONSUMER_OFFSETS.name)
        if coordinator is None:
            from kafkalet.broker.groups.coordinator import GroupCoordinator

            coordinator = self._made[CONSUMER_OFFSETS.name] = GroupCoordinator(self._node)
        made: GroupCoordinator = coordinator
        return made

    @property
    def transactions(self) -> TransactionCoordinator:
        coordinator: Any = self._made.get(TRANSACTION_STATE.name)
        if coordinator is None:
            from kafkalet.broker.transactions.coordinator import TransactionCoordinator

            coordinator = self._made[TRANSACTION_STATE.name] = TransactionCoordinator(self._node)
        made: TransactionCoordinator = coordinator
        return made

    def of(self, topic: str) -> Coordinator:
        """The coordinator that keeps its state in this internal topic."""
        return self.groups if topic == CONSUMER_OFFSETS.name else self.transactions

    def partition_for(self, topic: StateTopic, key: str) -> int:
        """The partition of `topic` that keeps a key, with its state loaded. NOT_COORDINATOR unless this broker
        leads it, also before the topic is made."""
        known = self._node.metadata.topics.get(topic.name)
        if known is None:
            raise KafkaError(Code.NOT_COORDINATOR, f"{topic.name} does not exist yet")
        index = partition_of(key, len(known.partitions))
        self.refresh(topic.name, index)
        if index not in self.of(topic.name).loaded():
            raise KafkaError(Code.NOT_COORDINATOR, f"broker {self._node.node_id} does not lead {topic.name}-{index}")
        return index

    def changed(self, topic: str, index: int) -> None:
        """Somebody was elected to lead this partition: look soon who."""
        self._node.call_soon(lambda: self.refresh(topic, index))

    def refresh(self, topic: str, index: int) -> None:
        """Load or forget the state in a partition, if leadership has changed since it was last looked at."""
        partition = self._node.partitions.get((topic, index))
        leads = partition is not None and partition.is_leader
        if topic not in self._made and not leads:
            return
        coordinator = self.of(topic)
        epoch = coordinator.loaded().get(index)
        if epoch is not None and (not leads or partition.leader_epoch != epoch):
            coordinator.unload(index)
            epoch = None
        if leads and epoch is None:
            from .state_log import StateLog

            coordinator.load(StateLog(partition, self._node.clock, self._node.purgatory))

    def partitions_deleted(self, topic: str, partitions: Collection[int]) -> None:
        """These partitions are no more; so is what was kept about them."""
        if CONSUMER_OFFSETS.name in self._made and topic not in STATE_TOPICS:
            self.groups.partitions_deleted(topic, partitions)

    def load_all(self) -> None:
        """Load the state in every partition that this broker leads and that holds any."""
        for (topic, index), partition in list(self._node.partitions.items()):
            if topic in STATE_TOPICS and partition.log.log_end_offset:
                self.refresh(topic, index)

    def close(self) -> None:
        """Forget everything; the broker stops."""
        for coordinator in self._made.values():
            for index in list(coordinator.loaded()):
                coordinator.unload(index)
