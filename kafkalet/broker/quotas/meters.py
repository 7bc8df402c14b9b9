"""Meters, which measure a client's recent usage, and its throttle time if it exceeds the quota.

`SampledRate` records usage in windows, by default the last eleven windows of one second. The rate is the average over
at least ten full windows, so a client that was idle can use ten seconds' worth of its quota in one burst. The throttle
time is

    (rate - quota) / quota x length of all windows

`SimpleRate` is the same, but averages over the time since the oldest of its windows began, and at least over one
window: there is no burst after a time without usage.

`TokenBucket` is refilled at the rate of the quota, up to eleven seconds' worth of tokens. Usage may bring the number of
tokens below zero; the throttle time is the time until it is back at zero.

Source: org.apache.kafka.common.metrics.stats.SampledStat, Rate, SimpleRate, TokenBucket;
org.apache.kafka.server.quota.QuotaUtils.
"""

MS_PER_SECOND = 1000


class _Sample:
    """The usage in one window."""

    __slots__ = ("last_used_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.value = 0.0
        self.start_ms = self.last_used_ms = now_ms


class SampledRate:
    """The usage per second over the last `windows` windows of `window_ms`."""

    __slots__ = ("_current", "_samples", "_window_ms", "_windows")

    def __init__(self, windows: int, window_ms: int) -> None:
        self._windows = windows
        self._window_ms = window_ms
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Record usage. A negative value reverts an earlier record."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self._window_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.last_used_ms = now_ms

    def _advance(self, now_ms: int) -> _Sample:
        """Start a new window. It replaces the oldest one if there are already `windows` + 1 windows."""
        self._current = (self._current + 1) % (self._windows + 1)
        if self._current >= len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def throttle_ms(self, quota: float, now_ms: int) -> int:
        """Return the time until the rate is down to `quota`, or 0 if the rate does not exceed it."""
        for sample in self._samples:
            if now_ms - sample.last_used_ms >= self._windows * self._window_ms:
                sample.reset(now_ms)
        span_ms = self._span_ms(now_ms)
        rate = sum(sample.value for sample in self._samples) / span_ms * MS_PER_SECOND
        return _round((rate - quota) / quota * span_ms) if rate > quota else 0

    def _span_ms(self, now_ms: int) -> int:
        """Return the time since the start of the oldest window, but at least the length of all windows except one."""
        elapsed_ms = self._elapsed_ms(now_ms)
        missing = self._windows - 1 - elapsed_ms // self._window_ms
        return max(elapsed_ms + max(missing, 0) * self._window_ms, 1)

    def _elapsed_ms(self, now_ms: int) -> int:
        return now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)


class SimpleRate(SampledRate):
    """The usage per second since the start of the oldest of the last windows, which counts at least as one window."""

    __slots__ = ()

    def _span_ms(self, now_ms: int) -> int:
        return max(self._elapsed_ms(now_ms), self._window_ms)


class TokenBucket:
    """A token bucket that is refilled at the rate of the quota, up to `burst_seconds` times the quota."""

    __slots__ = ("_burst_seconds", "_filled_ms", "_tokens")

    def __init__(self, burst_seconds: int) -> None:
        self._burst_seconds = burst_seconds
        self._tokens = 0.0
        self._filled_ms = 0  # far in the past, so the bucket starts full

    def take(self, count: float, quota: float, now_ms: int) -> None:
        """Take tokens, even if there are not enough."""
        self._fill(quota, now_ms)
        self._tokens = min(self._burst_seconds * quota, self._tokens - count)

    def throttle_ms(self, quota: float, now_ms: int) -> int:
        """Return the time until the number of tokens is back at zero, or 0 if it is not negative."""
        self._fill(quota, now_ms)
        return _round(-self._tokens / quota * MS_PER_SECOND) if self._tokens < 0 else 0

    def _fill(self, quota: float, now_ms: int) -> None:
        come_back = quota * (now_ms - self._filled_ms) / MS_PER_SECOND
        self._tokens = min(self._burst_seconds * quota, self._tokens + come_back)
        self._filled_ms = now_ms


def _round(ms: float) -> int:
    """Round like Java's Math.round."""
    return int(ms + 0.5)
