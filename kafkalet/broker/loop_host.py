"""Runs a server in the caller's event loop, or in a thread with its own loop.

    host = LoopHost("Broker", server.open, server.close)
    await host.start() ... await host.stop()     in the running loop
    host.start_thread() ... host.stop_thread()   in a thread; `call` runs functions in it

The loop must support `add_reader`: every loop on Unix does, but on Windows only SelectorEventLoop does. The thread uses
the loop of network/event_loop.py. The state of the server is used only in its loop; other threads use `call` to run
a function there.

After a fork, the server runs only in the parent process. In the child, calls raise RuntimeError, stopping has no
effect, and the copies of the sockets are closed, because an open copy would keep connections open that the parent
closes.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from kafkalet.protocol.errors import KafkaError

from .network.event_loop import new_event_loop

T = TypeVar("T")

_running: "weakref.WeakSet[LoopHost]" = weakref.WeakSet()
"""The hosts of the servers that run in this process."""


class LoopHost:
    """Starts and stops a server in an event loop. Error messages call the server `name`."""

    def __init__(
        self,
        name: str,
        open_in: Callable[[asyncio.AbstractEventLoop], None],
        close: Callable[[], None],
        close_sockets: Callable[[], None] = lambda: None,
    ) -> None:
        """`close_sockets` is called in the child after a fork, outside of any event loop."""
        self._name = name
        self._close_sockets = close_sockets
        self._process = 0
        """The id of the process in which the loop runs."""
        self._open_in = open_in
        self._close = close
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        """The identifier of the thread in which the loop runs."""
        self._thread: threading.Thread | None = None
        """The thread of the loop if `start_thread` created it, otherwise None."""
        self._ending = threading.Lock()
        """Held while a call is passed to the loop, and while the loop is released, so that no call is lost."""

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    @property
    def is_in_loop_thread(self) -> bool:
        """Whether the caller runs in the thread of the running server's event loop.

        Raises RuntimeError in a child process.
        """
        if self._loop is None:
            return False
        if self._is_elsewhere:
            raise RuntimeError(
                f"this {self._name} runs in process {self._process}, of which this process ({os.getpid()}) is a fork; "
                "call its methods there, connect to its bootstrap_servers with a client, or start another one here"
            )
        return threading.get_ident() == self._loop_thread

    @property
    def _is_elsewhere(self) -> bool:
        """Whether this process is a fork of the one in which the server runs."""
        return self._loop is not None and os.getpid() != self._process

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the server. Raises RuntimeError if the server is not running."""
        if self._loop is None:
            raise self.not_running()
        return self._loop

    def not_running(self) -> RuntimeError:
        """Return the exception to raise if a call needs a running server."""
        return RuntimeError(
            f"this {self._name} is not running; use it inside `with` or `async with`, "
            "or between `await start()` and `await stop()`"
        )

    async def start(self) -> None:
        """Open the server in the running loop."""
        self._refuse_twice()
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._process = os.getpid()
        _running.add(self)
        try:
            self._open_in(self._loop)
        except BaseException:
            self._end()
            raise

    async def stop(self) -> None:
        """Close the server. Does nothing if it is not running."""
        if self._loop is not None and not self._is_elsewhere:
            self._end()

    def _refuse_twice(self) -> None:
        if self._loop is not None:
            raise RuntimeError(
                f"this {self._name} is already running; use it without starting it again, or stop it first"
            )

    def _end(self) -> None:
        try:
            self._close()
        finally:
            _running.discard(self)
            with self._ending:
                self._loop = None

    def start_thread(self) -> None:
        """Open the server in a new thread and wait until it is open. Raises any exception from `open_in`."""
        self._refuse_twice()
        started: list[BaseException | None] = []
        ready = threading.Event()

        def run() -> None:
            loop = new_event_loop()
            try:
                try:
                    loop.run_until_complete(self.start())
                except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                    started.append(error)
                    return
                finally:
                    started.append(None)
                    ready.set()
                loop.run_forever()
                loop.run_until_complete(self.stop())
                loop.run_until_complete(asyncio.sleep(0))  # run the remaining calls
            finally:
                loop.close()

        self._thread = threading.Thread(target=run, name=f"kafkalet-{id(self):x}", daemon=True)
        self._thread.start()
        ready.wait()
        if started[0] is not None:
            self._thread.join()
            self._thread = None
            raise _shortened(started[0])

    def stop_thread(self) -> None:
        """Close the server and wait until its thread has ended."""
        if self._is_elsewhere:
            return
        thread, loop = self._thread, self._loop
        if thread is not None and loop is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
        self._thread = None

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` in the loop and return its result. In the loop's own thread, it runs immediately.

        Raises RuntimeError if the server is not running, or if it stops before the function runs.
        """
        if self.is_in_loop_thread:
            return function()
        done = threading.Event()
        result: list[T] = []
        failure: list[BaseException] = []

        def carry_out() -> None:
            try:
                if self._loop is None:
                    raise self.not_running()
                result.append(function())
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                failure.append(error)
            done.set()

        with self._ending:
            self.loop.call_soon_threadsafe(carry_out)
        done.wait()
        if failure:
            raise _shortened(failure[0])
        return result[0]

    def call_in(self, loop: asyncio.AbstractEventLoop) -> Callable[[Callable[[], None]], None]:
        """Return a variant of `call` that fails once the server has left `loop`, even after a restart."""

        def call(function: Callable[[], None]) -> None:
            if self._loop is not loop:
                raise self.not_running()
            self.call(function)

        return call


def _shortened(error: BaseException) -> BaseException:
    """Return an error of the loop's thread; a refusal without its frames and cause, because its message says enough."""
    if isinstance(error, (KafkaError, OSError)):
        error.__cause__ = None  # and no context is shown
        return error.with_traceback(None)
    return error


def _leave_to_parent() -> None:
    """Close the copies of all sockets in the child after a fork."""
    for host in list(_running):
        host._close_sockets()


if hasattr(os, "register_at_fork"):  # not on Windows, where processes do not fork
    os.register_at_fork(after_in_child=_leave_to_parent)
