"""Where a cluster runs: in the caller's event loop, or in a thread with a loop of its own.

    async with Cluster() as cluster: ...     the running loop
    with Cluster() as cluster: ...           a thread of its own; calls on `cluster` are carried over to it

The loop has to watch sockets (`add_reader`): every loop on Unix does, on Windows the SelectorEventLoop, which is also
what the thread gets. Whatever touches the cluster's state runs in its loop; `call` brings a function there from
wherever the caller stands.
"""

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")


class Running:
    """Something that is started in an event loop, serves there, and is stopped."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        """The thread in which the loop runs, by its ident."""
        self._thread: threading.Thread | None = None
        """That thread, where it is our own."""
        self._ending = threading.Lock()
        """Held while a call is handed to the loop, and while the loop is given up: no call is lost in between."""

    @property
    def is_running(self) -> bool:
        """Whether it serves at the moment."""
        return self._loop is not None

    async def start(self) -> None:
        """Begin to serve in the running loop; returns when every listener accepts."""
        self._refuse_twice()
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        try:
            self._open(self._loop)
        except BaseException:
            self._end()
            raise

    async def stop(self) -> None:
        """Stop serving: listeners and connections close, logs are flushed. Without effect if it is not running."""
        if self._loop is not None:
            self._end()

    def _refuse_twice(self) -> None:
        if self._loop is not None:
            raise RuntimeError(f"this {type(self).__name__} is running already; stop it before you start it again")

    def _end(self) -> None:
        try:
            self._close()
        finally:
            with self._ending:
                self._loop = None

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        raise AssertionError("what runs says how it starts")

    def _close(self) -> None:
        raise AssertionError("what runs says how it stops")

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        self._refuse_twice()
        started: list[BaseException | None] = []
        ready = threading.Event()

        def run() -> None:
            loop = asyncio.SelectorEventLoop()
            try:
                try:
                    loop.run_until_complete(self.start())
                except BaseException as error:  # noqa: BLE001 - it is raised where the thread was started
                    started.append(error)
                    return
                finally:
                    started.append(None)
                    ready.set()
                loop.run_forever()
                loop.run_until_complete(self.stop())
                loop.run_until_complete(asyncio.sleep(0))  # the calls that came last
            finally:
                loop.close()

        self._thread = threading.Thread(target=run, name=f"kafkalet-{id(self):x}", daemon=True)
        self._thread.start()
        ready.wait()
        if started[0] is not None:
            self._thread.join()
            self._thread = None
            raise started[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        thread, loop = self._thread, self._loop
        if thread is not None and loop is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
        self._thread = None

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` in the loop and give its result; at once if the caller is in the loop's thread.

        RuntimeError if it is not running, or stops before the loop has come to this.
        """
        if self._loop is not None and threading.get_ident() == self._loop_thread:
            return function()
        done = threading.Event()
        result: list[T] = []
        failure: list[BaseException] = []

        def carry_out() -> None:
            try:
                self._refuse_ended()
                result.append(function())
            except BaseException as error:  # noqa: BLE001 - it is raised where the call came from
                failure.append(error)
            done.set()

        with self._ending:
            self._refuse_ended().call_soon_threadsafe(carry_out)
        done.wait()
        if failure:
            raise failure[0]
        return result[0]

    def _call_in(self, loop: asyncio.AbstractEventLoop) -> Callable[[Callable[[], None]], None]:
        """`call`, for as long as it runs in this loop: not after it was stopped and started again."""

        def call(function: Callable[[], None]) -> None:
            if self._loop is not loop:
                raise self._not_running()
            self.call(function)

        return call

    def _refuse_ended(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise self._not_running()
        return self._loop

    def _not_running(self) -> RuntimeError:
        return RuntimeError(
            f"this {type(self).__name__} is not running; use it inside `with` or `async with`, "
            "or between `await start()` and `await stop()`"
        )
