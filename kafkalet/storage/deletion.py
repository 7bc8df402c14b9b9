"""Delayed deletion of files that readers may still use.

Each deletion belongs to a directory, so it can be run early when the directory is deleted or closed. If the clock has
no timers (in a tool that works on the files without an event loop), a deletion runs immediately. In either case, file
ranges that have already been handed out stay readable.
"""

import logging
from collections.abc import Callable

from kafkalet.clock import Clock, Timer

from .files import explain

_LOG = logging.getLogger(__name__)

Action = Callable[[], object]


class Deletions:
    """The pending deletions of a broker."""

    __slots__ = ("_clock", "_numbers", "_on_failure", "_pending")

    def __init__(self, clock: Clock, on_failure: Callable[[OSError], None] = lambda error: None) -> None:
        """`on_failure` is called if a file cannot be deleted."""
        self._clock = clock
        self._on_failure = on_failure
        self._numbers = 0
        self._pending: dict[str, dict[int, tuple[Action, Timer]]] = {}

    def later(self, directory: str, delay_ms: int, action: Action) -> None:
        """Run `action` after `delay_ms`, or earlier if `hurry` is called for `directory`."""
        if not self._clock.has_timers:
            self._carry_out(action)
            return
        self._numbers += 1
        number = self._numbers
        timer = self._clock.call_later(delay_ms, lambda: self._due(directory, number))
        self._pending.setdefault(directory, {})[number] = (action, timer)

    def hurry(self, directory: str) -> None:
        """Run the pending deletions of `directory` now."""
        for action, timer in self._pending.pop(directory, {}).values():
            timer.cancel()
            self._carry_out(action)

    def hurry_all(self) -> None:
        """Run all pending deletions now."""
        for directory in list(self._pending):
            self.hurry(directory)

    def cancel_all(self) -> None:
        """Cancel all pending deletions, because the whole data directory is being removed."""
        for pending in self._pending.values():
            for _, timer in pending.values():
                timer.cancel()
        self._pending.clear()

    def _due(self, directory: str, number: int) -> None:
        pending = self._pending[directory]
        action, _ = pending.pop(number)
        if not pending:
            del self._pending[directory]
        self._carry_out(action)

    def _carry_out(self, action: Action) -> None:
        """Run a deletion. If it fails, the files are deleted the next time the directory is opened."""
        try:
            action()
        except OSError as error:
            _LOG.warning("%s; it will be deleted at the next start", explain(error))
            self._on_failure(error)
