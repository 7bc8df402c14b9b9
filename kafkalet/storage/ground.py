"""What the logs of one data directory share. A directory has it before there is any log."""

from __future__ import annotations

from collections.abc import Callable

from kafkalet.clock import Clock

from .deletion import Deletions
from .files import Files
from .flushing import Flusher
from .index import IndexPool


class StartInterrupted(Exception):
    """The broker is to stop before it has started."""


class Ground:
    """What the logs of a data directory stand on: their files, their time, and what is to be deleted later."""

    __slots__ = ("check_interrupted", "clock", "deletions", "files", "flusher", "index_pool", "truncated")

    def __init__(
        self,
        files: Files,
        clock: Clock,
        truncated: Callable[[], None] = lambda: None,
        check_interrupted: Callable[[], None] = lambda: None,
    ) -> None:
        self.files = files
        self.clock = clock
        self.index_pool = IndexPool()
        self.deletions = Deletions(clock)
        self.flusher = Flusher()
        self.check_interrupted = check_interrupted
        """Called now and then while a log is checked; raises StartInterrupted if the broker is to stop."""
        self.truncated = truncated
        """Called when a log was truncated: what was written down of its offsets must not be trusted any more."""
