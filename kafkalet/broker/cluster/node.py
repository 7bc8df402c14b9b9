"""The replicas of a broker, and what all parts of the broker share: Kafka's ReplicaManager.

A node knows nothing about clients, which are served by `Broker` (broker.py). The controller makes all decisions that
involve several brokers, such as those about topics, leaders and followers.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.release import Release
from kafkalet.broker.purgatory import Purgatory
from kafkalet.broker.quoting import quoted
from kafkalet.broker.watchers import Watchers
from kafkalet.clock import Clock, LoopTime, client_time
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.config import LogConfig
from kafkalet.storage.directories import LogDirectories
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import explain
from kafkalet.tasks.delayed import after
from kafkalet.tasks.task import detached, until
from kafkalet.tasks.turns import Turns
from kafkalet.tasks.workers import Workers

from .metadata import Endpoint, MetadataImage, PartitionState, TopicState
from .revision import Noting

if TYPE_CHECKING:  # avoids loading the log when a broker without partitions starts
    from kafkalet.storage.log import Log

    from .compaction import Compaction
    from .log_moves import LogMoves
    from .partition import Partition


_LOG = logging.getLogger(__name__)

RETRY_MS = 50


class Observer(Protocol):
    """The broker that uses a node and is notified of changes."""

    def state_partition_changed(self, topic: str, index: int) -> None:
        """Called when a partition of an internal topic gets a new leader or leader epoch, or is deleted."""

    def partitions_deleted(self, topic: str, partitions: Collection[int]) -> None:
        """Called when these partitions of a topic have been deleted."""

    def check_reconfiguration(self, after: BrokerConfig) -> None:
        """Raise InvalidProperty if a part of the broker cannot apply a change of the configuration."""

    def config_changed(self) -> None:
        """Called when the configuration of the node has changed."""

    def log_directory_failed(self, directory: LogDirectory) -> None:
        """Called soon after a log directory has failed."""


class Node:
    """The replicas of the broker `node_id`, with its metadata, configuration, directories, clock and event loop."""

    def __init__(
        self,
        node_id: int,
        metadata: MetadataImage,
        config: BrokerConfig,
        release: Release,
        directories: LogDirectories,
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
        self.directories = directories
        self.clock = clock
        """The clock of log time; kafkalet/clock.py explains the kinds of time."""
        self.client_clock = client_time(clock)
        self.real_clock: Clock = LoopTime(loop)
        self.loop = loop
        self.call_soon = loop.call_soon
        self.turns = turns
        self.workers = workers
        self.watchers = watchers or Watchers()
        """The threads that wait for a change of the cluster."""
        self.purgatory = Purgatory(self.client_clock, loop.call_soon, turns.now_s)
        self.partitions: dict[tuple[str, int], Partition] = {}
        self._unopened: dict[tuple[str, int], Partition] = {}
        """The replicas whose logs have not been opened yet."""
        self.is_silent = False
        """Whether the broker neither responds to other brokers nor gets their responses."""
        self.is_read_only = False
        """Whether the data must not be changed, except by groups; see served.py."""
        self.offline: dict[tuple[str, int], str] = Noting(metadata.revision)
        """The replicas whose logs cannot be opened, or whose log directory has failed, with the reasons."""
        self.endpoint: Endpoint
        """The addresses of the broker; set when its listeners are bound. They do not change if it is unregistered."""
        self.observer: Observer
        """Set by the broker that uses this node."""
        directories.on_failure = self._log_directory_failed
        self._moves: LogMoves | None = None
        self._compaction: Compaction | None = None

    @property
    def compaction(self) -> Compaction:
        """The log cleaner, created on first use."""
        if self._compaction is None:
            from .compaction import Compaction

            self._compaction = Compaction(
                self.node_id,
                self.directories,
                self.config,
                self.clock,
                self.turns,
                self.workers,
                lambda log: self._log_changed(log.topic, log.partition),
            )
        return self._compaction

    @property
    def moves(self) -> LogMoves:
        """The replicas that are being moved to another log directory; created on first use."""
        if self._moves is None:
            from .log_moves import LogMoves

            self._moves = LogMoves(
                self.partitions, self.directories, self.config, self.client_clock, self.loop, self._log_moved
            )
        return self._moves

    @property
    def moving(self) -> list[tuple[Partition, LogDirectory]]:
        """The replicas that are being moved, and the directories to which they are moved."""
        return [] if self._moves is None else list(self._moves)

    def resume_moves(self) -> None:
        """Continue the moves that were in progress when the broker last stopped."""
        if not self.is_read_only and any(directory.futures_found() for directory in self.directories):
            self.moves.resume()

    def _log_moved(self, partition: Partition) -> None:
        """Called when a copy in another directory has replaced the log of a replica."""
        self.purgatory.touch((partition.topic, partition.index))
        self.watchers.touch(partition.topic)

    def _log_changed(self, topic: str, index: int) -> None:
        partition = self.partitions.get((topic, index))
        if partition is not None:
            partition.on_change(partition)

    def close(self, *, discard: bool = False) -> None:
        """Flush and close the logs and the log directories. Requests that wait for a replica are rechecked soon.

        With `discard`, nothing is written, because the directories will be removed.
        """
        if self._compaction is not None:
            self._compaction.stop()
        if self._moves is not None:
            self._moves.stop()
        self.directories.close(discard=discard)
        for key in self.partitions:
            self.purgatory.touch(key)
        self.partitions.clear()
        self._unopened.clear()
        self.offline.clear()

    def reaches(self, other: Node) -> bool:
        """Return whether this broker and another one get each other's messages."""
        return other is self or not (other.is_silent or self.is_silent)

    @detached
    async def response_of(self, other: Node, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Wait until a broker that got a request responds again. Return False if the request times out before
        (InterBrokerSendThread).
        """
        until_ms = self.client_clock.now_ms() + self.config.request_timeout_ms
        while not self.reaches(other) and self.client_clock.now_ms() < until_ms and not is_over():
            await until(after(self.real_clock, RETRY_MS))
        return self.reaches(other)

    def use_metadata(self, metadata: MetadataImage) -> None:
        """Use another image: a copy while the broker does not reach the controller, then that of the cluster."""
        self.metadata = metadata
        for (topic, index), replica in self.partitions.items():
            if (state := metadata.partition(topic, index)) is not None:
                replica.state = state
        metadata.revision.advance()

    def feature_level(self, name: str) -> int:
        """Return the level of a cluster feature such as "transaction.version", or 0 if the feature is disabled."""
        from .features import Features

        return Features(self.release, self.metadata).level(name)

    def cordon_directories(self) -> None:
        """Apply the property cordoned.log.dirs: these directories receive no new replicas (KIP-1066)."""
        words = {word.strip() for word in self.config.given().get("cordoned.log.dirs", "").split(",")}
        paths = set(self.directories.paths)
        cordoned = paths if "*" in words else words & paths
        if cordoned:
            from .features import CORDONED_SINCE

            cordoned = cordoned if self.feature_level("metadata.version") >= CORDONED_SINCE else set()
        self.directories.cordoned = cordoned
        if cordoned == paths:
            self.metadata.cordoned.add(self.node_id)
        else:
            self.metadata.cordoned.discard(self.node_id)

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

    def add_replica(
        self,
        topic: TopicState,
        state: PartitionState,
        config: LogConfig,
        on_change: Callable[[Partition], None],
        *,
        is_new: bool = True,
    ) -> Partition:
        """Add a replica: open its log, or create it if there is none. Raises StorageFailed.

        If the replica is not new, its log may be in a log directory that is offline. In that case, no log is created.
        """
        from .partition import Partition

        log = self.directories.get_or_create(topic.name, state.index, topic.topic_id, config, is_new=is_new)
        if (latest := log.latest_epoch) is not None:  # newer than in the metadata if another broker wrote the log
            state.note_leader_epoch(latest)
        partition = Partition(self.node_id, topic, state, log, self.release, on_change, self.metadata.endpoints)
        self.partitions[topic.name, state.index] = partition
        return partition

    def lazy_replica(
        self,
        topic: TopicState,
        state: PartitionState,
        opens: Callable[[Partition], Log],
        on_change: Callable[[Partition], None],
    ) -> Partition:
        """Return a replica that calls `opens` to open its log on first use (see `open_log`).

        It must be the only replica of its partition, and the caller has to add it with `add_lazy_replicas`.
        """
        from .partition import UnopenedPartition

        partition = UnopenedPartition(
            self.node_id, topic, state, None, self.release, on_change, self.metadata.endpoints
        )
        partition.opens = opens
        return partition

    def open_log(self, partition: Partition, config: LogConfig, *, is_new: bool) -> Log:
        """Open, or create, the log of a replica whose log is not open yet. Raises StorageFailed."""
        key = (partition.topic, partition.index)
        try:
            log = self.directories.get_or_create(*key, partition.topic_id, config, is_new=is_new)
        except StorageFailed as error:
            self._unopened.pop(key, None)
            self.partitions.pop(key, None)
            self.offline[key] = error.reason
            raise
        self._unopened.pop(key, None)
        return log

    def add_lazy_replicas(self, partitions: Iterable[Partition]) -> None:
        """Add replicas that `lazy_replica` has returned."""
        added = {(partition.topic, partition.index): partition for partition in partitions}
        self.partitions.update(added)
        self._unopened.update(added)

    def open_partitions(self) -> list[Partition]:
        """Return the replicas whose logs are open."""
        if not self._unopened:
            return list(self.partitions.values())
        return [partition for partition in self.partitions.values() if partition.is_open]

    def size_bytes(self, partition: Partition) -> int:
        """Return the size in bytes of a replica's log, whether or not it is open."""
        if partition.is_open:
            return partition.log.size_bytes
        return self.directories.size_bytes(partition.topic, partition.index)

    @property
    def are_logs_open(self) -> bool:
        """Whether no log has to be opened later."""
        return not self._unopened

    def open_logs(self) -> None:
        """Open the logs that are not open yet."""
        while self.open_next_log():
            pass

    def open_next_log(self) -> bool:
        """Open a log that is not open yet. Return whether there was one."""
        if self.are_logs_open:
            return False
        with suppress(StorageFailed):  # already logged
            _ = next(iter(self._unopened.values())).log
        return True

    def take_offline(self, topic: str, index: int, reason: str) -> None:
        """Close a replica, as if its disk had failed. Requests for it get KAFKA_STORAGE_ERROR. Raises StorageFailed."""
        _ = self.partitions[topic, index].log  # opens the log
        self.directories.close_log(topic, index)
        del self.partitions[topic, index]
        self.offline[topic, index] = reason
        self.purgatory.touch((topic, index))

    def _log_directory_failed(self, directory: LogDirectory) -> None:
        self.call_soon(lambda: self.observer.log_directory_failed(directory))

    def directory_failed(self, directory: LogDirectory) -> list[tuple[str, int]]:
        """Take the replicas in a failed log directory offline (ReplicaManager.handleLogDirFailure); return them."""
        lost = [key for key in self.partitions if directory.has(*key)]
        for key in lost:
            del self.partitions[key]
            self._unopened.pop(key, None)
            self.offline[key] = directory.failure or ""
            self.purgatory.touch(key)
        if self._moves is not None:
            self._moves.directory_failed(directory)
        directory.abandon()
        return lost

    def restore_directory(self, path: str) -> list[tuple[str, int]]:
        """Open an offline log directory again. Return the replicas that were in it; they stay offline.

        Raises ValueError, OSError.
        """
        reason = self.directories.offline.get(path)
        self.directories.restore(path)
        if self._compaction is not None:
            self._compaction.stop()
            self._compaction = None
        return [key for key, why in self.offline.items() if why == reason]

    def sync_deletions(self) -> None:
        """Flush the deletion of logs to disk. If that fails, a deleted log may reappear after a power failure."""
        try:
            self.directories.sync_deletions()
        except OSError as error:
            _LOG.error("cannot flush the deletion of logs to disk: %s", explain(error))

    def delete_replica(self, topic: str, index: int) -> None:
        """Delete a replica and its log, and complete the requests that wait for it.

        If the log cannot be deleted, its files stay on disk, but the replica is no longer served.
        """
        if self._moves is not None:
            self._moves.cancel(topic, index)
        held = self.partitions.pop((topic, index), None) is not None
        self._unopened.pop((topic, index), None)
        if self.offline.pop((topic, index), None) is not None or held:
            try:
                self.directories.delete(topic, index)
            except StorageFailed as error:
                _LOG.error("cannot delete %s: %s", quoted(f"{topic}-{index}"), error.reason)
            self.purgatory.touch((topic, index))
