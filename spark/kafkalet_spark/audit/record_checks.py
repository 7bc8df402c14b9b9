"""Compare the records of an entry with its header.

    offsets       increase and are within the range in the header; the last record has the last offset, unless
                  compaction removed records
    count         equals the record count in the header
    timestamps    the largest equals the largest timestamp in the header, as ensured by Kafka's LogValidator

Timestamps may decrease along a log, so a decrease is not a finding. The smallest and the largest timestamp of the data
are kept; the timestamps of control records come from the transaction coordinator.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkalet_spark.decoding.records import Records

from .entries import Entries
from .findings import Findings

NEVER = -1


class Times(NamedTuple):
    """The smallest and the largest timestamp in milliseconds; -1 if no record has one."""

    smallest: int = NEVER
    largest: int = NEVER

    def with_timestamps(self, other: Times) -> Times:
        if NEVER in (self.smallest, other.smallest):
            return max(self, other)
        return Times(min(self.smallest, other.smallest), max(self.largest, other.largest))


class RecordChecks:
    """Checks the records of one stretch."""

    def __init__(self, findings: Findings, log_start_offset: int) -> None:
        self._findings = findings
        self._log_start_offset = log_start_offset
        self.times = Times()
        self.records = 0
        """The number of records, including control records."""
        self.markers = 0
        """The number of control records."""
        self.visible = 0
        """The number of data records at or above the log start offset."""

    def take(self, entries: Entries, records: Records) -> None:
        """Check records of `entries`. `records` must contain either all records of an entry or none of them."""
        if records.row.size == 0:
            return
        self.records += records.row.size
        self._findings.checked["records"] += records.row.size
        is_data = ~entries.batches.is_control[records.row]
        self.markers += int((~is_data).sum())
        self.visible += int((is_data & (records.offset >= self._log_start_offset)).sum())
        self._check(entries, records)
        timestamp = records.timestamp[is_data & (records.timestamp >= 0)]
        if timestamp.size:
            self.times = self.times.with_timestamps(Times(int(timestamp.min()), int(timestamp.max())))

    def _check(self, entries: Entries, records: Records) -> None:
        batches, row, offset = entries.batches, records.row, records.offset
        starts = np.flatnonzero(np.append(True, np.diff(row) != 0))
        rows = row[starts]
        ends = np.append(starts[1:], row.size)
        rises = np.append(True, np.diff(offset) > 0)
        rises[starts] = True
        is_sorted = np.logical_and.reduceat(rises, starts)
        inside = (offset[starts] >= entries.first_offset[rows]) & (offset[ends - 1] <= batches.last_offset[rows])
        count = np.where(batches.magic[rows] > 1, batches.count[rows], ends - starts)
        is_counted = ends - starts == count
        is_complete = (count != entries.span[rows]) | (offset[ends - 1] == batches.last_offset[rows])
        largest = np.maximum.reduceat(records.timestamp, starts)
        of_itself = (batches.magic[rows] > 1) & ~batches.is_log_append_time[rows]
        is_timed = ~of_itself | (largest == batches.max_timestamp[rows])
        for at in np.flatnonzero(~(is_sorted & inside & is_counted & is_complete & is_timed)).tolist():
            entry = int(rows[at])
            if not is_counted[at]:
                message = f"the entry has {ends[at] - starts[at]} records, but its header says {count[at]}"
                self._add(entries, entry, message)
            if not (is_sorted[at] and inside[at] and is_complete[at]):
                span = f"{entries.first_offset[entry]} to {batches.last_offset[entry]}"
                self._add(entries, entry, f"the offsets of the records do not match the header: {span}")
            if not is_timed[at]:
                message = f"the largest timestamp is {largest[at]}, but the header says {batches.max_timestamp[entry]}"
                self._add(entries, entry, message)

    def _add(self, entries: Entries, row: int, message: str) -> None:
        self._findings.add(
            "records",
            message,
            file=entries.path,
            position=int(entries.position[row]),
            offset=int(entries.batches.base_offset[row]),
        )
