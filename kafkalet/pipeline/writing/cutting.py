"""Which records make a batch: as many as stay below its size, as the Java producer fills one (`batch.size`).

The size is that of the batch as it would lie there uncompressed. A record alone may be larger. How many bytes a record
takes depends on the first record of its batch, from which its timestamp and offset are counted, so batches are cut one
after the other, each in one go: the records that might fit are weighed together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .heads import HEAD_BYTES
from .varints import size, widths, zigzag

Longs = NDArray[np.int64]
_LEAST = 3
"""Bytes of a record's length, timestamp and offset, at least."""


class Limits(NamedTuple):
    """What a batch may hold: bytes, head included, and records."""

    batch_bytes: int = 16384
    batch_records: int = 1 << 31


class Cutter:
    """Cuts runs of records. `sizes`: bytes of each record without length, timestamp and offset."""

    def __init__(self, sizes: Longs, timestamps: Longs, limits: Limits) -> None:
        self._sizes = sizes
        self._timestamps = timestamps
        self._room = limits.batch_bytes - HEAD_BYTES
        self._most = limits.batch_records
        self._least_until = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes + _LEAST, out=self._least_until[1:])
        self._offset_widths = size(np.arange(64, dtype=np.int64))

    def cut(self, start: int, end: int) -> list[int]:
        """The rows in [start, end) with which batches begin."""
        firsts = []
        while start < end:
            firsts.append(start)
            start += self._count(start, end)
        return firsts

    def _count(self, start: int, end: int) -> int:
        """How many records the batch holds that begins at `start`."""
        until = self._least_until
        end = min(end, start + self._most, int(until.searchsorted(until[start] + self._room, "right")) - 1)
        if end <= start + 1:
            return 1
        count = end - start
        deltas = self._timestamps[start:end] - self._timestamps[start]
        sizes = self._sizes[start:end] + self._widths_of_offsets(count)
        sizes += widths(zigzag(deltas))
        sizes += size(sizes)
        return max(1, int(sizes.cumsum().searchsorted(self._room, "right")))

    def _widths_of_offsets(self, count: int) -> Longs:
        if count > len(self._offset_widths):
            self._offset_widths = size(np.arange(2 * count, dtype=np.int64))
        return self._offset_widths[:count]
