"""Divide logs into stretches: a whole segment each, or parts of a large segment.

The positions at which to divide a segment are taken from its offset index. Because the index itself is being audited, a
position is used only if an entry with a valid checksum and a plausible offset begins there. The previous stretch must
then end exactly at that position; if it does not, the segment is audited again as a single stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafkalet.inspection.kinds import Kind
from kafkalet_spark.decoding.chunks import read_chunks
from kafkalet_spark.logs.directory import PartitionLog, Segment, beside
from kafkalet_spark.logs.files import UnreadableFile

from .companion_files import CompanionFiles
from .index_files import read_index


class AuditRange(NamedTuple):
    """A stretch: the byte range of a .log file that one task audits. The object is small and can be pickled."""

    topic: str
    partition: int
    path: str
    base_offset: int
    next_base_offset: int | None
    """The base offset of the next segment; None for the last segment."""
    segment_size: int
    start: int
    end: int
    """The position in the file at which the range ends, in bytes (exclusive)."""
    first_offset: int
    """The offset of the first entry, or the base offset of the segment."""
    end_offset: int | None
    """The first offset of the next stretch of the segment; None for the last stretch."""
    is_closed: bool
    """Whether the broker was shut down cleanly."""
    log_start_offset: int
    before_offset: int | None
    """Entries at or above this offset are ignored because they were written after the audit began; None: no limit."""
    snapshot_offsets: tuple[int, ...]
    """The snapshot offsets, at which the producer state is needed."""
    fault: str | None = None
    """The reason why the file cannot be read; None if it can be."""
    cleaned_up_to: int = 0
    """The offset that the log cleaner has reached, which is at most the base offset of the last segment."""
    log_size: int = 0
    """The size of all segments of the log, in bytes."""
    is_compacted: bool = False
    """Whether the log cleaner compacts the topic, as far as is known."""

    @property
    def is_first(self) -> bool:
        return self.start == 0

    @property
    def is_last(self) -> bool:
        """Whether this is the last stretch of its segment."""
        return self.end_offset is None

    @property
    def takes_appends(self) -> bool:
        """Whether a broker may append to the segment, or was killed while it could do so."""
        return self.next_base_offset is None and not self.is_closed

    def beside(self, suffix: str) -> str:
        """Return the path of a file that belongs to the segment, such as its index."""
        return beside(self.path, suffix)


def stretches(
    log: PartitionLog, companions: CompanionFiles, before_offset: int | None, max_bytes: int
) -> Iterator[AuditRange]:
    """Divide a log into stretches of about `max_bytes`, in offset order."""
    for at, segment in enumerate(log.segments):
        cuts = [(0, segment.base_offset), *_cuts(segment, max_bytes)]
        nexts = [*cuts[1:], (segment.size, None)]
        for (start, first_offset), (end, end_offset) in zip(cuts, nexts, strict=True):
            yield AuditRange(
                log.topic,
                log.partition,
                segment.path,
                segment.base_offset,
                log.next_base_offset(at),
                segment.size,
                start,
                end,
                first_offset,
                end_offset,
                log.is_closed,
                log.log_start_offset,
                before_offset,
                companions.snapshot_offsets,
                segment.fault,
                min(companions.cleaned_up_to or 0, log.segments[-1].base_offset),
                log.size_bytes,
                companions.is_compacted,
            )


def whole(parts: Sequence[AuditRange]) -> AuditRange:
    """Combine all stretches of a segment into one."""
    return parts[0]._replace(end=parts[-1].end, end_offset=None)


def _cuts(segment: Segment, max_bytes: int) -> list[tuple[int, int]]:
    """Return the positions and offsets at which to divide a segment, at least `max_bytes` apart."""
    if segment.size <= max_bytes:
        return []
    try:
        entries = read_index(segment.index_path, Kind.OFFSET_INDEX).entries
    except (FileNotFoundError, UnreadableFile):
        return []
    position = entries["position"].astype(np.int64)
    if not (np.diff(position) > 0).all():
        return []
    offset = entries["offset"].astype(np.int64) + segment.base_offset
    cuts: list[tuple[int, int]] = []
    behind = 0
    while (row := int(np.searchsorted(position, behind + max_bytes))) < position.size:
        behind = int(position[row])
        try:
            first = _entry_at(segment, behind, int(offset[row]))
        except OSError:  # The error is reported when the stretch is read.
            return cuts
        if first is not None and behind < segment.size:
            cuts.append((behind, first))
    return cuts


def _entry_at(segment: Segment, position: int, offset: int) -> int | None:
    """Return the first offset of the entry at `position`, or None if no valid entry up to `offset` begins there."""
    for chunk in read_chunks(segment.path, position, segment.size, chunk_bytes=1 << 12):
        batches = chunk.batches
        if chunk.position != position or batches.position.size == 0 or batches.position[0] != 0:
            return None
        first = int(batches.base_offset[0])
        return first if batches.magic[0] > 1 and segment.base_offset <= first <= offset else None
    return None
