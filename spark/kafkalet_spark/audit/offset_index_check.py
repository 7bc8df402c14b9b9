"""Check the entries of an .index.

An index entry (offset, position) means that an append began at `position` and ended with `offset`. Therefore:

    an entry of the log begins at `position`
    its first offset is at most `offset`
    the entry that contains `offset` is at or after `position`, and before the position of the next index entry
    `offset` is the last offset of that entry (or the last one left by compaction or, before 0.10.1, its first offset)
    both offsets and positions increase from one index entry to the next

The choice of appends that are indexed cannot be checked, because a leader, a follower and recovery choose them
differently. Index entries that point to unreadable bytes are not checked.
"""

from __future__ import annotations

import numpy as np

from kafkalet.inspection.kinds import Kind
from kafkalet_spark.logs.indexes import OFFSET_ENTRY

from .audit_ranges import AuditRange
from .entries import Entries
from .findings import Findings
from .index_files import check_layout

KIND = Kind.OFFSET_INDEX
UNSEEN = -1


class OffsetIndexCheck:
    """Checks the index entries that point into one stretch. A missing file is not reported here."""

    def __init__(self, stretch: AuditRange, findings: Findings) -> None:
        self.path = stretch.beside(KIND.value)
        self._stretch = stretch
        self._findings = findings
        is_closed = not stretch.takes_appends
        entries = check_layout(self.path, KIND, findings, is_reported=stretch.is_last, is_closed=is_closed)
        if entries is None:
            entries = np.empty(0, OFFSET_ENTRY)
        position = entries["position"].astype(np.int64)
        end = np.iinfo(np.int64).max if stretch.is_last else stretch.end
        mine = np.flatnonzero((position >= (stretch.start or position.min(initial=0))) & (position < end))
        if stretch.before_offset is not None:  # index entries for later appends point past the audited range
            offset = entries["offset"].astype(np.int64) + stretch.base_offset
            mine = mine[(offset[mine] < stretch.before_offset)]
        self._rows = mine
        self._position = position[mine]
        self._offset = entries["offset"].astype(np.int64)[mine] + stretch.base_offset
        self._base_there = np.full(mine.size, UNSEEN, np.int64)
        """For each index entry, the first offset of the log entry that begins at its position."""
        self._position_of_offset = np.full(mine.size, UNSEEN, np.int64)
        self._is_end = np.zeros(mine.size, np.bool_)
        self._damage: list[tuple[int, int]] = []
        findings.checked["offset index entries"] += mine.size
        self.entries = int(entries.size)
        """The number of index entries in the whole file."""
        self.first_position = int(position[0]) if position.size else 0
        self._check_order()

    def _check_order(self) -> None:
        rises = np.ones(self._rows.size, np.bool_)
        rises[1:] = (np.diff(self._offset) > 0) & (np.diff(self._position) > 0)
        for at in np.flatnonzero(~rises).tolist():
            place = f"({self._offset[at]}, {self._position[at]})"
            self._add(at, f"{place} follows ({self._offset[at - 1]}, {self._position[at - 1]})")

    def take(self, entries: Entries) -> None:
        if self._rows.size == 0 or entries.position.size == 0:
            return
        batches = entries.batches
        row = np.minimum(np.searchsorted(entries.position, self._position), entries.position.size - 1)
        here = np.flatnonzero(entries.position[row] == self._position)
        self._base_there[here] = entries.first_offset[row[here]]
        row = np.minimum(np.searchsorted(batches.last_offset, self._offset), batches.last_offset.size - 1)
        holds = (entries.first_offset[row] <= self._offset) & (self._offset <= batches.last_offset[row])
        here = np.flatnonzero(holds)
        row = row[here]
        self._position_of_offset[here] = entries.position[row]
        was_cleaned = (batches.magic[row] > 1) & (batches.count[row] < entries.span[row])
        self._is_end[here] = (
            (batches.last_offset[row] == self._offset[here])
            | was_cleaned
            | (entries.first_offset[row] == self._offset[here])
        )

    def skip(self, position: int, size: int) -> None:
        """Record that these bytes of the log are unreadable."""
        self._damage.append((position, position + size))

    def finish(self) -> None:
        """Report wrong index entries after the whole stretch has been read."""
        next_position = np.append(self._position[1:], np.iinfo(np.int64).max)
        damaged = np.zeros(self._rows.size, np.bool_)
        for start, end in self._damage:
            damaged |= (self._position >= start) & (self._position < end)
        nowhere = (self._base_there == UNSEEN) & ~damaged
        above = (self._base_there > self._offset) & ~nowhere & ~damaged
        unknown = (self._position_of_offset == UNSEEN) & (not self._damage)
        known = self._position_of_offset != UNSEEN
        early = known & (self._position_of_offset < self._position) & ~above
        late = known & (self._position_of_offset >= next_position)
        inside = known & ~self._is_end & ~early & ~late
        for wrong, reason in (
            (nowhere, "no entry of the log begins at byte {position}"),
            (above, "the entry of the log at byte {position} begins with offset {base}, above {offset}"),
            (unknown & ~nowhere & ~above, "the log has no offset {offset}"),
            (early, "offset {offset} is at byte {found}, before byte {position}"),
            (late, "offset {offset} is at byte {found}, not before byte {next} of the next index entry"),
            (inside, "offset {offset} is not the last offset of an entry of the log"),
        ):
            for at in np.flatnonzero(wrong).tolist():
                message = reason.format(
                    position=self._position[at],
                    base=self._base_there[at],
                    offset=self._offset[at],
                    found=self._position_of_offset[at],
                    next=next_position[at],
                )
                self._add(at, message)

    def _add(self, at: int, message: str) -> None:
        position = int(self._rows[at]) * OFFSET_ENTRY.itemsize
        self._findings.add("offset-index", message, file=self.path, position=position, offset=int(self._offset[at]))
