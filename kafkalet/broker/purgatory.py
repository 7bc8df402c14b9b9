"""Waiting requests, which are registered under keys and completed exactly once.

Most `Delayed` responses are created by a `Purgatory` (Kafka's DelayedOperationPurgatory), for example for a long poll,
or for a produce request that waits for replicas. Code that changes the state behind a key touches the key. The requests
that wait for the key then check the state again, and complete if they can be answered. After a timeout, they complete
with whatever is available.

    parked ── a key is touched, `ready` has an answer ──> done
       ├───── timeout ──────── `expired` answers ───────> done
       └───── the client disconnected ──────────────────> cancelled: no answer

Two rules keep this simple:

* `touch` runs no other code. It only marks the waiting requests; soon afterwards, the event loop checks all of them in
  one call. So a handler may touch any key in the middle of its work without running another handler.
* `ready` is called only after a touch. There is no polling.
"""

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Any, TypeVar

from kafkalet.clock import Clock, Timer
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.turns import SLICE_S

T = TypeVar("T")


class _Parked(Delayed[T]):
    """A request that waits in a purgatory, with its callbacks for a touch and for the timeout."""

    __slots__ = ("expired", "keys", "may_hurry", "purgatory", "ready", "timer")

    def __init__(
        self,
        purgatory: "Purgatory",
        keys: tuple[Hashable, ...],
        ready: Callable[[], T | None],
        expired: Callable[[], T],
        *,
        may_hurry: bool,
    ) -> None:
        super().__init__()
        self.purgatory = purgatory
        self.keys = keys
        self.ready = ready
        self.expired = expired
        self.may_hurry = may_hurry
        self.timer: Timer | None = None

    def check(self) -> None:
        if self.is_waiting:
            self._settle(self.ready)

    def time_out(self) -> None:
        self.timer = None
        if self.is_waiting:
            self._settle(self.expired)

    def hurry(self) -> None:
        if self.may_hurry and self.is_waiting:
            self._settle(self.expired)

    def _settle(self, look: "Callable[[], T | None]") -> None:
        try:
            value = look()
        except Exception as error:  # noqa: BLE001 - any error belongs to the waiting connection
            self.purgatory.forget(self)
            self.fail(error)
            return
        if value is not None:
            self.purgatory.forget(self)
            self.complete(value)

    def complete(self, value: T) -> None:
        self.purgatory.forget(self)
        super().complete(value)

    def cancel(self) -> None:
        self.purgatory.forget(self)
        super().cancel()


class Purgatory:
    """The waiting requests of a broker, registered under the keys that they wait for.

    `call_soon` is the event loop's method, and `now_s` is its clock. If checking the touched requests takes longer than
    a turn (turns.py), the remaining ones are checked in the next iteration of the loop.
    """

    def __init__(
        self,
        clock: Clock,
        call_soon: Callable[[Callable[[], None]], object],
        now_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._clock = clock
        self._call_soon = call_soon
        self._now_s = now_s
        self._waiters: dict[Hashable, dict[_Parked[Any], None]] = {}  # dicts as ordered sets
        self._touched: dict[_Parked[Any], None] = {}

    def __len__(self) -> int:
        """Return the number of waiting requests. O(n), for tests and metrics."""
        return len({waiter for waiters in self._waiters.values() for waiter in waiters})

    @property
    def is_checking(self) -> bool:
        """Whether waiting requests have been touched and will be checked in the next iteration of the event loop."""
        return bool(self._touched)

    def park(
        self,
        keys: Iterable[Hashable],
        delay_ms: float | None,
        ready: Callable[[], T | None],
        expired: Callable[[], T],
        *,
        may_hurry: bool = False,
    ) -> Delayed[T]:
        """Wait until `ready` returns a value other than None, then complete with it.

        After `delay_ms` (None: no timeout), complete with the value that `expired` returns; immediately if `delay_ms`
        is 0 or less. `ready` is not called until one of `keys` is touched, because the caller has already checked. With
        `may_hurry`, `Delayed.hurry` completes the request like the timeout.
        """
        waiter: _Parked[T] = _Parked(self, tuple(keys), ready, expired, may_hurry=may_hurry)
        if delay_ms is not None and delay_ms <= 0:
            waiter.time_out()
            return waiter
        for key in waiter.keys:
            self._waiters.setdefault(key, {})[waiter] = None
        if delay_ms is not None:
            waiter.timer = self._clock.call_later(delay_ms, waiter.time_out)
        return waiter

    def touch(self, key: Hashable) -> None:
        """Mark the requests that wait for `key`. They are checked soon, once for any number of touches."""
        waiters = self._waiters.get(key)
        if waiters is None:
            return
        if not self._touched:
            self._call_soon(self._check_touched)
        self._touched.update(waiters)

    def _check_touched(self) -> None:
        touched, self._touched = self._touched, {}
        until_s = self._now_s() + SLICE_S
        for number, waiter in enumerate(touched, 1):
            waiter.check()
            if self._now_s() > until_s and number < len(touched):
                self._check_later(dict.fromkeys(islice(touched, number, None)))
                return

    def _check_later(self, left: dict[_Parked[Any], None]) -> None:
        if not self._touched:
            self._call_soon(self._check_touched)
        self._touched = left | self._touched

    def forget(self, waiter: _Parked[Any]) -> None:
        """Remove a waiter from its keys. Has no effect if it was removed before."""
        for key in waiter.keys:
            waiters = self._waiters.get(key)
            if waiters is not None:
                waiters.pop(waiter, None)
                if not waiters:
                    del self._waiters[key]
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
