"""Requests that wait: parked under the keys that may change their answer, and answered exactly once.

A handler that cannot answer yet returns a `Delayed`. Most of them come out of a `Purgatory` (Kafka's
DelayedOperationPurgatory): a long poll, a produce that waits for its replicas. Whoever changes what a key stands for
touches the key; the waiters under it look again, and the first answer they find is theirs. When their time is up they
take what there is.

    parked ── a key is touched, `ready` has an answer ──> done
       ├───── the time is up ──────── `expired` answers ─> done
       └───── the client went away ──────────────────────> cancelled: nobody is told

Three rules keep it simple:

* Nothing runs inside `touch`. It only marks the waiters; all of them look again in one call of the event loop soon
  after. So a handler may touch what it likes in the middle of its work and never meets another handler there.
* A waiter asks `ready` only when something was touched. Nothing polls.
* A `Delayed` is completed once. A second completion is a bug and says so; completing a cancelled one does nothing,
  because a client may go away at any time.
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
    """An answer that is not there yet."""

    __slots__ = ("_callback", "_error", "_failure", "_state", "_value")

    _value: T
    _error: Exception

    def __init__(self) -> None:
        self._state = _WAITING
        self._callback: Callable[[T], None] | None = None
        self._failure: Callable[[Exception], None] | None = None

    @property
    def is_waiting(self) -> bool:
        """Nothing has come of it so far: no answer, no failure, and its client is still there."""
        return self._state is _WAITING

    @property
    def is_working(self) -> bool:
        """The request is being served and will be answered without anything else happening (see work.py)."""
        return False

    @property
    def is_cancelled(self) -> bool:
        return self._state is _CANCELLED

    def result(self) -> T:
        """The answer that is there, or what went wrong raised. Only for one that has stopped waiting."""
        if self._state is _FAILED:
            raise self._error
        assert self._state is _DONE, f"a result of what is {self._state}"
        return self._value

    def then(self, callback: Callable[[T], None], failed: Callable[[Exception], None] | None = None) -> None:
        """Have `callback` called with the answer, or `failed` with what went wrong; at once where that is known.

        There is one listener, the connection (or the `map` in between). Without `failed` an error is raised where it
        comes up.
        """
        assert self._callback is None, "somebody listens already"
        if self._state is _DONE:
            callback(self._value)
        elif self._state is _FAILED and failed is not None:
            failed(self._error)
        elif self._state is _FAILED:
            raise self._error
        else:
            self._callback, self._failure = callback, failed

    def complete(self, value: T) -> None:
        """Give the answer. Nothing happens where the client has gone away."""
        if self._state is _CANCELLED:
            return
        assert self._state is _WAITING, "answered already"
        self._state, self._value = _DONE, value
        if self._callback is not None:
            self._callback(value)

    def fail(self, error: Exception) -> None:
        """End the wait with a bug: the connection that waits is closed."""
        if self._state is _CANCELLED:
            return
        assert self._state is _WAITING, "answered already"
        self._state, self._error = _FAILED, error
        if self._failure is not None:
            self._failure(error)
        elif self._callback is not None:
            raise error

    def cancel(self) -> None:
        """The client has gone away: forget it, tell nobody. Nothing happens where it was answered already."""
        if self._state is _WAITING:
            self._state = _CANCELLED
            self._callback = self._failure = None

    def map(self, transform: "Callable[[T], U]") -> "Delayed[U]":
        """The same wait with its answer passed through `transform`; cancelling it cancels this one."""
        return _Mapped(self, transform)


class _Mapped(Delayed[U]):
    """The answer of another `Delayed`, transformed."""

    __slots__ = ("_source",)

    def __init__(self, source: Delayed[T], transform: "Callable[[T], U]") -> None:
        super().__init__()
        self._source = source

        def pass_on(value: T) -> None:
            try:
                transformed = transform(value)
            except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the connection that waits
                self.fail(error)
            else:
                self.complete(transformed)

        source.then(pass_on, self.fail)

    def cancel(self) -> None:
        super().cancel()
        self._source.cancel()


class _Parked(Delayed[T]):
    """A waiter of a purgatory: how it looks for its answer, and what it answers when its time is up."""

    __slots__ = ("expired", "keys", "purgatory", "ready", "timer")

    def __init__(
        self,
        purgatory: "Purgatory",
        keys: tuple[Hashable, ...],
        ready: Callable[[], T | None],
        expired: Callable[[], T],
    ) -> None:
        super().__init__()
        self.purgatory = purgatory
        self.keys = keys
        self.ready = ready
        self.expired = expired
        self.timer: Timer | None = None

    def look_again(self) -> None:
        if self.is_waiting:
            self._settle(self.ready)

    def time_is_up(self) -> None:
        self.timer = None
        if self.is_waiting:
            self._settle(self.expired)

    def _settle(self, look: "Callable[[], T | None]") -> None:
        try:
            value = look()
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the connection that waits
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
    """The waiting requests of a broker, by the keys that may change their answer.

    `call_soon` is the event loop's: it runs what it is given after the code that runs now. `now_s` is its clock. If the
    waiters that have to look again need longer than a turn (turns.py), the rest of them look in the next iteration.
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
        self._waiters: dict[Hashable, dict[_Parked[Any], None]] = {}  # dicts, because they keep their order
        self._touched: dict[_Parked[Any], None] = {}

    def __len__(self) -> int:
        """How many requests wait (counted, not kept: for tests and metrics)."""
        return len({waiter for waiters in self._waiters.values() for waiter in waiters})

    def park(
        self,
        keys: Iterable[Hashable],
        delay_ms: float | None,
        ready: Callable[[], T | None],
        expired: Callable[[], T],
    ) -> Delayed[T]:
        """Wait until `ready` has an answer (not None), for `delay_ms` at most (None: for ever), then take `expired`'s.

        `ready` is asked after each touch of one of `keys` and not before: the caller has just looked himself. A delay
        of nothing is answered by `expired` at once.
        """
        waiter: _Parked[T] = _Parked(self, tuple(keys), ready, expired)
        if delay_ms is not None and delay_ms <= 0:
            waiter.time_is_up()
            return waiter
        for key in waiter.keys:
            self._waiters.setdefault(key, {})[waiter] = None
        if delay_ms is not None:
            waiter.timer = self._clock.call_later(delay_ms, waiter.time_is_up)
        return waiter

    def touch(self, key: Hashable) -> None:
        """Something under `key` has changed: its waiters look again soon, once however often it is touched."""
        waiters = self._waiters.get(key)
        if waiters is None:
            return
        if not self._touched:
            self._call_soon(self._look_again)
        self._touched.update(waiters)

    def _look_again(self) -> None:
        touched, self._touched = self._touched, {}
        until_s = self._now_s() + SLICE_S
        for number, waiter in enumerate(touched, 1):
            waiter.look_again()
            if self._now_s() > until_s and number < len(touched):
                self._go_on_later(dict.fromkeys(islice(touched, number, None)))
                return

    def _go_on_later(self, left: dict[_Parked[Any], None]) -> None:
        if not self._touched:
            self._call_soon(self._look_again)
        self._touched = left | self._touched

    def forget(self, waiter: _Parked[Any]) -> None:
        """Take a waiter out from under its keys. What is forgotten twice stays forgotten."""
        for key in waiter.keys:
            waiters = self._waiters.get(key)
            if waiters is not None:
                waiters.pop(waiter, None)
                if not waiters:
                    del self._waiters[key]
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
