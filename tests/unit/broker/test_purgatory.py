"""Tests of waiting requests: touch, timeout, cancellation, and exactly one result."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.purgatory import Purgatory
from kafkalet.clock import ManualClock
from kafkalet.tasks.delayed import Delayed


class Loop:
    """Runs the calls of `call_soon` when the test tells it to."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []

    def call_soon(self, call: Callable[[], None]) -> None:
        self.calls.append(call)

    def turn(self) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            call()


class Waiting:
    """A purgatory with its clock and loop, and one waiter for `stock` to reach 3."""

    def __init__(self, delay_ms: float | None = 1000) -> None:
        self.clock, self.loop = ManualClock(), Loop()
        self.purgatory = Purgatory(self.clock, self.loop.call_soon)
        self.stock = self.looked = 0
        self.answers: list[str] = []
        self.delayed = self.purgatory.park(["a", "b"], delay_ms, self.look, lambda: "expired")
        self.delayed.then(self.answers.append)

    def look(self) -> str | None:
        self.looked += 1
        return "ready" if self.stock >= 3 else None


def test_touched_waiter_is_checked_in_a_later_turn() -> None:
    waiting = Waiting()
    waiting.stock = 3
    waiting.purgatory.touch("a")
    assert waiting.looked == 0
    waiting.loop.turn()
    assert waiting.answers == ["ready"]


def test_purgatory_is_checking_from_a_touch_to_the_next_turn() -> None:
    waiting = Waiting()
    before = waiting.purgatory.is_checking
    waiting.purgatory.touch("a")
    touched = waiting.purgatory.is_checking
    waiting.loop.turn()
    assert (before, touched, waiting.purgatory.is_checking) == (False, True, False)


def test_repeated_touches_check_the_waiter_once() -> None:
    waiting = Waiting()
    for key in ("a", "b", "a"):
        waiting.purgatory.touch(key)
    waiting.loop.turn()
    assert waiting.looked == 1
    assert not waiting.loop.calls


def test_waiter_without_a_result_keeps_waiting() -> None:
    waiting = Waiting()
    waiting.purgatory.touch("a")
    waiting.loop.turn()
    assert waiting.answers == []
    waiting.stock = 3
    waiting.purgatory.touch("b")
    waiting.loop.turn()
    assert waiting.answers == ["ready"]


def test_touch_of_a_key_without_waiters_schedules_nothing() -> None:
    waiting = Waiting()
    waiting.purgatory.touch("z")
    assert not waiting.loop.calls


def test_timeout_completes_the_waiter_with_expired() -> None:
    waiting = Waiting()
    waiting.clock.advance(milliseconds=999)
    assert waiting.answers == []
    waiting.clock.advance(milliseconds=1)
    assert waiting.answers == ["expired"]
    assert len(waiting.purgatory) == 0


def test_result_cancels_the_timer() -> None:
    waiting = Waiting()
    waiting.stock = 3
    waiting.purgatory.touch("a")
    waiting.loop.turn()
    waiting.clock.advance(milliseconds=5000)
    assert waiting.answers == ["ready"]


def test_waiter_without_timeout_waits_forever() -> None:
    waiting = Waiting(delay_ms=None)
    waiting.clock.advance(milliseconds=10**9)
    assert waiting.answers == []
    assert waiting.delayed.is_waiting


@pytest.mark.parametrize("delay_ms", [0, -1])
def test_waiter_with_zero_delay_completes_immediately(delay_ms: int) -> None:
    waiting = Waiting(delay_ms)
    assert waiting.answers == ["expired"]
    assert waiting.delayed.result() == "expired"


def test_cancelled_waiter_is_removed_without_a_result() -> None:
    waiting = Waiting()
    waiting.delayed.cancel()
    assert len(waiting.purgatory) == 0
    waiting.stock = 3
    waiting.purgatory.touch("a")
    waiting.loop.turn()
    waiting.clock.advance(milliseconds=5000)
    assert (waiting.looked, waiting.answers) == (0, [])


def test_waiter_cancelled_after_a_touch_is_not_checked() -> None:
    waiting = Waiting()
    waiting.purgatory.touch("a")
    waiting.delayed.cancel()
    waiting.loop.turn()
    assert waiting.looked == 0


