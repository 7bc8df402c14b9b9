"""How much time one segment may hold."""

from __future__ import annotations

import os

from .config import LogConfig


def max_segment_ms(config: LogConfig) -> int:
    """How much time one segment may hold: a compacted log also rolls by `max.compaction.lag.ms`."""
    if config.is_compacted and config.max_compaction_lag_ms > 0:
        return min(config.max_compaction_lag_ms, config.segment_ms)
    return config.segment_ms


def jitter_ms(config: LogConfig) -> int:
    """A random part of `segment.jitter.ms`, so that logs that were made together do not roll together."""
    if not config.segment_jitter_ms:
        return 0
    return int.from_bytes(os.urandom(4), "big") % min(config.segment_jitter_ms, config.segment_ms)
