"""Wakes threads that wait for a change of the brokers: an append, a watermark, a topic, a leader, a stopped broker.

The test kit waits like this, in any thread but that of the event loop:

    with server.watchers.watch() as changed:
        while not condition():
            changed.wait(timeout)
            changed.clear()

`touch` is called in the event loop after each change. Without watchers it costs one test of an empty tuple.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Watchers:
    """The threads that wait for a change."""

    __slots__ = ("_changing", "_events", "_of_requests", "sees_requests")

    def __init__(self) -> None:
        self._events: tuple[threading.Event, ...] = ()
        self._changing = threading.Lock()
        self._of_requests = 0
        self.sees_requests = False
        """Whether a watcher has to be woken after each request, too."""

    def touch(self) -> None:
        """Wake every watcher. May be called in any thread."""
        for event in self._events:
            event.set()

    @contextmanager
    def watch(self, *, requests: bool = False) -> Iterator[threading.Event]:
        """Provide an event that is set after each change from now on.

        With `requests`, it is also set after a request was received or answered, and when a connection closes.
        """
        event = threading.Event()
        with self._changing:
            self._events = (*self._events, event)
            self._of_requests += requests
            self.sees_requests = self._of_requests > 0
        try:
            yield event
        finally:
            with self._changing:
                self._events = tuple(other for other in self._events if other is not event)
                self._of_requests -= requests
                self.sees_requests = self._of_requests > 0
