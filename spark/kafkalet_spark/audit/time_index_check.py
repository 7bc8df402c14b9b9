"""Check the entries of a .timeindex.

An index entry (timestamp, offset) means that `timestamp` is the segment's largest timestamp up to `offset`. Therefore:

    the largest timestamp of the log entry that contains `offset` is `timestamp`
    all earlier timestamps in the segment are smaller
    timestamps increase, and offsets do not decrease

The last index entry has the largest timestamp of the whole segment if the segment is no longer active or the broker was
shut down cleanly. Log entries without a timestamp (-1) are not indexed.
"""

from __future__ import annotations

import numpy as np

from kafkalet.inspection.kinds import Kind
from kafkalet_spark.logs.indexes import TIME_ENTRY

from .audit_ranges import AuditRange
from .entries import Entries
from .findings import Findings
from .index_files import check_layout

KIND = Kind.TIME_INDEX
UNSEEN = -2


class TimeIndexCheck:
    """Checks the index entries whose offsets are in one stretch."""

    def __init__(self, stretch: AuditRange, findings: Findings) -> None:
        self.path = stretch.beside(KIND.value)
        self._stretch = stretch
        self._findings = findings
        is_closed = not stretch.takes_appends
        entries = check_layout(self.path, KIND, findings, is_reported=stretch.is_last, is_closed=is_closed)
        if entries is None:
            entries = np.empty(0, TIME_ENTRY)
        if entries.size == 1 and not entries.tobytes().strip(b"\0") and stretch.segment_size == 0:
            entries = entries[:0]  # preallocated for an empty segment
        offset = entries["offset"].astype(np.int64) + stretch.base_offset
        end = np.iinfo(np.int64).max if stretch.end_offset is None else stretch.end_offset
        if stretch.before_offset is not None:
            end = min(end, stretch.before_offset)
        start = np.iinfo(np.int64).min if stretch.is_first else stretch.first_offset
        self._rows = np.flatnonzero((offset >= start) & (offset < end))
        self._offset = offset[self._rows]
        self.timestamp = entries["timestamp"].astype(np.int64)[self._rows]
        self._largest_there = np.full(self._rows.size, UNSEEN, np.int64)
        """For each index entry, the largest timestamp of the log entry that contains its offset."""
        self._largest_before = np.full(self._rows.size, UNSEEN, np.int64)
        self._has_damage = False
        findings.checked["time index entries"] += self._rows.size
        self.largest = -1
        """The largest timestamp so far."""
        self._check_order()

    def _check_order(self) -> None:
        rises = np.ones(self._rows.size, np.bool_)
        rises[1:] = (np.diff(self.timestamp) > 0) & (np.diff(self._offset) >= 0)
        for at in np.flatnonzero(~rises).tolist():
            place = f"({self.timestamp[at]}, {self._offset[at]})"
            self._add(at, f"{place} follows ({self.timestamp[at - 1]}, {self._offset[at - 1]})")

    def take(self, entries: Entries) -> None:
        if entries.position.size == 0:
            return
        batches = entries.batches
        largest = np.maximum.accumulate(np.append(self.largest, batches.max_timestamp))
        if self._rows.size:
            row = np.minimum(np.searchsorted(batches.last_offset, self._offset), batches.last_offset.size - 1)
            holds = (entries.first_offset[row] <= self._offset) & (self._offset <= batches.last_offset[row])
            here = np.flatnonzero(holds)
            self._largest_there[here] = batches.max_timestamp[row[here]]
            self._largest_before[here] = largest[row[here]]
        self.largest = int(largest[-1])

    def skip(self) -> None:
        """Record that some bytes of the log are unreadable."""
        self._has_damage = True

    def finish(self) -> None:
        """Report wrong index entries after the whole stretch has been read."""
        unknown = self._largest_there == UNSEEN
        other = ~unknown & (self._largest_there != self.timestamp)
        late = ~unknown & ~other & (self._largest_before >= self.timestamp)
        for wrong, reason in (
            (unknown & (not self._has_damage), "the log has no offset {offset}"),
            (other, "the largest timestamp at offset {offset} is {there}, not {timestamp}"),
            (late, "timestamp {before} is already present before offset {offset}"),
        ):
            for at in np.flatnonzero(wrong).tolist():
                message = reason.format(
                    offset=self._offset[at],
                    timestamp=self.timestamp[at],
                    there=self._largest_there[at],
                    before=self._largest_before[at],
                )
                self._add(at, message)

    def _add(self, at: int, message: str) -> None:
        position = int(self._rows[at]) * TIME_ENTRY.itemsize
        self._findings.add("time-index", message, file=self.path, position=position, offset=int(self._offset[at]))
