"""Timeouts for the members of a group whose partitions the broker assigns.

A heartbeat postpones a deadline, usually thousands of times before it is reached. Postponing a deadline therefore only
changes a number; if the timer then fires too early, it is restarted.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager, keys of its timer.
"""

from collections.abc import Callable
from enum import Enum

from kafkalet.clock import Clock, Timer


class Wait(Enum):
    """The event that a timeout waits for. JOIN and SYNC apply to classic members, MEMBERS to streams groups."""

    SESSION = "a heartbeat"
    REBALANCE = "revoked partitions or tasks"
    MEMBERS = "members of a new group"
    JOIN = "a JoinGroup"
    SYNC = "a SyncGroup"


class _Deadline:
    """A callback that is due at a certain time, which can be postponed."""

    __slots__ = ("_callback", "_clock", "_due_ms", "_timer")

    def __init__(self, clock: Clock, delay_ms: int, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._callback = callback
        self._due_ms = clock.now_ms() + delay_ms
        self._timer: Timer = clock.call_later(delay_ms, self._check)

    def move(self, delay_ms: int, callback: Callable[[], None]) -> None:
        due_ms = self._clock.now_ms() + delay_ms
        self._callback = callback
        if due_ms < self._due_ms:
            self._timer.cancel()
            self._timer = self._clock.call_later(delay_ms, self._check)
        self._due_ms = due_ms

    def cancel(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        left_ms = self._due_ms - self._clock.now_ms()
        if left_ms > 0:
            self._timer = self._clock.call_later(left_ms, self._check)
        else:
            self._callback()


class MemberTimers:
    """The timeouts of all members of a group."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._deadlines: dict[tuple[Wait, str], _Deadline] = {}

    def __contains__(self, key: tuple[Wait, str]) -> bool:
        return key in self._deadlines

    def schedule(self, wait: Wait, member_id: str, delay_ms: int, missed: Callable[[], None]) -> None:
        """Call `missed` after `delay_ms`, unless the timeout is cancelled or restarted before then."""
        key = wait, member_id

        def fire() -> None:
            del self._deadlines[key]
            missed()

        deadline = self._deadlines.get(key)
        if deadline is None:
            self._deadlines[key] = _Deadline(self._clock, delay_ms, fire)
        else:
            deadline.move(delay_ms, fire)

    def cancel(self, wait: Wait, member_id: str) -> None:
        deadline = self._deadlines.pop((wait, member_id), None)
        if deadline is not None:
            deadline.cancel()

    def forget(self, member_id: str) -> None:
        """Cancel all timeouts of a member."""
        for wait in Wait:
            self.cancel(wait, member_id)

    def close(self) -> None:
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._deadlines.clear()
