"""Turns a function that takes a callback into a response: the result if it is available immediately, else a `Delayed`.

A coordinator operation continues even if its client disconnects. When that happens, the connection may cancel the
`Delayed` returned here, so it must not be the one that the coordinator itself waits for.
"""

from collections.abc import Callable
from typing import TypeVar

from kafkalet.tasks.delayed import Delayed

T = TypeVar("T")


def answer_of(ask: Callable[[Callable[[T], None]], None]) -> T | Delayed[T]:
    """Return the value that `ask` passes to its callback, or a `Delayed` if it has not called back yet."""
    answer: Delayed[T] = Delayed()
    ask(answer.complete)
    return answer if answer.is_waiting else answer.result()
