"""Access to the state of share partitions, for the leaders of their partitions and for the group coordinator.

In Kafka, brokers send requests to the share coordinator (InitializeShareGroupState, ReadShareGroupState, ...). The
brokers of a cluster share a process here, so the coordinator is called directly. Each method returns when all in-sync
replicas have the change, or raises KafkaError with the code that the coordinator would return. A caller that changes
its own state afterwards must be `detached` from its client. The internal topic must exist (`create_topic`).

Source: org.apache.kafka.server.share.persister.DefaultStatePersister, PersisterStateManager.
"""

from collections.abc import Callable, Iterable
from functools import partial

from kafkalet.broker.cluster.controller import Controller
from kafkalet.broker.cluster.state_log import client_code
from kafkalet.broker.cluster.state_topics import SHARE_GROUP_STATE, partition_of
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.task import until

from .coordinator import ShareCoordinator, coordinator_key
from .shard import StateShard
from .state import SharePartitionKey, SharePartitionState, StateBatch


class SharePersister:
    """The state of share partitions. `of_broker` returns the share coordinator of a broker if that is running."""

    def __init__(self, controller: Controller, of_broker: Callable[[int], ShareCoordinator | None]) -> None:
        self._controller = controller
        self._of_broker = of_broker

    async def initialize(
        self, group_id: str, topic_id: bytes, partition: int, state_epoch: int, start_offset: int
    ) -> None:
        """Store a share partition without delivered records; UNINITIALIZED lets its leader choose the start offset."""
        key = SharePartitionKey(group_id, topic_id, partition)
        shard = self._shard(key)
        await replicated(shard, shard.initialize(key, state_epoch, start_offset))

    async def read(self, group_id: str, topic_id: bytes, partition: int, leader_epoch: int) -> SharePartitionState:
        """Return the state, and fence leaders with a lower epoch."""
        key = SharePartitionKey(group_id, topic_id, partition)
        shard = self._shard(key)
        state, offset = shard.read(key, leader_epoch)
        await replicated(shard, offset)
        return state

    async def write(
        self,
        group_id: str,
        topic_id: bytes,
        partition: int,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Iterable[StateBatch],
    ) -> None:
        """Store the batches that have changed, and the start offset."""
        key = SharePartitionKey(group_id, topic_id, partition)
        shard = self._shard(key)
        change = SharePartitionState(state_epoch, start_offset, leader_epoch, delivery_complete_count, tuple(batches))
        await replicated(shard, shard.write(key, change))

    async def delete(self, group_id: str, topic_id: bytes, partition: int) -> None:
        """Delete the state; a share partition that is not stored counts as deleted."""
        key = SharePartitionKey(group_id, topic_id, partition)
        shard = self._shard(key)
        await replicated(shard, shard.delete(key))

    async def summary(self, group_id: str, topic_id: bytes, partition: int) -> SharePartitionState:
        """Return the state without a change of epochs; its start offset is UNINITIALIZED if nothing is stored."""
        key = SharePartitionKey(group_id, topic_id, partition)
        return self._shard(key).summary(key)

    def stored(self, key: SharePartitionKey) -> tuple[SharePartitionState, Iterable[StateBatch]]:
        """Return the same, and how deliveries have ended (outcomes.py). For the test kit."""
        shard = self._shard(key)
        return shard.summary(key), shard.outcomes(key)

    async def create_topic(self) -> None:
        """Create __share_group_state if it does not exist. Unlike the other methods, this cannot be `detached`."""
        if SHARE_GROUP_STATE.name not in self._controller.metadata.topics:
            await self._controller.change_and_save(partial(self._controller.state_topic, SHARE_GROUP_STATE))

    def _shard(self, key: SharePartitionKey) -> StateShard:
        """Return the shard that stores a share partition. Raises KafkaError: COORDINATOR_NOT_AVAILABLE."""
        topic = self._controller.metadata.topics.get(SHARE_GROUP_STATE.name)
        if topic is None:
            raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE)
        leader = topic.partitions[partition_of(coordinator_key(key), len(topic.partitions))].leader
        coordinator = self._of_broker(leader)
        if coordinator is None:
            raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE)
        return coordinator.shard_of(key)


async def replicated(shard: StateShard, offset: int) -> None:
    """Wait until all in-sync replicas have the record at `offset`. Raises KafkaError."""
    timeout_ms = shard.node.config.share_coordinator_write_timeout_ms
    code = client_code(await until(shard.log.replicated(offset, timeout_ms)))
    if code is not Code.NONE:
        raise KafkaError(code)
