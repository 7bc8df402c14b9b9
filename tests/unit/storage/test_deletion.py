"""Tests of delayed deletion."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from kafkalet.clock import ManualClock, SystemClock
from kafkalet.storage.deletion import Deletions


def test_deletion_runs_after_its_delay() -> None:
    clock, done = ManualClock(), []
    Deletions(clock).later("a", 100, lambda: done.append(1))
    clock.advance(milliseconds=99)
    assert not done
    clock.advance(milliseconds=1)
    assert done == [1]


def test_hurried_deletions_of_a_directory_run_once() -> None:
    clock, done = ManualClock(), []
    deletions = Deletions(clock)
    deletions.later("a", 100, lambda: done.append("a1"))
    deletions.later("a", 200, lambda: done.append("a2"))
    deletions.later("b", 100, lambda: done.append("b"))
    deletions.hurry("a")
    assert done == ["a1", "a2"]
    deletions.hurry("a")
    clock.advance(milliseconds=1000)
    assert done == ["a1", "a2", "b"]


def test_hurry_all_runs_all_deletions() -> None:
    clock, done = ManualClock(), []
    deletions = Deletions(clock)
    deletions.later("a", 100, lambda: done.append("a"))
    deletions.later("b", 100, lambda: done.append("b"))
    deletions.hurry_all()
    clock.advance(milliseconds=1000)
    assert done == ["a", "b"]


def test_cancel_all_runs_no_deletion() -> None:
    clock, done = ManualClock(), []
    deletions = Deletions(clock)
    deletions.later("a", 100, lambda: done.append("a"))
    deletions.cancel_all()
    clock.advance(milliseconds=1000)
    assert not done


def test_deletion_runs_immediately_if_the_clock_has_no_timers() -> None:
    done: list[int] = []
    Deletions(SystemClock()).later("a", 100, lambda: done.append(1))
    assert done == [1]


def test_error_of_the_clock_is_raised() -> None:
    class Broken(ManualClock):
        def call_later(self, delay_ms: float, callback: Callable[[], None]) -> NoReturn:
            raise RuntimeError("broken")

    done: list[int] = []
    with pytest.raises(RuntimeError, match="broken"):
        Deletions(Broken()).later("a", 100, lambda: done.append(1))
    assert not done


def test_deletions_of_a_directory_have_separate_delays() -> None:
    clock, done = ManualClock(), []
    deletions = Deletions(clock)
    deletions.later("a", 100, lambda: done.append("first"))
    deletions.later("a", 200, lambda: done.append("second"))
    clock.advance(milliseconds=100)
    assert done == ["first"]
    clock.advance(milliseconds=100)
    assert done == ["first", "second"]


def test_failed_deletion_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> NoReturn:
        raise PermissionError(13, "Permission denied", "t-0")

    clock = ManualClock()
    Deletions(clock).later("a", 100, fail)
    clock.advance(milliseconds=100)
    assert "t-0: Permission denied; it will be deleted at the next start" in caplog.text
