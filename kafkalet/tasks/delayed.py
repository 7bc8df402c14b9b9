"""A value that is not available yet, such as the response to a long poll.

The producer of the value calls `complete` once; a second call is a bug and raises AssertionError. The consumer of the
value registers one listener. The client may disconnect at any time: this cancels the value, and completing it
afterwards has no effect.
"""

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from kafkalet.clock import Clock

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
        """Whether the request is being processed and will be answered without a further event (see task.py)."""
        return False

    @property
    def may_be_dropped(self) -> bool:
        """Whether it may end without a result if the client disconnects (see task.py)."""
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


def completed(value: T) -> Delayed[T]:
    """Return a `Delayed` that has a result."""
    known: Delayed[T] = Delayed()
    known.complete(value)
    return known


def after(clock: Clock, delay_ms: float) -> Delayed[None]:
    """Return a `Delayed` that is completed after a time."""
    elapsed: Delayed[None] = Delayed()
    clock.call_later(delay_ms, partial(elapsed.complete, None))
    return elapsed
