"""How the logs are dealt out to tasks: a segment each, large ones in stretches.

A stretch begins where an entry begins. Where that is says the offset index, which is itself under audit: so a place is
taken only if an entry with the right checksum lies there that may hold the offset the index gives for it, and the task
before must come to an end exactly there. If it does not, the segment is audited once more, in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafkalet.pipeline.decoding.chunks import read_chunks
from kafkalet.pipeline.logs.directory import PartitionLog, Segment, beside
from kafkalet.pipeline.logs.files import UnreadableFile
from kafkalet.pipeline.logs.indexes import OFFSET_ENTRY

from .index_files import read_entries
from .surroundings import Surroundings


class AuditRange(NamedTuple):
    """Some bytes of a .log, and what a task has to know to audit them alone. Small, and can be pickled."""

    topic: str
    partition: int
    path: str
    base_offset: int
    next_base_offset: int | None
    """Of the segment behind; None: this is the log's last one."""
    segment_size: int
    start: int
    end: int
    """Positions in the file, in bytes."""
    first_offset: int
    """Of the first entry, or of the segment."""
    end_offset: int | None
    """Of the next stretch's first entry, in the same segment; None: this is the last one of it."""
    is_closed: bool
    """Its broker has stopped cleanly."""
    log_start_offset: int
    before_offset: int | None
    """What lies at this offset and behind is left alone, for it was written after the audit began; None: nothing."""
    snapshot_offsets: tuple[int, ...]
    """At which the producers' state is wanted."""
    fault: str | None = None
    """Why the file cannot be read."""

    @property
    def is_first(self) -> bool:
        return self.start == 0

    @property
    def is_last(self) -> bool:
        """Of its segment."""
        return self.end_offset is None

    def beside(self, suffix: str) -> str:
        """The name of a file that belongs to the segment."""
        return beside(self.path, suffix)


def stretches(
    log: PartitionLog, around: Surroundings, before_offset: int | None, max_bytes: int
) -> Iterator[AuditRange]:
    """The log in stretches of about `max_bytes`, in the order of its offsets."""
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
                around.snapshot_offsets,
                segment.fault,
            )


def whole(parts: Sequence[AuditRange]) -> AuditRange:
    """The segment of which these are all stretches, in one."""
    return parts[0]._replace(end=parts[-1].end, end_offset=None)


def _cuts(segment: Segment, max_bytes: int) -> list[tuple[int, int]]:
    """Positions and offsets of entries inside a segment, `max_bytes` apart or a little more."""
    if segment.size <= max_bytes:
        return []
    try:
        entries = read_entries(segment.index_path, OFFSET_ENTRY)
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
        except OSError:  # which is found again when the stretch is read
            return cuts
        if first is not None and behind < segment.size:
            cuts.append((behind, first))
    return cuts


def _entry_at(segment: Segment, position: int, offset: int) -> int | None:
    """The first offset of the entry that begins there, if it may lie before `offset`, or hold it."""
    for chunk in read_chunks(segment.path, position, segment.size, chunk_bytes=1 << 12):
        batches = chunk.batches
        if chunk.position != position or batches.position.size == 0 or batches.position[0] != 0:
            return None
        first = int(batches.base_offset[0])
        return first if batches.magic[0] > 1 and segment.base_offset <= first <= offset else None
    return None
