"""Long-running handlers, which yield to other clients and move blocking calls to a thread.

A handler may be a coroutine (`async def handle`), or return one for some requests. It is not an asyncio task: the
broker runs it in turns (turns.py), and its connection serves no other request in the meantime. It may await only

    await pause()              yield to other clients if this turn has lasted long enough
    await in_thread(call)      run a function in a worker thread; return its result or raise its exception
    await until(delayed)       wait for a `Delayed` (delayed.py)

No other handler runs between two of these points, so the state of the broker changes only there. A function that runs
in a thread must not use that state: it takes and returns bytes and values.

If its client disconnects, a handler continues. In Kafka, too, the request has already left the network thread: a
producer with acks=0 may close its connection right after sending its last batch. A handler ends, however, where it
waits for something that is no longer needed: a `Delayed`, or a function called by `in_thread(function,
droppable=True)`. Such functions may take long, so functions that process records call `check` (interruption.py). When
the broker stops, all handlers end.

Work that must not end with its client, such as a change by a coordinator, is done in a `detached` function.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial, wraps
from types import coroutine
from typing import Any, Generic, ParamSpec, TypeVar, cast

from .delayed import Delayed
from .turns import Turns
from .workers import Workers

T = TypeVar("T")
P = ParamSpec("P")

_LOG = logging.getLogger(__name__)


class _Call(Generic[T]):
    """A step: run a function in a worker thread."""

    __slots__ = ("function", "is_droppable")

    def __init__(self, function: Callable[[], T], is_droppable: bool) -> None:
        self.function = function
        self.is_droppable = is_droppable


class _YieldedQuery:
    """A step: return whether the coroutine has yielded."""


_Step = _Call[Any] | Delayed[Any] | _YieldedQuery | None
_HAS_YIELDED = _YieldedQuery()


class _Ended:
    """The step of a coroutine that has finished."""


_ENDED = _Ended()


@coroutine
def _yield_step(step: _Step) -> Generator[_Step, Any, Any]:
    return (yield step)


async def pause() -> None:
    """Yield to other clients if this turn has lasted long enough."""
    await _yield_step(None)


async def in_thread(function: Callable[[], T], *, droppable: bool = False) -> T:
    """Call `function` in a worker thread. Return its result or raise its exception.

    With `droppable`, the result is not needed if the client disconnects: the handler then ends here.
    """
    return cast(T, await _yield_step(_Call(function, droppable)))


async def until(delayed: Delayed[T]) -> T:
    """Wait for a `Delayed`. Return its result or raise its error."""
    return cast(T, await _yield_step(delayed)) if delayed.is_waiting else delayed.result()


async def has_yielded() -> bool:
    """Return whether the request has taken more than one turn. If so, the rest may take a long time, too."""
    return cast(bool, await _yield_step(_HAS_YIELDED))


def _call_here(function: Callable[[], Any]) -> Any:
    return function()


def finish(work: Coroutine[_Step, Any, T], call: Callable[[Callable[[], Any]], Any] = _call_here) -> T:
    """Run a coroutine to completion without yielding, for callers that are not handlers.

    `call` runs the coroutine itself, for example in the event loop. Functions for a worker thread run in this thread.
    Raises AssertionError if it waits for a `Delayed` that has no result yet.
    """
    value: Any = None
    error: Exception | None = None
    ended: list[T] = []

    def resume() -> _Step:
        try:
            return work.send(value) if error is None else work.throw(error)
        except StopIteration as end:
            ended.append(end.value)
            return None

    try:
        while True:
            step = call(resume)
            if ended:
                return ended[0]
            value = error = None
            try:
                if isinstance(step, _Call):
                    value = step.function()
                elif isinstance(step, Delayed):
                    value = step.result()
            except Exception as problem:  # noqa: BLE001 - the coroutine may expect it
                error = problem
    finally:
        with suppress(RuntimeError):  # the brokers have been stopped
            call(work.close)


class Task(Delayed[T]):
    """A coroutine that the broker runs in turns. Its return value is the response.

    Created by `start` during the first turn of the coroutine.
    """

    __slots__ = (
        *("_awaited", "_coroutine", "_has_yielded", "_problem", "_result", "_running", "_turns", "_workers"),
        "virtual_s",
    )

    def __init__(
        self, work: Coroutine[_Step, Any, T], turns: Turns, workers: Workers, running: set[Task[Any]] | None = None
    ) -> None:
        super().__init__()
        self._coroutine: Coroutine[_Step, Any, T] | None = work
        self._turns = turns
        self._workers = workers
        self._running = running
        self._awaited: Delayed[Any] | None = None
        """What the coroutine is waiting for; None if it is running or queued."""
        self._has_yielded = False
        self._result: Any = None
        """The value to send to the coroutine in its next turn."""
        self._problem: Exception | None = None
        """The exception to raise in the coroutine in its next turn, instead of sending a value."""
        self.virtual_s = 0.0
        if running is not None:
            running.add(self)

    @property
    def is_working(self) -> bool:
        return self.is_waiting and (self._awaited is None or self._awaited.is_working)

    @property
    def may_be_dropped(self) -> bool:
        return self._awaited is not None and self._awaited.may_be_dropped

    def take_turn(self) -> None:
        self.obey(self._resume())

    def turn_failed(self, error: Exception) -> None:
        self._end()
        if self.is_waiting:
            self.fail(error)
        else:  # from the listener of the result
            _LOG.error("an exception after a request had ended", exc_info=error)

    def obey(self, step: _Step | _Ended) -> None:
        """Execute a step of the coroutine; the coroutine continues when the step is done."""
        while True:
            if isinstance(step, _YieldedQuery):
                self._result = self._has_yielded
            elif step is not None or self._turns.is_over():
                break
            step = self._resume()
        if step is None:
            self._has_yielded = True
            self._turns.queue_again(self)
        elif isinstance(step, _Call):
            if step.is_droppable and self.is_cancelled:  # its client disconnected after the last step
                self.stop()
            else:
                self._wait_for(self._workers.submit(step.function, droppable=step.is_droppable))
        elif isinstance(step, Delayed):
            self._wait_for(step)

    def _wait_for(self, step: Delayed[Any]) -> None:
        self._awaited = step
        step.then(self._continue, self._continue_with_error)

    def _resume(self) -> _Step | _Ended:
        """Run the coroutine to its next step or to its end."""
        result, self._result = self._result, None
        problem, self._problem = self._problem, None
        if self._coroutine is None:  # stopped while it was queued
            return _ENDED
        try:
            return self._coroutine.send(result) if problem is None else self._coroutine.throw(problem)
        except StopIteration as end:
            self._end()
            self.complete(end.value)
        except Exception as error:  # noqa: BLE001 - any error belongs to the waiting connection
            self._end()
            self._report(error)
        return _ENDED

    def _continue(self, result: Any) -> None:
        self._awaited = None
        self._result = result
        self._turns.queue(self)

    def _continue_with_error(self, problem: Exception) -> None:
        self._awaited = None
        self._problem = problem
        self._turns.queue(self)

    def cancel(self) -> None:
        """Handle a disconnected client: the coroutine ends if it is waiting for something that may be dropped."""
        ends = self.may_be_dropped
        super().cancel()
        if ends:
            self.stop()

    def hurry(self) -> None:
        if self._awaited is not None:
            self._awaited.hurry()

    def stop(self) -> None:
        """Stop the coroutine, and the step that it is waiting for. The request gets no response."""
        super().cancel()
        if self._awaited is not None:
            self._awaited.cancel()
        if self._coroutine is not None:
            self._coroutine.close()
        self._end()

    def _report(self, error: Exception) -> None:
        if self.is_cancelled:
            _LOG.error("a request failed after its client had disconnected", exc_info=error)
        else:
            self.fail(error)

    def _end(self) -> None:
        self._coroutine = None
        if self._running is not None:
            self._running.discard(self)


def start(
    work: Coroutine[_Step, Any, T], turns: Turns, workers: Workers, running: set[Task[Any]] | None = None
) -> T | Task[T]:
    """Run a coroutine until it has to wait. Return its result, or a `Task` that continues it in later turns.

    The work is in `running` until it ends. Raises the exceptions of the coroutine before its first wait.
    """
    try:
        step = work.send(None)
        while isinstance(step, _YieldedQuery) or (step is None and not turns.is_over()):
            step = work.send(False)
    except StopIteration as end:
        return cast(T, end.value)
    waiting = Task(work, turns, workers, running)
    waiting.obey(step)
    return waiting


class _Detached(Delayed[T]):
    """The result of a detached coroutine, and the coroutine itself while it waits."""

    __slots__ = ("_coroutine",)

    def __init__(self, work: Coroutine[_Step, Any, T]) -> None:
        super().__init__()
        self._coroutine = work
        try:
            step = work.send(None)
        except StopIteration as end:
            self.complete(end.value)
        else:
            self._wait_for(step)

    def _wait_for(self, step: _Step) -> None:
        assert isinstance(step, Delayed), f"a detached coroutine cannot await {step}"
        step.then(partial(self._continue, self._coroutine.send), partial(self._continue, self._coroutine.throw))

    def _continue(self, resume: Callable[[Any], _Step], value: Any) -> None:
        try:
            step = resume(value)
        except StopIteration as end:
            self.complete(end.value)
        except Exception as error:  # noqa: BLE001 - any error belongs to the waiting connection, if there is one
            _LOG.exception("a detached coroutine failed")
            self.fail(error)
        else:
            self._wait_for(step)


def detached(function: Callable[P, Coroutine[_Step, Any, T]]) -> Callable[P, Delayed[T]]:
    """Decorate an `async def`: a call runs it and returns its result as a `Delayed`.

    The coroutine runs to its end even if its client disconnects or its result is not used. It may await only
    `Delayed`s, and continues at once when they have a result, not in a later turn. If the coroutine raises an exception
    before its first wait, the call raises it.
    """

    @wraps(function)
    def begin(*arguments: P.args, **options: P.kwargs) -> Delayed[T]:
        return _Detached(function(*arguments, **options))

    return begin
