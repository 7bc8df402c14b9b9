"""Time that a test moves, and time that moves by itself."""

import asyncio
import time

from hypothesis import given
from hypothesis import strategies as st

from kafkalet.clock import ManualClock, SystemClock


def test_manual_time_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(1000)
    assert clock.now_ms() == 1000
    clock.advance(250)
    assert clock.now_ms() == 1250


def test_what_falls_due_runs_in_order_at_its_own_time() -> None:
    clock = ManualClock(0)
    seen: list[tuple[str, int]] = []
    for name, delay in (("b", 20), ("a", 10), ("c", 30), ("a2", 10)):
        clock.call_later(delay, lambda name=name: seen.append((name, clock.now_ms())))  # type: ignore[misc]
    clock.advance(20)
    assert seen == [("a", 10), ("a2", 10), ("b", 20)]


def test_a_call_may_promise_another_that_falls_due_on_the_same_way() -> None:
    clock = ManualClock(0)
    seen: list[int] = []

    def again() -> None:
        seen.append(clock.now_ms())
        clock.call_later(10, again)

    clock.call_later(10, again)
    clock.advance(35)
    assert seen == [10, 20, 30]


def test_a_cancelled_timer_does_not_run() -> None:
    clock = ManualClock(0)
    seen: list[int] = []
    timer = clock.call_later(10, lambda: seen.append(1))
    timer.cancel()
    timer.cancel()
    clock.advance(100)
    assert not seen


@given(st.lists(st.integers(0, 1000)), st.lists(st.integers(0, 300)))
def test_everything_due_has_run_and_nothing_else(delays: list[int], steps: list[int]) -> None:
    clock = ManualClock(0)
    ran: list[int] = []
    for delay in delays:
        clock.call_later(delay, lambda delay=delay: ran.append(delay))  # type: ignore[misc]
    for step in steps:
        clock.advance(step)
    assert ran == sorted(delay for delay in delays if delay <= sum(steps) and (steps or delay < 0))


def test_the_system_clock_is_the_wall_clock_in_milliseconds() -> None:
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 1000


async def _timers() -> list[str]:
    clock, seen, done = SystemClock(), [], asyncio.Event()
    clock.call_later(5, lambda: seen.append("never")).cancel()
    clock.call_later(1, lambda: seen.append("first"))
    clock.call_later(10, done.set)
    await done.wait()
    return seen


def test_timers_of_the_system_clock_run_on_the_loop() -> None:
    assert asyncio.run(_timers()) == ["first"]
