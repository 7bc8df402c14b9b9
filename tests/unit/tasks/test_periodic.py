"""Tests of periodic tasks: when they run, errors, and stopping."""

import asyncio
from collections.abc import Iterator

import pytest

from kafkalet.clock import Clock, ManualClock
from kafkalet.tasks.periodic import PeriodicRunner


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


def test_task_runs_after_each_period(clock: ManualClock) -> None:
    runs: list[int] = []
    PeriodicRunner(clock).every(100, lambda: runs.append(clock.now_ms()))
    clock.advance(milliseconds=350)
    assert runs == [100, 200, 300]


def test_first_run_may_come_at_another_time(clock: ManualClock) -> None:
    runs: list[int] = []
    PeriodicRunner(clock).every(100, lambda: runs.append(clock.now_ms()), first_ms=30)
    clock.advance(milliseconds=250)
    assert runs == [30, 130, 230]


def test_error_in_task_is_logged_and_task_runs_again(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    runs: list[int] = []

    def fails() -> None:
        runs.append(clock.now_ms())
        raise ValueError("no")

    PeriodicRunner(clock).every(100, fails)
    clock.advance(milliseconds=200)
    assert runs == [100, 200]
    assert [record.message.endswith(" failed") for record in caplog.records] == [True, True]


def test_stopped_runner_runs_nothing(clock: ManualClock) -> None:
    runs: list[int] = []
    runner = PeriodicRunner(clock)
    runner.every(100, lambda: runs.append(1))
    runner.every(70, lambda: runs.append(2))
    assert runner.is_running
    runner.stop()
    assert not runner.is_running
    clock.advance(milliseconds=1000)
    assert runs == []


def test_task_may_stop_its_runner(clock: ManualClock) -> None:
    runs: list[int] = []
    runner = PeriodicRunner(clock)

    def last() -> None:
        runs.append(clock.now_ms())
        runner.stop()

    runner.every(100, last)
    clock.advance(milliseconds=1000)
    assert runs == [100]


@pytest.fixture
def bound(clock: ManualClock) -> Iterator[Clock]:
    """The clock as the brokers use it, but with timers that run in this thread."""
    loop = asyncio.new_event_loop()
    yield clock.bound_to(loop, lambda function: function())
    loop.close()


def test_runs_in_a_quiet_time_are_skipped_until_the_last_one(clock: ManualClock, bound: Clock) -> None:
    runs: list[int] = []
    PeriodicRunner(bound).every(100, lambda: runs.append(bound.now_ms()), quiet_ms=lambda: float("inf"))
    clock.advance(milliseconds=100_050)
    assert runs == [100, 100_000]
    clock.advance(milliseconds=50)
    assert runs == [100, 100_000, 100_100]


def test_run_that_has_something_to_do_comes_at_its_time(clock: ManualClock, bound: Clock) -> None:
    done: list[int] = []
    runs: list[int] = []
    due = [1234, 1250, 70_001]

    def task() -> None:
        runs.append(bound.now_ms())
        while due and due[0] <= bound.now_ms():
            due.pop(0)
            done.append(bound.now_ms())

    PeriodicRunner(bound).every(100, task, quiet_ms=lambda: due[0] - bound.now_ms() if due else float("inf"))
    clock.advance(milliseconds=1_000_000)
    assert done == [1300, 1300, 70_100]
    assert len(runs) < 10


def test_task_with_a_quiet_time_may_stop_its_runner(clock: ManualClock, bound: Clock) -> None:
    runs: list[int] = []
    runner = PeriodicRunner(bound)

    def last() -> None:
        runs.append(bound.now_ms())
        runner.stop()

    runner.every(100, last, quiet_ms=lambda: float("inf"))
    clock.advance(milliseconds=100_000)
    assert runs == [100]


def test_period_may_change(clock: ManualClock) -> None:
    runs: list[int] = []
    periods = iter([100, 50, 70, 1000])
    PeriodicRunner(clock).every(lambda: next(periods), lambda: runs.append(clock.now_ms()))
    clock.advance(milliseconds=400)
    assert runs == [100, 150, 220]
