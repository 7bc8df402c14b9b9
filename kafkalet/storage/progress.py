"""Logs the progress of the recovery of a data directory, if it takes more than a few seconds.

    /data: recovering after an unclean shutdown: 12 of 340 logs, 1.3 of 20.0 GiB

The total is the size of the segments with records at or above the recovery points. These are the segments that Kafka
recovers.
"""

import logging
import os
from bisect import bisect_right
from collections.abc import Callable, Mapping

from kafkalet.clock import elapsed_s

from .file_system import FileSystem

_LOG = logging.getLogger(__name__)

INTERVAL_S = 3.0
"""The time before the first line, and between two lines."""
GIB = 1 << 30


class RecoveryProgress:
    """The recovery of these logs, which are given by directory with their recovery points."""

    def __init__(
        self, path: str, logs: Mapping[str, int], system: FileSystem, now_s: Callable[[], float] = elapsed_s
    ) -> None:
        self.path = path
        self._logs = dict(logs)
        self._system = system
        self._now_s = now_s
        self._next_s = now_s() + INTERVAL_S
        self._total_bytes: int | None = None
        """None until the first line is logged, because most recoveries end before that."""
        self._done_logs = 0
        self._done_bytes = 0
        self._was_shown = False

    def advance(self, count: int) -> None:
        """Count bytes that have been recovered."""
        self._done_bytes += count
        if self._now_s() >= self._next_s:
            self._show()

    def log_is_done(self) -> bool:
        """Count a log that has been recovered, and return whether it was the last one.

        After the last one, a last line is logged if there was one before.
        """
        self._done_logs += 1
        is_last = self._done_logs >= len(self._logs)
        if self._now_s() >= self._next_s or (self._was_shown and is_last):
            self._show()
        return is_last

    def _show(self) -> None:
        if self._total_bytes is None:
            self._total_bytes = sum(self._bytes_of(directory, offset) for directory, offset in self._logs.items())
        self._next_s = self._now_s() + INTERVAL_S
        self._was_shown = True
        _LOG.info(
            "%s: recovering after an unclean shutdown: %d of %d logs, %.1f of %.1f GiB",
            *(self.path, self._done_logs, len(self._logs), self._done_bytes / GIB),
            max(self._total_bytes, self._done_bytes) / GIB,
        )

    def _bytes_of(self, directory: str, recovery_point: int) -> int:
        """Return the size of the segments to recover in a log; 0 if they cannot be read."""
        try:
            names = sorted(name for name in self._system.names(directory) if name.endswith(".log"))
            first = max(bisect_right(names, f"{recovery_point:020d}.log") - 1, 0)
            return sum(self._system.status(os.path.join(directory, name)).st_size for name in names[first:])
        except OSError:
            return 0
