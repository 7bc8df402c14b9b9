"""Deleting later: what readers may still be using leaves the disk after a while.

A deletion belongs to a directory, so that it can be done at once when that directory itself goes, or is closed. It is
also done at once if the clock has no timers (a tool works on the files, without an event loop). Ranges of a file that
were handed out stay readable in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafkalet.clock import Clock, Timer

from .files import explain

_log = logging.getLogger(__name__)

Action = Callable[[], object]


class Deletions:
    """What is to be deleted, and when."""

    __slots__ = ("_clock", "_numbers", "_pending")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = 0
        self._pending: dict[str, dict[int, tuple[Action, Timer]]] = {}

    def later(self, directory: str, delay_ms: int, action: Action) -> None:
        """Do `action` after `delay_ms`, or when the deletions of `directory` are hurried."""
        if not self._clock.has_timers:
            _carry_out(action)
            return
        self._numbers += 1
        number = self._numbers
        timer = self._clock.call_later(delay_ms, lambda: self._due(directory, number))
        self._pending.setdefault(directory, {})[number] = (action, timer)

    def hurry(self, directory: str) -> None:
        """Do now what is pending for `directory`."""
        for action, timer in self._pending.pop(directory, {}).values():
            timer.cancel()
            _carry_out(action)

    def hurry_all(self) -> None:
        """Do now what is pending for any directory."""
        for directory in list(self._pending):
            self.hurry(directory)

    def cancel_all(self) -> None:
        """Do nothing of what is pending: everything goes away by other means."""
        for pending in self._pending.values():
            for _, timer in pending.values():
                timer.cancel()
        self._pending.clear()

    def _due(self, directory: str, number: int) -> None:
        pending = self._pending[directory]
        action, _ = pending.pop(number)
        if not pending:
            del self._pending[directory]
        _carry_out(action)


def _carry_out(action: Action) -> None:
    """What cannot be deleted now is deleted when the directory is opened again."""
    try:
        action()
    except OSError as error:
        _log.warning("%s; it is deleted with the next start", explain(error))
