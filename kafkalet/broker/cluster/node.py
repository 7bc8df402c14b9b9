"""The replicas of a broker, and what all parts of the broker share: Kafka's ReplicaManager.

A node knows nothing about clients, which are served by `Broker` (broker.py). The controller makes all decisions that
involve several brokers, such as those about topics, leaders and followers.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.release import Release
from kafkalet.broker.quoting import quoted
from kafkalet.broker.scheduling.purgatory import Purgatory
from kafkalet.broker.scheduling.turns import Turns
from kafkalet.broker.scheduling.work import Workers
from kafkalet.broker.watchers import Watchers
from kafkalet.clock import Clock, client_time
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.failures import StorageFailed

from .metadata import MetadataImage, PartitionState, TopicState

if TYPE_CHECKING:  # avoids loading the log when a broker without partitions starts
    from .partition import Partition


_LOG = logging.getLogger(__name__)


class Observer(Protocol):
    """The broker that uses a node and is notified of changes."""

    def state_partition_changed(self, topic: str, index: int) -> None:
        """Called when a partition of an internal topic gets a new leader or leader epoch, or is deleted."""

    def partitions_deleted(self, topic: str, partitions: Collection[int]) -> None:
        """Called when these partitions of a topic have been deleted."""

    def config_changed(self) -> None:
        """Called when the configuration of the node has changed."""


class Node:
    """The replicas of the broker `node_id`, with its metadata, configuration, directory, clock and event loop."""

    def __init__(
        self,
        node_id: int,
        metadata: MetadataImage,
        config: BrokerConfig,
        release: Release,
        directory: LogDirectory,
        clock: Clock,
        loop: AbstractEventLoop,
        turns: Turns,
        workers: Workers,
        watchers: Watchers | None = None,
    ) -> None:
        self.node_id = node_id
        self.metadata = metadata
        self.config = config
        self.release = release
        self.directory = directory
        self.clock = clock
        """The clock of log time; kafkalet/clock.py explains the two kinds of time."""
        self.client_clock = client_time(clock)
        self.loop = loop
        self.call_soon = loop.call_soon
        self.turns = turns
        self.workers = workers
        self.watchers = watchers or Watchers()
        """The threads that wait for a change of the cluster."""
        self.purgatory = Purgatory(self.client_clock, loop.call_soon, turns.now_s)
        self.partitions: dict[tuple[str, int], Partition] = {}
        self.offline: dict[tuple[str, int], str] = {}
        """The replicas whose logs cannot be opened, with the reasons."""
        self.observer: Observer
        """Set by the broker that uses this node."""

    def close(self) -> None:
        """Flush and close the logs and the data directory."""
        self.directory.close(discard=not self.directory.environment.files.durable)
        self.partitions.clear()
        self.offline.clear()

    def feature_level(self, name: str) -> int:
        """Return the level of a cluster feature such as "transaction.version", or 0 if the feature is disabled."""
        from kafkalet.broker.config.features import Features

        return Features(self.release, self.metadata).level(name)

    def partition(self, topic: str, index: int) -> Partition:
        """Return the replica of a partition on this broker (ReplicaManager.getPartitionOrError).

        Raises UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist, NOT_LEADER_OR_FOLLOWER if only other brokers
        have replicas of it, and KAFKA_STORAGE_ERROR if its log cannot be opened.
        """
        partition = self.partitions.get((topic, index))
        if partition is not None:
            return partition
        if (reason := self.offline.get((topic, index))) is not None:
            raise StorageFailed(reason)
        if self.metadata.partition(topic, index) is not None:
            raise KafkaError(Code.NOT_LEADER_OR_FOLLOWER, f"broker {self.node_id} holds no replica of {topic}-{index}")
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"partition {topic}-{index} does not exist")

    def host(
        self, topic: TopicState, state: PartitionState, config: LogConfig, changed: Callable[[Partition], None]
    ) -> Partition:
        """Add a replica: open its log, or create it if there is none. Raises StorageFailed."""
        from .partition import Partition

        log = self.directory.get_or_create(topic.name, state.index, topic.topic_id, config)
        if (latest := log.latest_epoch) is not None:  # newer than in the metadata if another broker wrote the log
            state.note_leader_epoch(latest)
        partition = Partition(self.node_id, topic, state, log, self.release, changed, self.metadata.endpoints)
        self.partitions[topic.name, state.index] = partition
        return partition

    def take_offline(self, topic: str, index: int, reason: str) -> None:
        """Close a replica, as if its disk had failed. Requests for it get KAFKA_STORAGE_ERROR. Raises StorageFailed."""
        self.directory.close_log(topic, index)
        del self.partitions[topic, index]
        self.offline[topic, index] = reason
        self.purgatory.touch((topic, index))

    def drop(self, topic: str, index: int) -> None:
        """Delete a replica and its log, and complete the requests that wait for it.

        If the log cannot be deleted, its files stay on disk, but the replica is no longer served.
        """
        held = self.partitions.pop((topic, index), None) is not None
        if self.offline.pop((topic, index), None) is not None or held:
            try:
                self.directory.delete(topic, index)
            except StorageFailed as error:
                _LOG.error("cannot delete %s: %s", quoted(f"{topic}-{index}"), error.reason)
            self.purgatory.touch((topic, index))
