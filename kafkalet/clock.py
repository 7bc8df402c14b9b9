"""Time as a parameter: code that needs the time, or a call at a later time, is handed a clock.

`SystemClock` is the wall clock with the timers of an event loop. `ManualClock` stands still until a test advances it:

    clock = kafkalet.ManualClock()
    with kafkalet.Broker(clock=clock) as broker:
        ...
        clock.advance(days=8)       what falls due on the way has run, in order, when this returns

A cluster binds its clock to its event loop when it starts (`LoopClock.bound_to`), so that its timers run in that loop
and nowhere else. One `ManualClock` may serve several clusters, each in a loop of its own.
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
"""Runs a function in an event loop and returns when it has run, whichever thread asks. What the function raises is
raised. RuntimeError where the loop has ended; the function has not run then."""

TURNS = 3
"""So many turns of a loop pass between two timers of a `ManualClock`: what a timer has put off with `call_soon`, or in
a task that it wakes, is done before the next timer runs."""

elapsed_s = time.perf_counter
"""Seconds on a clock that only moves forward, for measuring how long something takes; never for what a client sees."""


class Timer(Protocol):
    """A call that has been promised and can be taken back."""

    def cancel(self) -> None: ...


@runtime_checkable
class Clock(Protocol):
    """What time it is, and calls at a later time. All times are milliseconds since 1970."""

    @property
    def has_timers(self) -> bool:
        """Whether `call_later` may be used: the system's clock has no timers until it is bound to an event loop."""

    def now_ms(self) -> int: ...

    def call_later(self, delay_ms: float, callback: Callback) -> Timer: ...


@runtime_checkable
class LoopClock(Clock, Protocol):
    """A clock whose timers run in the event loop of the cluster that sets them."""

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        """The same time, with timers that run in `loop`; `call` runs a function there."""


