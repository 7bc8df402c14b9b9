"""Forcing whole segments to the disk beside the event loop.

When a log begins a new segment, the one before has to reach the disk; for a gigabyte that takes seconds, in which
nobody would be served. So it is left to a thread, as in Kafka (the task `flush-log`). The thread knows nothing of logs:
it gets descriptors of its own and forces them, one job after the other. `collect` runs the callbacks of finished jobs
in the thread of the logs.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from .files import Descriptor, explain

_log = logging.getLogger(__name__)

Then = Callable[[OSError | None], None]
"""Called with None, or with what went wrong."""

MOST_JOBS = 64
"""So many may wait; where segments are begun faster than the disk takes them, their log waits, too."""


class Job(NamedTuple):
    """Descriptors to force and to close, and what follows."""

    what: str
    descriptors: list[Descriptor]
    then: Then


class Flusher:
    """A queue of jobs, and a thread that is there while it is needed."""

    __slots__ = ("_changed", "_done", "_is_closed", "_jobs", "_thread", "_under_way")

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._done: deque[tuple[Job, OSError | None]] = deque()
        self._under_way = 0
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def submit(self, what: str, descriptors: list[Descriptor], then: Then) -> None:
        """Force `descriptors`, which belong to us from now on, to the disk; `collect` calls `then`."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way < MOST_JOBS)
            self._jobs.append(Job(what, descriptors, then))
            self._under_way += 1
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="kafkalet-flush", daemon=True)
            self._thread.start()

    def collect(self) -> None:
        """Run the callbacks of the jobs that are done."""
        while self._done:
            job, error = self._done.popleft()
            job.then(error)

    def wait(self) -> None:
        """Wait until all jobs are done, and collect."""
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way)
        self.collect()

    def close(self) -> None:
        """Wait for everything, and end the thread."""
        self.wait()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (job := self._next()) is not None:
            failure: OSError | None = None
            try:
                for descriptor in job.descriptors:
                    descriptor.force()
            except OSError as error:
                _log.error("%s could not be forced to the disk: %s", job.what, explain(error))
                failure = error
            finally:
                self._done.append((job, failure))
                for descriptor in job.descriptors:
                    descriptor.close()
                with self._changed:
                    self._under_way -= 1
                    self._changed.notify_all()

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._is_closed)
            return self._jobs.popleft() if self._jobs else None
