"""Check that offsets increase from entry to entry and are within their segment, and find gaps.

Compaction is the only legitimate cause of gaps; offset_chain.py decides whether it explains a particular gap. When
compaction removes records from a batch, the batch keeps its first and last offsets (to preserve the producer's
sequence) but has fewer records. Such batches are counted below the offset that the log cleaner has reached, and noted
as `cleaned` from there on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet_spark.logs.indexes import MAX_RELATIVE_OFFSET

from .audit_ranges import AuditRange
from .entries import Entries
from .findings import Findings

DELETE_HORIZON = 1 << 6
"""The attribute bit of a delete horizon, which only the log cleaner sets (KIP-534)."""

GAP = np.dtype([("first", "i8"), ("end", "i8"), ("position", "i8"), ("is_damaged", "?")])
CLEANED = np.dtype([("first", "i8"), ("end", "i8"), ("position", "i8"), ("removed", "i8")])


class Extent(NamedTuple):
    """The offsets of one stretch."""

    first_offset: int | None
    """None if there are no valid entries."""
    last_offset: int
    first_position: int
    end_position: int
    """The position after the last valid entry."""
    gaps: NDArray[np.void]
    """Rows of GAP: the missing offsets, the position of the next entry, and whether unreadable bytes precede it."""
    removed_inside: int
    """How many records are missing from batches below the offset that the log cleaner has reached."""
    cleaned: NDArray[np.void]
    """Rows of CLEANED: the batches from that offset on that look compacted, with the number of missing records, which
    is 0 if a batch only has a delete horizon."""


class OffsetOrder:
    """Follows the offsets of one stretch."""

    def __init__(self, stretch: AuditRange, findings: Findings) -> None:
        self._stretch = stretch
        self._findings = findings
        self._first_offset: int | None = None
        self._last_offset = -1
        self._first_position = stretch.start
        self._end = stretch.start
        self._gaps: list[NDArray[np.void]] = []
        self._removed_inside = 0
        self._cleaned: list[NDArray[np.void]] = []

    def take(self, entries: Entries) -> None:
        if entries.position.size == 0:
            return
        first, last = entries.first_offset, entries.batches.last_offset
        if self._first_offset is None:
            self._first_offset = int(first[0])
            self._first_position = int(entries.position[0])
            self._last_offset = self._first_offset - 1
            self._end = self._first_position
        before = np.append(self._last_offset, last[:-1])
        end = np.append(self._end, entries.end[:-1])
        self._note_gaps(entries, before, end)
        self._check(entries, before)
        self._note_cleaner(entries)
        self._last_offset = int(last[-1])
        self._end = int(entries.end[-1])

    def _note_gaps(self, entries: Entries, before: NDArray[np.int64], end: NDArray[np.int64]) -> None:
        rows = np.flatnonzero(entries.first_offset > before + 1)
        if rows.size:
            gaps = np.empty(rows.size, GAP)
            gaps["first"] = before[rows] + 1
            gaps["end"] = entries.first_offset[rows]
            gaps["position"] = entries.position[rows]
            gaps["is_damaged"] = end[rows] != entries.position[rows]
            self._gaps.append(gaps)

    def _check(self, entries: Entries, before: NDArray[np.int64]) -> None:
        stretch, last = self._stretch, entries.batches.last_offset
        highest = stretch.base_offset + MAX_RELATIVE_OFFSET
        if stretch.next_base_offset is not None:
            highest = min(highest, stretch.next_base_offset - 1)
        falls = entries.first_offset <= before
        outside = (entries.first_offset < stretch.base_offset) | (last > highest)
        backwards = last < entries.first_offset
        for row in np.flatnonzero(falls | outside | backwards).tolist():
            first = int(entries.first_offset[row])
            if falls[row]:
                message = f"an entry begins at offset {first}, but follows offset {before[row]}"
                self._add("order", entries, row, message)
            if outside[row]:
                place = f"{stretch.base_offset} to {highest}"
                message = f"an entry has offsets {first} to {last[row]}, but the segment may only have {place}"
                self._add("range", entries, row, message)
            if backwards[row]:
                self._add("order", entries, row, f"an entry begins at offset {first} but ends at {last[row]}")

    def _add(self, check: str, entries: Entries, row: int, message: str) -> None:
        self._findings.add(
            check,
            message,
            file=entries.path,
            position=int(entries.position[row]),
            offset=int(entries.batches.base_offset[row]),
        )

    def _note_cleaner(self, entries: Entries) -> None:
        batches = entries.batches
        missing = np.where(batches.magic > 1, entries.span - batches.count, 0)
        horizon = (batches.attributes & np.int16(DELETE_HORIZON) != 0) & (batches.magic > 1)
        below = batches.last_offset < self._stretch.cleaned_up_to
        self._removed_inside += int(missing[below & (missing > 0)].sum())
        rows = np.flatnonzero(((missing > 0) | horizon) & ~below)
        if rows.size:
            cleaned = np.empty(rows.size, CLEANED)
            cleaned["first"], cleaned["end"] = entries.first_offset[rows], batches.last_offset[rows] + 1
            cleaned["position"], cleaned["removed"] = entries.position[rows], np.maximum(missing[rows], 0)
            self._cleaned.append(cleaned)

    @property
    def extent(self) -> Extent:
        return Extent(
            self._first_offset,
            self._last_offset,
            self._first_position,
            self._end,
            np.concatenate(self._gaps) if self._gaps else np.empty(0, GAP),
            self._removed_inside,
            np.concatenate(self._cleaned) if self._cleaned else np.empty(0, CLEANED),
        )
