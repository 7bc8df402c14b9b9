"""Generators that yield functions to call in a thread, and continue in the event loop with their results.

The log cleaner is such a generator: it reads and writes files in steps, and changes the log between them. An exception
of a step is raised at its `yield`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from .task import in_thread

T = TypeVar("T")
Step = Callable[[], Any]


async def in_threads(steps: Generator[Step, Any, T]) -> T:
    """Run the steps of a generator in worker threads, one after the other. Return its result."""
    result: Any = None
    error: Exception | None = None
    try:
        while True:
            step = steps.send(result) if error is None else steps.throw(error)
            result = error = None
            try:
                result = await in_thread(step)
            except Exception as problem:  # noqa: BLE001 - the generator may handle it
                error = problem
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        steps.close()


def run_steps(steps: Generator[Step, Any, T], call: Callable[[Callable[[], Any]], Any]) -> T:
    """Run a generator in the event loop, with `call`, and its steps in this thread. Return its result."""
    result: Any = None
    error: Exception | None = None

    def resume() -> Step | _Result:
        try:
            return steps.send(result) if error is None else steps.throw(error)
        except StopIteration as end:
            return _Result(end.value)

    try:
        while True:
            step = call(resume)
            if isinstance(step, _Result):
                value: T = step.value
                return value
            result = error = None
            try:
                result = step()
            except Exception as problem:  # noqa: BLE001 - the generator may handle it
                error = problem
    finally:
        with suppress(RuntimeError):  # the brokers have been stopped
            call(steps.close)


class _Result(NamedTuple):
    value: Any
