"""Do the work of a task: write rows to files by topic, partition and date, in the task's own directory.

The rows of a task come from one split, so they belong to one partition and are in offset order, and usually all rows of
an Arrow batch have the same date. The date is the day, month or year of the timestamp in UTC. A record is filed by its
timestamp, no matter how late it arrived, so a task may have many files open:

* Rows are buffered. The buffer of a file is written when it has reached ROW_GROUP_BYTES. When all buffers together have
  reached TASK_BYTES, the largest one is written. Thus memory use is bounded for any input.
* A file is opened when it is first written to, and closed when it has reached the target size. If more than OPEN_FILES
  are open, the least recently used file is closed. If its date occurs again, another file is started.

The task returns the list of its files. Only files in a list that reaches the driver are moved into place, so a task may
be retried any number of times.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .shape import DumpShape

ROW_GROUP_BYTES = 32 << 20
TASK_BYTES = 128 << 20
OPEN_FILES = 400

_DAY_US = 86_400_000_000
LINE = "line"
"""The only column of a JSON Lines file: the lines, each with a trailing newline."""


class WrittenFile(NamedTuple):
    """A file that a task has written, and a summary of its content. `staged` is its path relative to the dump
    directory."""

    staged: str
    topic: str
    partition: int
    date: str
    first_offset: int
    last_offset: int
    records: int
    size_bytes: int


class Sink(Protocol):
    """An open output file."""

    def write(self, batches: list[pa.RecordBatch]) -> None: ...
    def size_bytes(self) -> int:
        """Return the number of bytes written so far."""
        ...

    def close(self) -> None: ...


class _Parquet:
    """Writes a Parquet file. Each call of `write` produces one row group."""

    def __init__(self, path: str, schema: pa.Schema, compression: str) -> None:
        self._file = pa.OSFile(path, "wb")
        self._writer = pq.ParquetWriter(self._file, schema, compression=compression)

    def write(self, batches: list[pa.RecordBatch]) -> None:
        self._writer.write_table(pa.Table.from_batches(batches))

    def size_bytes(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._writer.close()
        self._file.close()


class _Lines:
    """Writes the strings of the column LINE to a text file."""

    def __init__(self, path: str, compression: str) -> None:
        self._file = pa.OSFile(path, "wb")
        plain = compression == "none"
        self._stream = self._file if plain else pa.CompressedOutputStream(self._file, compression)

    def write(self, batches: list[pa.RecordBatch]) -> None:
        for batch in batches:
            self._stream.write(characters(batch.column(LINE)))

    def size_bytes(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._stream.close()
        if not self._file.closed:
            self._file.close()


def open_sink(path: str, schema: pa.Schema, shape: DumpShape) -> Sink:
    """Create a file with the format and compression of the dump."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if shape.format == "jsonl":
        return _Lines(path, shape.compression)
    return _Parquet(path, schema, shape.compression)


