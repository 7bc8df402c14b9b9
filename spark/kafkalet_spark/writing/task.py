"""Write the output of one task to a staging directory: a fragment of each partition for which the task has rows.

This is done in rounds. In each round, rows are collected until there are enough (about CHUNK_BYTES, or as many bytes as
were left over from the previous round), then sorted by place, cut into batches and encoded together. The last batch of
each partition, which may not be full yet, is carried over to the next round. Thus the output does not depend on how the
input is divided into Arrow batches, and memory use is limited to a few chunks plus one batch per partition.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .cutting import BatchCutter
from .encode import EncodedFields, encode, encode_headers
from .fragments import BatchRun, Fragment, FragmentLog
from .rows import SCHEMA, RowRun, Sorter, stretches
from .segments import SegmentFiles
from .target import Start
from .transaction_shape import Shaping
from .write_options import WriteOptions

CHUNK_BYTES = 8 << 20


class FragmentStart(NamedTuple):
    """The start of a fragment, and the highest producer id in the log to which it belongs."""

    start: Start
    highest_producer_id: int


class _Cut(NamedTuple):
    """A run of consecutive rows, and the indexes of the rows that start a batch."""

    rows: RowRun
    firsts: list[int]


class TaskLogs:
    """Writes the fragments of task number `task` to `root`/`name`."""

    def __init__(
        self,
        root: str,
        name: str,
        task: int,
        options: WriteOptions,
        sorter: Sorter,
        origin_of: Callable[[str, int], FragmentStart],
    ) -> None:
        self._root = root
        self._name = name
        self._task = task
        self._options = options
        self._open_transactions = options.shape.open_transactions if options.shape else 0
        self._sorter = sorter
        self._origin_of = origin_of
        self._fragments: dict[int, FragmentLog] = {}
        self._rest = SCHEMA.empty_table()
        self._rest_bytes = 0
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    def add_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Add the next rows, in order. Raises BadRows, SegmentFull or OSError."""
        for rows in batches:
            for piece in _pieces(rows):
                placed = self._sorter.sort(piece)
                self._waiting.append(placed)
                self._waiting_bytes += placed.nbytes
                if self._waiting_bytes >= self._enough_bytes:
                    self._write(last=False)

    def close(self) -> tuple[Fragment, ...]:
        """Write the remaining rows. Return the fragments in partition order."""
        self._write(last=True)
        done = [fragment.close() for fragment in self._fragments.values()]
        return tuple(sorted(done, key=lambda fragment: (fragment.topic, fragment.partition)))

    @property
    def _enough_bytes(self) -> int:
        """The number of bytes needed for a round. With many partitions, more data is carried over, so rounds are
        larger."""
        left = self._rest_bytes
        return max(CHUNK_BYTES, left, min(4 * left, 4 * CHUNK_BYTES))

    # A round

    def _write(self, *, last: bool) -> None:
        table = pa.concat_tables([self._rest, pa.Table.from_batches(self._waiting, SCHEMA)]).combine_chunks()
        self._waiting, self._waiting_bytes = [], 0
        self._rest = SCHEMA.empty_table()
        if not table.num_rows:
            return
        rows = _by_place(table)
        fields = _fields(rows)
        sizes = fields.sizes()
        cutter = BatchCutter(sizes, fields.timestamp, self._options.limits)
        cuts: list[_Cut] = []
        rests: list[pa.Table] = []
        for stretch in stretches(rows["place"].chunk(0).to_numpy()):
            firsts = cutter.cut(stretch.start, stretch.end)
            if last:
                firsts = self._with_batches_for_all(firsts, stretch)
            else:
                waiting = firsts[-1 - self._open_transactions :]
                firsts = firsts[: len(firsts) - len(waiting)]
                rests.append(rows.slice(waiting[0], stretch.end - waiting[0]))
                stretch = stretch._replace(end=waiting[0])
            if firsts:
                cuts.append(_Cut(stretch, firsts))
        if rests:
            self._rest = pa.concat_tables(rests)
            self._rest_bytes = int(self._rest.nbytes)
        if cuts:
            self._append(cuts, *_chosen(rows, fields, sizes, cuts), last=last)

    def _with_batches_for_all(self, firsts: list[int], stretch: RowRun) -> list[int]:
        """Ensure that there are enough batches: each transaction that stays open needs its own batch, and therefore at
        least one record."""
        wanted = min(self._open_transactions, stretch.end - stretch.start)
        if len(firsts) >= wanted:
            return firsts
        split = stretch.end - wanted
        return [first for first in firsts if first < split] + list(range(split, stretch.end))

    def _append(self, cuts: list[_Cut], fields: EncodedFields, sizes: NDArray[np.int64], *, last: bool) -> None:
        """Encode the rows of all cuts together, and append the resulting batches to their fragments."""
        firsts: list[int] = []
        row = 0
        for stretch, starts in cuts:
            firsts += [start - stretch.start + row for start in starts]
            row += stretch.end - stretch.start
        begins = np.array(firsts, np.int64)
        encoded = encode(fields, begins, sizes)
        counts = np.diff(begins, append=fields.rows)
        maxima = np.maximum.reduceat(fields.timestamp, begins)
        at = 0
        for stretch, starts in cuts:
            until = at + len(starts)
            run = BatchRun(
                [encoded.payload(batch) for batch in range(at, until)],
                counts[at:until],
                fields.timestamp[begins[at:until]],
                maxima[at:until],
            )
            left_open = min(self._open_transactions, len(starts)) if last else 0
            self._fragment(stretch.place).append(run, left_open=left_open)
            at = until

    def _fragment(self, place: int) -> FragmentLog:
        found = self._fragments.get(place)
        if found is None:
            topic, partition = self._sorter.place_of(place)
            start, known = self._origin_of(topic, partition)
            directory = os.path.join(self._name, f"{topic}-{partition}")
            options = self._options
            shaping = options.shape and Shaping(
                options.shape, topic, partition, self._task, leader_epoch=start.leader_epoch, highest_known=known
            )
            files = SegmentFiles(os.path.join(self._root, directory), options.segments, durable=options.durable)
            found = FragmentLog(topic, partition, directory, start, files, options, shaping)
            self._fragments[place] = found
        return found


