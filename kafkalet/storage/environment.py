"""What the logs of one data directory share: file pool, clock, flush thread, delayed deletions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalet.clock import Clock

from .cleaner_state import CleanerState
from .deletion import Deletions
from .files import Files
from .flushing import Flusher
from .index import IndexPool

if TYPE_CHECKING:  # imported for a recovery, and with tiered storage
    from .progress import RecoveryProgress
    from .remote import Tier, TieredLog


class StartInterrupted(Exception):
    """The broker was asked to stop before it had started."""


class LogEnvironment:
    """The services that all logs of a data directory use. Created before the first log is opened."""

    __slots__ = (
        *("check_interrupted", "cleaning", "clock", "deletions", "files", "flusher", "index_pool", "progress"),
        *("tier_of", "truncated"),
    )

    def __init__(
        self,
        files: Files,
        clock: Clock,
        truncated: Callable[[], None] = lambda: None,
        check_interrupted: Callable[[], None] = lambda: None,
        directory: str | None = None,
        call_soon: Callable[[Callable[[], None]], object] = lambda function: None,
    ) -> None:
        """`directory` is the data directory, for the checkpoint of the cleaner; None if there is none (in tests)."""
        self.files = files
        self.cleaning = CleanerState(files, directory)
        self.clock = clock
        self.index_pool = IndexPool()
        self.deletions = Deletions(clock, files.on_failure)
        self.flusher = Flusher(call_soon)
        self.check_interrupted = check_interrupted
        """Called repeatedly while a log is recovered; raises StartInterrupted if the broker was asked to stop."""
        self.progress: RecoveryProgress | None = None
        """The recovery after a crash, while it lasts."""
        self.tier_of: Callable[[TieredLog], Tier] | None = None
        """Returns the remote segments of a log; None without tiered storage."""
        self.truncated = truncated
        """Called after a log is truncated, because the checkpoints may contain offsets that no longer exist."""

    def recovered(self, count: int) -> None:
        """Count bytes that have been recovered. Raises StartInterrupted if the broker was asked to stop."""
        self.check_interrupted()
        if self.progress is not None:
            self.progress.advance(count)
