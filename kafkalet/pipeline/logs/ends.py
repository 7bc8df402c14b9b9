"""Find the log end offset from the files of a log.

The log end offset is the offset after the last complete batch in the last segment. An incomplete batch after that is
still being written, or was when the broker was killed; a broker truncates it at startup. Zeros at the end of the file
are preallocated space (`preallocate`).
"""

from __future__ import annotations

from typing import NamedTuple

from .directory import PartitionLog
from .indexed import IndexedSegment

_BEHIND_ALL = (1 << 63) - 1


class LogEnd(NamedTuple):
    """The end of a log, as offset and as file position."""

    offset: int
    """The log end offset."""
    path: str
    """Path of the last segment, or of the log's directory if it has no segments."""
    position: int
    """Byte position after the last complete batch."""
    fault: str | None
    """None if nothing follows, or only preallocated zeros. Otherwise the reason why the bytes that follow are
    not a batch, which starts with "truncated" if a batch extends past the end of the file."""


def log_end(log: PartitionLog, *, lenient: bool = False) -> LogEnd:
    """Find the end of a log by walking the batch headers from the last entry of the last offset index.

    Raises CorruptFile if that index is corrupt, unless `lenient`. A corrupt .log file never raises.
    """
    if not log.segments:
        return LogEnd(log.log_start_offset, log.path, 0, None)
    segment = IndexedSegment(log, log.segments[-1], lenient=lenient)
    offset = segment.segment.base_offset
    walk = segment.heads_from(_BEHIND_ALL)
    for head in walk:
        offset = head.last_offset + 1
    # A broker empties a log whose end is below its start when it opens it (LogLoader).
    return LogEnd(max(offset, log.log_start_offset), segment.segment.path, walk.position, walk.fault)


def log_end_offset(log: PartitionLog, *, lenient: bool = False) -> int:
    """Return the offset that the next record would get. Raises the same exceptions as `log_end`."""
    return log_end(log, lenient=lenient).offset
