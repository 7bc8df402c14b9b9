"""The periodic tasks of a cluster.

    retention                       every log.retention.check.interval.ms, first after log.initial.task.delay.ms
    producer expiration             every producer.id.expiration.check.interval.ms (10 minutes)
    tiered storage                  every remote.log.manager.task.interval.ms, if there is remote storage
    compaction                      every log.cleaner.backoff.ms, if log.cleaner.enable is set; with the retention of
                                    compacted logs
    flush                           every log.flush.scheduler.interval.ms, if set: logs whose flush.ms has passed
    checkpoints of high watermarks  every replica.high.watermark.checkpoint.interval.ms, unless the data is temporary
    ... of recovery points          every log.flush.offset.checkpoint.interval.ms
    ... of log start offsets        every log.flush.start.offset.checkpoint.interval.ms
    delegation tokens               every delegation.token.expiry.check.interval.ms, if tokens are enabled: removal
    ISR shrinking                   at intervals of half of replica.lag.time.max.ms, if there are followers
    preferred elections             every leader.imbalance.check.interval.seconds, if there are followers
    unclean elections               every unclean.leader.election.interval.ms since 3.9, if there are followers
    throttled replication           every second, if there are throttled followers

Retention takes 8 microseconds for each log. It therefore pauses for the requests of clients, except on a clock that
tests advance, where a whole round runs at its due time.

Source: kafka.log.LogManager.startup, UnifiedLog.producerExpireCheck, kafka.server.ReplicaManager.startup.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.clock import Clock, SystemClock, client_time
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.files import explain
from kafkalet.tasks.periodic import Background, PeriodicRunner
from kafkalet.tasks.task import finish, pause
from kafkalet.tasks.turns import Turns
from kafkalet.tasks.workers import Workers

from .leadership import Leadership
from .node import Node
from .partition import Partition

if TYPE_CHECKING:  # imported only if tokens are enabled
    from kafkalet.broker.security.delegation_tokens import DelegationTokens
    from kafkalet.storage.log import Log

    from .tiering import Tiering

_LOG = logging.getLogger(__name__)

THROTTLED_PERIOD_MS = 1000


class Round:
    """Visits the replicas of all brokers, with pauses for the requests of clients."""

    def __init__(
        self,
        nodes: dict[int, Node],
        clock: Clock,
        background: Background,
        visit: Callable[[Node, Partition], object],
    ) -> None:
        self._nodes = nodes
        self._clock = clock
        self._background = background
        self._visit = visit

    def begin(self) -> None:
        """Begin a round. If an earlier one is still running, it ends."""
        self.stop()
        if isinstance(self._clock, SystemClock):
            self._background.begin(self._visit_all())
        else:
            finish(self._visit_all())

    def stop(self) -> None:
        self._background.stop()

    @property
    def is_running(self) -> bool:
        return self._background.is_running

    async def _visit_all(self) -> None:
        for node in list(self._nodes.values()):
            for partition in node.open_partitions():
                if node.partitions.get((partition.topic, partition.index)) is partition:  # it was not deleted meanwhile
                    self._visit(node, partition)
                    await pause()


class PeriodicTasks:
    """The periodic tasks of a cluster. They run between `start` and `stop`."""

    def __init__(
        self, nodes: dict[int, Node], leadership: Leadership, clock: Clock, turns: Turns, workers: Workers
    ) -> None:
        self._nodes = nodes
        self._leadership = leadership
        self._runner = PeriodicRunner(clock)
        self._saving = PeriodicRunner(client_time(clock))
        self._retention = Round(nodes, clock, Background(turns, workers), self._retain)
        self._tiering = Background(turns, workers)
        self._clock = clock
        self._producer_expiration = Round(nodes, clock, Background(turns, workers), _expire_producers)

    def start(
        self,
        config: BrokerConfig,
        *,
        durable: bool,
        is_read_only: bool,
        has_followers: bool,
        write_again: Callable[[], None],
        tokens: DelegationTokens | None,
        tiering: Tiering | None,
    ) -> None:
        """Start all tasks. `write_again` saves the metadata if the last attempt failed. `tokens` may expire.

        Retention, cleaner, checkpoints and flushes do not run if the brokers are read-only.
        """
        every = self._runner.every
        if not is_read_only:
            self._start_storage_tasks(config, durable=durable, write_again=write_again)
            if tiering is not None:
                every(
                    config.remote_log_manager_task_interval_ms,
                    lambda: self._tier(tiering),
                    quiet_ms=tiering.quiet_ms,
                )
        if tokens is not None and tokens.are_enabled:
            every(tokens.settings.check_interval_ms, tokens.remove_expired, quiet_ms=tokens.quiet_ms)
        if has_followers:
            lag_ms = config.replica_lag_time_max_ms
            every(
                lag_ms / 2,
                lambda: self._leadership.drop_laggards(lag_ms),
                quiet_ms=lambda: 0 if self._leadership.may_drop_laggards else math.inf,
            )
            if config.auto_leader_rebalance_enable:
                every(
                    1000 * max(config.leader_imbalance_check_interval_seconds, 1),
                    self._leadership.elect_preferred,
                    quiet_ms=lambda: 0 if self._leadership.imbalanced else math.inf,
                )
            if config.release.version >= (3, 9):
                every(
                    config.unclean_leader_election_interval_ms,
                    self._leadership.elect_unclean,
                    quiet_ms=lambda: 0 if self._leadership.leaderless else math.inf,
                )
            every(
                THROTTLED_PERIOD_MS,
                self._leadership.replicate_throttled,
                quiet_ms=lambda: 0 if self._leadership.may_replicate_throttled else math.inf,
            )

    def _start_storage_tasks(self, config: BrokerConfig, *, durable: bool, write_again: Callable[[], None]) -> None:
        every = self._runner.every
        every(
            config.log_retention_check_interval_ms,
            self._retention.begin,
            first_ms=config.log_initial_task_delay_ms,
            quiet_ms=lambda: self._quiet_ms(lambda log: log.retention_quiet_ms()),
        )
        every(
            config.producer_id_expiration_check_interval_ms,
            self._producer_expiration.begin,
            quiet_ms=lambda: self._quiet_ms(lambda log: log.producers_quiet_ms()),
        )
        if config.log_cleaner_enable:
            every(lambda: max(config.log_cleaner_backoff_ms, 1), self._clean, quiet_ms=self._cleaning_quiet_ms)
        if durable:
            period_ms: float = config.replica_high_watermark_checkpoint_interval_ms
            for interval_ms, write in (
                (period_ms, LogDirectory.write_high_watermarks),
                (config.log_flush_offset_checkpoint_interval_ms, LogDirectory.write_recovery_points),
                (config.log_flush_start_offset_checkpoint_interval_ms, LogDirectory.write_log_start_offsets),
            ):
                self._saving.every(max(interval_ms, 1), partial(self._checkpoint, write), quiet_ms=lambda: math.inf)
            self._saving.every(period_ms, write_again, quiet_ms=lambda: math.inf)
            flush_ms = config.given().get("log.flush.scheduler.interval.ms")
            if flush_ms is not None:
                every(float(flush_ms), self._flush, quiet_ms=lambda: math.inf)

    def stop(self) -> None:
        self._runner.stop()
        self._saving.stop()
        self._retention.stop()
        self._tiering.stop()
        self._producer_expiration.stop()

    def _tier(self, tiering: Tiering) -> None:
        if not isinstance(self._clock, SystemClock):
            finish(tiering.run())
        elif not self._tiering.is_running:
            self._tiering.begin(tiering.run())

    def _retain(self, _: Node, partition: Partition) -> None:
        if not partition.log.config.is_compacted:  # otherwise the log cleaner does it
            with suppress(StorageFailed):  # already logged
                if partition.log.apply_retention():
                    self._leadership.changed(partition)

    def _clean(self) -> None:
        """Compact the logs that are due, in the background."""
        for node in self._nodes.values():
            if any(partition.log.config.is_compacted for partition in node.open_partitions()):
                node.compaction.begin()

    def _cleaning_quiet_ms(self) -> float:
        return min((node.compaction.quiet_ms() for node in self._nodes.values() if node.partitions), default=math.inf)

    def _quiet_ms(self, quiet_ms: Callable[[Log], float]) -> float:
        """Return the time until a log becomes due."""
        return min(
            (quiet_ms(partition.log) for node in self._nodes.values() for partition in node.open_partitions()),
            default=math.inf,
        )

    def _flush(self) -> None:
        """Flush the logs whose last flush was at least flush.ms ago."""
        for node in self._nodes.values():
            for partition in node.open_partitions():
                with suppress(StorageFailed):  # already logged
                    partition.log.flush_if_due()

    def _checkpoint(self, write: Callable[[LogDirectory], None]) -> None:
        """Write the logs' offsets to a checkpoint for the next start."""
        for node in self._nodes.values():
            for directory in node.directories:
                try:
                    write(directory)
                except OSError as error:
                    _LOG.error("%s", explain(error))


def _expire_producers(node: Node, partition: Partition) -> None:
    partition.log.remove_expired_producers(node.config.producer_id_expiration_ms)
