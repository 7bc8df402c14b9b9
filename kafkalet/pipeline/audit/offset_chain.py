"""Follow the offsets of a whole log to determine the log end offset, the gaps and the reasons for the gaps.

    compacted   the log cleaner has run, according to cleaner-offset-checkpoint, the remaining batches or the caller
    unreadable  there are unreadable bytes where the offsets should be
    missing     there is no explanation; this is reported as a finding

Kafka preserves the last offset of a compacted batch, and keeps a producer's last batch even if it is empty. A gap in a
compacted log is therefore either between two batches or inside a batch that has fewer records than offsets. A log that
was never compacted has no gaps.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .findings import Findings
from .offset_order import GAP
from .stretch_audit import StretchFacts

COMPACTED, UNREADABLE, MISSING = "compacted", "unreadable", "missing"
EVERYTHING = np.iinfo(np.int64).max


class Gap(NamedTuple):
    """Missing offsets from `first_offset` to `end_offset` (exclusive). The next entry is at `position`."""

    reason: str
    first_offset: int
    end_offset: int
    path: str
    position: int


class OffsetChain(NamedTuple):
    """The result of following the offsets of a log."""

    log_begins_at: int
    """The base offset of the first segment."""
    log_end_offset: int
    gaps: tuple[Gap, ...]
    left_out: dict[str, int]
    """The number of offsets in gaps, by reason."""
    removed_inside: int
    """The number of records that compaction removed from batches that still exist."""
    compacted_up_to: int
    """The offset up to which the log was compacted."""
    is_end_known: bool = True
    """Whether the last segment could be read to its end."""


SHOWN = 1000


def follow_offsets(
    facts: Sequence[StretchFacts],
    cleaned_up_to: int | None,
    is_compacted: bool,
    findings: Findings,
    *,
    reaches_at_least: int = 0,
) -> OffsetChain:
    """Follow the offsets of a log. `facts` describe its stretches, in order.

    The log is known to end at or after `reaches_at_least`. If `is_compacted` is true, all gaps are attributed to
    compaction.
    """
    compacted_up_to = max([_cleaned(facts, cleaned_up_to), *(part.extent.compacted_up_to for part in facts)])
    if is_compacted:
        compacted_up_to = EVERYTHING
    chain = _Chain(compacted_up_to, findings)
    for part in facts:
        chain.take(part)
    if facts:
        chain.close(facts[-1], reaches_at_least)
    return OffsetChain(
        facts[0].stretch.base_offset if facts else 0,
        max(chain.expected, 0),
        tuple(chain.gaps),
        chain.left_out,
        sum(part.extent.removed_inside for part in facts),
        compacted_up_to,
        not facts or facts[-1].not_read is None,
    )


def _cleaned(facts: Sequence[StretchFacts], cleaned_up_to: int | None) -> int:
    """Return the offset up to which cleaner-offset-checkpoint explains gaps.

    The log cleaner never compacts the active segment. An offset past the log end is invalid, and Kafka then compacts
    from the beginning (LogCleanerManager.cleanableOffsets).
    """
    if cleaned_up_to is None or not facts:
        return 0
    last = facts[-1]
    end = last.stretch.base_offset if last.extent.first_offset is None else last.extent.last_offset + 1
    if cleaned_up_to > end and last.not_read is None and last.stretch.before_offset is None:
        return 0
    return min(cleaned_up_to, last.stretch.base_offset)


class _Chain:
    def __init__(self, compacted_up_to: int, findings: Findings) -> None:
        self.compacted_up_to = compacted_up_to
        self.findings = findings
        self.expected = -1
        self.gaps: list[Gap] = []
        self.left_out = {COMPACTED: 0, UNREADABLE: 0, MISSING: 0}
        self.is_damaged = False
        """Whether the bytes after the last valid entry (or from the beginning of the log) are unreadable."""

    def take(self, part: StretchFacts) -> None:
        stretch, extent = part.stretch, part.extent
        if self.expected < 0:
            self.expected = stretch.base_offset
        self.is_damaged |= part.has_damaged_head
        if extent.first_offset is None:
            self.is_damaged |= part.is_damaged
            return
        if extent.first_offset > self.expected:
            gap = np.array([(self.expected, extent.first_offset, extent.first_position, self.is_damaged)], GAP)
            self._note(gap, stretch.path)
        elif extent.first_offset < self.expected:
            self.findings.add(
                "order",
                f"an entry begins at offset {extent.first_offset}, but follows offset {self.expected - 1}",
                file=stretch.path,
                position=extent.first_position,
                offset=extent.first_offset,
            )
        self._note(extent.gaps, stretch.path)
        self.expected = max(self.expected, extent.last_offset + 1)
        self.is_damaged = part.has_damaged_tail

    def close(self, last: StretchFacts, reaches_at_least: int) -> None:
        """Add a gap if the log ends too early."""
        stretch = last.stretch
        end = max(stretch.base_offset, reaches_at_least)
        if end > self.expected:
            self._note(np.array([(self.expected, end, last.extent.end_position, self.is_damaged)], GAP), stretch.path)
            self.expected = end

    def _note(self, gaps: NDArray[np.void], path: str) -> None:
        for first, end, position, is_damaged in gaps.tolist():
            if is_damaged:
                self._add(Gap(UNREADABLE, first, end, path, position))
                continue
            cleaned = min(end, max(first, self.compacted_up_to))
            if cleaned > first:
                self._add(Gap(COMPACTED, first, cleaned, path, position))
            if end > cleaned:
                self._add(Gap(MISSING, cleaned, end, path, position))

    def _add(self, gap: Gap) -> None:
        self.left_out[gap.reason] += gap.end_offset - gap.first_offset
        if len(self.gaps) < SHOWN or gap.reason == MISSING:
            self.gaps.append(gap)
        if gap.reason == MISSING:
            span = (
                f"offset {gap.first_offset} is"
                if gap.end_offset == gap.first_offset + 1
                else (f"offsets {gap.first_offset} to {gap.end_offset - 1} are")
            )
            where = f"before byte {gap.position} of {os.path.basename(gap.path)}"
            message = f"{span} missing {where}, and there is no sign of compaction"
            self.findings.add(
                "missing",
                message,
                file=gap.path,
                position=gap.position,
                offset=gap.first_offset,
                end_offset=gap.end_offset,
            )
