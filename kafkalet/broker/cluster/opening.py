"""Opens the logs that were not needed before the broker was ready, in short slices between requests.

After a clean shutdown, a broker with many partitions opens a log when it is first used. The others are opened here, so
that retention applies to them, and damage is found.
"""

from __future__ import annotations

from asyncio import TimerHandle
from collections.abc import Callable

from kafkalet.storage.environment import StartInterrupted

from .node import Node

SLICE_S = 0.004
"""The time spent on opening logs before other work may run."""
PAUSE_S = 0.008


class Opening:
    """Opens the remaining logs of these nodes, from `start` until `stop`. The functions are those of the event loop."""

    def __init__(
        self,
        nodes: dict[int, Node],
        call_later: Callable[[float, Callable[[], None]], TimerHandle],
        now_s: Callable[[], float],
    ) -> None:
        self._nodes = nodes
        self._call_later = call_later
        self._now_s = now_s
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        """Start, unless no log has to be opened. It may be running already."""
        if self._timer is None and not all(node.are_logs_open for node in self._nodes.values()):
            self._timer = self._call_later(PAUSE_S, self._open_some)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _open_some(self) -> None:
        self._timer = None
        end_s = self._now_s() + SLICE_S
        try:
            for node in list(self._nodes.values()):
                node.open_logs(lambda: self._now_s() >= end_s)
        except StartInterrupted:  # the broker is stopping
            return
        self.start()
