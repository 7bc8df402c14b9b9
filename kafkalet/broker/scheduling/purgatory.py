"""Waiting requests: registered under keys, and answered exactly once.

A handler that cannot answer yet returns a `Delayed`. Most `Delayed` objects are created by a `Purgatory` (Kafka's
DelayedOperationPurgatory), for example for a long poll, or for a produce request that waits for replicas. Code that
changes the state behind a key touches the key. The requests that wait for the key then check the state again, and
complete if they can be answered. After a timeout, they complete with whatever is available.

    parked ── a key is touched, `ready` has an answer ──> done
       ├───── timeout ──────── `expired` answers ───────> done
       └───── the client disconnected ──────────────────> cancelled: no answer

Three rules keep this simple:

* `touch` runs no other code. It only marks the waiting requests; soon afterwards, the event loop checks all of them in
  one call. So a handler may touch any key in the middle of its work without running another handler.
* `ready` is called only after a touch. There is no polling.
* A `Delayed` is completed once. Completing it twice is a bug and raises AssertionError; completing a cancelled one has
  no effect, because a client may disconnect at any time.
"""

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Any, Generic, TypeVar

from kafkalet.clock import Clock, Timer

from .turns import SLICE_S

T = TypeVar("T")
U = TypeVar("U")

_WAITING, _DONE, _FAILED, _CANCELLED = "waiting", "done", "failed", "cancelled"


class Delayed(Generic[T]):
    """A response that is not available yet."""

    __slots__ = ("_callback", "_error", "_failure", "_state", "_value")

    _value: T
    _error: Exception

    def __init__(self) -> None:
        self._state = _WAITING
        self._callback: Callable[[T], None] | None = None
        self._failure: Callable[[Exception], None] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it has no result or error yet and has not been cancelled."""
        return self._state is _WAITING

    @property
    def is_working(self) -> bool:
        """Whether the request is being processed and will be answered without a further event (see work.py)."""
        return False

    @property
    def may_be_dropped(self) -> bool:
        """Whether it may end without a result if the client disconnects (see work.py)."""
        return not self.is_working

    @property
    def is_cancelled(self) -> bool:
        return self._state is _CANCELLED

    def result(self) -> T:
        """Return the result or raise the error. Must not be called while waiting."""
        if self._state is _FAILED:
            raise self._error
        assert self._state is _DONE, f"no result: the state is {self._state}"
        return self._value

    def then(self, callback: Callable[[T], None], failed: Callable[[Exception], None] | None = None) -> None:
        """Register callbacks for the result and for an error. If either is known, its callback runs immediately.

        There is only one listener: the connection, or a `map` in between. Without `failed`, an error is raised to the
        caller of `fail` or `then`.
        """
        assert self._callback is None, "there already is a listener"
        if self._state is _DONE:
            callback(self._value)
        elif self._state is _FAILED and failed is not None:
            failed(self._error)
        elif self._state is _FAILED:
            raise self._error
        else:
            self._callback, self._failure = callback, failed

    def complete(self, value: T) -> None:
        """Set the result. No effect if the request was cancelled."""
        if self._state is _CANCELLED:
            return
        assert self._state is _WAITING, "answered already"
        self._state, self._value = _DONE, value
        if self._callback is not None:
            self._callback(value)

    def fail(self, error: Exception) -> None:
        """Set an error. This indicates a bug: the waiting connection is closed."""
        if self._state is _CANCELLED:
            return
        assert self._state is _WAITING, "answered already"
        self._state, self._error = _FAILED, error
        if self._failure is not None:
            self._failure(error)
        elif self._callback is not None:
            raise error

    def cancel(self) -> None:
        """Cancel the wait because the client disconnected. No effect after completion."""
        if self._state is _WAITING:
            self._state = _CANCELLED
            self._callback = self._failure = None

    def hurry(self) -> None:
        """End the wait now, because the client no longer needs to wait. No effect unless the request allows it."""

    def map(self, transform: "Callable[[T], U]") -> "Delayed[U]":
        """Return a `Delayed` with the transformed result. Cancelling it cancels this one."""
        return _Mapped(self, transform)


class _Mapped(Delayed[U]):
    """The transformed result of another `Delayed`."""

    __slots__ = ("_source",)

    def __init__(self, source: Delayed[T], transform: "Callable[[T], U]") -> None:
        super().__init__()
        self._source = source

        def pass_on(value: T) -> None:
            try:
                transformed = transform(value)
            except Exception as error:  # noqa: BLE001 - any error belongs to the waiting connection
                self.fail(error)
            else:
                self.complete(transformed)

        source.then(pass_on, self.fail)

    def cancel(self) -> None:
        super().cancel()
        self._source.cancel()

    def hurry(self) -> None:
        self._source.hurry()


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
    """The waiting requests of a broker, by the keys that they wait for.

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
        """Wait until `ready` returns an answer (not None), then complete with it.

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
        """Remove a waiter from its keys. No effect if it was removed before."""
        for key in waiter.keys:
            waiters = self._waiters.get(key)
            if waiters is not None:
                waiters.pop(waiter, None)
                if not waiters:
                    del self._waiters[key]
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
