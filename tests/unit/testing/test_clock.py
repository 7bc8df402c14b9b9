"""Tests of the clock that is real time plus an offset."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kafkalet
from kafkalet.broker.loop_host import LoopHost
from kafkalet.clock import Clock as AnyClock
from kafkalet.clock import LoopClock, ManualClock, MovableClock, RealTimeTimers, SystemClock, client_time
from kafkalet.testing.clock import movable
from tests.profile import examples
from tests.wire.brokers import batch

HOUR_MS = 3_600_000


class Loop:
    """An event loop in a thread, with a clock that is bound to it."""

    def __init__(self, clock: LoopClock) -> None:
        self.bound: Any = None

        def opened(loop: asyncio.AbstractEventLoop) -> None:
            self.bound = clock.bound_to(loop, self.host.call_in(loop))

        self.host = LoopHost("Loop", opened, lambda: None)
        self.host.start_thread()

    def later(self, delay_ms: float, callback: Callable[[], None], *, client: bool = False) -> Any:
        chosen = client_time(self.bound) if client else self.bound
        return self.host.call(lambda: chosen.call_later(delay_ms, callback))


@pytest.fixture
def clock() -> kafkalet.Clock:
    return kafkalet.Clock()


@pytest.fixture
def loop(clock: kafkalet.Clock) -> Iterator[Loop]:
    running = Loop(clock)
    yield running
    running.host.stop_thread()


def ahead_ms(clock: AnyClock | MovableClock) -> int:
    """How far a clock is ahead of real time."""
    while True:
        before, now_ms = time.time_ns() // 1_000_000, clock.now_ms()
        if time.time_ns() // 1_000_000 == before:
            return now_ms - before


class Hours:
    """The whole hours that have passed on a clock. Real time is included, but no test takes an hour."""

    def __init__(self, clock: MovableClock) -> None:
        self._clock = clock
        self._start_ms = clock.now_ms()

    def passed(self) -> int:
        return (self._clock.now_ms() - self._start_ms) // HOUR_MS


# The time


def test_clock_is_real_time_at_first(clock: kafkalet.Clock) -> None:
    before = time.time_ns() // 1_000_000
    assert before <= clock.now_ms() <= time.time_ns() // 1_000_000


def test_clock_is_ahead_of_real_time_by_the_sum_of_the_advances(clock: kafkalet.Clock) -> None:
    clock.advance(hours=2)
    clock.advance(days=1, minutes=1)
    assert ahead_ms(clock) == 26 * HOUR_MS + 60_000


def test_clock_continues_in_real_time_after_an_advance(clock: kafkalet.Clock) -> None:
    clock.advance(hours=2)
    advanced_ms = clock.now_ms()
    while clock.now_ms() == advanced_ms:
        pass
    assert clock.now_ms() > advanced_ms


def test_now_is_a_datetime_in_utc(clock: kafkalet.Clock) -> None:
    clock.advance(days=1)
    before = datetime.now(UTC) + timedelta(days=1, milliseconds=-1)
    assert before <= clock.now() <= datetime.now(UTC) + timedelta(days=1)


def test_repr_shows_how_far_the_clock_is_ahead(clock: kafkalet.Clock) -> None:
    assert repr(clock) == "<Clock at real time>"
    clock.advance(hours=2)
    clock.advance(minutes=30, sessions=True)
    assert repr(clock) == "<Clock ahead of real time by 2:30:00, for clients by 0:30:00>"


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        ({"hours": -1}, ValueError, "cannot be advanced by -3600000 ms; time does not go back"),
        ({"days": 3_000_000}, ValueError, "cannot be advanced by 259200000000000 ms; it ends with the year 9999"),
        ({"days": 1e308, "hours": 1e308}, ValueError, "it ends with the year 9999"),
        ({"hours": "2"}, TypeError, "hours must be a number, not '2'"),
        ({"days": True}, TypeError, "days must be a number, not True"),
        ({"seconds": float("nan")}, ValueError, "seconds must be a finite number, not nan"),
        ({"milliseconds": float("inf")}, ValueError, "milliseconds must be a finite number, not inf"),
    ],
)
def test_invalid_step_is_refused(
    clock: kafkalet.Clock, step: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        clock.advance(**step)
    assert ahead_ms(clock) == 0


def test_client_time_stays_unless_sessions_advance(clock: kafkalet.Clock, loop: Loop) -> None:
    clock.advance(hours=2)
    clock.advance(hours=3, sessions=True)
    assert (ahead_ms(loop.bound), ahead_ms(client_time(loop.bound))) == (5 * HOUR_MS, 3 * HOUR_MS)


@pytest.mark.parametrize("clock", [SystemClock(), ManualClock()])
def test_other_clocks_have_one_time(clock: AnyClock) -> None:
    assert client_time(clock) is clock


# Timers


def test_due_timer_runs_in_its_loop_before_advance_returns(clock: kafkalet.Clock, loop: Loop) -> None:
    due_ms, seen = clock.now_ms() + HOUR_MS, []
    loop.later(HOUR_MS, lambda: seen.append((threading.get_ident(), clock.now_ms() >= due_ms)))
    loop.later(2 * HOUR_MS, lambda: seen.append((0, False)))
    clock.advance(hours=1, minutes=30)
    assert seen == [(loop.host.call(threading.get_ident), True)]


def test_each_timer_runs_at_its_due_time(clock: kafkalet.Clock, loop: Loop) -> None:
    seen: list[int] = []
    since_start = Hours(clock)
    for hours in (2, 1, 3):
        loop.later(hours * HOUR_MS, lambda: seen.append(since_start.passed()))
    clock.advance(hours=4)
    assert seen == [1, 2, 3]


def test_client_timer_runs_only_if_sessions_advance(clock: kafkalet.Clock, loop: Loop) -> None:
    seen: list[str] = []
    loop.later(HOUR_MS, lambda: seen.append("client"), client=True)
    clock.advance(hours=2)
    assert not seen
    clock.advance(hours=1, sessions=True)
    assert seen == ["client"]


def test_timer_that_is_not_due_after_an_advance_runs_later_in_real_time(clock: kafkalet.Clock, loop: Loop) -> None:
    done = threading.Event()
    loop.later(HOUR_MS + 20, done.set)
    clock.advance(hours=1)
    assert done.wait(10)


@pytest.mark.parametrize("client", [False, True])
def test_timer_runs_in_real_time_without_an_advance(loop: Loop, client: bool) -> None:
    seen, done = [], threading.Event()
    loop.later(HOUR_MS, lambda: seen.append("much later"), client=client)
    loop.later(10, lambda: (seen.append("second"), done.set())[1], client=client)
    loop.later(1, lambda: seen.append("first"), client=client)
    assert done.wait(10)
    assert seen == ["first", "second"]


@pytest.mark.parametrize("client", [False, True])
def test_new_timer_runs_in_real_time_after_an_advance_that_ran_all_others(
    clock: kafkalet.Clock, loop: Loop, client: bool
) -> None:
    loop.later(HOUR_MS, lambda: None, client=client)
    clock.advance(hours=2, sessions=True)
    loop.host.call(lambda: None)  # the loop knows of the advance
    ran = threading.Event()
    loop.later(1, ran.set, client=client)
    assert ran.wait(10)


def test_cancelled_timer_does_not_run(clock: kafkalet.Clock, loop: Loop) -> None:
    seen, done = [], threading.Event()
    loop.later(HOUR_MS / 2, lambda: seen.append(1)).cancel()
    loop.later(HOUR_MS, lambda: seen.append(1)).cancel()
    loop.later(5, done.set)
    clock.advance(hours=2)
    assert done.wait(10)
    assert not seen


def test_cancelled_timers_are_forgotten(loop: Loop) -> None:
    for _ in range(3000):
        loop.bound.call_later(HOUR_MS, lambda: None).cancel()
    assert len(loop.bound._due) < 1000


def test_exception_of_a_timer_in_real_time_does_not_stop_the_others(loop: Loop) -> None:
    reported, done = [], threading.Event()
    loop.host.loop.set_exception_handler(lambda _, context: reported.append(type(context["exception"])))
    loop.later(1, lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    loop.later(2, done.set)
    assert done.wait(10)
    assert reported == [ZeroDivisionError]


def test_exception_of_a_timer_is_raised_by_advance_and_stops_the_clock(clock: kafkalet.Clock, loop: Loop) -> None:
    seen: list[str] = []
    since_start = Hours(clock)
    loop.later(HOUR_MS, lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    loop.later(2 * HOUR_MS, lambda: seen.append("next"))
    with pytest.raises(ZeroDivisionError):
        clock.advance(hours=3)
    assert (since_start.passed(), seen) == (1, [])
    clock.advance(hours=1, minutes=1)
    assert seen == ["next"]


class TwoLoops:
    """Two loops with one clock. All delays are in hours, so real time has no influence."""

    def __init__(self) -> None:
        self.clock = kafkalet.Clock()
        self.loops = [Loop(self.clock), Loop(self.clock)]
        self.threads = [one.host.call(threading.get_ident) for one in self.loops]

    def stop(self) -> None:
        for one in self.loops:
            one.host.stop_thread()


@pytest.fixture(scope="module")
def two() -> Iterator[TwoLoops]:
    both = TwoLoops()
    yield both
    both.stop()


timers = st.tuples(st.integers(1, 50), st.integers(0, 1), st.booleans())  # delay, loop, whether it is a client's
steps = st.tuples(st.integers(0, 20), st.booleans())  # hours, sessions


@given(st.lists(timers, max_size=12), st.lists(steps, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(0.6))
def test_exactly_the_due_timers_of_all_loops_run_in_order(
    two: TwoLoops, timers: list[tuple[int, int, bool]], steps: list[tuple[int, bool]]
) -> None:
    ran: list[int] = []
    pending = {}
    made = []
    for number, (hours, which, client) in enumerate(timers):

        def run(number: int = number, which: int = which) -> None:
            assert threading.get_ident() == two.threads[which]
            ran.append(number)

        made.append(two.loops[which].later(hours * HOUR_MS, run, client=client))
        pending[number] = [float(hours), client]
    expected: list[int] = []
    for hours, sessions in steps:
        two.clock.advance(hours=hours, sessions=sessions)
        moved = [number for number, (_, client) in pending.items() if sessions or not client]
        due = sorted((number for number in moved if pending[number][0] <= hours), key=lambda n: (pending[n][0], n))
        expected += due
        for number in moved:
            pending[number][0] -= hours
        for number in due:
            del pending[number]
    for timer in made:
        timer.cancel()
    assert ran == expected


def test_timer_of_another_loop_waits_while_the_clock_is_advanced(two: TwoLoops) -> None:
    one, other = two.loops
    seen: list[str] = []

    def first() -> None:
        other.host.call(other.bound.wake)  # as if the other loop had woken up because its timer is due
        seen.append("first")

    one.later(HOUR_MS, first)
    other.later(HOUR_MS, lambda: seen.append("second"))
    two.clock.advance(hours=1)
    assert seen == ["first", "second"]


# Threads and nested calls


def test_timer_may_advance_the_clock(clock: kafkalet.Clock, loop: Loop) -> None:
    seen: list[int] = []
    since_start = Hours(clock)
    loop.later(HOUR_MS, lambda: clock.advance(hours=10))
    loop.later(5 * HOUR_MS, lambda: seen.append(since_start.passed()))
    clock.advance(hours=2)
    assert (seen, since_start.passed()) == ([5], 11)


def test_timer_in_real_time_may_advance_the_clock(clock: kafkalet.Clock, loop: Loop) -> None:
    done = threading.Event()
    loop.later(HOUR_MS, done.set)
    loop.later(1, lambda: clock.advance(hours=1))
    assert done.wait(10)


def test_clock_may_be_advanced_in_the_loop(clock: kafkalet.Clock, loop: Loop) -> None:
    seen: list[int] = []
    loop.later(HOUR_MS, lambda: seen.append(threading.get_ident()))
    thread = loop.host.call(lambda: (clock.advance(hours=1), threading.get_ident())[1])
    assert seen == [thread]


def test_threads_that_advance_concurrently_take_turns(clock: kafkalet.Clock, loop: Loop) -> None:
    seen: list[int] = []
    since_start = Hours(clock)

    def again() -> None:
        seen.append(since_start.passed())
        loop.bound.call_later(HOUR_MS, again)

    loop.later(HOUR_MS, again)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda hours: clock.advance(hours=hours, minutes=1), [25] * 8))
    assert seen == list(range(1, 201))


def test_advance_in_a_loop_does_not_wait_for_another_thread(clock: kafkalet.Clock, loop: Loop) -> None:
    begun, go_on = threading.Event(), threading.Event()
    loop.later(HOUR_MS, lambda: (begun.set(), go_on.wait(10))[0])

    async def run() -> None:
        other = asyncio.create_task(asyncio.to_thread(lambda: clock.advance(hours=1)))
        await asyncio.to_thread(begun.wait, 10)
        try:
            with pytest.raises(RuntimeError, match="another thread is advancing this clock"):
                clock.advance(milliseconds=10)
        finally:
            go_on.set()
            await other

    asyncio.run(run())


# Loops that end


def test_timers_of_an_ended_loop_do_not_run(clock: kafkalet.Clock) -> None:
    seen: list[int] = []
    ended = Loop(clock)
    ended.later(HOUR_MS, lambda: seen.append(1))
    ended.host.stop_thread()
    clock.advance(hours=2)
    assert not seen
    assert ahead_ms(clock) == 2 * HOUR_MS


def test_stopped_broker_is_freed_while_its_loop_continues(clock: kafkalet.Clock) -> None:
    async def run() -> "weakref.ref[Any]":
        broker = kafkalet.Broker(clock=clock)
        await broker.start()
        await broker.stop()
        reference = weakref.ref(broker._server)
        del broker
        gc.collect()
        await asyncio.sleep(0)
        return reference

    async def check() -> bool:
        reference = await run()
        gc.collect()
        return reference() is None

    assert asyncio.run(check())


def test_clock_without_a_loop_has_no_timers(clock: kafkalet.Clock) -> None:
    assert isinstance(clock, AnyClock)
    assert not clock.has_timers
    with pytest.raises(RuntimeError, match="no event loop for timers"):
        clock.call_later(1, lambda: None)


def test_broker_expires_records_after_an_advance(clock: kafkalet.Clock) -> None:
    with kafkalet.Broker(clock=clock, topics=["t"]) as broker:
        assert isinstance(broker._server.loop_clock, RealTimeTimers)
        broker.topic("t").append(batch(b"a", time=clock.now_ms()))
        clock.advance(days=8)
        assert broker.topic("t").log().offsets == (1, 1, 1, 1)


# Frozen clocks, and clocks that cannot be advanced


def test_frozen_clock_stands_still_at_the_given_time() -> None:
    assert kafkalet.Clock.frozen(1234).now_ms() == 1234
    at = datetime(2026, 3, 29, 12, 0, 0, 5000, tzinfo=timezone(timedelta(hours=2)))
    frozen = kafkalet.Clock.frozen(at)
    assert isinstance(frozen, ManualClock)
    assert frozen.now() == at


def test_frozen_clock_starts_at_the_current_time_by_default() -> None:
    before = time.time_ns() // 1_000_000
    assert before <= kafkalet.Clock.frozen().now_ms() <= time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("at", "error", "message"),
    [
        (datetime(2026, 1, 1), ValueError, "no time zone"),  # noqa: DTZ001
        ("2026-01-01", TypeError, "must be a datetime or an int"),
        (True, TypeError, "not True"),
    ],
)
def test_frozen_clock_refuses_an_unclear_time(at: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        kafkalet.Clock.frozen(at)


def test_frozen_clock_accepts_sessions() -> None:
    frozen = kafkalet.Clock.frozen(0)
    frozen.advance(hours=1, sessions=True)
    assert frozen.now_ms() == HOUR_MS


def test_system_clock_cannot_be_advanced() -> None:
    given = movable(SystemClock())
    before = time.time_ns() // 1_000_000
    assert before <= given.now_ms() <= time.time_ns() // 1_000_000
    with pytest.raises(RuntimeError, match=r"is a SystemClock, which cannot be advanced; start the broker without cl"):
        given.advance(hours=1)


def test_clock_that_can_be_advanced_is_the_public_clock(clock: kafkalet.Clock) -> None:
    assert movable(clock) is clock
