"""The event loop of brokers that run in a separate thread or process.

For each ready socket, asyncio looks up a selector key, queues a handle, and runs its callback with the context
variables of the caller. Together, this costs about as much as a small request. Here, the callbacks of `add_reader` and
`add_writer` belong to the selector, which calls them itself:

    asyncio   poll ── list of keys ── queue of handles ── callbacks
    here      poll ── callbacks

If callbacks are already queued, or another thread has just queued one, the callbacks of ready sockets are queued too,
so that the order stays that of asyncio. Everything else is asyncio's: timers, `call_soon`, signals, and the sockets
that it watches itself. In the loop of the user (`async with Broker()`), and on systems without epoll, asyncio calls the
callbacks of the broker.
"""

import asyncio
import math
import select
import selectors
from collections.abc import Callable
from functools import partial
from typing import Any

EVENTS_AT_ONCE = 256
"""The largest number of ready sockets that one poll returns. The next poll returns the others."""


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop that has `add_reader` on every system, and is fast where epoll is available."""
    return EventLoop() if hasattr(select, "epoll") else asyncio.SelectorEventLoop()


def _descriptor(file: Any) -> int:
    return file if isinstance(file, int) else int(file.fileno())


if hasattr(select, "epoll"):
    _READ, _WRITE = select.EPOLLIN, select.EPOLLOUT

    class EventLoop(asyncio.SelectorEventLoop):
        """An event loop whose sockets are served by its selector."""

        def __init__(self) -> None:
            self._sockets = _Selector(self.call_soon, self.call_exception_handler)
            super().__init__(self._sockets)

        def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
            self._sockets.watch(_descriptor(fd), _READ, partial(callback, *args) if args else callback)

        def remove_reader(self, fd: Any) -> bool:
            return self._sockets.unwatch(_descriptor(fd), _READ)

        def add_writer(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
            self._sockets.watch(_descriptor(fd), _WRITE, partial(callback, *args) if args else callback)

        def remove_writer(self, fd: Any) -> bool:
            return self._sockets.unwatch(_descriptor(fd), _WRITE)

    class _Selector(selectors.EpollSelector):
        """Calls the callbacks of `watch` during `select`, and returns the keys of registered files as usual.

        The watched sockets have a separate epoll descriptor. It also watches the descriptor of the base class, with
        which asyncio's files are registered.
        """

        def __init__(self, call_soon: Callable[..., object], on_error: Callable[[dict[str, Any]], None]) -> None:
            """The arguments are `call_soon` and `call_exception_handler` of the loop."""
            super().__init__()
            self._call_soon = call_soon
            self._on_error = on_error
            self._readers: dict[int, Callable[[], Any]] = {}
            self._writers: dict[int, Callable[[], Any]] = {}
            self._epoll = select.epoll()
            self._epoll.register(self.fileno(), _READ)
            self._registered_event = (self.fileno(), _READ)

        def watch(self, fd: int, event: int, callback: Callable[[], Any]) -> None:
            """Call `callback` whenever the descriptor is ready for the event, EPOLLIN or EPOLLOUT."""
            watched = self._watched(fd)
            (self._readers if event == _READ else self._writers)[fd] = callback
            if not watched:
                self._epoll.register(fd, event)
            elif not watched & event:
                self._epoll.modify(fd, watched | event)

        def unwatch(self, fd: int, event: int) -> bool:
            """Undo `watch`. Return whether the descriptor was watched for the event."""
            if (self._readers if event == _READ else self._writers).pop(fd, None) is None:
                return False
            if rest := self._watched(fd):
                self._epoll.modify(fd, rest)
            else:
                self._epoll.unregister(fd)
            return True

        def _watched(self, fd: int) -> int:
            return (_READ if fd in self._readers else 0) | (_WRITE if fd in self._writers else 0)

        def select(self, timeout_s: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            """Wait until a file is ready, call the callbacks of watched sockets, and return the keys of other files."""
            if timeout_s is None:
                timeout_s = -1
            elif timeout_s > 0:
                timeout_s = math.ceil(timeout_s * 1000) / 1000  # epoll rounds down to milliseconds
            found = self._epoll.poll(timeout_s, EVENTS_AT_ONCE)
            if timeout_s == 0 or self._registered_event in found:
                for fd, events in found:
                    self._call_soon(self._serve, fd, events)  # after the callbacks that are already queued
                return super().select(0)
            for fd, events in found:
                try:
                    self._serve(fd, events)
                except Exception as error:  # noqa: BLE001 - as in asyncio, it must not end the loop
                    self._on_error({"message": f"Exception in the callback of socket {fd}", "exception": error})
            return []

        def _serve(self, fd: int, events: int) -> None:
            """Call the callbacks of a socket. Errors and disconnects count as both events."""
            if events != _WRITE and (callback := self._readers.get(fd)) is not None:
                callback()
            if events != _READ and (callback := self._writers.get(fd)) is not None:
                callback()

        def close(self) -> None:
            self._epoll.close()
            super().close()