class SystemClock:
    """The wall clock; its timers run in an event loop, and are not moved by a change of the wall clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop

    @property
    def has_timers(self) -> bool:
        return self._loop is not None

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        if self._loop is None:
            raise RuntimeError("this SystemClock has no event loop to call later in; make it with SystemClock(loop)")
        return self._loop.call_later(delay_ms / 1000, callback)

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        return SystemClock(loop)


class ManualClock:
    """Time that a test moves. It starts at the present time, or at `now_ms`.

    It may be advanced in any thread. A timer runs in the event loop of the cluster that has set it; one that was set
    on the clock itself runs in the thread that advances.
    """

    has_timers = True

    def __init__(self, now_ms: int | None = None) -> None:
        self._now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        self._order = itertools.count()
        self._due: list[tuple[float, int, _ManualTimer]] = []
        self._changing = threading.Lock()
        """Held while `_due` changes: timers are set in the threads of loops, and taken where time is advanced."""
        self._advancing = threading.Lock()
        self._inside: set[int] = set()
        """Threads that run a timer at the moment, by their idents. Time may be advanced there, too."""

    def __repr__(self) -> str:
        return f"<ManualClock at {self._now_ms} ms>"

    def now_ms(self) -> int:
        return self._now_ms

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        return self._promise(delay_ms, callback, None)

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        return _InLoop(self, loop, call)

    def advance(
        self, ms: float = 0, *, seconds: float = 0, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> None:
        """Move time on, and run what falls due on the way, each at its own time and in the order of these times.

        All of it has run when this returns. What a timer raises is raised here; time then stands where it fell due.
        """
        step_ms = int(ms + 1000 * (seconds + 60 * (minutes + 60 * (hours + 24 * days))))
        if step_ms < 0:
            raise ValueError(f"a clock cannot be advanced by {step_ms} ms; time does not go back")
        with self._alone():
            until_ms = self._now_ms + step_ms
            while (timer := self._next_due(until_ms)) is not None:
                if timer.loop is not None:
                    timer.loop.run_due(until_ms)
                elif (run := self._take_due(until_ms, None)) is not None:
                    run()
            self._now_ms = max(self._now_ms, until_ms)  # a timer may have advanced further

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one thread advance at a time, except that a timer may advance in the middle of it."""
        if threading.get_ident() in self._inside:
            yield
            return
        # Another thread that advances may be waiting for the loop of this thread, which must not wait for it then.
        if not self._advancing.acquire(blocking=_running_loop() is None):
            raise RuntimeError("another thread is advancing this clock; advance it in one thread at a time")
        try:
            yield
        finally:
            self._advancing.release()

    def _promise(self, delay_ms: float, callback: Callback, loop: "_InLoop | None") -> "_ManualTimer":
        timer = _ManualTimer(callback, loop)
        with self._changing:
            heapq.heappush(self._due, (self._now_ms + delay_ms, next(self._order), timer))
        return timer

    def _next_due(self, until_ms: int) -> "_ManualTimer | None":
        """The timer that falls due next, up to that time; it stays where it is."""
        with self._changing:
            while self._due and not self._due[0][2].is_promised:
                heapq.heappop(self._due)
            return self._due[0][2] if self._due and self._due[0][0] <= until_ms else None

    def _take_due(self, until_ms: int, loop: "_InLoop | None") -> Callback | None:
        """What runs the timer that falls due next, if it is one of `loop`."""
        with self._changing:
            if not self._due or self._due[0][0] > until_ms or self._due[0][2].loop is not loop:
                return None
            when_ms, _, timer = heapq.heappop(self._due)
        return lambda: self._run(timer, when_ms)

    def _run(self, timer: "_ManualTimer", when_ms: float) -> None:
        self._now_ms = max(self._now_ms, int(when_ms))
        callback, timer.callback = timer.callback, None
        if callback is None:  # cancelled since
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
    """A promised call of a `ManualClock`."""

    __slots__ = ("callback", "loop")

    def __init__(self, callback: Callback, loop: "_InLoop | None") -> None:
        self.callback: Callback | None = callback
        self.loop = loop

    @property
    def is_promised(self) -> bool:
        return self.callback is not None and (self.loop is None or not self.loop.has_ended)

    def cancel(self) -> None:
        self.callback = None


class _InLoop:
    """A `ManualClock` as one cluster sees it: its timers run in the cluster's loop."""

    has_timers = True

    def __init__(self, clock: ManualClock, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._call = call
        self.has_ended = False
        """The loop has ended: what was promised to it does not run."""

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        return self._clock._promise(delay_ms, callback, self)

    def run_due(self, until_ms: int) -> None:
        """Run the timers that fall due next, in the loop, until one of another loop comes first."""
        steps = _Steps(self._loop, lambda: self._run_one(until_ms))
        caller = threading.get_ident()

        def begin() -> None:
            if threading.get_ident() == caller:
                steps.take_all()  # the loop cannot turn while we are here
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
        """Run the timer that falls due next, if it is one of this loop."""
        run = self._clock._take_due(until_ms, self)
        return run is not None and self._in_loop(run)

    def _in_loop(self, function: Callback) -> bool:
        """Run a function in the loop; False if the loop has ended."""
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
    """Something that is done in an event loop step by step, with turns of the loop in between, while a thread waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop, step: Callable[[], bool]) -> None:
        self._loop = loop
        self._step = step
        self._turns_left = 0
        self.done = threading.Event()
        self.failure: BaseException | None = None

    def begin(self) -> None:
        """Take a step, and the next one some turns later, until one of them says that it was the last."""
        if self._turns_left:
            self._turns_left -= 1
        elif self._take():
            self._turns_left = TURNS
        else:
            self.done.set()
            return
        self._loop.call_soon(self.begin)

    def take_all(self) -> None:
        """Take all steps now."""
        while self._take():
            pass
        self.done.set()

    def _take(self) -> bool:
        try:
            return self._step()
        except BaseException as error:  # noqa: BLE001 - it is raised where time is advanced
            self.failure = error
            return False


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
