"""Clocks, which are passed to all code that needs the current time or a timer.

`SystemClock` is the wall clock, with the timers of an event loop. Tests use clocks that they can advance:

    kafkalet.Clock          real time plus an offset (testing/clock.py)
    Clock.frozen()          stands still until it is advanced

    clock.advance(days=8)   runs all timers that become due, in order, before it returns

A cluster binds its clock to its event loop when it starts (`LoopClock.bound_to`), so its timers always run in that
loop. Several clusters with separate loops may share a clock.

A broker has three kinds of time. Ages are measured in log time, waiting times in client time, and what really happens
between the brokers and their clients in real time, which no test can stop:

    log time       the age of records, offsets, transactions and ids: timestamps, retention, flush.ms, segment.ms,
                   delayed deletion, transaction timeouts, acquisition locks of share groups, expiration of offsets,
                   producers and transactional ids, and how long a follower has lagged
    client time    timeouts and intervals of clients and disks: sessions, rebalances and joins of groups, long polls
                   and all other waiting requests, idle connections, quotas, fetch sessions, telemetry intervals,
                   checkpoints
    real time      retries inside the cluster, and waits for requests that are on their way

Code gets log time from the clock itself, client time from `client_time(clock)`, and real time from `LoopTime`. The
first two differ only for clocks that can advance one without the other, so that a test can let records expire while its
clients stay connected.
"""

import asyncio
import heapq
import itertools
import math
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import time_ns
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from datetime import datetime, timedelta

Callback = Callable[[], None]
CallInLoop = Callable[[Callback], None]
"""A function that runs another function in an event loop and waits until it has run. It may be called from any thread.

Exceptions that the function raises are propagated. If the loop has ended, RuntimeError is raised and the function is
not run.
"""

TURNS = 3
"""The number of loop iterations between two timers when a clock is advanced. They give callbacks scheduled with
`call_soon`, and tasks woken by a timer, time to finish before the next timer runs."""

_order = itertools.count()
"""Numbers the timers, so that timers with the same due time run in the order in which they were set."""

_LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, in which the range of datetime ends."""

_PRUNE_AT = 256
"""Queues with fewer timers are not searched for cancelled ones."""

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
        """Whether `call_later` may be used. A SystemClock has no timers until it is bound to an event loop."""

    def now_ms(self) -> int: ...

    def call_later(self, delay_ms: float, callback: Callback) -> Timer: ...


@runtime_checkable
class LoopClock(Clock, Protocol):
    """A clock that can be bound to the event loop of a cluster."""

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        """Return a clock with the same time that runs its timers in `loop`. `call` runs a function in this loop."""


@runtime_checkable
class TwoTimes(Clock, Protocol):
    """A clock with a separate client time."""

    @property
    def for_clients(self) -> Clock:
        """The clock of client time."""


def client_time(clock: Clock) -> Clock:
    """Return the clock to use for client time: the same clock, unless it has a separate client time."""
    return clock.for_clients if isinstance(clock, TwoTimes) else clock


def coming_ms(clock: Clock) -> float:
    """Return the milliseconds that are left of the current `advance`, or 0 if there is none."""
    return clock.coming_ms() if isinstance(clock, TimerQueue) else 0


class SystemClock:
    """The wall clock. Its timers run in an event loop and are not affected when the wall clock is changed."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop

    @property
    def has_timers(self) -> bool:
        return self._loop is not None

    def now_ms(self) -> int:
        return time_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        if self._loop is None:
            raise RuntimeError("this SystemClock has no event loop for timers; create it with SystemClock(loop)")
        return self._loop.call_later(delay_ms / 1000, callback)

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        return SystemClock(loop)


class LoopTime:
    """The time of an event loop, as a `Clock`. Its zero is arbitrary, and it goes on while other clocks stand still."""

    has_timers = True

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        return self._loop.call_later(delay_ms / 1000, callback)


