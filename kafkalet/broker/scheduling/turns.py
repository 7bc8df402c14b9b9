"""Shares the event loop between connections, so that no client waits long because of another.

    socket readable ──> turn at once ──────────────────────────> charge
                  └───> the loop is congested: queue ──> run ──> charge

A turn is what one connection, or one long request, does before others go first: at most about SLICE_S of work. While
little is going on, a connection takes its turn as soon as its socket is readable, and nothing is queued. When the turns
of one iteration of the event loop take longer than ROUND_S together, the loop is *congested*: from then on every
connection queues, and the queue is served for ROUND_S at a time, between which the loop looks at sockets and timers.

The queue is start-time fair queueing (Goyal, Vin and Cheng, 1996). Virtual time is the time for which a task has been
served. A task joins at its own virtual time, but not more than CREDIT_S before that of the tasks that are being
served. The smallest goes first. So a client that asks for little passes those that ask for much. These share what is
left equally, whatever each of their requests costs, and no client saves up time by being idle.

Kafka gets the same effect from its request handler threads (`num.io.threads`) and the processors of the socket server.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

SLICE_S = 0.005
"""A turn that takes longer ends at the next opportunity: after a request, or where a long request gives way."""
SHORTEST_SLICE_S = 0.0001
CYCLE_S = 0.050
"""When many tasks are in the queue, their turns get shorter, so that each of them gets one in about this time."""
CHARGE_S = 0.020
"""A turn is charged no more than this. What takes longer is often not the task's doing: Python collects garbage, or
another process has the processor. The full charge would let the task wait until all others had been served as long."""
ROUND_S = 0.010
"""The turns of one iteration of the event loop may take this long together, in seconds."""
CREDIT_S = 0.010
"""How much of its share a task may take in advance of others when it comes back from being idle."""
NEW_S = 0.005
"""A new task gets this much less in advance, so that clients that are known to ask for little pass a crowd of new ones.
This counts only until its first turn."""


class Task(Protocol):
    """What takes turns. A task is in the queue at most once."""

    virtual_s: float
    """The virtual time at which its last turn ended; 0 before the first."""

    def take_turn(self) -> None:
        """Do some work; if more is left after about SLICE_S, queue again. Must not raise."""


class Turns:
    """The turns of all connections on one event loop, with its `call_soon` and its monotonic clock in seconds."""

    __slots__ = (
        *("_began_s", "_call_soon", "_is_marked", "_is_scheduled", "_order", "_queue", "_start_s", "_used_s"),
        "_virtual_s",
        *("deadline_s", "is_congested", "now_s"),
    )

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], now_s: Callable[[], float]) -> None:
        self._call_soon = call_soon
        self.now_s = now_s
        self._queue: list[tuple[float, int, Task]] = []
        self._order = count()
        """Breaks ties: tasks with the same virtual time are served in the order in which they joined."""
        self._virtual_s = CREDIT_S
        """The largest virtual time at which a turn began."""
        self._start_s = 0.0
        """The virtual time at which the current turn began, ..."""
        self._began_s = 0.0
        """... and the time on the clock."""
        self._used_s = 0.0
        """The time that was spent on turns since the last mark."""
        self._is_marked = False
        self._is_scheduled = False
        self.deadline_s = 0.0
        """When the current turn should end."""
        self.is_congested = False
        """Connections have to queue."""

    def begin(self) -> None:
        """Begin a turn without queueing."""
        self._start_s = self._virtual_s
        self._began_s = self.now_s()
        self.deadline_s = self._began_s + SLICE_S

    def end(self, task: Task) -> None:
        """End the turn of `task`, which `begin` began."""
        used_s = self._charge(task, self.now_s())
        self._used_s += used_s
        if used_s > ROUND_S:
            self.is_congested = True
            self._schedule()
        elif self._used_s > ROUND_S / 2:
            self._mark()

    def is_over(self) -> bool:
        """Return whether the current turn has lasted long enough."""
        return self.now_s() > self.deadline_s

    def queue(self, task: Task) -> None:
        """Let `task`, whose turn this is not, take a turn in a later iteration of the event loop."""
        start_s = self._virtual_s - CREDIT_S
        start_s = max(start_s, task.virtual_s) if task.virtual_s else start_s + NEW_S
        heappush(self._queue, (start_s, next(self._order), task))
        self._schedule()

    def queue_again(self, task: Task) -> None:
        """Let `task`, whose turn this is, or which this turn has begun, take another turn after it."""
        self._charge(task, self.now_s())
        self.queue(task)

    def _charge(self, task: Task, now_s: float) -> float:
        """Charge `task` for the current turn. Return how long the turn has lasted, which may be more."""
        used_s = now_s - self._began_s
        task.virtual_s = self._start_s + (used_s if used_s < CHARGE_S else CHARGE_S)  # noqa: FURB136 - faster than min()
        return used_s

    def _mark(self) -> None:
        """Find out whether all the time since the last mark belongs to one iteration of the loop.

        Iterations are not visible from here. So the first half of a round sets a mark that the next iteration takes
        away; if the second half is used up before that happens, this iteration takes too long.
        """
        self._used_s = 0.0
        if self._is_marked:
            self.is_congested = True
            self._schedule()
        else:
            self._is_marked = True
            self._call_soon(self._unmark)

    def _unmark(self) -> None:
        self._is_marked = False
        self._used_s = 0.0

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._call_soon(self._run)

    def _run(self) -> None:
        """Serve the queue for one round."""
        self._is_scheduled = False
        now_s = self.now_s()
        until_s = now_s + ROUND_S
        while self._queue and now_s < until_s:
            self._start_s, _, task = heappop(self._queue)
            if not task.virtual_s:
                self._start_s -= NEW_S
            self._virtual_s = max(self._virtual_s, self._start_s)
            self._began_s = now_s
            self.deadline_s = now_s + min(SLICE_S, max(SHORTEST_SLICE_S, CYCLE_S / (len(self._queue) + 1)))
            task.take_turn()
            now_s = self.now_s()
            self._charge(task, now_s)
        self.is_congested = bool(self._queue)
        if self._queue:
            self._schedule()
