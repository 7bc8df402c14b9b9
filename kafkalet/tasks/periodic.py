"""Periodic tasks, timed by the cluster's clock, and coroutines in the background.

The next run is scheduled before a task runs, so a task may call `stop`. Exceptions are logged, and the task runs again.

If a test advances the clock by a year, a task that runs every ten seconds would run three million times. A task may
therefore return the time for which it has nothing to do. Runs in that time are skipped while the clock is being
advanced, up to the last run before the end of the advance. All other runs happen at the same times as without skipping.
"""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from kafkalet.clock import Clock, Timer, coming_ms

from .task import Task, start
from .turns import Turns
from .workers import Workers

_LOG = logging.getLogger(__name__)


class PeriodicRunner:
    """Runs tasks periodically, from `every` until `stop`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: list[Timer] = []

    @property
    def is_running(self) -> bool:
        return bool(self._timers)

    def every(
        self,
        period_ms: float | Callable[[], float],
        task: Callable[[], object],
        *,
        first_ms: float | None = None,
        quiet_ms: Callable[[], float] | None = None,
    ) -> None:
        """Run a task every `period_ms`, which may be a function if the period can change. The first run is after
        `first_ms`, or after one period if that is None.

        After a run, `quiet_ms` returns the time in milliseconds until the task may have something to do again.
        """
        slot = len(self._timers)

        def period() -> float:
            return period_ms() if callable(period_ms) else period_ms

        def run() -> None:
            period_ms = period()
            timer = self._timers[slot] = self._clock.call_later(period_ms, run)
            try:
                task()
            except Exception:  # noqa: BLE001 - the task must run again
                _LOG.exception("%s failed", task)
                return
            if quiet_ms is None or (coming := coming_ms(self._clock)) < 2 * period_ms:
                return
            skipped_ms = min(quiet_ms(), coming) // period_ms * period_ms
            if skipped_ms > period_ms and timer in self._timers:  # not stopped by the task
                timer.cancel()
                self._timers[slot] = self._clock.call_later(skipped_ms, run)

        self._timers.append(self._clock.call_later(period() if first_ms is None else first_ms, run))

    def stop(self) -> None:
        """Stop all tasks. `every` may start new ones."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()


class Background:
    """Runs a coroutine with pauses for the requests of clients. An exception is logged."""

    def __init__(self, turns: Turns, workers: Workers) -> None:
        self._turns = turns
        self._workers = workers
        self._running: set[Task[Any]] = set()

    @property
    def is_running(self) -> bool:
        return bool(self._running)

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        begun = start(work, self._turns, self._workers, self._running)
        if isinstance(begun, Task):
            begun.then(lambda done: None, lambda error: _LOG.error("%s failed", work, exc_info=error))

    def stop(self) -> None:
        for task in list(self._running):
            task.stop()
