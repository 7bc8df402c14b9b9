"""Choose the timestamps to look up at a broker: timestamps of records and their neighbors.

A bounded sample of the distinct timestamps of a log is kept: those with the smallest hashes, so that the sample does
not depend on how the log is divided into stretches. The random seed is part of the hash.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]

_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27))
LATEST_TIME = (1 << 62) - 1


class TimestampSample:
    """Keeps a sample of up to `size` distinct timestamps."""

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.seed = seed
        self.timestamps = np.empty(0, np.int64)
        """The sample, in ascending order."""

    def take(self, timestamps: Int64s) -> None:
        if self.size == 0:
            return
        distinct = np.union1d(self.timestamps, timestamps)
        distinct = distinct[distinct >= 0]
        if distinct.size > self.size:
            chosen = np.argpartition(_hashes(distinct, self.seed), self.size)[: self.size]
            distinct = np.sort(distinct[chosen])
        self.timestamps = distinct


def queries(samples: Iterable[Int64s], count: int, seed: int) -> Int64s:
    """Return up to `count` timestamps in ascending order.

    They include values before and after all timestamps of the log, then timestamps of the samples, their neighbors
    (plus and minus 1 ms), and random timestamps between the first and the last, until there are `count`.
    """
    sample = TimestampSample(count, seed)
    for each in samples:
        sample.take(each)
    known = sample.timestamps
    if known.size == 0:
        return np.array([0, LATEST_TIME], np.int64)
    first, last = int(known[0]), int(known[-1])
    edges = np.array([0, first - 1, first, first + 1, last - 1, last, last + 1, LATEST_TIME], np.int64)
    chance = np.random.default_rng(seed)
    neighbors = np.union1d(known - 1, known + 1)
    chosen = edges
    for more in (known, neighbors, chance.integers(max(first - 1000, 0), last + 1000, count, np.int64)):
        room = count - chosen.size
        if room > 0:
            chosen = np.union1d(chosen, more if more.size <= room else chance.choice(more, room, replace=False))
    return chosen[chosen >= 0]


def _hashes(timestamps: Int64s, seed: int) -> NDArray[np.uint64]:
    """Return uniformly distributed hashes (splitmix64)."""
    mixed = timestamps.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 1) & ((1 << 64) - 1))
    for factor, shift in zip(_FACTORS, _SHIFTS, strict=True):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed ^ (mixed >> np.uint64(31))
