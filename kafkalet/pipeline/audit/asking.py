"""What a broker should answer to ListOffsets, from the batches alone, for many timestamps at once.

For a time, Kafka looks in the first segment whose largest timestamp is as late, and there for the first record that is
as late and not below the log start offset. If that segment has none (its late records are deleted), the answer is
none; later segments are not tried. A segment without any timestamp, as one that a cleaner has emptied, is taken to be
as late as its file was last modified (LogSegment.largestTimestamp), and hides what is older and lies behind it.

So in each segment the running maximum of the timestamps answers all times at once: it rises, and the first place where
it reaches a time is the answer. (UnifiedLog.searchOffsetInLocalLog, LogSegment.findOffsetByTimestamp,
FileRecords.searchForTimestamp.)

Control records count like others. Under LogAppendTime all records of a batch have its largest timestamp. For the
largest timestamp of all: the first segment that has it, in it the first batch, in it the first record; deleted records
count (UnifiedLog.fetchOffsetByTimestamp).

Which of the answers a reader gets to see depends on high watermark and last stable offset: see comparing.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.pipeline.decoding.chunks import read_chunks

from .audit_ranges import AuditRange
from .entries import Broken, Entries, entries_of, records_of

Int64s = NDArray[np.int64]
NOTHING = -1
BEFORE_ANY = -2


class LogPlace(NamedTuple):
    """A place in a log; all -1 for none."""

    offset: int = NOTHING
    timestamp: int = NOTHING
    leader_epoch: int = NOTHING


class Answers(NamedTuple):
    """For each timestamp asked for."""

    found: Int64s
    """Three rows: offset, timestamp, leader epoch; -1 for none."""
    largest: LogPlace
    """The first record with the largest timestamp of all headers. Its timestamp is -2 where there is no entry."""
    modified_ms: int = NOTHING
    """When the segment's file was."""

    @property
    def reaches(self) -> int:
        """How late the segment is for Kafka."""
        return self.largest.timestamp if self.largest.timestamp >= 0 else self.modified_ms

    @property
    def is_none(self) -> NDArray[np.bool_]:
        return np.asarray(self.found[0] == NOTHING)

    def each(self) -> Iterator[LogPlace]:
        """The answers one by one."""
        yield from map(LogPlace, *self.found.tolist())


def no_answers(count: int) -> Answers:
    """To `count` questions."""
    return Answers(np.full((3, count), NOTHING, np.int64), LogPlace(timestamp=BEFORE_ANY))


class _Search:
    """Goes through one stretch, the timestamps asked for ascending."""

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
    """The answers of one stretch alone, as if nothing lay around it. Nothing, if its file is gone."""
    looking = _Search(stretch, queries)
    try:
        for chunk in read_chunks(stretch.path, stretch.start, stretch.end, chunk_bytes=chunk_bytes):
            entries = entries_of(stretch.path, chunk.position, chunk.buffer, chunk.batches)
            sound = entries if stretch.before_offset is None else entries.before(stretch.before_offset)
            looking.take(sound)
            if sound.position.size < entries.position.size:
                break
        modified_ms = os.stat(stretch.path).st_mtime_ns // 1_000_000
    except FileNotFoundError:  # the audit of this stretch has said so
        modified_ms = NOTHING
    return Answers(looking.found, looking.largest, modified_ms)


def whole_log(parts: Iterable[tuple[AuditRange, Answers]], queries: Int64s) -> Answers:
    """The answers of a log from those of its stretches, which are in order."""
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