class MovableClock(ABC):
    """A clock that can be advanced. `advance` may be called from any thread.

    Timers of a cluster run in its event loop.
    """

    _problem = ""
    """Why the clock cannot be advanced, or ""."""

    def __init__(self, *lines: "TimeLine") -> None:
        """`lines` are the log time and, if it can be advanced separately, the client time."""
        self._lines = lines
        self._advancing = threading.Lock()
        self._inside: set[int] = set()
        """The idents of the threads that are running a timer. A timer may itself advance the clock."""

    @abstractmethod
    def now_ms(self) -> int:
        """Return the current time, in milliseconds since 1970 (UTC)."""

    def now(self) -> "datetime":
        """Return the current time as a datetime in UTC."""
        from datetime import UTC, datetime, timedelta

        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=self.now_ms())

    def advance(
        self,
        by: "timedelta | None" = None,
        /,
        *,
        milliseconds: float = 0,
        seconds: float = 0,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
        sessions: bool = False,
    ) -> None:
        """Advance the clock, and run all timers that become due, in order and each at its due time.

        `advance(hours=2)` and `advance(timedelta(hours=2))` do the same; the arguments are added up. Returns when all
        timers have run. With `sessions`, the time of clients advances as well, so sessions of members expire, long
        polls end, and idle connections are closed. A `ManualClock` has only one time, so these always advance.

        If a timer raises an exception, this method raises it, and the clock stops at the due time of that timer. Raises
        TypeError or ValueError if an argument is not a number, or if the sum is negative or leads beyond the year 9999.
        Raises RuntimeError if it is called in an event loop while another thread is advancing the clock.
        """
        if self._problem:
            raise RuntimeError(self._problem)
        _check_numbers(milliseconds=milliseconds, seconds=seconds, minutes=minutes, hours=hours, days=days)
        step = _milliseconds(by) + milliseconds + 1000 * (seconds + 60 * (minutes + 60 * (hours + 24 * days)))
        step_ms = int(max(-_LATEST_MS, min(step, 2 * _LATEST_MS)))  # the sum may be infinite
        if step_ms < 0:
            raise ValueError(f"a clock cannot be advanced by {step_ms} ms; time does not go back")
        if self.now_ms() + step_ms > _LATEST_MS:
            raise ValueError(f"a clock cannot be advanced by {step_ms} ms; it ends with the year 9999")
        with self._exclusively():
            _Advance(self._lines if sessions else self._lines[:1], step_ms, self._run).run()

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Allow one thread at a time to advance the clock. Nested calls by timers are allowed."""
        if threading.get_ident() in self._inside:
            yield
            return
        # The other thread may be waiting for the event loop of this thread, so blocking here could cause a deadlock.
        if not self._advancing.acquire(blocking=_running_loop() is None):
            raise RuntimeError("another thread is advancing this clock; advance it from one thread at a time")
        try:
            yield
        finally:
            self._advancing.release()

    def _run(self, callback: Callback) -> None:
        """Run a timer, which may advance the clock."""
        thread = threading.get_ident()
        is_nested = thread in self._inside
        self._inside.add(thread)
        try:
            callback()
        finally:
            if not is_nested:
                self._inside.discard(thread)


class ManualClock(MovableClock):
    """A clock for tests, which moves only when `advance` is called. It starts at the current time, or at `now_ms`.

    `advance` may be called from any thread. Timers of a cluster run in its event loop; timers that were set directly on
    the clock run in the thread that calls `advance`.
    """

    has_timers = True

    def __init__(self, now_ms: int | None = None) -> None:
        self._line = TimeLine(time_ns() // 1_000_000 if now_ms is None else now_ms)
        super().__init__(self._line)
        self._timers = TimerQueue(self._line)

    def __repr__(self) -> str:
        return f"<ManualClock at {self.now_ms()} ms>"

    def now_ms(self) -> int:
        return self._line.ahead_ms

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        return self._timers.call_later(delay_ms, callback)

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> Clock:
        return LoopTimers(self._line, loop, call)


class TimeLine:
    """A time that stands still unless it is advanced, and the queues of its timers."""

    def __init__(self, ahead_ms: int = 0) -> None:
        self.ahead_ms = ahead_ms
        """The time at which it started, plus the time by which it has been advanced."""
        self.target_ms = ahead_ms
        """The value of `ahead_ms` at which the current call of `advance` stops."""
        self.advances = 0
        """How many calls of `advance` are moving this time: more than one if they are nested."""
        self._queues: weakref.WeakSet[TimerQueue] = weakref.WeakSet()
        self._changing = threading.Lock()
        """Protects `_queues`: clusters start while another thread is advancing the clock."""

    def now_ms(self) -> int:
        """Return the time that clients see."""
        return self.ahead_ms

    def point_ms(self) -> float:
        """Return the current point in time for timers. Its zero is arbitrary."""
        return self.ahead_ms

    def move_to(self, point_ms: float) -> None:
        """Advance to a point in time. If it has passed, nothing changes."""
        self.ahead_ms = max(self.ahead_ms, int(point_ms))

    def add(self, queue: "TimerQueue") -> None:
        with self._changing:
            self._queues.add(queue)

    def queues(self) -> "list[TimerQueue]":
        with self._changing:
            return list(self._queues)


class RealTimeLine(TimeLine):
    """Real time plus an offset. Timers are not affected when the wall clock is changed."""

    def now_ms(self) -> int:
        return time_ns() // 1_000_000 + self.ahead_ms

    def point_ms(self) -> float:
        return time.monotonic() * 1000 + self.ahead_ms

    def move_to(self, point_ms: float) -> None:
        # Rounding up ensures that now_ms() is not before the due time of a timer.
        self.ahead_ms = max(self.ahead_ms, math.ceil(point_ms - time.monotonic() * 1000))


class _Timer:
    """A callback in a `TimerQueue`, or None if it was cancelled or has begun."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callback) -> None:
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        self.callback = None


