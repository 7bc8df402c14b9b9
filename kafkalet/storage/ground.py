"""What the logs of one data directory share. A directory has it before there is any log."""

from collections.abc import Callable

from kafkalet.clock import Clock

from .deletion import Deletions
from .files import Files
from .flushing import Flusher
from .index import IndexPool


class Ground:
    """What the logs of a data directory stand on: their files, their time, and what is to be deleted later."""

    __slots__ = ("clock", "deletions", "files", "flusher", "index_pool", "truncated")

    def __init__(self, files: Files, clock: Clock, truncated: Callable[[], None] = lambda: None) -> None:
        self.files = files
        self.clock = clock
        self.index_pool = IndexPool()
        self.deletions = Deletions(clock)
        self.flusher = Flusher()
        self.truncated = truncated
        """Called when a log was truncated: what was written down of its offsets must not be trusted any more."""
