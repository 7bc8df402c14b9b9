"""Write fragments. A fragment is the part of a partition that one task writes.

Batches get offsets, producers and headers here. Offsets are assigned as if this fragment were the first one to be
appended to the log. If it is not, its offsets are changed when the load is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.records.batch import LOG_APPEND_TIME, TRANSACTIONAL
from kafkalet.protocol.records.codecs import Codec, compress

from .batch_headers import new_heads, sealed
from .log_producers import ProducerState
from .segments import Placed, SegmentFiles, WrittenSegment
from .target import Start
from .transaction_shape import Marker, Shaping, Stamp
from .write_options import WriteOptions

Longs = NDArray[np.int64]


class Fragment(NamedTuple):
    """A complete fragment."""

    topic: str
    partition: int
    directory: str
    """The path of the fragment, relative to the staging directory."""
    start: Start
    """The offset and leader epoch with which the batches were written."""
    end_offset: int
    first_timestamp: int
    records: int
    segments: tuple[WrittenSegment, ...]
    producers: tuple[ProducerState, ...]
    """The producer states at the end of the fragment."""


class BatchRun(NamedTuple):
    """A run of consecutive batches, with their encoded records, record counts and timestamps."""

    payloads: Sequence[memoryview]
    counts: Longs
    first_timestamps: Longs
    max_timestamps: Longs


class FragmentLog:
    """Writes one fragment."""

    def __init__(
        self,
        topic: str,
        partition: int,
        directory: str,
        start: Start,
        files: SegmentFiles,
        options: WriteOptions,
        shaping: Shaping | None,
    ) -> None:
        self._topic, self._partition, self._directory = topic, partition, directory
        self._start = start
        self._files = files
        self._options = options
        self._shaping = shaping
        self._next_offset = start.offset
        self._first_timestamp = 0
        self._records = 0

    def append(self, run: BatchRun, *, left_open: int = 0) -> None:
        """Write batches. The last `left_open` of them become transactions that stay open. Raises SegmentFull or
        OSError."""
        payloads: Sequence[bytes | memoryview] = run.payloads
        codec = self._options.codec
        if codec is not Codec.NONE:
            payloads = [compress(codec, payload, self._options.level) for payload in payloads]
        if not self._records:
            self._first_timestamp = int(run.first_timestamps[0])
        self._records += int(run.counts.sum())
        if self._shaping is None:
            ends = self._next_offset + run.counts.cumsum()
            heads = self._heads(run, ends - run.counts)
            pieces = zip(sealed(heads, payloads), payloads, strict=True)
            columns = ((ends - run.counts).tolist(), (ends - 1).tolist(), run.max_timestamps.tolist(), pieces)
            placed = list(starmap(Placed, zip(*columns, strict=True)))
            self._next_offset = int(ends[-1])
        else:
            placed = self._shaped(self._shaping, run, payloads, left_open)
        self._files.append(placed)

    def close(self) -> Fragment:
        """Complete the fragment. Raises OSError."""
        if self._shaping is not None:
            markers = self._shaping.end_all(self._next_offset)
            self._files.append([_placed_marker(marker) for marker in markers])
            self._next_offset += len(markers)
        return Fragment(
            self._topic,
            self._partition,
            self._directory,
            self._start,
            self._next_offset,
            self._first_timestamp,
            self._records,
            self._files.close(),
            tuple(self._files.producers.values()),
        )

    def _heads(self, run: BatchRun, base_offsets: Longs) -> NDArray[np.void]:
        heads = new_heads(len(run.counts), self._start.leader_epoch)
        heads["base_offset"] = base_offsets
        heads["attributes"] = self._options.codec | (LOG_APPEND_TIME if self._options.append_time else 0)
        heads["last_offset_delta"] = run.counts - 1
        heads["base_timestamp"] = run.first_timestamps
        heads["max_timestamp"] = run.max_timestamps
        heads["count"] = run.counts
        return heads

    def _shaped(
        self, shaping: Shaping, run: BatchRun, payloads: Sequence[bytes | memoryview], left_open: int
    ) -> list[Placed]:
        batches = list(zip(run.counts.tolist(), run.max_timestamps.tolist(), strict=True))
        steps = shaping.shape(self._next_offset, batches, left_open=left_open)
        stamps = [step for step in steps if isinstance(step, Stamp)]
        heads = self._heads(run, np.array([stamp.base_offset for stamp in stamps], np.int64))
        heads["producer_id"] = [-1 if stamp.state is None else stamp.state.producer_id for stamp in stamps]
        heads["producer_epoch"] = [-1 if stamp.state is None else stamp.state.producer_epoch for stamp in stamps]
        heads["base_sequence"] = [stamp.base_sequence for stamp in stamps]
        heads["attributes"] |= np.array([TRANSACTIONAL * stamp.is_transactional for stamp in stamps], np.int16)
        pieces = zip(sealed(heads, payloads), payloads, run.max_timestamps.tolist(), strict=True)
        placed = []
        for step in steps:
            if isinstance(step, Marker):
                placed.append(_placed_marker(step))
            else:
                head, payload, timestamp = next(pieces)
                placed.append(Placed(step.base_offset, step.last_offset, timestamp, (head, payload), step.state))
        self._next_offset = placed[-1].last_offset + 1
        return placed


def _placed_marker(marker: Marker) -> Placed:
    return Placed(marker.offset, marker.offset, marker.timestamp, (marker.data,), marker.state, marker.aborted)
