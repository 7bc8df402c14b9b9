"""The clock of a test: real time, which a test can advance.

    kafka.clock.advance(hours=2)                    records, transactions and offsets are two hours older
    kafka.clock.advance(hours=2, sessions=True)     and clients have been silent for two hours

Clients run in real time. If the broker's time jumped for them, too, they would be removed from their groups, and their
connections would be closed. Therefore, only log time advances by default (see kafkalet/clock.py).
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from kafkalet.clock import CallInLoop, ManualClock, MovableClock, RealTimeLine, RealTimeTimers
from kafkalet.clock import Clock as AnyClock


class Clock(MovableClock):
    """Real time plus an offset, which `advance` increases. It is the clock of a broker unless another one is given.

    Timers that are not yet due after an advance run later, in real time. Several brokers may share a clock. `advance`
    may be called from any thread.
    """

    has_timers = False
    """Timers need an event loop: a broker sets its timers on a clock that is bound to its loop."""

    def __init__(self) -> None:
        self._log_time, self._client_time = RealTimeLine(), RealTimeLine()
        super().__init__(self._log_time, self._client_time)

    @staticmethod
    def frozen(at: datetime | int | None = None) -> ManualClock:
        """Return a clock that stands still until it is advanced: for tests without live clients.

        `at` is the time at which it starts, as a datetime with a time zone or in milliseconds since 1970 (UTC). The
        default is the current time. Raises TypeError or ValueError for any other value.
        """
        if isinstance(at, datetime):
            if at.tzinfo is None:
                raise ValueError(f"at is {at}, which has no time zone; write at.replace(tzinfo=datetime.UTC)")
            return ManualClock((at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))
        if at is not None and (isinstance(at, bool) or not isinstance(at, int)):
            raise TypeError(f"at must be a datetime or an int (milliseconds since 1970), not {at!r}")
        return ManualClock(at)

    def __repr__(self) -> str:
        log, clients = (timedelta(milliseconds=line.ahead_ms) for line in (self._log_time, self._client_time))
        if not log and not clients:
            return "<Clock at real time>"
        return f"<Clock ahead of real time by {log}, for clients by {clients}>"

    def now_ms(self) -> int:
        return self._log_time.now_ms()

    def call_later(self, delay_ms: float, callback: object) -> NoReturn:
        """Raise RuntimeError: only a bound clock has timers."""
        raise RuntimeError("this clock has no event loop for timers; use clock.bound_to(loop, call)")

    def _return_to_real_time(self) -> None:
        """Undo all advances. The brokers must then be restarted, because their time has gone back."""
        for line in (self._log_time, self._client_time):
            line.ahead_ms = line.target_ms = 0

    def bound_to(self, loop: asyncio.AbstractEventLoop, call: CallInLoop) -> AnyClock:
        return _BoundClock(self._log_time, self._client_time, loop, call)


class _BoundClock(RealTimeTimers):
    """A `Clock` bound to a cluster: its log time, with its client time as `for_clients`."""

    def __init__(
        self, log_time: RealTimeLine, client_time: RealTimeLine, loop: asyncio.AbstractEventLoop, call: CallInLoop
    ) -> None:
        super().__init__(log_time, loop, call)
        self.for_clients: AnyClock = RealTimeTimers(client_time, loop, call)


class GivenClock(MovableClock):
    """A clock that cannot be advanced, such as a `SystemClock` that was given to a broker."""

    def __init__(self, clock: AnyClock) -> None:
        super().__init__()
        self._clock = clock
        self._problem = (
            f"the clock of this broker is a {type(clock).__name__}, which cannot be advanced; start the broker "
            "without clock=, or with clock=kafkalet.Clock()"
        )

    def __repr__(self) -> str:
        return f"<GivenClock {self._clock!r}>"

    def now_ms(self) -> int:
        return self._clock.now_ms()


def movable(clock: AnyClock) -> MovableClock:
    """Return the public clock of a cluster. If it cannot be advanced, `advance` raises RuntimeError."""
    return clock if isinstance(clock, MovableClock) else GivenClock(clock)
