"""Tests of ManualClock and SystemClock."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkalet
from kafkalet.clock import Clock, LoopClock, ManualClock, SystemClock
from tests.wire.brokers import batch


def test_manual_clock_starts_at_the_current_time() -> None:
    before = time.time_ns() // 1_000_000
    now_ms = ManualClock().now_ms()
    assert before <= now_ms <= time.time_ns() // 1_000_000


def test_manual_clock_moves_only_when_advanced() -> None:
    clock = ManualClock(1000)
    assert clock.now_ms() == 1000
    clock.advance(milliseconds=250)
    assert clock.now_ms() == 1250


def test_timers_run_in_order_at_their_due_times() -> None:
    clock = ManualClock(0)
    seen: list[tuple[str, int]] = []
    for name, delay in (("b", 20), ("a", 10), ("c", 30), ("a2", 10)):
        clock.call_later(delay, lambda name=name: seen.append((name, clock.now_ms())))  # type: ignore[misc]
    clock.advance(milliseconds=20)
    assert seen == [("a", 10), ("a2", 10), ("b", 20)]


def test_timer_set_by_a_timer_runs_in_the_same_advance() -> None:
    clock = ManualClock(0)
    seen: list[int] = []

    def again() -> None:
        seen.append(clock.now_ms())
        clock.call_later(10, again)

    clock.call_later(10, again)
    clock.advance(milliseconds=35)
    assert seen == [10, 20, 30]


def test_cancelled_timer_does_not_run() -> None:
    clock = ManualClock(0)
    seen: list[int] = []
    timer = clock.call_later(10, lambda: seen.append(1))
    timer.cancel()
    timer.cancel()
    clock.advance(milliseconds=100)
    assert not seen


@given(st.lists(st.integers(0, 1000)), st.lists(st.integers(0, 300)))
def test_exactly_the_due_timers_run(delays: list[int], steps: list[int]) -> None:
    clock = ManualClock(0)
    ran: list[int] = []
    for delay in delays:
        clock.call_later(delay, lambda delay=delay: ran.append(delay))  # type: ignore[misc]
    for step in steps:
        clock.advance(milliseconds=step)
    assert ran == sorted(delay for delay in delays if delay <= sum(steps) and (steps or delay < 0))


@pytest.mark.parametrize(
    ("step", "ms"),
    [
        ({"seconds": 2}, 2000),
        ({"minutes": 1.5}, 90_000),
        ({"hours": 1}, 3_600_000),
        ({"days": 8, "milliseconds": 1}, 691_200_001),
    ],
)
def test_advance_accepts_several_units(step: dict[str, float], ms: int) -> None:
    clock = ManualClock(0)
    clock.advance(**step)
    assert clock.now_ms() == ms


def test_advance_accepts_a_timedelta_and_adds_it_to_the_units() -> None:
    clock = ManualClock(0)
    clock.advance(timedelta(hours=1, microseconds=1500), seconds=2)
    assert clock.now_ms() == 3_602_001


def test_advance_by_a_number_without_unit_is_refused() -> None:
    with pytest.raises(TypeError, match=r"advance\(\) takes a timedelta, or numbers with a unit, .* not 60"):
        ManualClock(0).advance(60)  # type: ignore[arg-type]


def test_advance_by_negative_time_is_refused() -> None:
    clock = ManualClock(1000)
    with pytest.raises(ValueError, match="cannot be advanced by -1 ms"):
        clock.advance(milliseconds=-1)
    assert clock.now_ms() == 1000


def test_timer_may_advance_the_clock_further() -> None:
    clock = ManualClock(0)
    seen: list[tuple[str, int]] = []
    clock.call_later(10, lambda: clock.advance(milliseconds=100))
    clock.call_later(50, lambda: seen.append(("nested advance", clock.now_ms())))
    clock.advance(milliseconds=20)
    assert seen == [("nested advance", 50)]
    assert clock.now_ms() == 110


def test_exception_of_a_timer_is_raised_by_advance() -> None:
    clock = ManualClock(0)
    seen: list[int] = []
    clock.call_later(10, lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    clock.call_later(20, lambda: seen.append(clock.now_ms()))
    with pytest.raises(ZeroDivisionError):
        clock.advance(milliseconds=30)
    assert clock.now_ms() == 10
    clock.advance(milliseconds=10)
    assert seen == [20]


# ManualClock with running brokers


def set_timer(cluster: kafkalet.Cluster, delay_ms: float, callback: Callable[[], None]) -> None:
    """Set a timer on the clock of a cluster, in its event loop."""
    cluster._server.call(lambda: cluster._server.loop_clock.call_later(delay_ms, callback))


def threads_of(*clusters: kafkalet.Cluster) -> list[int]:
    return [cluster._server.call(threading.get_ident) for cluster in clusters]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def broker(clock: ManualClock) -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(clock=clock, topics=["t"]) as running:
        yield running


def test_timer_of_a_broker_runs_in_its_loop_before_advance_returns(clock: ManualClock, broker: kafkalet.Broker) -> None:
    seen: list[int] = []
    set_timer(broker, 10, lambda: seen.append(threading.get_ident()))
    clock.advance(milliseconds=10)
    assert seen == threads_of(broker)


def test_timers_of_several_brokers_run_in_order_in_their_loops(clock: ManualClock) -> None:
    start_ms = clock.now_ms()
    with kafkalet.Broker(clock=clock) as one, kafkalet.Broker(clock=clock) as two:
        thread = dict(zip(threads_of(one, two), ("one", "two"), strict=True))
        seen: list[tuple[str, int]] = []

        def note() -> None:
            seen.append((thread[threading.get_ident()], clock.now_ms() - start_ms))

        for broker, delay_ms in ((two, 40), (one, 10), (two, 20), (one, 20), (one, 50)):
            set_timer(broker, delay_ms, note)
        clock.advance(milliseconds=40)
    assert seen == [("one", 10), ("two", 20), ("one", 20), ("two", 40)]


def test_clock_may_be_advanced_in_the_loop_of_the_broker(clock: ManualClock, broker: kafkalet.Broker) -> None:
    seen: list[int] = []
    set_timer(broker, 10, lambda: seen.append(threading.get_ident()))
    assert broker._server.call(lambda: (clock.advance(milliseconds=10), list(seen))[1]) == threads_of(broker)


def test_clock_may_be_advanced_while_the_loop_is_blocked(clock: ManualClock) -> None:
    loop, seen = asyncio.new_event_loop(), []
    broker = kafkalet.Broker(clock=clock)
    loop.run_until_complete(broker.start())
    set_timer(broker, 10, lambda: seen.append(threading.get_ident()))
    clock.advance(milliseconds=10)
    assert seen == [threading.get_ident()]
    loop.run_until_complete(broker.stop())
    loop.close()


def test_clock_may_be_advanced_in_a_thread_of_an_executor(clock: ManualClock) -> None:
    async def run() -> tuple[int, list[int]]:
        seen: list[int] = []
        async with kafkalet.Broker(clock=clock) as broker:
            set_timer(broker, 10, lambda: seen.append(threading.get_ident()))
            await asyncio.to_thread(lambda: clock.advance(milliseconds=10))
            return threading.get_ident(), seen

    thread, seen = asyncio.run(run())
    assert seen == [thread]


def test_callbacks_scheduled_by_a_timer_run_before_the_next_timer(clock: ManualClock, broker: kafkalet.Broker) -> None:
    seen: list[str] = []
    loop = broker._server.call(asyncio.get_running_loop)

    async def task() -> None:
        await asyncio.sleep(0)
        seen.append("task of the first")

    tasks = []
    set_timer(broker, 10, lambda: tasks.append(loop.create_task(task())))
    set_timer(broker, 11, lambda: seen.append("second"))
    clock.advance(milliseconds=20)
    assert seen == ["task of the first", "second"]


def test_timer_set_by_a_timer_of_a_broker_runs_in_the_same_advance(clock: ManualClock, broker: kafkalet.Broker) -> None:
    start_ms, seen = clock.now_ms(), []

    def again() -> None:
        seen.append(clock.now_ms() - start_ms)
        broker._server.loop_clock.call_later(10, again)

    set_timer(broker, 10, again)
    clock.advance(milliseconds=35)
    assert seen == [10, 20, 30]


def test_timer_of_a_broker_may_advance_the_clock(clock: ManualClock, broker: kafkalet.Broker) -> None:
    start_ms, seen = clock.now_ms(), []
    set_timer(broker, 10, lambda: clock.advance(milliseconds=100))
    set_timer(broker, 50, lambda: seen.append(clock.now_ms() - start_ms))
    clock.advance(milliseconds=20)
    assert seen == [50]
    assert clock.now_ms() == start_ms + 110


def test_exception_of_a_broker_timer_is_raised_by_advance(clock: ManualClock, broker: kafkalet.Broker) -> None:
    set_timer(broker, 10, lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        clock.advance(milliseconds=20)
    assert broker._server.call(lambda: 42) == 42


def test_cancelled_timer_of_a_broker_does_not_run(clock: ManualClock, broker: kafkalet.Broker) -> None:
    seen: list[int] = []
    broker._server.call(lambda: broker._server.loop_clock.call_later(10, lambda: seen.append(1)).cancel())
    clock.advance(milliseconds=20)
    assert not seen


def test_timers_of_a_stopped_broker_do_not_run(clock: ManualClock) -> None:
    seen: list[str] = []
    broker = kafkalet.Broker(clock=clock)
    with broker:
        set_timer(broker, 10, lambda: seen.append("first life"))
    with broker:
        set_timer(broker, 20, lambda: seen.append("second life"))
        clock.advance(milliseconds=30)
    clock.advance(milliseconds=30)
    assert seen == ["second life"]


def test_threads_that_advance_concurrently_take_turns(clock: ManualClock, broker: kafkalet.Broker) -> None:
    start_ms, seen = clock.now_ms(), []

    def again() -> None:
        seen.append(clock.now_ms() - start_ms)
        broker._server.loop_clock.call_later(1, again)

    set_timer(broker, 1, again)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: clock.advance(milliseconds=25), range(8)))
    assert seen == list(range(1, 201))


def test_advance_in_a_loop_does_not_wait_for_another_thread(clock: ManualClock) -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def run() -> str:
        clock.call_later(10, lambda: (begun.set(), go_on.wait(10))[0])
        other = asyncio.create_task(asyncio.to_thread(lambda: clock.advance(milliseconds=10)))
        await asyncio.to_thread(begun.wait, 10)
        try:
            with pytest.raises(RuntimeError, match="another thread is advancing this clock"):
                clock.advance(milliseconds=10)
        finally:
            go_on.set()
            await other
        return "no deadlock"

    assert asyncio.run(run()) == "no deadlock"


def test_advance_returns_if_the_broker_stops_in_the_meantime(clock: ManualClock) -> None:
    broker = kafkalet.Broker(clock=clock)
    begun = threading.Event()

    def again() -> None:
        begun.set()
        broker._server.loop_clock.call_later(1, again)

    with ThreadPoolExecutor(1) as pool:
        with broker:
            set_timer(broker, 1, again)
            advanced = pool.submit(clock.advance, days=1)
            assert begun.wait(10)
        advanced.result(timeout=60)


def test_records_expire_after_the_clock_is_advanced(clock: ManualClock, broker: kafkalet.Broker) -> None:
    broker.topic("short").create(config={"retention.ms": 60_000})
    broker.topic("short").append(batch(b"a"))
    clock.advance(hours=1)
    assert broker.topic("short").log().offsets == (1, 1, 1, 1)


def test_custom_clock_needs_only_the_clock_protocol() -> None:
    class Late:
        """A clock that is one hour late, with the timers of the running loop."""

        has_timers = True

        def now_ms(self) -> int:
            return SystemClock().now_ms() - 3_600_000

        def call_later(self, delay_ms: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
            return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)

    late = Late()
    assert isinstance(late, Clock)
    assert not isinstance(late, LoopClock)
    with kafkalet.Broker(clock=late, topics=["t"]) as broker:
        assert broker.topic("t").append(batch(b"a")) == 0


# SystemClock


def test_system_clock_is_the_wall_clock_in_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    now_ms = SystemClock().now_ms()
    assert before <= now_ms <= time.time_ns() // 1_000_000


async def _timers() -> list[str]:
    clock, seen, done = SystemClock(asyncio.get_running_loop()), [], asyncio.Event()
    clock.call_later(5, lambda: seen.append("never")).cancel()
    clock.call_later(1, lambda: seen.append("first"))
    clock.call_later(10, done.set)
    await done.wait()
    return seen


def test_timers_of_the_system_clock_run_on_the_loop() -> None:
    assert asyncio.run(_timers()) == ["first"]


def test_system_clock_without_loop_has_no_timers() -> None:
    assert not SystemClock().has_timers
    with pytest.raises(RuntimeError, match=r"no event loop for timers; create it with SystemClock\(loop\)"):
        SystemClock().call_later(1, lambda: None)


def test_system_clock_of_a_cluster_is_bound_to_its_loop() -> None:
    with kafkalet.Broker(clock=SystemClock()) as broker:
        assert not broker._server.clock.has_timers
        assert broker._server.loop_clock.has_timers
        done = threading.Event()
        set_timer(broker, 1, done.set)
        assert done.wait(10)
