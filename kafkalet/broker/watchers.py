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

NO_TOPIC = ""
"""Passed in place of a topic: a request, a group or a transaction has changed, but no topic."""


class Changes(threading.Event):
    """Set after a change. It remembers which topics have changed."""

    def __init__(self) -> None:
        super().__init__()
        self._topics: dict[str | None, None] = {}

    def note(self, topic: str | None) -> None:
        """Set the event. `topic` is as in `Watchers.touch`."""
        self._topics[topic] = None
        if not self.is_set():  # a watcher clears the event before it takes the topics
            self.set()

    def take_topics(self) -> set[str] | None:
        """Return the topics that have changed since the last call; None if any topic may have changed."""
        found = set()
        while self._topics:
            found.add(self._topics.popitem()[0])
        return None if None in found else found - {NO_TOPIC}  # type: ignore[return-value]


class Watchers:
    """The threads that wait for a change."""

    __slots__ = ("_changing", "_events", "_of_requests", "sees_requests")

    def __init__(self) -> None:
        self._events: tuple[Changes, ...] = ()
        self._changing = threading.Lock()
        self._of_requests = 0
        self.sees_requests = False
        """Whether a watcher has to be woken after each request, too."""

    def touch(self, topic: str | None = None) -> None:
        """Wake every watcher. May be called in any thread.

        `topic` is the only topic whose partitions or logs have changed, or NO_TOPIC. None stands for any topic.
        """
        for event in self._events:
            event.note(topic)

    @contextmanager
    def watch(self, *, requests: bool = False) -> Iterator[Changes]:
        """Provide an event that is set after each change from now on.

        With `requests`, it is also set after a request was received or answered, and when a connection closes.
        """
        event = Changes()
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
