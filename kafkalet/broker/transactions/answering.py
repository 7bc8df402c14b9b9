"""From "you will be called back" to an answer: at once where it is there at once, else a `Delayed`.

What a coordinator has begun goes on when its client goes away, so the `Delayed` that the connection may cancel is not
the one that the coordinator waits for.
"""

from collections.abc import Callable
from typing import TypeVar

from kafkalet.broker.scheduling.purgatory import Delayed

T = TypeVar("T")


def answer_of(ask: Callable[[Callable[[T], None]], None]) -> T | Delayed[T]:
    """What `ask` calls its argument with."""
    answer: Delayed[T] = Delayed()
    ask(answer.complete)
    return answer if answer.is_waiting else answer.result()