def _pieces(rows: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
    """Split the rows into pieces of about CHUNK_BYTES."""
    count = rows.num_rows
    if not count:
        return
    step = max(1, count * CHUNK_BYTES // max(rows.nbytes, 1))
    for start in range(0, count, step):
        yield rows.slice(start, step)


def _by_place(table: pa.Table) -> pa.Table:
    """Sort rows by place; rows with the same place keep their order."""
    places = table["place"].chunk(0).to_numpy()
    if (np.diff(places) >= 0).all():
        return table
    order = np.argsort(places, kind="stable")
    return table.take(pa.array(order)).combine_chunks()


def _chosen(
    rows: pa.Table, fields: EncodedFields, sizes: NDArray[np.int64], cuts: list[_Cut]
) -> tuple[EncodedFields, NDArray[np.int64]]:
    """Return the fields and sizes of the rows in the cuts. If the rows are contiguous, they are not copied."""
    begin, end = cuts[0].rows.start, cuts[-1].rows.end
    if sum(stretch.end - stretch.start for stretch, _ in cuts) == end - begin:
        return fields.slice(begin, end - begin), sizes[begin:end]
    chosen = np.concatenate([np.arange(stretch.start, stretch.end) for stretch, _ in cuts])
    return _fields(rows.take(pa.array(chosen)).combine_chunks()), sizes[chosen]


def _fields(rows: pa.Table) -> EncodedFields:
    key, headers = rows["key"].chunk(0), rows["headers"].chunk(0)
    return EncodedFields(
        rows["timestamp"].chunk(0).to_numpy(),
        key if key.null_count < len(key) else None,
        rows["value"].chunk(0),
        encode_headers(headers) if headers.null_count < len(headers) else None,
    )
