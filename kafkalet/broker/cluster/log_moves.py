"""Moves replicas to other log directories of their broker, as requested with AlterReplicaLogDirs (KIP-113).

A copy of the log follows the log like a follower, one fetch per turn of the event loop and at most
`replica.alter.log.dirs.io.max.bytes.per.second`. Once it has all records, and has flushed as many of them as the log
had, it replaces the log. If the broker stops before that, the move continues after its next start.

Source: kafka.server.ReplicaAlterLogDirsThread, kafka.cluster.Partition.maybeReplaceCurrentWithFutureReplica.
"""

import logging
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.quotas.meters import SimpleRate
from kafkalet.broker.quoting import quoted, shown
from kafkalet.clock import Clock, Timer
from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.directories import LogDirectories
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.log import Log

from .partition import EpochEnd, Partition
from .replication import catch_up

_LOG = logging.getLogger(__name__)

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
WINDOWS, WINDOW_MS = 11, 1000
"""The defaults of alter.log.dirs.replication.quota.window.num and .size.seconds."""
BACKOFF_MS = 1000
"""The pause after an error of the copied log, and while the rate is exceeded: replica.fetch.backoff.ms by default."""
FLUSHING_MS = 10


class _Copy(NamedTuple):
    log: Log

    def end_of_epoch(self, leader_epoch: int) -> EpochEnd:
        return EpochEnd(*self.log.end_offset_for_epoch(leader_epoch))


class LogMoves:
    """The moves of the replicas of one broker."""

    def __init__(
        self,
        partitions: Mapping[tuple[str, int], Partition],
        directories: LogDirectories,
        config: BrokerConfig,
        clock: Clock,
        loop: AbstractEventLoop,
        moved: Callable[[Partition], None],
    ) -> None:
        """`clock` limits the rate. `moved` is called when a copy has replaced the log of a replica."""
        self._partitions = partitions
        self._directories = directories
        self._config = config
        self._clock = clock
        self._loop = loop
        self._moved = moved
        self._moves: dict[tuple[str, int], LogDirectory] = {}
        """The directories to which replicas are being moved."""
        self._timers: dict[tuple[str, int], Timer | TimerHandle] = {}
        self._meter = SimpleRate(WINDOWS, WINDOW_MS)

    def __iter__(self) -> Iterator[tuple[Partition, LogDirectory]]:
        """Iterate over the replicas that are being moved, and their new directories."""
        return iter([(self._partitions[key], directory) for key, directory in self._moves.items()])

    def destination(self, topic: str, index: int) -> LogDirectory | None:
        """Return the directory to which a replica is being moved, or None."""
        return self._moves.get((topic, index))

    def begin(self, partition: Partition, to: LogDirectory) -> None:
        """Start to move a replica. Raises StorageFailed if the copy cannot be created."""
        key = (partition.topic, partition.index)
        to.get_or_create_future(*key, partition.topic_id, partition.log.config)
        self._moves[key] = to
        _LOG.info("moving %s to %s", partition.log.name, to.path)
        self._continue_in(key, 0)

    def resume(self) -> None:
        """Continue the moves that were in progress when the broker last stopped."""
        for directory in self._directories:
            for topic, index in directory.futures_found():
                partition = self._partitions.get((topic, index))
                if partition is not None and self._directories.holder(topic, index) is not directory:
                    try:
                        self.begin(partition, directory)
                    except StorageFailed as error:
                        _LOG.error("cannot move %s to %s: %s", quoted(f"{topic}-{index}"), directory.path, error.reason)

    def cancel(self, topic: str, index: int, *, delete: bool = True) -> None:
        """Stop moving a replica.

        With `delete`, its copy is deleted; otherwise the move continues after the next start.
        """
        directory = self._moves.pop((topic, index), None)
        if (timer := self._timers.pop((topic, index), None)) is not None:
            timer.cancel()
        if directory is not None and delete:
            directory.delete_future(topic, index)

    def directory_failed(self, directory: LogDirectory) -> None:
        """Stop the moves to and from a directory that has failed."""
        for (topic, index), to in list(self._moves.items()):
            if to is directory or (topic, index) not in self._partitions:
                self.cancel(topic, index, delete=False)

    def stop(self) -> None:
        """Stop all moves, because the broker stops."""
        for topic, index in list(self._moves):
            self.cancel(topic, index, delete=False)

    def _continue_in(self, key: tuple[str, int], delay_ms: int) -> None:
        self._timers[key] = self._loop.call_later(delay_ms / 1000, lambda: self._step(key))

    def _step(self, key: tuple[str, int]) -> None:
        """Copy the records of one fetch. When the copy is complete, let it replace the log."""
        to = self._moves.get(key)
        partition = self._partitions.get(key)
        if to is None or partition is None:
            return
        given = self._config.given().get(RATE)
        if given is not None and self._meter.throttle_ms(max(int(given), 1), self._clock.now_ms()):
            self._timers[key] = self._clock.call_later(BACKOFF_MS, lambda: self._step(key))
            return
        try:
            delay_ms = self._copy(partition, to)
        except KafkaError as error:  # a failed directory stops the move; an error of the log may be repaired
            _LOG.error("cannot move %s to %s: %s", partition.log.name, to.path, shown(error))
            delay_ms = BACKOFF_MS
        if key in self._moves and to.failure is None:
            self._continue_in(key, delay_ms)

    def _copy(self, partition: Partition, to: LogDirectory) -> int:
        """Copy a part of the log. Return how many milliseconds to wait before the next step."""
        key = (partition.topic, partition.index)
        log, copy = partition.log, to.futures[key]
        copied = catch_up(partition, _Copy(copy), self._config.replica_fetch_max_bytes)
        self._meter.record(copied, self._clock.now_ms())
        if copy.log_end_offset < log.log_end_offset:
            return 0
        to.environment.flusher.collect()
        if copy.recovery_point < min(log.recovery_point, copy.log_end_offset):
            copy.flush_in_background()
            return FLUSHING_MS
        self._moves.pop(key)
        partition.log = self._directories.replace_by_future(*key, to)
        _LOG.info("moved %s to %s", log.name, to.path)
        self._moved(partition)
        return 0