def characters(strings: pa.Array) -> memoryview:
    """Return the concatenated bytes of a string column that has no nulls. The bytes are not copied."""
    _, offsets, data = strings.buffers()
    if data is None:
        return memoryview(b"")
    width = np.int64 if pa.types.is_large_string(strings.type) else np.int32
    ends = np.frombuffer(offsets, width)[strings.offset : strings.offset + len(strings) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


class _Part:
    """The rows of one topic, partition and date: the rows in the open file, and the rows in its buffer."""

    def __init__(self, key: tuple[str, int, str]) -> None:
        self.key = key
        self.sink: Sink | None = None
        self.staged = ""
        self.begin()

    def begin(self) -> None:
        self.waiting: list[pa.RecordBatch] = []
        self.waiting_bytes = 0
        self.first, self.last, self.records = -1, -1, 0

    def add(self, batch: pa.RecordBatch, offsets: NDArray[np.int64]) -> None:
        self.first = int(offsets[0]) if self.first < 0 else self.first
        self.last = int(offsets[-1])
        self.records += len(offsets)
        self.waiting.append(batch)
        self.waiting_bytes += batch.nbytes


class Writing:
    """Writes the files of one task attempt."""

    def __init__(self, out: str, folder: str, shape: DumpShape) -> None:
        self._out = out
        self._folder = folder
        self._shape = shape
        self._parts: dict[tuple[str, int, str], _Part] = {}  # least recently used first
        self._count = 0
        self._waiting_bytes = 0
        self._written: list[WrittenFile] = []
        self._write_bytes = min(ROW_GROUP_BYTES, shape.target_file_bytes // 4)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows. They must have topic, partition, offset and timestamp, and the columns to be written to the
        files."""
        offsets = batch.column("offset").to_numpy()
        kept = self._kept(batch)
        for key, rows in _groups(batch, self._shape.date_folders):
            part = self._parts.pop(key, None) or _Part(key)
            self._parts[key] = part
            before = part.waiting_bytes
            part.add(kept if rows is None else kept.take(pa.array(rows)), offsets if rows is None else offsets[rows])
            self._waiting_bytes += part.waiting_bytes - before
            if part.waiting_bytes >= self._write_bytes:
                self._write(part)
        while self._waiting_bytes >= TASK_BYTES:
            self._write(max(self._parts.values(), key=lambda part: part.waiting_bytes))
        while len(self._parts) > OPEN_FILES:
            self._close(next(iter(self._parts.values())))

    def close(self) -> list[WrittenFile]:
        """Finish all files and return them."""
        for part in list(self._parts.values()):
            self._close(part)
        return self._written

    def _kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns to be written to the files. Topic and partition are not among them: they are in the
        directory names."""
        if self._shape.format == "jsonl":
            return batch.select([LINE])
        names = [name for name in batch.schema.names if name not in ("topic", "partition")]
        return _in_utc(batch.select(names))

    def _write(self, part: _Part) -> None:
        """Write the buffered rows to their file, and close the file if it has reached the target size."""
        self._write_waiting(part)
        assert part.sink is not None, "the buffer was written"
        if part.sink.size_bytes() >= self._shape.target_file_bytes:
            self._close(part)

    def _write_waiting(self, part: _Part) -> None:
        if part.sink is None:
            part.staged = os.path.join(self._folder, f"{self._count}{self._shape.suffix}")
            self._count += 1
            part.sink = open_sink(os.path.join(self._out, part.staged), part.waiting[0].schema, self._shape)
        part.sink.write(part.waiting)
        self._waiting_bytes -= part.waiting_bytes
        part.waiting, part.waiting_bytes = [], 0

    def _close(self, part: _Part) -> None:
        if part.waiting:
            self._write_waiting(part)
        assert part.sink is not None, "a part has rows"
        part.sink.close()
        del self._parts[part.key]
        size_bytes = os.path.getsize(os.path.join(self._out, part.staged))
        self._written.append(WrittenFile(part.staged, *part.key, part.first, part.last, part.records, size_bytes))


_UNITS: dict[str, Literal["D", "M", "Y"]] = {"day": "D", "month": "M", "year": "Y"}


def _groups(batch: pa.RecordBatch, period: str) -> Iterator[tuple[tuple[str, int, str], NDArray[np.int64] | None]]:
    """Group rows by topic, partition and date. Yield the key of each group with the indexes of its rows, or with None
    if it contains all rows."""
    dates = (_microseconds(batch) // _DAY_US).astype("datetime64[D]")
    if period in _UNITS:
        dates = dates.astype(f"datetime64[{_UNITS[period]}]")
    numbers = dates.astype(np.int64) if period in _UNITS else np.zeros(len(dates), np.int64)
    topics = batch.column("topic").dictionary_encode()
    partitions = batch.column("partition").to_numpy()
    distinct, first, group = np.unique(numbers - numbers.min(), return_index=True, return_inverse=True)
    if len(topics.dictionary) > 1 or (partitions != partitions[0]).any():
        ordinals = np.unique(partitions, return_inverse=True)[1]
        group = (topics.indices.to_numpy() * len(partitions) + ordinals) * len(numbers) + group
        distinct, first, group = np.unique(group, return_index=True, return_inverse=True)
    for number in np.argsort(first):
        row = int(first[number])
        date = str(dates[row]) if period in _UNITS else ""
        key = (batch.column("topic")[row].as_py(), int(partitions[row]), date)
        yield key, None if len(distinct) == 1 else np.flatnonzero(group == number)


def _microseconds(batch: pa.RecordBatch) -> NDArray[np.int64]:
    return batch.column("timestamp").cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Set the time zone of the timestamps to UTC, because Spark labels them with the session time zone."""
    at = batch.schema.get_field_index("timestamp")
    utc = pa.timestamp("us", tz="UTC")
    return batch.set_column(at, pa.field("timestamp", utc), pc.cast(batch.column(at), utc))


def write_files(batches: Iterable[pa.RecordBatch], out: str, staging: str, shape: DumpShape) -> list[WrittenFile]:
    """Write the rows of one task attempt. `staging` is a directory in `out` that is shared by all attempts."""
    writing = Writing(out, os.path.join(staging, os.urandom(8).hex()), shape)
    for batch in batches:
        if batch.num_rows:
            writing.add(batch)
    return writing.close()
