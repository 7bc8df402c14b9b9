"""Compute the expected results of ListOffsets for many timestamps, using only the record batches.

To look up a timestamp, Kafka chooses the first segment whose largest timestamp is not earlier. In that segment, it
finds the first record whose timestamp is not earlier and whose offset is not below the log start offset. If there is no
such record (because it was deleted), the result is empty; later segments are not searched. For a segment without
timestamps, such as one that the log cleaner has emptied, Kafka uses the modification time of the file
(LogSegment.largestTimestamp). Such a segment can therefore hide older records in later segments.

As a result, one pass over a segment can serve all lookups: it computes the running maximum of the timestamps, and the
result for a timestamp is the first position at which the running maximum reaches it. (See
UnifiedLog.searchOffsetInLocalLog, LogSegment.findOffsetByTimestamp and FileRecords.searchForTimestamp.)

Control records are included. With LogAppendTime, every record of a batch has the batch's largest timestamp. A lookup of
the largest timestamp returns the first record with that timestamp, in the first segment and batch that contain it, even
if that record was deleted (UnifiedLog.fetchOffsetByTimestamp).

The result that a client receives also depends on the high watermark and the last stable offset: see comparing.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet_spark.decoding.chunks import read_chunks

from .audit_ranges import AuditRange
from .entries import Broken, Entries, entries_of, records_of

Int64s = NDArray[np.int64]
NOTHING = -1
BEFORE_ANY = -2


class LogPlace(NamedTuple):
    """The position of a record in a log; all fields are -1 if there is none."""

    offset: int = NOTHING
    timestamp: int = NOTHING
    leader_epoch: int = NOTHING


class Answers(NamedTuple):
    """The lookup results for a list of timestamps."""

    found: Int64s
    """Three rows (offset, timestamp, leader epoch) with a column for each timestamp; -1 if there is no result."""
    largest: LogPlace
    """The first record with the largest timestamp in any batch header. Its timestamp is -2 if there are no entries."""
    modified_ms: int = NOTHING
    """The modification time of the segment's file."""

    @property
    def reaches(self) -> int:
        """The largest timestamp of the segment, as Kafka determines it."""
        return self.largest.timestamp if self.largest.timestamp >= 0 else self.modified_ms

    @property
    def is_none(self) -> NDArray[np.bool_]:
        return np.asarray(self.found[0] == NOTHING)

    def each(self) -> Iterator[LogPlace]:
        """Yield the results one by one."""
        yield from map(LogPlace, *self.found.tolist())


def no_answers(count: int) -> Answers:
    """Return empty results for `count` timestamps."""
    return Answers(np.full((3, count), NOTHING, np.int64), LogPlace(timestamp=BEFORE_ANY))


class _Search:
    """Looks up timestamps in one stretch. The timestamps must be sorted."""

    def __init__(self, stretch: AuditRange, queries: Int64s) -> None:
        self.stretch = stretch
        self.queries = queries
        self.answered = 0
        self.found, self.largest, _ = no_answers(queries.size)

    def take(self, entries: Entries) -> None:
        if entries.position.size == 0:
            return
        self._look_for_largest(entries)
        for records in records_of(entries, ()):
            if isinstance(records, Broken):
                continue
            kept = records.offset >= self.stretch.log_start_offset
            timestamp, offset, row = records.timestamp[kept], records.offset[kept], records.row[kept]
            if timestamp.size == 0:
                continue
            reached = np.maximum.accumulate(timestamp)
            end = int(np.searchsorted(self.queries, reached[-1], "right"))
            if end > self.answered:
                mine = slice(self.answered, end)
                at = np.searchsorted(reached, self.queries[mine], "left")
                self.found[:, mine] = offset[at], timestamp[at], entries.batches.leader_epoch[row[at]]
                self.answered = end

    def _look_for_largest(self, entries: Entries) -> None:
        row = int(entries.batches.max_timestamp.argmax())
        largest = int(entries.batches.max_timestamp[row])
        if largest <= self.largest.timestamp:
            return
        batch = entries.batches.take(slice(row, row + 1))
        alone = entries._replace(
            batches=batch, position=entries.position[row : row + 1], first_offset=entries.first_offset[row : row + 1]
        )
        offset = NOTHING
        for records in records_of(alone, ()):
            if not isinstance(records, Broken) and offset == NOTHING and (records.timestamp == largest).any():
                offset = int(records.offset[(records.timestamp == largest).argmax()])
        self.largest = LogPlace(offset, largest, int(batch.leader_epoch[0]))


def search(stretch: AuditRange, queries: Int64s, chunk_bytes: int) -> Answers:
    """Look up timestamps in one stretch as if it were a whole log. If its file was deleted, the results are empty."""
    looking = _Search(stretch, queries)
    try:
        for chunk in read_chunks(stretch.path, stretch.start, stretch.end, chunk_bytes=chunk_bytes):
            entries = entries_of(stretch.path, chunk.position, chunk.buffer, chunk.batches)
            sound = entries if stretch.before_offset is None else entries.before(stretch.before_offset)
            looking.take(sound)
            if sound.position.size < entries.position.size:
                break
        modified_ms = os.stat(stretch.path).st_mtime_ns // 1_000_000
    except FileNotFoundError:  # The audit of this stretch reports the missing file.
        modified_ms = NOTHING
    return Answers(looking.found, looking.largest, modified_ms)


def whole_log(parts: Iterable[tuple[AuditRange, Answers]], queries: Int64s) -> Answers:
    """Combine the results of the stretches of a log, given in order."""
    found, largest, _ = no_answers(queries.size)
    decided = np.zeros(queries.size, np.bool_)
    for _, group in groupby(parts, key=lambda part: part[0].path):
        segment = _segment([answers for _, answers in group])
        mine = ~decided & (queries <= segment.reaches)
        found[:, mine] = segment.found[:, mine]
        decided |= mine
        if segment.largest.timestamp > largest.timestamp:
            largest = segment.largest
    return Answers(found, largest)


def _segment(stretches: Sequence[Answers]) -> Answers:
    answers = stretches[0]
    for more in stretches[1:]:
        largest = more.largest if more.largest.timestamp > answers.largest.timestamp else answers.largest
        answers = Answers(np.where(answers.is_none, more.found, answers.found), largest, more.modified_ms)
    return answers
