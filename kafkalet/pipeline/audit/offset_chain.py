"""The offsets of a whole log, stretch behind stretch: where it ends, what is left out, and why.

    compacted   a cleaner has been there: it writes down how far it came (cleaner-offset-checkpoint), and what it left
                of batches tells it too, or the caller does
    unreadable  bytes that cannot be read lie where the offsets should be
    missing     nobody explains it: a finding

Kafka keeps the last offset of a compacted batch, and of a producer's last batch even if all its records are gone, so
that a gap of a compacted log lies between batches, or shows as too few records inside of one. A log that was never
compacted has no gap at all.
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
    """Offsets from `first_offset` up to `end_offset`, exclusive, that no entry holds; `position` is behind them."""

    reason: str
    first_offset: int
    end_offset: int
    path: str
    position: int


class OffsetChain(NamedTuple):
    """What follows from the offsets of all stretches."""

    log_begins_at: int
    """The base offset of the first segment."""
    log_end_offset: int
    gaps: tuple[Gap, ...]
    left_out: dict[str, int]
    """How many offsets, by reason."""
    removed_inside: int
    """Offsets that a cleaner has taken out of batches that are still there."""
    compacted_up_to: int
    """Up to there a cleaner has been at work."""
    is_end_known: bool = True
    """The last segment could be read to its end."""


SHOWN = 1000


def follow_offsets(
    facts: Sequence[StretchFacts],
    cleaned_up_to: int | None,
    is_compacted: bool,
    findings: Findings,
    *,
    reaches_at_least: int = 0,
) -> OffsetChain:
    """The stretches of a log in order, whose end is known to be at or behind `reaches_at_least`.

    `is_compacted`: every gap is taken as a cleaner's.
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
    """What the cleaner's checkpoint may explain. A cleaner never touches the segment that takes appends; a checkpoint
    beyond the end of the log is not its work, and Kafka starts anew then (LogCleanerManager.cleanableOffsets)."""
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
        """The bytes behind the last sound entry, or all since the log began, cannot be read."""

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
                f"an entry begins at offset {extent.first_offset}, after offset {self.expected - 1}",
                file=stretch.path,
                position=extent.first_position,
                offset=extent.first_offset,
            )
        self._note(extent.gaps, stretch.path)
        self.expected = max(self.expected, extent.last_offset + 1)
        self.is_damaged = part.has_damaged_tail

    def close(self, last: StretchFacts, reaches_at_least: int) -> None:
        """What should be there behind the last entry."""
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
            message = f"{span} missing {where}, and no cleaner is known to have been there"
            self.findings.add(
                "missing",
                message,
                file=gap.path,
                position=gap.position,
                offset=gap.first_offset,
                end_offset=gap.end_offset,
            )
