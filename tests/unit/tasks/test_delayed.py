"""Tests of values that are not available yet: one listener, completed once, cancelled by the client."""

import pytest

from kafkalet.tasks.delayed import Delayed


def test_then_after_completion_calls_back_immediately() -> None:
    delayed: Delayed[int] = Delayed()
    delayed.complete(1)
    answers: list[int] = []
    delayed.then(answers.append)
    assert answers == [1]


def test_second_result_raises_assertion_error() -> None:
    delayed: Delayed[int] = Delayed()
    delayed.complete(1)
    with pytest.raises(AssertionError):
        delayed.complete(2)


def test_completion_after_cancellation_has_no_effect() -> None:
    delayed: Delayed[int] = Delayed()
    answers: list[int] = []
    delayed.then(answers.append)
    delayed.cancel()
    delayed.complete(1)
    delayed.fail(ValueError())
    assert answers == []
    assert delayed.is_cancelled


def test_cancellation_after_completion_has_no_effect() -> None:
    delayed: Delayed[int] = Delayed()
    delayed.complete(1)
    delayed.cancel()
    assert not delayed.is_cancelled
    assert delayed.result() == 1


def test_a_failure_without_a_listener_for_it_is_raised() -> None:
    delayed: Delayed[int] = Delayed()
    delayed.then(lambda _: None)
    with pytest.raises(ValueError, match="broken"):
        delayed.fail(ValueError("broken"))


def test_failure_before_then_is_kept() -> None:
    delayed: Delayed[int] = Delayed()
    delayed.fail(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        delayed.result()
    with pytest.raises(ValueError, match="broken"):
        delayed.then(lambda _: None)
    errors: list[Exception] = []
    Delayed.then(delayed, lambda _: None, errors.append)
    assert len(errors) == 1


def test_map_transforms_the_result_and_passes_on_failures_and_cancellation() -> None:
    source: Delayed[int] = Delayed()
    mapped = source.map(str)
    source.complete(7)
    assert mapped.result() == "7"

    failing: Delayed[int] = Delayed()
    mapped = failing.map(str)
    failing.fail(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        mapped.result()

    left: Delayed[int] = Delayed()
    left.map(str).cancel()
    assert left.is_cancelled


def test_exception_in_map_fails_the_response() -> None:
    source: Delayed[str] = Delayed()
    mapped = source.map(int)
    source.complete("x")
    with pytest.raises(ValueError, match="invalid literal"):
        mapped.result()
