"""Handlers that take long: they give way to other clients, and leave what cannot be cut up to a thread.

A handler may be a coroutine (`async def handle`), or return one for the requests that need it. There is no asyncio task
behind it: the broker runs it in turns (turns.py), and its connection serves no other request meanwhile. Inside it may

    await pause()              give way to other clients if this turn has lasted long enough
    await in_thread(call)      have a function called in a worker thread, and get what it returns or raises
    await answered(delayed)    wait for a `Delayed` (purgatory.py)

Nothing else may be awaited. Between two of these points no other handler runs, so the state of the broker changes only
there. A call in a thread must not touch that state: it gets bytes and values, and returns values.

A handler that began goes on to its end when its client goes away, as in Kafka, where the request has left the network
thread by then: a producer with acks=0 may close its connection as soon as it has sent its last batch. Only a handler
that waits for a `Delayed` is ended, as the `Delayed` is.
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

if TYPE_CHECKING:  # its import takes milliseconds, and most brokers never need a thread
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

WORKERS = 4
"""So many calls run in threads at the same time; a client with a long one does not hold up the calls of others."""
SWITCH_S = 0.0002
"""While a call runs in a thread, Python lets the event loop have the interpreter after this time (default: 5 ms)."""


class _Call(Generic[T]):
    """A call that a worker thread is to make."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], T]) -> None:
        self.function = function


class _Question:
    """Asks whether the coroutine has given way to others."""


_Step = _Call[Any] | Delayed[Any] | _Question | None
_HAS_GIVEN_WAY = _Question()


class _Ended:
    """Stands for the step of a coroutine that has no further one."""


_ENDED = _Ended()


@coroutine
def _give(step: _Step) -> Generator[_Step, Any, Any]:
    return (yield step)


async def pause() -> None:
    """Give way to other clients if this turn has lasted long enough."""
    await _give(None)


async def in_thread(function: Callable[[], T]) -> T:
    """Call `function` in a worker thread. Return what it returns; raise what it raises."""
    return cast(T, await _give(_Call(function)))


async def answered(delayed: Delayed[T]) -> T:
    """Wait for the answer of a `Delayed`. Raise what it failed with."""
    return cast(T, await _give(delayed)) if delayed.is_waiting else delayed.result()


async def has_given_way() -> bool:
    """Return whether the request has taken more than one turn so far, so that what is left may be long, too."""
    return cast(bool, await _give(_HAS_GIVEN_WAY))


def finish(work: Coroutine[_Step, Any, T]) -> T:
    """Run a coroutine to its end here and now, without giving way. For callers outside of the broker, such as tests.

    AssertionError if it waits for a `Delayed` that has no answer yet.
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
    """The worker threads of a cluster. They are started when they are needed first.

    `call_soon_threadsafe` is the event loop's.
    """

    def __init__(self, call_soon_threadsafe: Callable[..., object]) -> None:
        self._call_soon_threadsafe = call_soon_threadsafe
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, function: Callable[[], T]) -> Delayed[T]:
        """Call `function` in a thread; the `Delayed` is completed on the event loop."""
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
            with suppress(RuntimeError):  # the event loop is closed, and the broker with it
                self._call_soon_threadsafe(settle, future)

        _SWITCHING.enter()
        self._executor.submit(function).add_done_callback(done)
        return delayed

    def close(self) -> None:
        """Let the threads end when their current calls have returned; nothing hears of these any more."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None


class _Switching:
    """Shortens the switch interval of the interpreter while worker threads have something to do.

    A thread that computes gives up the interpreter only when another one has waited for the switch interval. The event
    loop needs the interpreter back after every system call, so at the default of 5 ms each request would take 15 ms.
    The interval is a setting of the process; the value that was found is put back.
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
    """A coroutine that the broker runs in turns; its answer is what the coroutine returns.

    Made by `start`, in the first turn of the coroutine.
    """

    __slots__ = (
        *("_awaited", "_coroutine", "_has_given_way", "_problem", "_result", "_running", "_turns", "_workers"),
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
        """What the coroutine waits for, unless that is a call in a thread."""
        self._has_given_way = False
        self._result: Any = None
        """What the coroutine gets in its next turn, ..."""
        self._problem: Exception | None = None
        """... or what is raised in it."""
        self.virtual_s = 0.0
        if running is not None:
            running.add(self)

    @property
    def is_working(self) -> bool:
        return self.is_waiting and (self._awaited is None or self._awaited.is_working)

    def take_turn(self) -> None:
        self.obey(self._resume())

    def obey(self, step: _Step | _Ended) -> None:
        """Do what the coroutine asks for, and let it go on when that is done."""
        while True:
            if isinstance(step, _Question):
                self._result = self._has_given_way
            elif step is not None or self._turns.is_over():
                break
            step = self._resume()
        if step is None:
            self._has_given_way = True
            self._turns.queue_again(self)
        elif isinstance(step, _Call):
            self._workers.submit(step.function).then(self._go_on, self._go_on_with_problem)
        elif isinstance(step, Delayed):
            self._awaited = step
            step.then(self._go_on, self._go_on_with_problem)

    def _resume(self) -> _Step | _Ended:
        """Run the coroutine to its next step, or to its end."""
        result, self._result = self._result, None
        problem, self._problem = self._problem, None
        if self._coroutine is None:  # stopped while it was in the queue
            return _ENDED
        try:
            return self._coroutine.send(result) if problem is None else self._coroutine.throw(problem)
        except StopIteration as end:
            self._end()
            self.complete(end.value)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the connection that waits
            self._end()
            self._report(error)
        return _ENDED

    def _go_on(self, result: Any) -> None:
        self._awaited = None
        self._result = result
        self._turns.queue(self)

    def _go_on_with_problem(self, problem: Exception) -> None:
        self._awaited = None
        self._problem = problem
        self._turns.queue(self)

    def cancel(self) -> None:
        """The client has gone away. A coroutine that waits for a `Delayed` ends; any other goes on to its end."""
        ends = not self.is_working
        super().cancel()
        if ends and self._awaited is not None:
            self._awaited.cancel()
            self.stop()

    def stop(self) -> None:
        """End the coroutine where it is. Nothing is answered."""
        super().cancel()
        if self._coroutine is not None:
            self._coroutine.close()
        self._end()

    def _report(self, error: Exception) -> None:
        if self.is_cancelled:
            _LOG.error("a request whose client had gone away failed", exc_info=error)
        else:
            self.fail(error)

    def _end(self) -> None:
        self._coroutine = None
        if self._running is not None:
            self._running.discard(self)


def start(
    work: Coroutine[_Step, Any, T], turns: Turns, workers: Workers, running: set[Work[Any]] | None = None
) -> T | Work[T]:
    """Run a coroutine until it has to wait. Return its result, or the `Work` that goes on with it in later turns.

    The work is in `running` until it ends. Raises what the coroutine raises before it waits for the first time.
    """
    try:
        step = work.send(None)
        while isinstance(step, _Question):
            step = work.send(False)
    except StopIteration as end:
        return cast(T, end.value)
    waiting = Work(work, turns, workers, running)
    waiting.obey(step)
    return waiting
