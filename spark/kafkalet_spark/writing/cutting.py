"""Group records into batches of at most a given size, as the Java producer does (`batch.size`).

The size limit applies to the uncompressed batch; a batch with a single record may exceed it. The size of a record
depends on the first record of its batch, because timestamp and offset are stored as deltas. Therefore, batches are cut
one after another:

    in general        the sizes of all records that might fit are computed
    in usual cases    timestamps do not decrease, and the varints of all record lengths have the same size. A record is
                      then one byte longer for each of the values 64, 8192, ... that its timestamp or offset delta has
                      reached, and only these positions have to be found
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .batch_headers import HEAD_BYTES
from .encode import size, widths, zigzag

Longs = NDArray[np.int64]
_LEAST = 3
"""The minimum total size of a record's length, timestamp delta and offset delta."""
_MOST_OF_DELTAS = 15
"""The maximum total size of a timestamp delta and an offset delta."""
_STEPS = tuple(64 << 7 * byte for byte in range(8))
"""At each of these values, a zig-zag varint becomes one byte longer."""


class Limits(NamedTuple):
    """The maximum size of a batch in bytes, including the header, and its maximum number of records."""

    batch_bytes: int = 16384
    batch_records: int = 1 << 31


class BatchCutter:
    """Groups records into batches. `sizes` holds the size of each record, without its length, timestamp and offset."""

    def __init__(self, sizes: Longs, timestamps: Longs, limits: Limits) -> None:
        self._sizes = sizes
        self._timestamps = timestamps
        self._room = limits.batch_bytes - HEAD_BYTES
        self._most = limits.batch_records
        self._least_until = np.zeros(len(sizes) + 1, np.int64)
        self._offset_widths = size(np.arange(64, dtype=np.int64))
        self._length = _common_width(sizes)
        np.cumsum(sizes + max(self._length + 2, _LEAST), out=self._least_until[1:])
        self._falls = np.flatnonzero(np.diff(timestamps) < 0)

    def cut(self, start: int, end: int) -> list[int]:
        """Return the indexes of those rows in [start, end) that start a batch."""
        if self.is_steady(start, end):
            run = _SteadyRun(self._least_until[start : end + 1].tolist(), self._timestamps[start:end].tolist())
            return [start + first for first in run.cut(self._room, self._most)]
        firsts = []
        while start < end:
            firsts.append(start)
            start += self._count(start, min(end, start + self._most))
        return firsts

    def is_steady(self, start: int, end: int) -> bool:
        """Return whether these rows are a usual case, so that they can be cut by the fast method."""
        first, behind = self._falls.searchsorted((start, end - 1)).tolist()
        return self._length > 0 and first == behind

    def _count(self, start: int, end: int) -> int:
        """Return the number of records in the batch that starts at row `start`."""
        until = self._least_until
        end = min(end, int(until.searchsorted(until[start] + self._room, "right")) - 1)
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


class _SteadyRun:
    """A run of records in the usual case. `until` holds the total size of the records before each record, assuming
    one-byte deltas."""

    __slots__ = ("_times", "_until")

    def __init__(self, until: list[int], times: list[int]) -> None:
        self._until = until
        self._times = times

    def cut(self, room: int, most: int) -> list[int]:
        """Return the indexes of the records that start a batch, with at most `room` bytes and `most` records per
        batch."""
        firsts = []
        start, end = 0, len(self._times)
        while start < end:
            firsts.append(start)
            start += self._count(start, min(end, start + most), room)
        return firsts

    def _count(self, start: int, end: int, room: int) -> int:
        until, times = self._until, self._times
        room += until[start]
        most = bisect_right(until, room, start + 1, end + 1) - 1 - start
        if most <= 1:
            return 1
        first, last = times[start], times[start + most - 1]
        longer = [step for step in _STEPS if step < most]
        for step in _STEPS:
            if last - first < step:
                break
            longer.append(bisect_left(times, first + step, start, start + most) - start)
        if until[start + most] + _more(longer, most) <= room:
            return most
        count = bisect_right(until, room - _more(longer, most), start + 1, start + most) - 1 - start
        while until[start + count + 1] + _more(longer, count + 1) <= room:
            count += 1
        return max(1, count)


def _more(longer: list[int], count: int) -> int:
    """Return the number of extra bytes in `count` records: for every index in `longer`, each record from that index on
    takes one more byte."""
    return sum(count - at for at in longer if count > at)


def _common_width(sizes: Longs) -> int:
    """Return the varint size of the record lengths; 0 if it may differ between records."""
    if not len(sizes):
        return 0
    least, most = size(np.array([sizes.min() + 2, sizes.max() + _MOST_OF_DELTAS], np.int64)).tolist()
    return int(least) if least == most else 0
