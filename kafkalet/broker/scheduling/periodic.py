"""Periodic tasks, timed by the cluster's clock.

The next run is scheduled before a task runs, so a task may call `stop`. Exceptions are logged, and the task runs again.
"""

import logging
from collections.abc import Callable

from kafkalet.clock import Clock, Timer

_LOG = logging.getLogger(__name__)


class PeriodicRunner:
    """Runs tasks periodically, from `every` until `stop`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: list[Timer] = []

    @property
    def is_running(self) -> bool:
        return bool(self._timers)

    def every(self, period_ms: float, task: Callable[[], object], *, first_ms: float | None = None) -> None:
        """Run a task every `period_ms`. The first run is after `first_ms`, or after one period if that is None."""
        slot = len(self._timers)

        def run() -> None:
            self._timers[slot] = self._clock.call_later(period_ms, run)
            try:
                task()
            except Exception:  # noqa: BLE001 - the task must run again
                _LOG.exception("%s failed", task)

        self._timers.append(self._clock.call_later(period_ms if first_ms is None else first_ms, run))

    def stop(self) -> None:
        """Stop all tasks. `every` may start new ones."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
