"""Shares the event loop fairly between connections.

    socket readable ──> immediate turn ──────────────────────> charge
               └──────> if the loop is congested: queue ──> run ──> charge

A turn is the work that one connection or one long request does before others run; it takes at most about SLICE_S. Under
low load, a connection takes its turn as soon as its socket is readable, and the queue stays empty. When the turns of
one iteration of the event loop take longer than ROUND_S in total, the loop is *congested*: all connections are then
queued, and the queue runs for ROUND_S at a time. In between, the loop polls sockets and timers.

The queue implements start-time fair queueing (Goyal, Vin and Cheng, 1996). The virtual time of a task is the time for
which it has been served. A task joins the queue at its own virtual time, but at most CREDIT_S before that of the tasks
being served, and the task with the smallest virtual time runs first. So clients with little work overtake clients with
a lot of work. The latter share the remaining time equally, whatever their requests cost. An idle client does not
accumulate credit.

Kafka achieves the same effect with its request handler threads (`num.io.threads`) and the socket server's processors.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

SLICE_S = 0.005
"""A longer turn ends at the next opportunity: after a request, or where a long request yields."""
SHORTEST_SLICE_S = 0.0001
CYCLE_S = 0.050
"""With many tasks in the queue, turns get shorter, so that each task gets a turn in about this time."""
CHARGE_S = 0.020
"""The maximum charge for a turn. Longer turns are often not the task's fault: Python may be collecting garbage, or
another process may be using the CPU. If charged in full, the task would have to wait until all others had been served
for as long."""
ROUND_S = 0.010
"""The time that the turns of one iteration of the event loop may take in total."""
CREDIT_S = 0.010
"""The time by which a task that was idle may run ahead of its share."""
NEW_S = 0.005
"""A new task gets this much less than CREDIT_S in its first turn, so that known clients with little work overtake large
numbers of new clients.
"""


class Queued(Protocol):
    """An object that takes turns. It is in the queue at most once."""

    virtual_s: float
    """The virtual time at the end of its last turn; 0 before the first."""

    def take_turn(self) -> None:
        """Do some work. If more is left after about SLICE_S, queue again."""

    def turn_failed(self, error: Exception) -> None:
        """Give up: `take_turn` has raised an exception, which it should not do. Must not raise another one."""


class Turns:
    """The turns of all connections on one event loop. Takes the loop's `call_soon` and monotonic clock (seconds)."""

    __slots__ = (
        *("_call_soon", "_is_marked", "_is_scheduled", "_order", "_queue", "_start_s", "_used_s"),
        "_virtual_s",
        *("began_s", "deadline_s", "is_congested", "now_s"),
    )

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], now_s: Callable[[], float]) -> None:
        self._call_soon = call_soon
        self.now_s = now_s
        self._queue: list[tuple[float, int, Queued]] = []
        self._order = count()
        """A tie-breaker: tasks with the same virtual time run in the order in which they joined."""
        self._virtual_s = CREDIT_S
        """The largest virtual time at the start of a turn."""
        self._start_s = 0.0
        """The virtual time at the start of the current turn."""
        self.began_s = 0.0
        """The time on the clock at the start of the current turn."""
        self._used_s = 0.0
        """The time spent on turns since the last mark."""
        self._is_marked = False
        self._is_scheduled = False
        self.deadline_s = 0.0
        """The time at which the current turn should end."""
        self.is_congested = False
        """Whether connections must queue."""

    def begin(self) -> None:
        """Begin an immediate turn."""
        self._start_s = self._virtual_s
        self.began_s = self.now_s()
        self.deadline_s = self.began_s + SLICE_S

    def end(self, task: Queued) -> None:
        """End the immediate turn of `task`.

        The queue is empty, so the task did not need its credit and keeps it. It will therefore overtake new clients.
        """
        used_s = self._charge(task, self.now_s())
        task.virtual_s -= CREDIT_S
        self._used_s += used_s
        if used_s > ROUND_S:
            self.is_congested = True
            self._schedule()
        elif self._used_s > ROUND_S / 2:
            self._mark()

    def is_over(self) -> bool:
        """Return whether the current turn should end."""
        return self.now_s() > self.deadline_s

    def queue(self, task: Queued) -> None:
        """Queue a task, which is not the current one, for a turn in a later iteration of the event loop."""
        start_s = self._virtual_s - CREDIT_S
        start_s = max(start_s, task.virtual_s) if task.virtual_s else start_s + NEW_S
        heappush(self._queue, (start_s, next(self._order), task))
        self._schedule()

    def queue_again(self, task: Queued) -> None:
        """Queue the current task, or one that it has started, for another turn."""
        self._charge(task, self.now_s())
        self.queue(task)

    def _charge(self, task: Queued, now_s: float) -> float:
        """Charge `task` for the current turn. Return the duration of the turn, which may exceed the charge."""
        used_s = now_s - self.began_s
        task.virtual_s = self._start_s + (used_s if used_s < CHARGE_S else CHARGE_S)  # noqa: FURB136 - faster than min()
        return used_s

    def _mark(self) -> None:
        """Detect a long iteration of the event loop.

        This code cannot observe iterations directly. After the first half of a round, a mark is set, which the next
        iteration removes. If the second half is used up before that, the current iteration is taking too long.
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
        """Run queued tasks for one round."""
        self._is_scheduled = False
        now_s = self.now_s()
        until_s = now_s + ROUND_S
        while self._queue and now_s < until_s:
            self._start_s, _, task = heappop(self._queue)
            if not task.virtual_s:
                self._start_s -= NEW_S
            self._virtual_s = max(self._virtual_s, self._start_s)
            self.began_s = now_s
            self.deadline_s = now_s + min(SLICE_S, max(SHORTEST_SLICE_S, CYCLE_S / (len(self._queue) + 1)))
            try:
                task.take_turn()
            except Exception as error:  # noqa: BLE001 - the other tasks are served
                task.turn_failed(error)
            now_s = self.now_s()
            self._charge(task, now_s)
        self.is_congested = bool(self._queue)
        if self._queue:
            self._schedule()
