"""Turns a function that takes a callback into a response: the result if it is available immediately, else a `Delayed`.

An operation of the coordinator continues if its client disconnects. The `Delayed` returned here, which the connection
may cancel, is therefore not the one that the coordinator itself waits for.
"""

from collections.abc import Callable
from typing import TypeVar

from kafkalet.broker.scheduling.purgatory import Delayed

T = TypeVar("T")


def answer_of(ask: Callable[[Callable[[T], None]], None]) -> T | Delayed[T]:
    """Return the value that `ask` passes to its callback."""
    answer: Delayed[T] = Delayed()
    ask(answer.complete)
    return answer if answer.is_waiting else answer.result()
