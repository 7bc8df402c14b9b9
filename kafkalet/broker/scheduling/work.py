"""Long-running handlers, which yield to other clients and move blocking calls to a thread.

A handler may be a coroutine (`async def handle`), or return one for some requests. It is not an asyncio task: the
broker runs it in turns (turns.py), and its connection serves no other request in the meantime. It may await only

    await pause()              yield to other clients if this turn has lasted long enough
    await in_thread(call)      run a function in a worker thread; return its result or raise its exception
    await answered(delayed)    wait for a `Delayed` (purgatory.py)

No other handler runs between two of these points, so the state of the broker changes only there. A function that runs
in a thread must not use that state: it takes and returns bytes and values.

If its client disconnects, a handler continues. In Kafka, too, the request has already left the network thread: a
producer with acks=0 may close its connection right after sending its last batch. Only a handler that is waiting for a
`Delayed` is cancelled, together with the `Delayed`.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from types import coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .purgatory import Delayed
from .turns import Turns

if TYPE_CHECKING:  # the import takes milliseconds, and most brokers never need a thread
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

WORKERS = 4
"""The number of worker threads. With several, one long call does not delay the calls of other clients."""
SWITCH_S = 0.0002
"""The interpreter's switch interval while a call runs in a thread (Python's default is 5 ms)."""


class _Call(Generic[T]):
    """A step: run a function in a worker thread."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], T]) -> None:
        self.function = function


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


async def in_thread(function: Callable[[], T]) -> T:
    """Call `function` in a worker thread. Return its result or raise its exception."""
    return cast(T, await _yield_step(_Call(function)))


async def answered(delayed: Delayed[T]) -> T:
    """Wait for a `Delayed`. Return its result or raise its error."""
    return cast(T, await _yield_step(delayed)) if delayed.is_waiting else delayed.result()


async def has_yielded() -> bool:
    """Return whether the request has taken more than one turn. If so, the rest may take a long time, too."""
    return cast(bool, await _yield_step(_HAS_YIELDED))


def finish(work: Coroutine[_Step, Any, T]) -> T:
    """Run a coroutine to completion without yielding. For callers outside the broker, such as tests.

    Raises AssertionError if it waits for a `Delayed` that has no result yet.
    """
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            step = work.send(value) if error is None else work.throw(error)
            value = error = None
            try:
                if isinstance(step, _Call):
                    value = step.function()
                elif isinstance(step, Delayed):
                    value = step.result()
            except Exception as problem:  # noqa: BLE001 - the coroutine may expect it
                error = problem
    except StopIteration as end:
        return cast(T, end.value)


class Workers:
    """The worker threads of a cluster, started on first use.

    `call_soon_threadsafe` is the event loop's method.
    """

    def __init__(self, call_soon_threadsafe: Callable[..., object]) -> None:
        self._call_soon_threadsafe = call_soon_threadsafe
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, function: Callable[[], T]) -> Delayed[T]:
        """Call `function` in a thread. The `Delayed` is completed on the event loop."""
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor

            self._executor = ThreadPoolExecutor(WORKERS, thread_name_prefix="kafkalet-worker")
        delayed: Delayed[T] = Delayed()

        def settle(future: Future[T]) -> None:
            if future.cancelled():
                return
            error = future.exception()
            if error is None:
                delayed.complete(future.result())
            else:
                delayed.fail(cast(Exception, error))

        def done(future: Future[T]) -> None:
            _SWITCHING.leave()
            with suppress(RuntimeError):  # the event loop has been closed with the broker
                self._call_soon_threadsafe(settle, future)

        _SWITCHING.enter()
        self._executor.submit(function).add_done_callback(done)
        return delayed

    def close(self) -> None:
        """Let the threads end after their current calls. The results of these calls are discarded."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None


class _Switching:
    """Shortens the interpreter's switch interval while worker threads are busy.

    A busy thread releases the interpreter lock only after another thread has waited for the switch interval. The event
    loop needs the lock after every system call, so with the default of 5 ms each request would take 15 ms. The interval
    is a process-wide setting; the previous value is restored.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._found_s = 0.0

    def enter(self) -> None:
        with self._lock:
            self._calls += 1
            if self._calls == 1:
                self._found_s = sys.getswitchinterval()
                sys.setswitchinterval(min(SWITCH_S, self._found_s))

    def leave(self) -> None:
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                sys.setswitchinterval(self._found_s)


_SWITCHING = _Switching()


class Work(Delayed[T]):
    """A coroutine that the broker runs in turns. Its return value is the response.

    Created by `start` during the first turn of the coroutine.
    """

    __slots__ = (
        *("_awaited", "_coroutine", "_has_yielded", "_problem", "_result", "_running", "_turns", "_workers"),
        "virtual_s",
    )

    def __init__(
        self, work: Coroutine[_Step, Any, T], turns: Turns, workers: Workers, running: set[Work[Any]] | None = None
    ) -> None:
        super().__init__()
        self._coroutine: Coroutine[_Step, Any, T] | None = work
        self._turns = turns
        self._workers = workers
        self._running = running
        self._awaited: Delayed[Any] | None = None
        """The `Delayed` that the coroutine is waiting for; None if it is not waiting, or is waiting for a thread."""
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

    def take_turn(self) -> None:
        self.obey(self._resume())

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
            self._workers.submit(step.function).then(self._continue, self._continue_with_error)
        elif isinstance(step, Delayed):
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
        """Handle a disconnected client: a coroutine that is waiting for a `Delayed` ends; any other continues."""
        ends = not self.is_working
        super().cancel()
        if ends and self._awaited is not None:
            self._awaited.cancel()
            self.stop()

    def hurry(self) -> None:
        if self._awaited is not None:
            self._awaited.hurry()

    def stop(self) -> None:
        """Stop the coroutine at its current step. The request gets no response."""
        super().cancel()
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
    work: Coroutine[_Step, Any, T], turns: Turns, workers: Workers, running: set[Work[Any]] | None = None
) -> T | Work[T]:
    """Run a coroutine until it has to wait. Return its result, or a `Work` that continues it in later turns.

    The work is in `running` until it ends. Raises the exceptions of the coroutine before its first wait.
    """
    try:
        step = work.send(None)
        while isinstance(step, _YieldedQuery):
            step = work.send(False)
    except StopIteration as end:
        return cast(T, end.value)
    waiting = Work(work, turns, workers, running)
    waiting.obey(step)
    return waiting
