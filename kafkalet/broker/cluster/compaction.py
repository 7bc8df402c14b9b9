"""Compaction and retention on one broker: runs the rounds of the log cleaner, in the background and on request.

In the background, all logs that are due are cleaned one after the other every log.cleaner.backoff.ms; worker threads
read and write the files. A request does the same in the thread of the caller. It aborts a round that is in progress in
the background.
"""

import logging
import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.clock import Clock
from kafkalet.storage.cleaning.cleaner import CleanerSettings, Round
from kafkalet.storage.cleaning.log_cleaner import LogCleaner
from kafkalet.storage.cleaning.selection import quiet_ms
from kafkalet.storage.directories import LogDirectories
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.log import Log
from kafkalet.tasks.periodic import Background
from kafkalet.tasks.turns import Turns
from kafkalet.tasks.workers import Workers

_LOG = logging.getLogger(__name__)


class CleanedPartition(NamedTuple):
    """What the log cleaner did to one replica."""

    topic: str
    partition: int
    broker: int
    """The id of the broker with the replica. Each broker cleans its replicas independently of the others."""
    first_dirty_offset: int
    """The first offset that had not been cleaned before."""
    end_offset: int
    """The first offset that has not been cleaned yet."""
    bytes_before: int
    """The size of the segments below `end_offset` before they were cleaned."""
    bytes_after: int
    records_before: int
    """The number of records in these segments before they were cleaned, including transaction markers."""
    records_after: int


class RetainedPartition(NamedTuple):
    """What retention did to one replica."""

    topic: str
    partition: int
    broker: int
    deleted_segments: int
    log_start_offset: int
    """The log start offset after the deletion."""


class Compaction:
    """The log cleaner of the broker `node_id`."""

    def __init__(
        self,
        node_id: int,
        directories: LogDirectories,
        config: BrokerConfig,
        clock: Clock,
        turns: Turns,
        workers: Workers,
        changed: Callable[[Log], object],
    ) -> None:
        """`changed` is called after retention has deleted segments of a log."""
        self._node_id = node_id
        self._directories = directories
        self._config = config
        self._clock = clock
        self._cleaners = [
            LogCleaner(partial(_logs_of, directory), directory.environment.cleaning) for directory in directories
        ]
        """The cleaner of each log directory. It does nothing once the directory has failed."""
        self._changed = changed
        self._background = Background(turns, workers)
        self._requests = 0
        """The number of requests in progress."""

    def _logs(self) -> list[Log]:
        return [log for directory in self._directories for log in _logs_of(directory)]

    def _settings(self) -> CleanerSettings:
        config = self._config
        threads = max(config.log_cleaner_threads, 1)
        return CleanerSettings(
            config.log_cleaner_dedupe_buffer_size // threads,
            config.log_cleaner_io_buffer_load_factor,
            max(config.log_cleaner_io_buffer_size // threads // 2, 1),
            int(config.topic_defaults().get("max.message.bytes", CleanerSettings().max_message_bytes)),
            config.log_cleaner_io_max_bytes_per_second,
        )

    def begin(self) -> None:
        """Clean in the background, unless that is already in progress."""
        if not self._background.is_running and not self._requests:
            self._background.begin(self._clean_until_nothing_is_due())

    def stop(self) -> None:
        """Abort the round in progress. Files that are not part of a log yet are removed."""
        for cleaner in self._cleaners:
            cleaner.state.abort_all()
        self._background.stop()

    def quiet_ms(self) -> float:
        """Return the time until a log becomes due, provided that nothing is appended or reconfigured meanwhile."""
        if self._background.is_running:
            return 0
        now_ms = self._clock.now_ms()
        return min((quiet_ms(each.logs(), each.state, now_ms) for each in self._cleaners), default=math.inf)

    async def clean(self, *, roll: bool = False) -> list[CleanedPartition]:
        """Clean until no log is due, and apply retention to compacted logs. With `roll`, first roll their active
        segments. Return the cleaned replicas in the order of their cleaning.
        """
        self.stop()
        self._requests += 1
        try:
            for log in self._logs() if roll else ():
                if log.config.is_compacted and log.segments.active.size_bytes:
                    with suppress(StorageFailed):  # already logged
                        log.roll()
            return await self._clean_until_nothing_is_due()
        finally:
            self._requests -= 1

    async def _clean_until_nothing_is_due(self) -> list[CleanedPartition]:
        cleaned: dict[Log, CleanedPartition] = {}
        skipped: list[Log] = []
        for cleaner in self._cleaners:
            while True:
                round_ = await cleaner.clean_filthiest(self._settings(), self._clock.now_ms(), skipped)
                if round_ is None:
                    if not self._delete_old_segments(cleaner):
                        break
                    continue  # deletion moves the log start, and that may invalidate a checkpoint
                log, result = round_
                if result is None:
                    skipped.append(log)
                else:
                    cleaned[log] = self._add(cleaned.get(log), log, result)
        return list(cleaned.values())

    def _delete_old_segments(self, cleaner: LogCleaner) -> bool:
        """Apply retention to the compacted logs of a directory. Return whether segments were deleted."""
        changed = cleaner.delete_old_segments()
        for log in changed:
            self._changed(log)
        return bool(changed)

    def _add(self, before: CleanedPartition | None, log: Log, result: Round) -> CleanedPartition:
        """Return the result of all rounds for a log. Each round cleans the segments of the earlier ones again."""
        removed_bytes = 0 if before is None else before.bytes_before - before.bytes_after
        removed_records = 0 if before is None else before.records_before - before.records_after
        return CleanedPartition(
            log.topic,
            log.partition,
            self._node_id,
            result.first_dirty_offset if before is None else before.first_dirty_offset,
            result.end_offset,
            result.bytes_before + removed_bytes,
            result.bytes_after,
            result.records_before + removed_records,
            result.records_after,
        )

    def retain(self) -> list[RetainedPartition]:
        """Apply retention to all logs. Return those whose segments were deleted."""
        retained = []
        for log in self._logs():
            deleted = 0
            with suppress(StorageFailed):  # already logged
                deleted = log.apply_retention()
            if deleted:
                self._changed(log)
                retained.append(
                    RetainedPartition(log.topic, log.partition, self._node_id, deleted, log.log_start_offset)
                )
        return retained


def _logs_of(directory: LogDirectory) -> list[Log]:
    return [] if directory.failure is not None else list(directory.logs.values())
