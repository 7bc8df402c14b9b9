"""The worker threads of a cluster, for calls that would block the event loop."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kafkalet.clock import elapsed_s
from kafkalet.protocol.records.interruption import interruptible

from .delayed import Delayed

if TYPE_CHECKING:  # most brokers never need a thread
    from queue import SimpleQueue

T = TypeVar("T")

WORKERS = 4
"""The number of worker threads. With several, one long call does not delay the calls of other clients."""
SWITCH_S = 0.0002
"""The interpreter's switch interval while a call runs in a thread (Python's default is 5 ms)."""
STOP_S = 1.0
"""The maximum time for which a stopping broker waits for its threads.

Calls that end later, such as a lookup of a host name, have no effect.
"""


class _Running(Delayed[T]):
    """A call that waits for a worker thread or runs in one. If it is cancelled, it does not begin or is interrupted."""

    __slots__ = ("_function", "_is_droppable")

    def __init__(self, function: Callable[[], T], is_droppable: bool) -> None:
        super().__init__()
        self._function = function
        self._is_droppable = is_droppable

    @property
    def is_working(self) -> bool:
        return True

    @property
    def may_be_dropped(self) -> bool:
        return self._is_droppable

    def run(self) -> Callable[[], None]:
        """Call the function, in a worker thread. Return a function that completes this object on the event loop."""
        try:
            result = interruptible(self._function, lambda: self.is_cancelled)
        except Exception as error:  # noqa: BLE001 - the coroutine may expect it
            return partial(self.fail, error)
        return partial(self.complete, result)


class Workers:
    """The worker threads of a cluster, started when they are needed. The interpreter exits without waiting for them.

    `call_soon_threadsafe` is the event loop's method.
    """

    def __init__(self, call_soon_threadsafe: Callable[..., object]) -> None:
        self._call_soon_threadsafe = call_soon_threadsafe
        self._queue: SimpleQueue[_Running[Any] | None] | None = None
        self._threads: list[threading.Thread] = []
        self._running: set[_Running[Any]] = set()
        """The calls that a thread has to deal with."""

    def submit(self, function: Callable[[], T], *, droppable: bool = False) -> Delayed[T]:
        """Call `function` in a thread. The `Delayed` is completed on the event loop.

        If it is cancelled before, the function does not begin or is interrupted. It fails with RuntimeError if no
        thread can be started.
        """
        if self._queue is None:
            from queue import SimpleQueue

            self._queue = SimpleQueue()
        call = _Running(function, droppable)
        if len(self._threads) < min(len(self._running) + 1, WORKERS):
            try:
                self._start_thread(self._queue)
            except RuntimeError as error:
                if not self._threads:
                    call.fail(error)
                    return call
        self._running.add(call)
        _SWITCHING.enter()
        self._queue.put(call)
        return call

    def _start_thread(self, queue: SimpleQueue[_Running[Any] | None]) -> None:
        name = f"kafkalet-worker_{len(self._threads)}"
        thread = threading.Thread(target=self._work, args=(queue,), name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self, queue: SimpleQueue[_Running[Any] | None]) -> None:
        """Run calls until there is None in the queue."""
        while (call := queue.get()) is not None:
            settle = None if call.is_cancelled else call.run()
            _SWITCHING.leave()
            with suppress(RuntimeError):  # the event loop has been closed with the broker
                self._call_soon_threadsafe(self._settle, call, settle)
            del call, settle  # they may keep many records in memory

    def _settle(self, call: _Running[Any], settle: Callable[[], None] | None) -> None:
        self._running.discard(call)
        if settle is not None:
            settle()

    def close(self) -> None:
        """Cancel all calls, end the threads, and wait for them for at most STOP_S."""
        for call in self._running:
            call.cancel()
        threads, self._threads, queue, self._queue = self._threads, [], self._queue, None
        for _ in threads:
            assert queue is not None
            queue.put(None)
        until_s = elapsed_s() + STOP_S
        for thread in threads:
            thread.join(max(until_s - elapsed_s(), 0))


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