def test_touch_during_a_check_is_handled_in_the_next_turn() -> None:
    clock, loop = ManualClock(), Loop()
    purgatory = Purgatory(clock, loop.call_soon)
    seen: list[str] = []

    def first() -> str:
        purgatory.touch("second")
        seen.append("first")
        return "done"

    def second() -> str:
        seen.append("second")
        return "done"

    purgatory.park(["first"], None, first, lambda: "")
    purgatory.park(["second"], None, second, lambda: "")
    purgatory.touch("first")
    loop.turn()
    assert seen == ["first"]
    loop.turn()
    assert seen == ["first", "second"]


def test_waiters_of_a_key_are_checked_in_order() -> None:
    clock, loop = ManualClock(), Loop()
    purgatory = Purgatory(clock, loop.call_soon)
    seen: list[int] = []
    for number in range(5):
        purgatory.park(["k"], None, lambda number=number: seen.append(number), lambda: None)  # type: ignore[misc]
    purgatory.touch("k")
    loop.turn()
    assert seen == [0, 1, 2, 3, 4]


def test_exception_in_ready_fails_only_that_waiter() -> None:
    clock, loop = ManualClock(), Loop()
    purgatory = Purgatory(clock, loop.call_soon)
    answers: list[object] = []

    def bug() -> str:
        raise ZeroDivisionError

    purgatory.park(["k"], None, bug, lambda: "").then(answers.append, answers.append)
    purgatory.park(["k"], None, lambda: "fine", lambda: "").then(answers.append)
    purgatory.touch("k")
    loop.turn()
    assert [type(answer) for answer in answers] == [ZeroDivisionError, str]
    assert len(purgatory) == 0


def test_exception_in_expired_fails_the_waiter() -> None:
    clock, loop = ManualClock(), Loop()
    errors: list[Exception] = []

    def bug() -> str:
        raise ZeroDivisionError

    Purgatory(clock, loop.call_soon).park(["k"], 10, lambda: None, bug).then(lambda _: None, errors.append)
    clock.advance(milliseconds=10)
    assert [type(error) for error in errors] == [ZeroDivisionError]


@given(st.lists(st.tuples(st.sampled_from("tcwg"), st.integers(0, 9), st.sampled_from("abc")), max_size=60))
def test_every_waiter_completes_at_most_once_and_is_removed(
    steps: list[tuple[str, int, str]],
) -> None:
    clock, loop = ManualClock(), Loop()
    purgatory = Purgatory(clock, loop.call_soon)
    delayed: list[Delayed[str]] = []
    answers: list[list[str]] = []
    good: set[str] = set()
    for kind, number, key in steps:
        match kind:
            case "w":
                keys = {key, "abc"[number % 3]}
                waiter = purgatory.park(
                    keys, 10 * number or None, lambda keys=keys: "ready" if keys & good else None, lambda: "expired"
                )
                delayed.append(waiter)
                answers.append([])
                waiter.then(answers[-1].append)
            case "t":
                good.add(key)
                purgatory.touch(key)
                if number > 4:
                    loop.turn()
                    good.discard(key)
            case "c" if delayed:
                delayed[number % len(delayed)].cancel()
            case "g":
                clock.advance(milliseconds=number)
    clock.advance(milliseconds=1000)
    loop.turn()
    waiting = [waiter for waiter in delayed if waiter.is_waiting]
    assert len(purgatory) == len(waiting)
    for waiter, given_answers in zip(delayed, answers, strict=True):
        assert len(given_answers) == (0 if waiter.is_waiting or waiter.is_cancelled else 1)


def test_slow_checks_of_waiters_yield_to_the_loop() -> None:
    clock, loop, now = ManualClock(), Loop(), [0.0]
    purgatory = Purgatory(clock, loop.call_soon, lambda: now[0])
    looked: list[int] = []

    def look(number: int) -> bool | None:
        now[0] += 0.004
        looked.append(number)
        return True

    for number in range(5):
        purgatory.park(["k"], None, lambda number=number: look(number), lambda: False).then(lambda _: None)
    purgatory.touch("k")
    rounds = []
    while loop.calls:
        loop.turn()
        rounds.append(len(looked))
    assert looked == [0, 1, 2, 3, 4]
    assert rounds == [2, 4, 5]
