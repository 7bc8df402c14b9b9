"""Which timestamps a broker is asked for: those that are there, and those around them.

Of the distinct timestamps of a log a sample of bounded size is kept: those with the smallest hashes, so that it is the
same however the log is cut, and all of them where there are few. A different seed makes another sample.
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
    """Takes in timestamps, keeps up to `size` distinct ones."""

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.seed = seed
        self.timestamps = np.empty(0, np.int64)
        """Ascending."""

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
    """Up to `count` timestamps, ascending: those of the samples, one before and one after each as far as they fit;
    the rest by chance between the first and the last of them; and what lies before and behind all of them."""
    sample = TimestampSample(count, seed)
    for each in samples:
        sample.take(each)
    known = sample.timestamps
    if known.size == 0:
        return np.array([0, LATEST_TIME], np.int64)
    first, last = int(known[0]), int(known[-1])
    edges = np.array([0, first - 1, first, first + 1, last - 1, last, last + 1, LATEST_TIME], np.int64)
    chance = np.random.default_rng(seed)
    around = np.union1d(known - 1, known + 1)
    chosen = edges
    for more in (known, around, chance.integers(max(first - 1000, 0), last + 1000, count, np.int64)):
        room = count - chosen.size
        if room > 0:
            chosen = np.union1d(chosen, more if more.size <= room else chance.choice(more, room, replace=False))
    return chosen[chosen >= 0]


def _hashes(timestamps: Int64s, seed: int) -> NDArray[np.uint64]:
    """Numbers spread evenly (splitmix64)."""
    mixed = timestamps.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 1) & ((1 << 64) - 1))
    for factor, shift in zip(_FACTORS, _SHIFTS, strict=True):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed ^ (mixed >> np.uint64(31))
