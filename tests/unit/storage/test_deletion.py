"""Tests of delayed deletion."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from kafkalet.clock import ManualClock, SystemClock
from kafkalet.storage.deletion import Deletions


def test_a_deletion_happens_when_its_time_has_come() -> None:
    clock, done = ManualClock(), []
    Deletions(clock).later("a", 100, lambda: done.append(1))
    clock.advance(99)
    assert not done
    clock.advance(1)
    assert done == [1]


def test_the_deletions_of_a_directory_can_be_hurried_and_happen_once() -> None:
    clock, done = ManualClock(), []
    deletions = Deletions(clock)
    deletions.later("a", 100, lambda: done.append("a1"))
    deletions.later("a", 200, lambda: done.append("a2"))
    deletions.later("b", 100, lambda: done.append("b"))
    deletions.hurry("a")
    assert done == ["a1", "a2"]
    deletions.hurry("a")
    clock.advance(1000)
    assert done == ["a1", "a2", "b"]


def test_all_can_be_hurried() -> None:
    clock, done = ManualClock(), []
    deletions = Deletions(clock)
    deletions.later("a", 100, lambda: done.append("a"))
    deletions.later("b", 100, lambda: done.append("b"))
    deletions.hurry_all()
    clock.advance(1000)
    assert done == ["a", "b"]


def test_all_can_be_forgotten() -> None:
    clock, done = ManualClock(), []
    deletions = Deletions(clock)
    deletions.later("a", 100, lambda: done.append("a"))
    deletions.cancel_all()
    clock.advance(1000)
    assert not done


def test_with_a_clock_without_timers_it_is_done_at_once() -> None:
    done: list[int] = []
    Deletions(SystemClock()).later("a", 100, lambda: done.append(1))
    assert done == [1]


def test_an_error_of_the_clock_is_not_taken_for_a_clock_without_timers() -> None:
    class Broken(ManualClock):
        def call_later(self, delay_ms: float, callback: Callable[[], None]) -> NoReturn:
            raise RuntimeError("broken")

    done: list[int] = []
    with pytest.raises(RuntimeError, match="broken"):
        Deletions(Broken()).later("a", 100, lambda: done.append(1))
    assert not done


def test_each_deletion_of_a_directory_has_its_own_time() -> None:
    clock, done = ManualClock(), []
    deletions = Deletions(clock)
    deletions.later("a", 100, lambda: done.append("first"))
    deletions.later("a", 200, lambda: done.append("second"))
    clock.advance(100)
    assert done == ["first"]
    clock.advance(100)
    assert done == ["first", "second"]


def test_deletion_that_fails_is_logged_and_left_to_the_next_start(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> NoReturn:
        raise PermissionError(13, "Permission denied", "t-0")

    clock = ManualClock()
    Deletions(clock).later("a", 100, fail)
    clock.advance(100)
    assert "t-0: Permission denied; it will be deleted at the next start" in caplog.text
