"""Meters: how much somebody has used lately, and how long he must rest until that is what he may use.

`SampledRate` adds up what is used in windows (of a second, say) and looks at the last eleven. The rate is taken over at
least ten full windows, so that whoever was idle may use ten seconds' worth at once. Somebody over his quota rests

    (rate - quota) / quota x length of all windows

`TokenBucket` fills by the quota's rate up to eleven seconds' worth. What is used may bring it below zero; then one
rests until it is back at zero.

Source: org.apache.kafka.common.metrics.stats.SampledStat, Rate, TokenBucket; org.apache.kafka.server.quota.QuotaUtils.
"""

MS_PER_SECOND = 1000


class _Sample:
    """What was used in one window."""

    __slots__ = ("last_used_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.value = 0.0
        self.start_ms = self.last_used_ms = now_ms


class SampledRate:
    """Use per second over the last `windows` windows of `window_ms`."""

    __slots__ = ("_current", "_samples", "_window_ms", "_windows")

    def __init__(self, windows: int, window_ms: int) -> None:
        self._windows = windows
        self._window_ms = window_ms
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Count what is used now; a negative value takes back what was counted."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self._window_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.last_used_ms = now_ms

    def _advance(self, now_ms: int) -> _Sample:
        """Begin a window, in the place of the oldest where there are as many as may be, and one that overlaps."""
        self._current = (self._current + 1) % (self._windows + 1)
        if self._current >= len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def throttle_ms(self, quota: float, now_ms: int) -> int:
        """How long to rest until the rate is down to `quota`; 0 where it is not above."""
        for sample in self._samples:
            if now_ms - sample.last_used_ms >= self._windows * self._window_ms:
                sample.reset(now_ms)
        span_ms = self._span_ms(now_ms)
        rate = sum(sample.value for sample in self._samples) / span_ms * MS_PER_SECOND
        return _round((rate - quota) / quota * span_ms) if rate > quota else 0

    def _span_ms(self, now_ms: int) -> int:
        """The time since the oldest window began, at least that of all but one window."""
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        missing = self._windows - 1 - elapsed_ms // self._window_ms
        return max(elapsed_ms + max(missing, 0) * self._window_ms, 1)


class TokenBucket:
    """Tokens that come back by the quota's rate, at most `burst_seconds` worth of them."""

    __slots__ = ("_burst_seconds", "_filled_ms", "_tokens")

    def __init__(self, burst_seconds: int) -> None:
        self._burst_seconds = burst_seconds
        self._tokens = 0.0
        self._filled_ms = 0  # long ago: it is full at first

    def take(self, count: float, quota: float, now_ms: int) -> None:
        """Take tokens, whether there are so many or not."""
        self._fill(quota, now_ms)
        self._tokens = min(self._burst_seconds * quota, self._tokens - count)

    def throttle_ms(self, quota: float, now_ms: int) -> int:
        """How long to rest until nothing is owed."""
        self._fill(quota, now_ms)
        return _round(-self._tokens / quota * MS_PER_SECOND) if self._tokens < 0 else 0

    def _fill(self, quota: float, now_ms: int) -> None:
        come_back = quota * (now_ms - self._filled_ms) / MS_PER_SECOND
        self._tokens = min(self._burst_seconds * quota, self._tokens + come_back)
        self._filled_ms = now_ms


def _round(ms: float) -> int:
    """As Java's Math.round does."""
    return int(ms + 0.5)
