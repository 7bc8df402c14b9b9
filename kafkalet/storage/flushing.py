"""A thread that runs fsync on closed segments, so that the event loop is not blocked.

When a log rolls, the previous segment must reach the disk, which can take seconds for a gigabyte. As in Kafka (the
`flush-log` task), this is done in another thread, which does not access the logs: it gets duplicate descriptors and
calls fsync on them, one job at a time. `collect` runs the callbacks of finished jobs in the thread that uses the logs.
After a failure, the flusher has `collect` called at once.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from .files import Descriptor, explain

_LOG = logging.getLogger(__name__)

Then = Callable[[OSError | None], None]
"""Called with None on success, otherwise with the error."""

MOST_JOBS = 64
"""The maximum number of pending jobs, so that their descriptors are few. If logs roll faster than the disk can write,
`submit` blocks the event loop until a job is done, for about one fsync. So a slow disk slows down the producers."""


class Job(NamedTuple):
    """Descriptors to fsync and close, and the callback."""

    what: str
    descriptors: list[Descriptor]
    then: Then


class Flusher:
    """A queue of fsync jobs, and a thread that starts with the first job."""

    __slots__ = ("_call_soon", "_changed", "_done", "_is_closed", "_jobs", "_thread", "_under_way")

    def __init__(self, call_soon: Callable[[Callable[[], None]], object] = lambda function: None) -> None:
        """`call_soon` runs a function in the thread that uses the logs. It is called in the flusher's thread."""
        self._call_soon = call_soon
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._done: deque[tuple[Job, OSError | None]] = deque()
        self._under_way = 0
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def submit(self, what: str, descriptors: list[Descriptor], then: Then) -> None:
        """Queue an fsync of `descriptors`, which the flusher closes afterwards. `collect` calls `then`."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way < MOST_JOBS)
            self._jobs.append(Job(what, descriptors, then))
            self._under_way += 1
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="kafkalet-flush", daemon=True)
            self._thread.start()

    def collect(self) -> None:
        """Run the callbacks of the finished jobs."""
        while self._done:
            job, error = self._done.popleft()
            job.then(error)

    def wait(self) -> None:
        """Wait until all jobs are finished, then run their callbacks."""
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way)
        self.collect()

    def abandon(self) -> None:
        """Let the thread end after the pending jobs, without waiting for it."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def close(self) -> None:
        """Wait for all jobs, then stop the thread."""
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
                _LOG.error("cannot flush %s to disk: %s", job.what, explain(error))
                failure = error
            finally:
                self._done.append((job, failure))
                for descriptor in job.descriptors:
                    descriptor.close()
                with self._changed:
                    self._under_way -= 1
                    self._changed.notify_all()
                if failure is not None:
                    with suppress(RuntimeError):  # the event loop has been closed
                        self._call_soon(self.collect)

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._is_closed)
            return self._jobs.popleft() if self._jobs else None
