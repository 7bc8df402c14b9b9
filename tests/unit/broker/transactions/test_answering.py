"""Turning callbacks into responses."""

from collections.abc import Callable

from kafkalet.broker.transactions.answering import answer_of
from kafkalet.tasks.delayed import Delayed


def test_immediate_result_is_returned() -> None:
    def ask(then: Callable[[int], None]) -> None:
        then(5)

    assert answer_of(ask) == 5


def test_later_result_completes_delayed() -> None:
    callbacks: list[Callable[[int], None]] = []
    answer = answer_of(callbacks.append)
    assert isinstance(answer, Delayed)
    callbacks[0](5)
    assert answer.result() == 5


def test_cancelled_delayed_ignores_later_result() -> None:
    callbacks: list[Callable[[int], None]] = []
    answer = answer_of(callbacks.append)
    assert isinstance(answer, Delayed)
    answer.cancel()
    callbacks[0](5)
    assert answer.is_cancelled
