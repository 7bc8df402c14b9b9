"""Convert a split to Arrow record batches, inside a Spark task.

    split           offsets of a partition, in files (logs/splits.py) or at a broker (live/reading.py)
    chunk           a buffer of complete batches, with their headers in columns (decoding/chunks.py)
    records         the records of some of these batches, in columns (decoding/records.py)
    record batch    the same records as an Arrow record batch with the requested columns (columns.py)

The batches of a chunk are first filtered by their headers alone, which excludes markers, batches of aborted
transactions, and batches outside the offset range. The remaining batches are decoded together. Individual rows are
dropped only if a batch straddles an end of the range. Unreadable data fails the task (FAILFAST), becomes a row with the
column `_corrupt` (PERMISSIVE), or is dropped (DROPMALFORMED), with a warning in the log and one line per piece in
`badRecordsPath`.
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

_LOG = logging.getLogger(__name__)

ROWS = 1 << 16
"""The maximum number of rows in a record batch that is passed to Spark."""
PIECE_BYTES = 1 << 20
"""The maximum bytes in one `_corrupt` row. Unreadable data may extend to the end of a segment."""


class CorruptLog(Exception):
    """A log cannot be read. The message contains the file, the position in the file and the reason."""


class Want(NamedTuple):
    """The rows to produce: offsets from `start` to `end` (exclusive), with these columns."""

    topic: str
    partition: int
    start: int
    end: int
    columns: tuple[str, ...]
    not_before_ms: int | None = None
    """Batches whose records are all earlier may be skipped."""
    not_after_ms: int | None = None
    """Batches whose records are all later may be skipped."""


def origin_of(options: ReadOptions, *, streaming: bool = False) -> Origin:
    """Return the origin that the options select: log directories or a broker."""
    return BrokerOrigin(options) if options.live else DirectoryOrigin(options, streaming=streaming)


def chunks_of(split: AnySplit, options: ReadOptions) -> Iterator[Chunk]:
    """Read the chunks of a split, in log order."""
    return broker_chunks(split, options) if isinstance(split, LiveSplit) else file_chunks(split, options)


def record_batches(chunks: Iterator[Chunk], want: Want, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Convert the chunks of a split to record batches, in log order. Raises CorruptLog."""
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
    """Return those batches of a chunk that must be decoded according to their headers."""
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
    """Drop the records outside the range from batches that straddle one of its ends."""
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
    """Handles unreadable data according to the mode."""

    def __init__(self, mode: str, filling: Filling) -> None:
        self._mode = mode
        self._filling = filling
        self._dropped: list[Problem] = []

    def met(self, problem: Problem, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """Yield the rows for a problem, if any. Raises CorruptLog in FAILFAST mode."""
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
        """Log a warning about dropped data, and list it in this task's JSON Lines file in `folder`."""
        if not self._dropped:
            return
        size = sum(problem.size for problem in self._dropped)
        first = self._dropped[0]
        _LOG.warning(
            "dropped %d unreadable pieces (%d bytes); the first is in %s at position %d: %s",
            len(self._dropped), size, first.path, first.position, first.reason,
        )  # fmt: skip
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
            name = f"{self._filling.name}-{first.position}-{os.urandom(8).hex()}.jsonl"
            with open(os.path.join(folder, name), "x", encoding="utf-8") as file:
                file.writelines(json.dumps(problem._asdict()) + "\n" for problem in self._dropped)


def _bytes_of(problem: Problem, chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a problem in pieces with their positions, from the buffer or, if not in it, the file."""
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
