"""What a report draws of a log, in as many points as a picture has, whatever the log's size.

    by time      records and bytes whose timestamp lies in each piece of time
    by offset    the timestamps of each piece of the log, and how late they are

Pieces are powers of two wide and lie at multiples of their width, so that two series become one by widening the finer
one: the sum of a piece is that of its halves. A batch counts as a whole, by its largest timestamp.

Late is what comes after something later: by how much the latest timestamp before it is larger. Under LogAppendTime
nothing is late, but a batch still carries the time that its producer gave the first record; from there to the append
is the lag.
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
    """Pieces of width 2**shift, in order; piece b reaches from b << shift up to (b + 1) << shift. Empty ones are left
    out."""

    shift: int
    rows: NDArray[np.void]

    def and_also(self, other: Bins) -> Bins:
        """Both together."""
        shift = max(self.shift, other.shift)
        rows = np.concatenate([self.rows, other.rows])
        rows["bin"][: self.rows.size] >>= shift - self.shift
        rows["bin"][self.rows.size :] >>= shift - other.shift
        return _narrowed(shift, rows)

    @property
    def start(self) -> NDArray[np.int64]:
        """Where each piece begins."""
        return self.rows["bin"] << self.shift

    @property
    def width(self) -> int:
        return 1 << self.shift


NO_TIMES = Bins(0, np.empty(0, TIME_BIN))
NO_OFFSETS = Bins(0, np.empty(0, OFFSET_BIN))


def _narrowed(shift: int, rows: NDArray[np.void]) -> Bins:
    """Rows of the same piece as one, and pieces so wide that there are at most POINTS."""
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
        self.by_time = self.by_time.and_also(_narrowed(0, times))
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
        self.by_offset = self.by_offset.and_also(_narrowed(0, offsets))
        self._latest = int(latest[-1])


def behind(earlier: Bins, later: Bins) -> Bins:
    """The series by offset of a stretch and of the one behind it: what is late there may be so because of this one."""
    if earlier.rows.size and later.rows.size:
        latest = int(earlier.rows["largest"].max())
        rows = later.rows.copy()
        known = rows["smallest"] != NEVER
        # compared with the earliest of each piece only up to the point where the stretch itself is later
        reached = np.maximum.accumulate(np.append(NEVER, rows["largest"]))[:-1]
        late = np.where(known & (latest > reached), np.maximum(latest - rows["smallest"], 0), 0)
        rows["lateness_ms"] = np.maximum(rows["lateness_ms"], late)
        later = Bins(later.shift, rows)
    return earlier.and_also(later)
