"""Find the log end offset from the files of a log.

The log end offset is the offset after the last complete batch in the last segment. Any incomplete batch after it is
still being written, or was being written when the broker was killed; a broker truncates it at startup. Zeros at the end
of the file are preallocated space (`preallocate`).
"""

from __future__ import annotations

from typing import NamedTuple

from .directory import PartitionLog
from .indexed import IndexedSegment

_BEHIND_ALL = (1 << 63) - 1


class LogEnd(NamedTuple):
    """The end of a log, as an offset and as a position in a file."""

    offset: int
    """The log end offset."""
    path: str
    """Path of the last segment, or of the log's directory if it has no segments."""
    position: int
    """Byte position after the last complete batch."""
    fault: str | None
    """Why the bytes after `position` are not a batch. The text starts with "truncated" if a batch extends past the end
    of the file. None if nothing follows, or only preallocated zeros."""


def log_end(log: PartitionLog, *, lenient: bool = False) -> LogEnd:
    """Find the end of a log by walking the batch headers, starting at the last entry in the last segment's offset
    index.

    Raises CorruptFile if that index is corrupt, unless `lenient`. A corrupt .log file does not raise an exception.
    """
    if not log.segments:
        return LogEnd(log.log_start_offset, log.path, 0, None)
    segment = IndexedSegment(log, log.segments[-1], lenient=lenient)
    offset = segment.segment.base_offset
    walk = segment.heads_from(_BEHIND_ALL)
    for head in walk:
        offset = head.last_offset + 1
    # If the end of a log is below its start, a broker that opens the log empties it (LogLoader).
    return LogEnd(max(offset, log.log_start_offset), segment.segment.path, walk.position, walk.fault)


def log_end_offset(log: PartitionLog, *, lenient: bool = False) -> int:
    """Return the offset that the next record would get. Raises the same exceptions as `log_end`."""
    return log_end(log, lenient=lenient).offset
