"""Time as a parameter: whoever needs now, or a call later on, is handed a clock.

`SystemClock` is the wall clock with the timers of an event loop. `ManualClock` stands still until a test moves it;
what falls due on the way runs in order.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Protocol

elapsed_s = time.perf_counter
"""Seconds on a clock that only moves forward, for measuring how long something takes; never for what a client sees."""


class Timer(Protocol):
    """A call that has been promised and can be taken back."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What time it is, and calls at a later time. All times are milliseconds since 1970."""

    def now_ms(self) -> int: ...

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer: ...


class SystemClock:
    """The wall clock; its timers run on the event loop, and are not moved by a change of the wall clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)


class _ManualTimer:
    """A due call of a `ManualClock`."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualClock:
    """Time that moves when a test says so; what falls due on the way runs in order."""

    def __init__(self, now_ms: int = 1_600_000_000_000) -> None:
        self._now_ms = now_ms
        self._order = itertools.count()
        self._due: list[tuple[float, int, _ManualTimer]] = []

    def now_ms(self) -> int:
        return self._now_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        timer = _ManualTimer(callback)
        heapq.heappush(self._due, (self._now_ms + delay_ms, next(self._order), timer))
        return timer

    def advance(self, ms: int) -> None:
        """Move time by `ms` (not below 0) and run what falls due on the way, each at its own time."""
        until = self._now_ms + ms
        while self._due and self._due[0][0] <= until:
            when_ms, _, timer = heapq.heappop(self._due)
            self._now_ms = max(self._now_ms, int(when_ms))
            if timer.callback is not None:
                timer.callback()
        self._now_ms = until
