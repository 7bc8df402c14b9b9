"""Follow the offsets of a whole log to determine the log end offset, the gaps and the reasons for the gaps.

    compacted   below the offset that the log cleaner has reached, according to cleaner-offset-checkpoint or the caller.
                Whether the cleaner has removed exactly these records cannot be seen in the files
    undecided   above that offset, but the cleaner may have been interrupted before it wrote its checkpoint, or may have
                run according to the batches of a log whose cleanup.policy is unknown. This is listed as not checked
    unreadable  there are unreadable bytes where the offsets should be
    missing     there is no explanation; this is reported as a finding

Kafka preserves the last offset of a compacted batch, and keeps a producer's last batch even if it is empty. A gap in a
compacted log is therefore either between two batches or inside a batch that has fewer records than offsets. The cleaner
never touches the last segment, and leaves no key twice in a segment that it has cleaned. A log that was never compacted
has no gaps.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .companion_files import CompanionFiles
from .findings import Findings
from .stretch_audit import StretchFacts

COMPACTED, UNDECIDED, UNREADABLE, MISSING = "compacted", "undecided", "unreadable", "missing"
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
    """The number of offsets without a record, between and inside batches, by reason."""
    compacted_up_to: int
    """The offset up to which the log was or may have been compacted."""
    is_end_known: bool = True
    """Whether the last segment could be read to its end."""


SHOWN = 1000


def follow_offsets(
    facts: Sequence[StretchFacts],
    companions: CompanionFiles,
    findings: Findings,
    *,
    is_compacted: bool = False,
    reaches_at_least: int = 0,
) -> OffsetChain:
    """Follow the offsets of a log. `facts` describe its stretches, in order.

    The log is known to end at or after `reaches_at_least`. If `is_compacted` is true, all gaps below the last segment
    are attributed to compaction.
    """
    cleanable = facts[-1].stretch.base_offset if facts else 0
    cleaned = cleanable if is_compacted else cleaner_offset(facts, companions.cleaned_up_to)
    signs = [int(part.extent.cleaned["end"][-1]) for part in facts if part.extent.cleaned.size]
    if companions.settings.cleanup_policy is None and not cleaned:
        possible = min(max(signs, default=0), cleanable)
    else:
        possible = cleanable if companions.is_compacted else 0
    chain = _Chain(cleaned, max(cleaned, possible), findings)
    for part in facts:
        chain.take(part)
    if facts:
        chain.close(facts[-1], reaches_at_least)
    return OffsetChain(
        facts[0].stretch.base_offset if facts else 0,
        max(chain.expected, 0),
        tuple(chain.gaps),
        chain.left_out,
        max(cleaned, chain.undecided_up_to),
        not facts or facts[-1].not_read is None,
    )


def cleaner_offset(facts: Sequence[StretchFacts], cleaned_up_to: int | None) -> int:
    """Return the offset up to which cleaner-offset-checkpoint explains gaps; 0 if it does not.

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
    """Follows the offsets. The log cleaner has compacted the log up to `cleaned`, and may have done so up to
    `possible`."""

    def __init__(self, cleaned: int, possible: int, findings: Findings) -> None:
        self.cleaned = cleaned
        self.possible = possible
        self.findings = findings
        self.expected = -1
        self.repeats_key = False
        """Whether the segment of the last entry has a key twice, so that it was not cleaned."""
        self.undecided_up_to = 0
        self.gaps: list[Gap] = []
        self.left_out = {COMPACTED: 0, UNDECIDED: 0, UNREADABLE: 0, MISSING: 0}
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
            # Offsets below the base offset were in the segment before: the cleaner keeps the base offset of a segment.
            base = min(max(stretch.base_offset, self.expected), extent.first_offset)
            self._note([(self.expected, base, extent.first_position, self.is_damaged)], stretch.path)
            self.repeats_key = part.repeats_key
            self._note([(base, extent.first_offset, extent.first_position, self.is_damaged)], stretch.path)
        elif extent.first_offset < self.expected:
            self.findings.add(
                "order",
                f"an entry begins at offset {extent.first_offset}, but follows offset {self.expected - 1}",
                file=stretch.path,
                position=extent.first_position,
                offset=extent.first_offset,
            )
        self.repeats_key = part.repeats_key or (self.repeats_key and not stretch.is_first)
        self._note(extent.gaps.tolist(), stretch.path)
        self.left_out[COMPACTED] += extent.removed_inside
        for first, end, position, removed in extent.cleaned.tolist():
            self._note_cleaned(first, end, position, removed, stretch.path)
        self.expected = max(self.expected, extent.last_offset + 1)
        self.is_damaged = part.has_damaged_tail

    def close(self, last: StretchFacts, reaches_at_least: int) -> None:
        """Add a gap if the log ends too early."""
        stretch = last.stretch
        end = max(stretch.base_offset, reaches_at_least)
        if end > self.expected:
            self._note([(self.expected, end, last.extent.end_position, self.is_damaged)], stretch.path)
            self.expected = end

    def _note(self, gaps: Sequence[tuple[int, int, int, bool]], path: str) -> None:
        for first, end, position, is_damaged in gaps:
            if is_damaged:
                self._add(Gap(UNREADABLE, first, end, path, position))
                continue
            cleaned = min(end, max(first, self.cleaned))
            possible = cleaned if self.repeats_key else min(end, max(cleaned, self.possible))
            self._add(Gap(COMPACTED, first, cleaned, path, position))
            self._add(Gap(UNDECIDED, cleaned, possible, path, position))
            self._add(Gap(MISSING, possible, end, path, position))

    def _note_cleaned(self, first: int, end: int, position: int, removed: int, path: str) -> None:
        """Judge a batch that looks compacted, although the cleaner has not reached its end."""
        if end <= self.cleaned:
            self.left_out[COMPACTED] += removed
        elif end <= self.possible and not self.repeats_key:
            self.left_out[UNDECIDED] += removed
            self.undecided_up_to = max(self.undecided_up_to, end if removed else 0)
        else:
            self.left_out[MISSING] += removed
            of = (
                f"{removed} of the records {first} to {end - 1} are missing from"
                if removed
                else "a delete horizon is in"
            )
            message = f"{of} a batch, but the log cleaner has not compacted it"
            self.findings.add(
                "missing", message, fault="removed", file=path, position=position, offset=first, end_offset=end
            )

    def _add(self, gap: Gap) -> None:
        count = gap.end_offset - gap.first_offset
        if not count:
            return
        self.left_out[gap.reason] += count
        if gap.reason == UNDECIDED:
            self.undecided_up_to = gap.end_offset
        if len(self.gaps) < SHOWN or gap.reason == MISSING:
            self.gaps.append(gap)
        if gap.reason == MISSING:
            span = (
                f"offset {gap.first_offset} is"
                if count == 1
                else f"offsets {gap.first_offset} to {gap.end_offset - 1} are"
            )
            where = f"before byte {gap.position} of {os.path.basename(gap.path)}"
            message = f"{span} missing {where}, and compaction does not explain it"
            self.findings.add(
                "missing",
                message,
                file=gap.path,
                position=gap.position,
                offset=gap.first_offset,
                end_offset=gap.end_offset,
            )
