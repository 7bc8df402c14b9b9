"""Tests of periodic tasks: when they run, errors, and stopping."""

import pytest

from kafkalet.broker.scheduling.periodic import PeriodicRunner
from kafkalet.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


def test_task_runs_after_each_period(clock: ManualClock) -> None:
    runs: list[int] = []
    PeriodicRunner(clock).every(100, lambda: runs.append(clock.now_ms()))
    clock.advance(350)
    assert runs == [100, 200, 300]


def test_first_run_may_come_at_another_time(clock: ManualClock) -> None:
    runs: list[int] = []
    PeriodicRunner(clock).every(100, lambda: runs.append(clock.now_ms()), first_ms=30)
    clock.advance(250)
    assert runs == [30, 130, 230]


def test_error_in_task_is_logged_and_task_runs_again(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    runs: list[int] = []

    def fails() -> None:
        runs.append(clock.now_ms())
        raise ValueError("no")

    PeriodicRunner(clock).every(100, fails)
    clock.advance(200)
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
    clock.advance(1000)
    assert runs == []


def test_task_may_stop_its_runner(clock: ManualClock) -> None:
    runs: list[int] = []
    runner = PeriodicRunner(clock)

    def last() -> None:
        runs.append(clock.now_ms())
        runner.stop()

    runner.every(100, last)
    clock.advance(1000)
    assert runs == [100]
