"""From a callback to an answer."""

from collections.abc import Callable

from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.broker.transactions.answering import answer_of


def test_what_is_there_at_once_is_the_answer() -> None:
    def ask(then: Callable[[int], None]) -> None:
        then(5)

    assert answer_of(ask) == 5


def test_what_comes_later_is_waited_for() -> None:
    callbacks: list[Callable[[int], None]] = []
    answer = answer_of(callbacks.append)
    assert isinstance(answer, Delayed)
    callbacks[0](5)
    assert answer.result() == 5


def test_who_goes_away_stops_nothing() -> None:
    callbacks: list[Callable[[int], None]] = []
    answer = answer_of(callbacks.append)
    assert isinstance(answer, Delayed)
    answer.cancel()
    callbacks[0](5)
    assert answer.is_cancelled
