"""Where a log ends, for a reader who sees everything.

The log end offset is the offset behind the last entry that lies whole in the last segment. What follows that entry, the
first part of another one, is on its way, or was when the broker was killed; a start of the broker cuts it off. Space
that was allocated ahead (`preallocate`) is zeros.
"""

from __future__ import annotations

from typing import NamedTuple

from .directory import PartitionLog
from .indexed import IndexedSegment

_BEHIND_ALL = (1 << 63) - 1


class LogEnd(NamedTuple):
    """Where a log ends."""

    offset: int
    """The log end offset."""
    path: str
    """Of the last segment; of the log's directory where there is none."""
    position: int
    """Behind the last whole entry, in bytes."""
    fault: str | None
    """What follows there. None: nothing, or zeros that were allocated ahead. Else why it is no entry; "truncated ..."
    for one that goes on behind the end of the file."""


def log_end(log: PartitionLog, *, lenient: bool = False) -> LogEnd:
    """Where the log ends, by the headers behind the last entry of the last offset index.

    Raises CorruptFile for that index, unless `lenient`; never for the log.
    """
    if not log.segments:
        return LogEnd(log.log_start_offset, log.path, 0, None)
    segment = IndexedSegment(log, log.segments[-1], lenient=lenient)
    offset = segment.segment.base_offset
    walk = segment.heads_from(_BEHIND_ALL)
    for head in walk:
        offset = head.last_offset + 1
    # A log that ends below its start is emptied when a broker opens it (LogLoader).
    return LogEnd(max(offset, log.log_start_offset), segment.segment.path, walk.position, walk.fault)


def log_end_offset(log: PartitionLog, *, lenient: bool = False) -> int:
    """The offset that the next record would get. Raises as `log_end`."""
    return log_end(log, lenient=lenient).offset