class TimerQueue:
    """Timers in the order of their due times. They run only in the thread that advances the clock."""

    has_timers = True

    def __init__(self, line: TimeLine) -> None:
        self.line = line
        self._due: list[tuple[float, int, _Timer]] = []
        self._changing = threading.Lock()
        """Protects `_due`: event loop threads add timers, and the thread that advances the clock looks at them."""
        self._prune_at = _PRUNE_AT
        self.has_ended = False
        """Whether the loop of the timers has ended. Timers that are still pending at that point never run."""
        line.add(self)

    def now_ms(self) -> int:
        return self.line.now_ms()

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        return self._add(self.line.point_ms() + delay_ms, callback)

    def _add(self, when_ms: float, callback: Callback) -> _Timer:
        timer = _Timer(callback)
        with self._changing:
            heapq.heappush(self._due, (when_ms, next(_order), timer))
            if len(self._due) > self._prune_at:  # most timers are timeouts, which are usually cancelled
                self._due = [entry for entry in self._due if entry[2].callback is not None]
                heapq.heapify(self._due)
                self._prune_at = max(_PRUNE_AT, 2 * len(self._due))
        return timer

    def coming_ms(self) -> float:
        """Return the milliseconds that are left of the current call of `advance`, or 0 if there is none."""
        return max(self.line.target_ms - self.line.ahead_ms, 0)

    def first(self) -> tuple[float, int] | None:
        """Return the due time and number of the next timer, or None if there is none."""
        if self.has_ended:
            return None
        with self._changing:
            while self._due and self._due[0][2].callback is None:
                heapq.heappop(self._due)
            return self._due[0][:2] if self._due else None

    def take(self, until_ms: float) -> _Timer | None:
        """Remove the next timer that is due by `until_ms` and return it, or None if there is none."""
        with self._changing:
            while self._due and self._due[0][0] <= until_ms:
                timer = heapq.heappop(self._due)[2]
                if timer.callback is not None:
                    return timer
        return None

    def run_due(self, run_one: "Callable[[TimerQueue], bool]") -> None:
        """Call `run_one` until it returns False."""
        while run_one(self):
            pass

    def moved(self) -> None:
        """Called when the time has been advanced."""


