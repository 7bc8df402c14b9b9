"""How long something is tried again: until a deadline, with pauses that double (KIP-580, without its jitter)."""

from __future__ import annotations

from threading import Event

from kafkalet.clock import Clock

from .client_properties import Settings


class Patience:
    """One undertaking that may need several attempts: `default.api.timeout.ms` from now on, or `timeout_ms`."""

    def __init__(self, settings: Settings, clock: Clock, timeout_ms: int | None = None) -> None:
        self._clock = clock
        self._most_ms = settings.retry_backoff_max_ms
        self._first_ms = min(settings.retry_backoff_ms, self._most_ms)
        self._timeout_ms = settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        self.begin_again()

    def begin_again(self) -> None:
        """There was progress: all the time is there again."""
        self._deadline_ms = self._clock.now_ms() + self._timeout_ms
        self._next_ms = self._first_ms

    @property
    def is_over(self) -> bool:
        return self._clock.now_ms() >= self._deadline_ms

    def pause(self) -> bool:
        """Wait until the next attempt; False, at once, when there is no time for one."""
        left_ms = self._deadline_ms - self._clock.now_ms()
        if left_ms <= 0:
            return False
        Event().wait(min(self._next_ms, left_ms) / 1000)
        self._next_ms = min(2 * self._next_ms, self._most_ms)
        return True
