"""The state of the cleaner of one data directory (the state in Kafka's LogCleanerManager).

`cleaner-offset-checkpoint` contains, for each compacted log, the offset from which it is dirty: the records below it
have been compared with all newer records below it. It is read once, and replaced atomically after each round.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from kafkalet.formats import CLEANER_OFFSETS
from kafkalet.protocol.records.interruption import Interrupted, interruptible
from kafkalet.tasks.task import in_thread

from . import checkpoints
from .checkpoints import CorruptCheckpoint, TopicPartition
from .files import Files, explain

T = TypeVar("T")

_LOG = logging.getLogger(__name__)


class CleaningAborted(Exception):
    """The log is being truncated, deleted or closed, so this round ends."""


class Cleaning:
    """A round in progress. `check` and `pause` may be called by a worker thread, everything else by the event loop."""

    __slots__ = ("_condition", "_is_running", "discard", "is_aborted")

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_running = False
        self.is_aborted = False
        self.discard: Callable[[], object] = lambda: None
        """Removes files that have been written but are not part of the log yet, or completes a replacement."""

    def check(self) -> None:
        """Raise CleaningAborted if the round was aborted."""
        if self.is_aborted:
            raise CleaningAborted

    async def step(self, function: Callable[[], T]) -> T:
        """Run a step of the round in a thread.

        Raises CleaningAborted if the round is aborted before the step has completed.
        """
        result = await in_thread(partial(self._run, function))
        self.check()
        return result

    def _run(self, function: Callable[[], T]) -> T:
        with self._condition:
            self.check()
            self._is_running = True
        try:
            return interruptible(function, lambda: self.is_aborted)
        except Interrupted:
            raise CleaningAborted from None
        finally:
            with self._condition:
                self._is_running = False
                self._condition.notify_all()

    def pause(self, seconds: float) -> None:
        """Wait in the thread. Raises CleaningAborted if the round is aborted in the meantime."""
        with self._condition:
            self._condition.wait_for(lambda: self.is_aborted, seconds)
        self.check()

    def abort(self) -> None:
        """Abort the round, wait for the current step, and remove unfinished files.

        The step ends at the next batch, or at the next block of a batch that it decompresses: after 10 ms of CPU time,
        or after 0.6 s if a native library decompresses the largest batch (codecs.LIMIT). If the step is syncing a
        complete file to disk, it ends only after that. In Kafka, too, the request waits (LogCleaner.abortCleaning).
        """
        self.is_aborted = True
        with self._condition:
            self._condition.notify_all()
            while self._is_running:
                self._condition.wait()
        self.discard()


class CleanerState:
    """The checkpoint of a data directory, and the cleanings in progress.

    `directory` is None for logs without a data directory (in tests); their checkpoint is only kept in memory.
    """

    __slots__ = ("_directory", "_files", "_offsets", "_uncleanable", "_writing", "in_progress")

    def __init__(self, files: Files, directory: str | None = None) -> None:
        self._files = files
        self._directory = directory
        self._offsets: dict[TopicPartition, int] | None = None
        self._writing = threading.Lock()
        self._uncleanable: dict[TopicPartition, str] = {}
        self.in_progress: dict[TopicPartition, Cleaning] = {}

    # Checkpoint

    @property
    def path(self) -> str | None:
        return None if self._directory is None else os.path.join(self._directory, CLEANER_OFFSETS)

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The checkpoint: the first dirty offset of each log. Logs without an entry have not been cleaned yet."""
        if self._offsets is None:
            self._offsets = {}
            if self.path is not None:
                try:
                    self._offsets = checkpoints.read_offsets(self._files, self.path)
                except CorruptCheckpoint as error:
                    _LOG.error("%s; treating it as empty, so all compacted logs are cleaned again", error)
                except OSError as error:
                    _LOG.error("%s; treating it as empty, so all compacted logs are cleaned again", explain(error))
        return self._offsets

    def set_offset(self, log: TopicPartition, offset: int) -> None:
        """Change the first dirty offset of a log, and write the checkpoint."""
        if self.offsets.get(log) != offset:
            self.offsets[log] = offset
            self.write()

    def truncated(self, log: TopicPartition, offset: int) -> None:
        """Lower the first dirty offset of a log to `offset` if it is above it (maybeTruncateCheckpoint)."""
        if self.offsets.get(log, 0) > offset:
            self.set_offset(log, offset)

    def remove(self, log: TopicPartition) -> None:
        """Forget a log, because it is being deleted, and write the checkpoint."""
        self.abort(log)
        self._uncleanable.pop(log, None)
        if self.offsets.pop(log, None) is not None:
            self.write()

    def move(self, log: TopicPartition, to: CleanerState) -> None:
        """Move the entry of a log to another directory (alterCheckpointDir)."""
        reason, offset = self._uncleanable.get(log), self.offsets.get(log)
        self.remove(log)
        if offset is not None:
            to.set_offset(log, offset)
        if reason is not None:
            to.mark_uncleanable(log, reason)

    def write(self) -> None:
        """Write the checkpoint. May be called from any thread."""
        if self.path is None or self._offsets is None:
            return
        with self._writing:
            try:
                checkpoints.write_offsets(self._files, self.path, dict(self._offsets))
            except OSError as error:  # after a crash, logs are cleaned again from an older offset
                _LOG.error("%s; the checkpoint stays in memory", explain(error))
                self._files.on_failure(error)

    # Logs

    def abort(self, log: TopicPartition) -> None:
        """Abort the cleaning of a log, if there is one, and wait until its thread does nothing more."""
        cleaning = self.in_progress.pop(log, None)
        if cleaning is not None:
            _LOG.info("%s-%d: cleaning aborted", *log)
            cleaning.abort()

    def abort_all(self) -> None:
        for log in list(self.in_progress):
            self.abort(log)

    def mark_uncleanable(self, log: TopicPartition, reason: str) -> None:
        """Exclude a log from cleaning until the broker restarts, because of an error that would happen again."""
        _LOG.warning("%s-%d cannot be cleaned: %s", *log, reason)
        self._uncleanable[log] = reason

    @property
    def uncleanable(self) -> dict[TopicPartition, str]:
        """The logs that cannot be cleaned, with the reasons."""
        return dict(self._uncleanable)