class LoopTimers(TimerQueue):
    """A clock bound to a cluster: its timers run in the event loop of the cluster when the clock is advanced."""

    def __init__(self, line: TimeLine, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> None:
        super().__init__(line)
        self._loop = loop
        self._call = call

    def run_due(self, run_one: Callable[[TimerQueue], bool]) -> None:
        """Run due timers in the loop until the next due timer belongs to another loop."""

        def in_loop() -> bool:
            ran = False

            def run() -> None:
                nonlocal ran
                ran = run_one(self)

            return self._in_loop(run) and ran

        steps = _Steps(self._loop, in_loop)
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


class RealTimeTimers(LoopTimers):
    """Timers in the event loop of a cluster, which run in real time, or earlier if the clock is advanced.

    The loop is woken for the next timer only. While the time is being advanced, the thread that advances it decides
    when timers run, so that they run in order across all loops.
    """

    def __init__(
        self,
        line: RealTimeLine,
        loop: asyncio.AbstractEventLoop,
        call: CallInLoop,
    ) -> None:
        super().__init__(line, loop, call)
        self._wake_ms = math.inf
        """The point in time at which the loop will be woken."""
        self._waking: asyncio.TimerHandle | None = None

    def now_ms(self) -> int:
        return time_ns() // 1_000_000 + self.line.ahead_ms

    def call_later(self, delay_ms: float, callback: Callback) -> Timer:
        when_ms = self.line.point_ms() + delay_ms
        timer = self._add(when_ms, callback)
        if when_ms < self._wake_ms:
            self._wake_at(when_ms)
        return timer

    def moved(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._wake_for_next)
        except RuntimeError:  # the loop is closed
            self.has_ended = True

    def _wake_at(self, when_ms: float) -> None:
        if self._waking is not None:
            self._waking.cancel()
        self._wake_ms = when_ms
        # A weak reference, because the loop may run much longer than the cluster.
        delay_ms = max(when_ms - self.line.point_ms(), 0)
        self._waking = self._loop.call_later(delay_ms / 1000, _wake, weakref.ref(self))

    def _wake_for_next(self) -> None:
        """Wake the loop for the next timer, which may have changed or may now be due at another real time."""
        first = self.first()
        if first is not None:
            self._wake_at(first[0])
        elif self._waking is not None:
            self._waking.cancel()
            self._wake_ms, self._waking = math.inf, None  # with an earlier point, new timers would not wake the loop

    def wake(self) -> None:
        """Run the timers that are due."""
        self._wake_ms, self._waking = math.inf, None
        if self.line.advances:
            return  # `moved` will be called
        until_ms = self.line.point_ms()
        try:
            while (timer := self.take(until_ms)) is not None:
                callback, timer.callback = timer.callback, None
                if callback is not None and not self._in_loop(callback):
                    return
        finally:
            self._wake_for_next()


def _wake(timers: "weakref.ref[RealTimeTimers]") -> None:
    if (alive := timers()) is not None:
        alive.wake()


class _Advance:
    """A call of `advance`, which moves all `lines` by `step_ms`. `run` runs the callback of a timer."""

    def __init__(self, lines: Iterable[TimeLine], step_ms: int, run: Callable[[Callback], None]) -> None:
        self._lines = [(line, line.point_ms(), line.ahead_ms + step_ms) for line in lines]
        """Each line with the point at which it starts, and with the value of `ahead_ms` at which it stops."""
        self._step_ms = step_ms
        self._run = run

    def run(self) -> None:
        outer = [line.target_ms for line, _, _ in self._lines]  # of the call that runs the timer that called `advance`
        for line, _, ahead_ms in self._lines:
            line.advances += 1
            line.target_ms = max(line.target_ms, ahead_ms)
        try:
            while (due := self._next()) is not None:
                due.queue.run_due(self._run_one)
            for line, _, ahead_ms in self._lines:
                line.ahead_ms = max(line.ahead_ms, ahead_ms)  # a timer may have advanced the clock further
        finally:
            for (line, _, _), target_ms in zip(self._lines, outer, strict=True):
                line.advances -= 1
                line.target_ms = target_ms
                if not line.advances:
                    for queue in line.queues():
                        queue.moved()

    def _next(self) -> "_Due | None":
        """Return the next timer that is due, without removing it, or None if there is none."""
        found: _Due | None = None
        for line, start_ms, _ in self._lines:
            for queue in line.queues():
                first = queue.first()
                if first is not None and first[0] - start_ms <= self._step_ms:
                    due = _Due(first[0] - start_ms, first[1], first[0], queue)
                    if found is None or due[:2] < found[:2]:
                        found = due
        return found

    def _run_one(self, queue: TimerQueue) -> bool:
        """Run the next due timer if it belongs to `queue`. Return True if a timer was run."""
        due = self._next()
        if due is None or due.queue is not queue or (timer := queue.take(due.when_ms)) is None:
            return False
        for line, start_ms, _ in self._lines:
            line.move_to(start_ms + due.after_ms)
        callback, timer.callback = timer.callback, None
        if callback is not None:  # None if the timer was cancelled in the meantime
            self._run(callback)
        return True


class _Due(NamedTuple):
    """The next timer, which is due `after_ms` after the start of an advance."""

    after_ms: float
    number: int
    when_ms: float
    queue: TimerQueue


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


def _milliseconds(by: object) -> float:
    """Return the argument of `advance` that has no name, a timedelta, as a number."""
    if by is None:
        return 0
    from datetime import timedelta

    if not isinstance(by, timedelta):
        raise TypeError(f"advance() takes a timedelta, or numbers with a unit, as in advance(seconds=5), not {by!r}")
    return by / timedelta(milliseconds=1)


def _check_numbers(**arguments: float) -> None:
    """Raise TypeError or ValueError if an argument is not a finite number."""
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name} must be a number, not {value!r}")
        if not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, not {value!r}")
