"""Ends waits and streams whose clients have closed their connections.

The thread of a waiting request cannot read from its socket, so the thread that accepts connections observes it. A
client that closes only its sending side counts as gone, as in the HTTP servers of Go and Node. If a client sends its
next request during a wait, the connection is not observed until the next wait.
"""

import contextlib
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial


class RequestsInProgress:
    """The requests that wait or stream. `wake` wakes their threads after some of them have been cancelled."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._ends: dict[socket.socket, threading.Event] = {}
        self._is_closed = False
        self._changed: deque[socket.socket] = deque()
        self._reader, self._writer = socket.socketpair()

    @contextlib.contextmanager
    def cancellable(self, connection: socket.socket) -> Iterator[threading.Event]:
        """Provide an event that is set if the client closes the connection, or after `cancel`."""
        ended = threading.Event()
        with self._lock:
            self._ends[connection] = ended
            if self._is_closed:
                ended.set()
        self._note(connection)
        try:
            yield ended
        finally:
            with self._lock:
                del self._ends[connection]
            self._note(connection)

    def cancel(self) -> None:
        """End all requests in progress, and those that begin later."""
        with self._lock:
            self._is_closed = True
            for ended in self._ends.values():
                ended.set()
        self._wake()
        self._writer.send(b"x")

    # In the thread of the selector

    def open(self, selector: selectors.BaseSelector) -> None:
        """Let changes and `cancel` wake a selector. The data of its keys are functions to call."""
        selector.register(self._reader, selectors.EVENT_READ, lambda: self._reader.recv(4096))

    def update(self, selector: selectors.BaseSelector) -> None:
        """Register the connections of requests that have begun, and unregister those of requests that have ended."""
        while self._changed:
            connection = self._changed.popleft()
            with contextlib.suppress(KeyError, ValueError):  # it is not registered, or closed
                selector.unregister(connection)
            if (ended := self._ends.get(connection)) is not None:
                with contextlib.suppress(ValueError):
                    look = partial(self._look, selector, connection, ended)
                    selector.register(connection, selectors.EVENT_READ, look)

    def close(self) -> None:
        self._reader.close()
        self._writer.close()

    def _note(self, connection: socket.socket) -> None:
        self._changed.append(connection)
        with contextlib.suppress(OSError):  # after `close`
            self._writer.send(b"x")

    def _look(self, selector: selectors.BaseSelector, connection: socket.socket, ended: threading.Event) -> None:
        """Cancel a request whose connection is readable if its client has gone."""
        with self._lock:  # which keeps the request in progress, so that its thread does not read what is peeked at
            if self._ends.get(connection) is not ended:
                return
            try:
                is_gone = not connection.recv(1, socket.MSG_PEEK)
            except OSError:
                is_gone = True
        selector.unregister(connection)
        if is_gone:
            ended.set()
            self._wake()
