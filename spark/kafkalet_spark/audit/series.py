"""The data series of the plots, with a bounded number of points for logs of any size.

    by time      records and bytes per interval of timestamps
    by offset    timestamps and lateness per range of offsets

The width of each bin is a power of two, and each bin begins at a multiple of its width. Two series can therefore be
merged by widening the bins of the finer series: each wider bin is the sum of its halves. A batch is counted as a whole,
with its largest timestamp.

The lateness of a batch is how much earlier it is than the latest timestamp before it. With LogAppendTime, batches are
never late, but the batch header still contains the timestamp that the producer gave to the first record; the lag is the
time from that timestamp to the append.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .entries import Entries
from .offset_order import DELETE_HORIZON

POINTS = 512
NEVER = -1

TIME_BIN = np.dtype([("bin", "i8"), ("records", "i8"), ("bytes", "i8")])
OFFSET_BIN = np.dtype(
    [
        ("bin", "i8"),
        ("smallest", "i8"),
        ("largest", "i8"),
        ("lateness_ms", "i8"),
        ("append_lag_ms", "i8"),
        ("records", "i8"),
        ("bytes", "i8"),
    ]
)
_SUMS = ("records", "bytes")
_LARGEST = ("largest", "lateness_ms", "append_lag_ms")


class Bins(NamedTuple):
    """Bins of width 2**shift, in order. Bin b extends from b << shift to (b + 1) << shift. Empty bins are omitted."""

    shift: int
    rows: NDArray[np.void]

    def merged_with(self, other: Bins) -> Bins:
        """Merge two series."""
        shift = max(self.shift, other.shift)
        rows = np.concatenate([self.rows, other.rows])
        rows["bin"][: self.rows.size] >>= shift - self.shift
        rows["bin"][self.rows.size :] >>= shift - other.shift
        return _narrowed(shift, rows)

    @property
    def start(self) -> NDArray[np.int64]:
        """The start of each bin."""
        return self.rows["bin"] << self.shift

    @property
    def width(self) -> int:
        return 1 << self.shift


NO_TIMES = Bins(0, np.empty(0, TIME_BIN))
NO_OFFSETS = Bins(0, np.empty(0, OFFSET_BIN))


def _narrowed(shift: int, rows: NDArray[np.void]) -> Bins:
    """Merge rows that belong to the same bin, and widen the bins until there are at most POINTS."""
    if rows.size == 0:
        return Bins(shift, rows)
    span = int(rows["bin"].max()) - int(rows["bin"].min()) + 1
    more = max((span - 1) // (POINTS - 1), 1).bit_length() - 1 if span > POINTS else 0
    while (int(rows["bin"].max()) >> more) - (int(rows["bin"].min()) >> more) >= POINTS:
        more += 1
    rows = rows.copy()
    rows["bin"] >>= more
    rows = rows[np.argsort(rows["bin"], kind="stable")]
    starts = np.flatnonzero(np.append(True, np.diff(rows["bin"]) != 0))
    result = rows[starts].copy()
    names = rows.dtype.names or ()
    for name in names:
        if name in _SUMS:
            result[name] = np.add.reduceat(rows[name], starts)
        elif name in _LARGEST:
            result[name] = np.maximum.reduceat(rows[name], starts)
        elif name == "smallest":
            known = np.where(rows[name] == NEVER, np.iinfo(np.int64).max, rows[name])
            least = np.minimum.reduceat(known, starts)
            result[name] = np.where(least == np.iinfo(np.int64).max, NEVER, least)
    return Bins(shift + more, result)


class SeriesOfStretch:
    """Collects both series of one stretch."""

    def __init__(self) -> None:
        self.by_time = NO_TIMES
        self.by_offset = NO_OFFSETS
        self._latest = NEVER

    def take(self, entries: Entries) -> None:
        data = np.flatnonzero(~entries.batches.is_control)
        if data.size == 0:
            return
        batches = entries.batches.take(data)
        timestamp = batches.max_timestamp
        records = np.where(batches.magic > 1, batches.count, entries.span[data])
        timed = timestamp >= 0
        times = np.empty(int(timed.sum()), TIME_BIN)
        times["bin"], times["records"], times["bytes"] = timestamp[timed], records[timed], batches.size[timed]
        self.by_time = self.by_time.merged_with(_narrowed(0, times))
        offsets = np.empty(data.size, OFFSET_BIN)
        offsets["bin"] = entries.first_offset[data]
        offsets["smallest"] = offsets["largest"] = np.where(timed, timestamp, NEVER)
        latest = np.maximum.accumulate(np.append(self._latest, timestamp))
        offsets["lateness_ms"] = np.where(timed, np.maximum(latest[:-1] - timestamp, 0), 0)
        tells = batches.is_log_append_time & (batches.magic > 1) & (batches.attributes & np.int16(DELETE_HORIZON) == 0)
        offsets["append_lag_ms"] = np.where(
            tells & (batches.base_timestamp >= 0), timestamp - batches.base_timestamp, NEVER
        )
        offsets["records"], offsets["bytes"] = records, batches.size
        self.by_offset = self.by_offset.merged_with(_narrowed(0, offsets))
        self._latest = int(latest[-1])


def behind(earlier: Bins, later: Bins) -> Bins:
    """Merge the by-offset series of two consecutive stretches. Batches may be late because of the earlier stretch."""
    if earlier.rows.size and later.rows.size:
        latest = int(earlier.rows["largest"].max())
        rows = later.rows.copy()
        known = rows["smallest"] != NEVER
        # Once the later stretch itself has reached `latest`, the earlier one no longer matters.
        reached = np.maximum.accumulate(np.append(NEVER, rows["largest"]))[:-1]
        late = np.where(known & (latest > reached), np.maximum(latest - rows["smallest"], 0), 0)
        rows["lateness_ms"] = np.maximum(rows["lateness_ms"], late)
        later = Bins(later.shift, rows)
    return earlier.merged_with(later)
