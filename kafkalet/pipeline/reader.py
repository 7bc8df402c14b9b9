"""What a task does: the split that it was given, as rows.

    split           offsets of a partition, in files (logs/splits.py) or at a broker (live/reading.py)
    chunk           a buffer of whole entries, with the headers of its batches in columns (decoding/chunks.py)
    records         the records of some of these batches, in columns (decoding/records.py)
    record batch    the same as the columns that Spark asked for, in Arrow (columns.py)

Of each chunk, whole batches are left out first, by their headers alone: markers, what aborted transactions wrote,
what lies outside the offsets. What remains is decoded at once, and rows are cut off only where a batch straddles an
end. What cannot be read fails the task (FAILFAST), becomes a row of its own in the column `_corrupt` (PERMISSIVE),
or is counted and left out (DROPMALFORMED): the count goes to the log, and to `badRecordsPath` piece by piece.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .broker_origin import BrokerOrigin, broker_chunks
from .columns import Filling, needed
from .decoding.aborted import is_aborted
from .decoding.batches import Batches
from .decoding.chunks import Chunk, Problem
from .decoding.exactly import Unreadable
from .decoding.records import Records, decode_each
from .directory_origin import DirectoryOrigin, file_chunks
from .live.reading import LiveSplit
from .logs.timestamps import may_hold
from .options import ReadOptions
from .origin import AnySplit, Origin

_log = logging.getLogger(__name__)

ROWS = 1 << 16
"""So many rows go to Spark at once, at most."""
PIECE_BYTES = 1 << 20
"""What cannot be read may be the rest of a segment: it goes into rows of this size at most."""


class CorruptLog(Exception):
    """A log cannot be read. The text names the file, the position in it, and why."""


class Want(NamedTuple):
    """What of a split becomes rows: offsets from `start` to before `end`, in these columns."""

    topic: str
    partition: int
    start: int
    end: int
    columns: tuple[str, ...]
    not_before_ms: int | None = None
    """Batches that hold only older records may be left out."""
    not_after_ms: int | None = None
    """And those that hold only later ones."""


def origin_of(options: ReadOptions, *, streaming: bool = False) -> Origin:
    """The directories, or the broker."""
    return BrokerOrigin(options) if options.live else DirectoryOrigin(options, streaming=streaming)


def chunks_of(split: AnySplit, options: ReadOptions) -> Iterator[Chunk]:
    """The chunks of a split, in the order of the log."""
    return broker_chunks(split, options) if isinstance(split, LiveSplit) else file_chunks(split, options)


def record_batches(chunks: Iterator[Chunk], want: Want, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The rows of a split, in the order of the log. Raises CorruptLog."""
    filling = Filling(want.topic, want.partition, want.columns)
    fields = needed(want.columns)
    faults = Faults(options.mode, filling)
    for chunk in chunks:
        for problem in chunk.problems:
            yield from faults.met(problem, chunk)
        batches = wanted(chunk, want, options)
        for found in decode_each(chunk.buffer, batches, fields):
            if isinstance(found, Unreadable):
                yield from faults.met(_problem(found, chunk, batches), chunk)
            else:
                yield from _sliced(filling.rows(_cut(found, want), batches))
    faults.report(options.bad_records_path)


def wanted(chunk: Chunk, want: Want, options: ReadOptions) -> Batches:
    """The batches of which rows are made."""
    batches = chunk.batches
    old = batches.magic < 2
    keep = (batches.last_offset >= want.start) & (old | (batches.base_offset < want.end))
    keep &= may_hold(batches, want.not_before_ms, want.not_after_ms)
    if not options.include_control:
        keep &= ~batches.is_control
    if chunk.aborted is not None and chunk.aborted.producer_id.size:
        keep &= ~is_aborted(batches, chunk.aborted)
    return batches if keep.all() else batches.take(keep)


def _cut(records: Records, want: Want) -> Records:
    """Without the rows of batches that straddle an end of the range."""
    offset = records.offset
    if not offset.size or (offset[0] >= want.start and offset[-1] < want.end):
        return records
    keep = (offset >= want.start) & (offset < want.end)
    columns: list[Any] = [
        column if column is None else column.filter(pa.array(keep)) if isinstance(column, pa.Array) else column[keep]
        for column in records
    ]
    return Records(*columns)


def _sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, ROWS):
        yield batch.slice(start, ROWS)


def _problem(error: Unreadable, chunk: Chunk, batches: Batches) -> Problem:
    row = np.flatnonzero(batches.position == error.position)
    offset = int(batches.base_offset[row[0]]) if row.size else None
    return Problem(chunk.path, chunk.position + error.position, error.size, error.reason, offset)


class Faults:
    """What could not be read, and what becomes of it."""

    def __init__(self, mode: str, filling: Filling) -> None:
        self._mode = mode
        self._filling = filling
        self._dropped: list[Problem] = []

    def met(self, problem: Problem, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """The rows that the problem becomes. Raises CorruptLog where it is not put up with."""
        if self._mode == "FAILFAST":
            raise CorruptLog(
                f"{problem.path} cannot be read at position {problem.position} ({problem.size} bytes"
                f"{'' if problem.base_offset is None else f', offset {problem.base_offset}'}): {problem.reason}"
            )
        if self._mode == "DROPMALFORMED":
            self._dropped.append(problem)
            return
        for position, piece in _bytes_of(problem, chunk):
            what = {"file": problem.path, "position": position, "size": len(piece), "reason": problem.reason}
            yield self._filling.corrupt(problem.base_offset, {**what, "bytes": piece})

    def report(self, folder: str | None) -> None:
        """Say what was dropped: a line in the log, and a file of JSON Lines in `folder`, of this task alone."""
        if not self._dropped:
            return
        size = sum(problem.size for problem in self._dropped)
        first = self._dropped[0]
        _log.warning(
            "dropped %d pieces of %d bytes that cannot be read; the first in %s at position %d: %s",
            len(self._dropped), size, first.path, first.position, first.reason,
        )  # fmt: skip
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
            name = f"{self._filling.name}-{first.position}-{os.urandom(8).hex()}.jsonl"
            with open(os.path.join(folder, name), "x", encoding="utf-8") as file:
                file.writelines(json.dumps(problem._asdict()) + "\n" for problem in self._dropped)


def _bytes_of(problem: Problem, chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    """The bytes of a problem and where they lie, in pieces: from the buffer if it holds them, else from the file."""
    start = problem.position - chunk.position
    if start >= 0 and start + problem.size <= len(chunk.buffer):
        for at in range(start, start + problem.size, PIECE_BYTES):
            end = min(at + PIECE_BYTES, start + problem.size)
            yield chunk.position + at, bytes(memoryview(chunk.buffer)[at:end])
        return
    with open(problem.path, "rb") as file:
        file.seek(problem.position)
        left = problem.size
        while left > 0 and (piece := file.read(min(left, PIECE_BYTES))):
            yield problem.position + problem.size - left, piece
            left -= len(piece)
