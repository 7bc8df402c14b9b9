"""What one task writes: for each partition that it meets a fragment of a log, in a staging directory.

Rows are collected until there is enough of them (CHUNK_BYTES, or as much as was left over from before), sorted by
place, cut into batches and encoded, all in one go. The last batch of each partition, which more rows may still fill,
waits for the next round. So what is written does not depend on the pieces in which rows come, and a task needs no more
memory than some chunks and one batch for each partition.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkalet.protocol.records.codecs import Codec, compress

from .cutting import Cutter
from .encode import Encoded, Fields, encode, encode_headers
from .ground import Start
from .heads import new_heads, sealed
from .rows import SCHEMA, Sorter, Stretch, stretches
from .segments import Placed, SegmentFiles, Written
from .settings import WriteOptions

CHUNK_BYTES = 8 << 20
LOG_APPEND_TIME = 0x08


class Fragment(NamedTuple):
    """What one task wrote of one partition."""

    topic: str
    partition: int
    directory: str
    """Relative to the staging directory."""
    start: Start
    """For which the batches were written."""
    end_offset: int
    first_timestamp: int
    records: int
    segments: tuple[Written, ...]


class _Open:
    """A fragment that is being written."""

    def __init__(self, topic: str, partition: int, directory: str, start: Start, files: SegmentFiles) -> None:
        self.topic, self.partition, self.directory = topic, partition, directory
        self.start = start
        self.files = files
        self.next_offset = start.offset
        self.first_timestamp: int | None = None
        self.records = 0


class TaskLogs:
    """The fragments of one task, written below `root`/`name`."""

    def __init__(
        self, root: str, name: str, options: WriteOptions, sorter: Sorter, start_of: Callable[[str, int], Start]
    ) -> None:
        self._root = root
        self._name = name
        self._options = options
        self._sorter = sorter
        self._start_of = start_of
        self._fragments: dict[int, _Open] = {}
        self._rest = SCHEMA.empty_table()
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    def add_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take rows in, in their order. Raises BadRows, SegmentFull, OSError."""
        for rows in batches:
            for piece in _pieces(rows):
                placed = self._sorter.sort(piece)
                self._waiting.append(placed)
                self._waiting_bytes += placed.nbytes
                if self._waiting_bytes >= max(CHUNK_BYTES, self._rest.nbytes):
                    self._write(last=False)

    def close(self) -> tuple[Fragment, ...]:
        """Write what is left. Returns the fragments in the order of their partitions."""
        self._write(last=True)
        done = [self._closed(fragment) for fragment in self._fragments.values()]
        return tuple(sorted(done, key=lambda fragment: (fragment.topic, fragment.partition)))

    def _closed(self, fragment: _Open) -> Fragment:
        return Fragment(
            fragment.topic,
            fragment.partition,
            fragment.directory,
            fragment.start,
            fragment.next_offset,
            fragment.first_timestamp or 0,
            fragment.records,
            fragment.files.close(),
        )

    # -- a round

    def _write(self, *, last: bool) -> None:
        table = pa.concat_tables([self._rest, pa.Table.from_batches(self._waiting, SCHEMA)]).combine_chunks()
        self._waiting, self._waiting_bytes = [], 0
        self._rest = SCHEMA.empty_table()
        if not table.num_rows:
            return
        rows = _sorted(table)
        fields = _fields(rows)
        sizes = fields.sizes()
        cutter = Cutter(sizes, fields.timestamp, self._options.limits)
        plan: list[tuple[Stretch, list[int]]] = []
        rests: list[Stretch] = []
        for stretch in stretches(rows["place"].chunk(0).to_numpy()):
            firsts = cutter.cut(stretch.start, stretch.end)
            if not last:
                rests.append(stretch._replace(start=firsts.pop()))
                stretch = stretch._replace(end=rests[-1].start)
            if firsts:
                plan.append((stretch, firsts))
        if rests:
            self._rest = pa.concat_tables([rows.slice(rest.start, rest.end - rest.start) for rest in rests])
        self._encode(rows, fields, sizes, plan)

    def _encode(
        self, rows: pa.Table, fields: Fields, sizes: NDArray[np.int64], plan: list[tuple[Stretch, list[int]]]
    ) -> None:
        """Encode the rows of the plan together, and write them to their fragments."""
        if not plan:
            return
        firsts: list[int] = []
        count = 0
        for stretch, starts in plan:
            firsts += [start - stretch.start + count for start in starts]
            count += stretch.end - stretch.start
        begin, end = plan[0][0].start, plan[-1][0].end
        if count == end - begin:
            fields, sizes = fields.slice(begin, count), sizes[begin:end]
        else:
            chosen = np.concatenate([np.arange(stretch.start, stretch.end) for stretch, _ in plan])
            fields, sizes = _fields(rows.take(pa.array(chosen)).combine_chunks()), sizes[chosen]
        starts_of_batches = np.array(firsts, np.int64)
        encoded = encode(fields, starts_of_batches, sizes)
        counts = np.diff(starts_of_batches, append=fields.rows)
        maxima = np.maximum.reduceat(fields.timestamp, starts_of_batches)
        bases = fields.timestamp[starts_of_batches]
        at = 0
        for stretch, starts in plan:
            until = at + len(starts)
            self._append(stretch.place, encoded, slice(at, until), counts, bases, maxima)
            at = until

    def _append(
        self,
        place: int,
        encoded: Encoded,
        batches: slice,
        counts: NDArray[np.int64],
        bases: NDArray[np.int64],
        maxima: NDArray[np.int64],
    ) -> None:
        fragment = self._fragment(place)
        options = self._options
        codec = options.codec
        payloads: list[bytes | memoryview] = [encoded.payload(batch) for batch in range(batches.start, batches.stop)]
        if codec is not Codec.NONE:
            payloads = [compress(codec, payload, options.level) for payload in payloads]
        counts, bases, maxima = counts[batches], bases[batches], maxima[batches]
        ends = fragment.next_offset + np.cumsum(counts)
        heads = new_heads(len(payloads), fragment.start.leader_epoch)
        heads["base_offset"] = ends - counts
        heads["attributes"] = codec | (LOG_APPEND_TIME if options.append_time else 0)
        heads["last_offset_delta"] = counts - 1
        heads["base_timestamp"] = bases
        heads["max_timestamp"] = maxima
        heads["count"] = counts
        placed = map(
            Placed._make,
            zip(
                (ends - counts).tolist(),
                (ends - 1).tolist(),
                maxima.tolist(),
                zip(sealed(heads, payloads), payloads, strict=True),
                strict=True,
            ),
        )
        fragment.files.append(list(placed))
        if fragment.first_timestamp is None:
            fragment.first_timestamp = int(bases[0])
        fragment.next_offset = int(ends[-1])
        fragment.records += int(counts.sum())

    def _fragment(self, place: int) -> _Open:
        found = self._fragments.get(place)
        if found is None:
            topic, partition = self._sorter.place_of(place)
            directory = os.path.join(self._name, f"{topic}-{partition}")
            files = SegmentFiles(
                os.path.join(self._root, directory), self._options.segments, durable=self._options.durable
            )
            start = self._start_of(topic, partition)
            found = self._fragments[place] = _Open(topic, partition, directory, start, files)
        return found


def _pieces(rows: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
    """The rows in pieces of not much more than CHUNK_BYTES."""
    count = rows.num_rows
    if not count:
        return
    step = max(1, count * CHUNK_BYTES // max(rows.nbytes, 1))
    for start in range(0, count, step):
        yield rows.slice(start, step)


def _sorted(table: pa.Table) -> pa.Table:
    """By place; rows of one place stay in their order."""
    places = table["place"].chunk(0).to_numpy()
    if (np.diff(places) >= 0).all():
        return table
    order = np.argsort(places, kind="stable")
    return table.take(pa.array(order)).combine_chunks()


def _fields(rows: pa.Table) -> Fields:
    key, headers = rows["key"].chunk(0), rows["headers"].chunk(0)
    return Fields(
        rows["timestamp"].chunk(0).to_numpy(),
        key if key.null_count < len(key) else None,
        rows["value"].chunk(0),
        encode_headers(headers) if headers.null_count < len(headers) else None,
    )
