"""Clocks, which are passed to all code that needs the current time or a timer.

`SystemClock` is the wall clock, with the timers of an event loop. `ManualClock` moves only when a test advances it:

    clock = kafkalet.ManualClock()
    with kafkalet.Broker(clock=clock) as broker:
        ...
        clock.advance(days=8)       runs all timers that become due, in order, before it returns

A cluster binds its clock to its event loop when it starts (`LoopClock.bound_to`), so its timers always run in that
loop. Several clusters with separate loops may share a `ManualClock`.
"""

import asyncio
import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

Callback = Callable[[], None]
CallInLoop = Callable[[Callback], None]
"""A function that runs another function in an event loop and waits until it has run. It may be called in any thread.

Exceptions that the function raises are propagated. If the loop has ended, RuntimeError is raised and the function is
not run.
"""

TURNS = 3
"""The number of loop iterations between two timers of a `ManualClock`. They give callbacks scheduled with `call_soon`,
and tasks woken by a timer, time to finish before the next timer runs."""

elapsed_s = time.perf_counter
"""A monotonic clock in seconds for measuring durations. It is never used for times that clients can see."""


class Timer(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None: ...


@runtime_checkable
class Clock(Protocol):
    """Provides the current time, in milliseconds since 1970 (UTC), and timers."""

    @property
    def has_timers(self) -> bool:
        """True if `call_later` may be used. A SystemClock has no timers until it is bound to an event loop."""

    def now_ms(self) -> int: ...

    def call_later(self, delay_ms: float, callback: Callback) -> Timer: ...


@runtime_checkable
class LoopClock(Clock, Protocol):
    """A clock that can be bound to the event loop of a cluster."""

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        """Return a clock with the same time that runs its timers in `loop`. `call` runs a function in this loop."""


class SystemClock:
    """The wall clock. Its timers run in an event loop and are not affected when the wall clock is changed."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop

    @property
    def has_timers(self) -> bool:
        return self._loop is not None

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        if self._loop is None:
            raise RuntimeError("this SystemClock has no event loop for timers; create it with SystemClock(loop)")
        return self._loop.call_later(delay_ms / 1000, callback)

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        return SystemClock(loop)


class ManualClock:
    """A clock for tests, which moves only when `advance` is called. It starts at the current time, or at `now_ms`.

    `advance` may be called in any thread. Timers of a cluster run in its event loop; timers that were set directly on
    the clock run in the thread that calls `advance`.
    """

    has_timers = True

    def __init__(self, now_ms: int | None = None) -> None:
        self._now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        self._order = itertools.count()
        self._due: list[tuple[float, int, _ManualTimer]] = []
        self._changing = threading.Lock()
        """Protects `_due`: event loop threads add timers, and the thread that advances the clock removes them."""
        self._advancing = threading.Lock()
        self._inside: set[int] = set()
        """The idents of the threads that are running a timer. A timer may itself advance the clock."""

    def __repr__(self) -> str:
        return f"<ManualClock at {self._now_ms} ms>"

    def now_ms(self) -> int:
        return self._now_ms

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        return self._schedule(delay_ms, callback, None)

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        return _InLoop(self, loop, call)

    def advance(
        self, ms: float = 0, *, seconds: float = 0, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> None:
        """Advance the clock, and run all timers that become due, in order and each at its due time.

        Returns when all of them have run. If a timer raises an exception, this method raises it, and the clock stops at
        the due time of that timer. Raises ValueError if the sum of the arguments is negative.
        """
        step_ms = int(ms + 1000 * (seconds + 60 * (minutes + 60 * (hours + 24 * days))))
        if step_ms < 0:
            raise ValueError(f"a clock cannot be advanced by {step_ms} ms; time does not go back")
        with self._exclusively():
            until_ms = self._now_ms + step_ms
            while (timer := self._next_due(until_ms)) is not None:
                if timer.loop is not None:
                    timer.loop.run_due(until_ms)
                elif (run := self._take_due(until_ms, None)) is not None:
                    run()
            self._now_ms = max(self._now_ms, until_ms)  # a timer may have advanced the clock further

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Allow one thread at a time to advance the clock. Nested calls by timers are allowed."""
        if threading.get_ident() in self._inside:
            yield
            return
        # The other thread may be waiting for the event loop of this thread, so blocking here could cause a deadlock.
        if not self._advancing.acquire(blocking=_running_loop() is None):
            raise RuntimeError("another thread is advancing this clock; advance it in one thread at a time")
        try:
            yield
        finally:
            self._advancing.release()

    def _schedule(self, delay_ms: float, callback: Callback, loop: "_InLoop | None") -> "_ManualTimer":
        timer = _ManualTimer(callback, loop)
        with self._changing:
            heapq.heappush(self._due, (self._now_ms + delay_ms, next(self._order), timer))
        return timer

    def _next_due(self, until_ms: int) -> "_ManualTimer | None":
        """Return the next timer that is due by `until_ms`, without removing it, or None if there is none."""
        with self._changing:
            while self._due and not self._due[0][2].is_pending:
                heapq.heappop(self._due)
            return self._due[0][2] if self._due and self._due[0][0] <= until_ms else None

    def _take_due(self, until_ms: int, loop: "_InLoop | None") -> Callback | None:
        """Remove the next due timer and return a function that runs it.

        If no timer is due, or if it does not belong to `loop`, nothing is removed and None is returned.
        """
        with self._changing:
            if not self._due or self._due[0][0] > until_ms or self._due[0][2].loop is not loop:
                return None
            when_ms, _, timer = heapq.heappop(self._due)
        return lambda: self._run(timer, when_ms)

    def _run(self, timer: "_ManualTimer", when_ms: float) -> None:
        self._now_ms = max(self._now_ms, int(when_ms))
        callback, timer.callback = timer.callback, None
        if callback is None:  # the timer was cancelled after it had been removed
            return
        thread = threading.get_ident()
        is_nested = thread in self._inside
        self._inside.add(thread)
        try:
            callback()
        finally:
            if not is_nested:
                self._inside.discard(thread)


class _ManualTimer:
    """A timer of a `ManualClock`."""

    __slots__ = ("callback", "loop")

    def __init__(self, callback: Callback, loop: "_InLoop | None") -> None:
        self.callback: Callback | None = callback
        self.loop = loop

    @property
    def is_pending(self) -> bool:
        return self.callback is not None and (self.loop is None or not self.loop.has_ended)

    def cancel(self) -> None:
        self.callback = None


class _InLoop:
    """A `ManualClock` bound to a cluster: its timers run in the event loop of the cluster."""

    has_timers = True

    def __init__(self, clock: ManualClock, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._call = call
        self.has_ended = False
        """True if the loop has ended. Timers that are still pending at that point never run."""

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        return self._clock._schedule(delay_ms, callback, self)

    def run_due(self, until_ms: int) -> None:
        """Run due timers in the loop until the next due timer belongs to another loop."""
        steps = _Steps(self._loop, lambda: self._run_one(until_ms))
        caller = threading.get_ident()

        def begin() -> None:
            if threading.get_ident() == caller:
                steps.take_all()  # the caller is blocking the loop, so the loop cannot iterate
            else:
                steps.begin()

        if not self._in_loop(begin):
            return
        while not steps.done.wait(1):
            if self._loop.is_closed():
                self.has_ended = True
                return
        if steps.failure is not None:
            raise steps.failure

    def _run_one(self, until_ms: int) -> bool:
        """Run the next due timer if it belongs to this loop. Return True if a timer was run."""
        run = self._clock._take_due(until_ms, self)
        return run is not None and self._in_loop(run)

    def _in_loop(self, function: Callback) -> bool:
        """Run a function in the loop. Return False if the loop has ended."""
        began = False

        def run() -> None:
            nonlocal began
            began = True
            function()

        try:
            self._call(run)
        except RuntimeError:
            if began:
                raise
            self.has_ended = True
        return began


class _Steps:
    """Runs steps in an event loop, with loop iterations between them, while another thread waits for `done`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, step: Callable[[], bool]) -> None:
        self._loop = loop
        self._step = step
        self._turns_left = 0
        self.done = threading.Event()
        self.failure: BaseException | None = None

    def begin(self) -> None:
        """Run a step, and schedule the next one after TURNS loop iterations, until a step returns False."""
        if self._turns_left:
            self._turns_left -= 1
        elif self._take():
            self._turns_left = TURNS
        else:
            self.done.set()
            return
        self._loop.call_soon(self.begin)

    def take_all(self) -> None:
        """Run all steps immediately."""
        while self._take():
            pass
        self.done.set()

    def _take(self) -> bool:
        try:
            return self._step()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that advances the clock
            self.failure = error
            return False


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that is running in this thread, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
