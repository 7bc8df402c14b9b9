"""Runs of batches: consecutive batches of one producer with consecutive sequences.

A log has few runs even if it has many batches, because the sequence of a producer is interrupted only by a restart, a
loss or a duplicate. Each transaction marker is a separate run. The runs of all stretches of a log therefore fit into
memory, and the history of each producer can be derived from them.

A run also ends at each snapshot offset, where the producer state is needed, and at the end of its stretch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.control import ControlType, read_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet_spark.decoding.exactly import Unreadable
from kafkalet_spark.decoding.records import decode

from .entries import Entries
from .findings import Findings

DATA, TRANSACTIONAL, ABORT, COMMIT, EMPTY_MARKER = range(5)
"""The kinds of runs. An empty marker is a transaction marker whose record was removed by compaction."""
MAX_SEQUENCE = np.int64((1 << 31) - 1)
UNKNOWN_EPOCH = -1
KEEP = 4096

RUN = np.dtype(
    [
        ("producer_id", "i8"),
        ("producer_epoch", "i2"),
        ("kind", "i1"),
        ("coordinator_epoch", "i4"),
        ("first_offset", "i8"),
        ("last_offset", "i8"),
        ("position", "i8"),  # file position of the first batch
        ("stretch", "i4"),
        ("base_sequence", "i8"),
        ("last_sequence", "i8"),
        ("records", "i8"),
        ("bytes", "i8"),
        ("first_timestamp", "i8"),
        ("timestamp", "i8"),  # timestamp of the last batch
        ("last_base_offset", "i8"),  # base offset of the last batch
        ("section", "i8"),  # number of the snapshot offsets at or below the run
    ]
)
Runs = NDArray[np.void]
NO_RUNS: Runs = np.empty(0, RUN)


def next_sequence(sequence: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sequence after `sequence`; 2147483647 is followed by 0."""
    return (sequence + 1) & MAX_SEQUENCE


def joined(runs: Runs) -> Runs:
    """Merge consecutive runs. The result is sorted by producer, then by offset."""
    order = np.lexsort((runs["first_offset"], runs["producer_id"]))
    runs = runs[order]
    if runs.size < 2:
        return runs
    a, b = runs[:-1], runs[1:]
    goes_on = (
        (a["producer_id"] == b["producer_id"])
        & (a["producer_epoch"] == b["producer_epoch"])
        & (a["kind"] == b["kind"])
        & (a["kind"] <= TRANSACTIONAL)
        & (b["base_sequence"] == next_sequence(a["last_sequence"]))
        & (a["section"] == b["section"])
        & (a["stretch"] == b["stretch"])
    )
    starts = np.flatnonzero(np.append(True, ~goes_on))
    ends = np.append(starts[1:], runs.size) - 1
    result = runs[starts].copy()
    for name in ("last_offset", "last_sequence", "timestamp", "last_base_offset"):
        result[name] = runs[name][ends]
    for name in ("records", "bytes"):
        result[name] = np.add.reduceat(runs[name], starts)
    return result


class RunsOfStretch:
    """Collects the runs of one stretch."""

    def __init__(self, findings: Findings, number: int, snapshot_offsets: Sequence[int]) -> None:
        self._findings = findings
        self._number = number
        self._snapshot_offsets = np.array(snapshot_offsets, np.int64)
        self._runs = NO_RUNS
        self._new: list[Runs] = []
        self._new_size = 0

    def take(self, entries: Entries) -> None:
        self._check_headers(entries)
        rows = np.flatnonzero(entries.batches.producer_id >= 0)
        if rows.size == 0:
            return
        batches = entries.batches.take(rows)
        runs = np.empty(rows.size, RUN)
        runs["producer_id"] = batches.producer_id
        runs["producer_epoch"] = batches.producer_epoch
        runs["kind"] = np.where(batches.is_transactional, TRANSACTIONAL, DATA)
        runs["coordinator_epoch"] = UNKNOWN_EPOCH
        runs["first_offset"] = runs["last_base_offset"] = batches.base_offset
        runs["last_offset"] = batches.last_offset
        runs["position"] = entries.position[rows]
        runs["stretch"] = self._number
        runs["base_sequence"] = batches.base_sequence
        delta = batches.last_offset - batches.base_offset
        has_sequence = batches.base_sequence >= 0
        runs["last_sequence"] = np.where(has_sequence, (batches.base_sequence + delta) & MAX_SEQUENCE, -1)
        runs["records"] = np.maximum(batches.count, 0)
        runs["bytes"] = batches.size
        runs["first_timestamp"] = runs["timestamp"] = batches.max_timestamp
        runs["section"] = np.searchsorted(self._snapshot_offsets, batches.base_offset, "right")
        markers = np.flatnonzero(batches.is_control)
        if markers.size:
            self._read_markers(entries, rows[markers], runs, markers)
        self._add(joined(runs))

    def _check_headers(self, entries: Entries) -> None:
        """Check that batches without a producer ID (-1) have no epoch and no sequence and are not transactional, and
        that the others have an epoch."""
        batches = entries.batches
        wrong = (batches.magic > 1) & (batches.producer_id < 0)
        wrong &= (
            (batches.producer_id != -1)
            | (batches.base_sequence != -1)
            | (batches.producer_epoch != -1)
            | batches.is_transactional
        )
        for row in np.flatnonzero(wrong).tolist():
            epoch, sequence = batches.producer_epoch[row], batches.base_sequence[row]
            self._findings.add(
                "sequence",
                f"a batch with producer ID {batches.producer_id[row]} has epoch {epoch} and sequence {sequence}",
                fault="no-producer",
                file=entries.path,
                position=int(entries.position[row]),
                offset=int(batches.base_offset[row]),
                end_offset=int(batches.last_offset[row]) + 1,
            )

        without_epoch = (batches.producer_id >= 0) & (batches.producer_epoch < 0)
        for row in np.flatnonzero(without_epoch).tolist():
            kind = "a marker" if batches.is_control[row] else "a batch"
            self._findings.add(
                "epoch",
                f"{kind} of producer {batches.producer_id[row]} has epoch {batches.producer_epoch[row]}",
                fault="no-producer-epoch",
                file=entries.path,
                position=int(entries.position[row]),
                offset=int(batches.base_offset[row]),
            )

    def _read_markers(self, entries: Entries, rows: NDArray[np.int64], runs: Runs, at: NDArray[np.int64]) -> None:
        runs["kind"][at] = EMPTY_MARKER
        for row, run in zip(rows.tolist(), at.tolist(), strict=True):
            batch = entries.batches.take(slice(row, row + 1))
            try:
                records = decode(entries.buffer, batch, ("key", "value"))
            except Unreadable:
                continue  # The record checks report this batch.
            if records.row.size == 0:
                continue
            key, value = records.key[0].as_py(), records.value[0].as_py()
            try:
                marker = read_end_marker(Record(0, 0, key, value))
            except KafkaError:
                self._findings.add(
                    "records",
                    f"a control record of a producer is not a transaction marker: key {key!r}, value {value!r}",
                    file=entries.path,
                    position=int(entries.position[row]),
                    offset=int(entries.batches.base_offset[row]),
                )
                continue
            runs["kind"][run] = COMMIT if marker.type is ControlType.COMMIT else ABORT
            runs["coordinator_epoch"][run] = marker.coordinator_epoch

    def _add(self, runs: Runs) -> None:
        self._new.append(runs)
        self._new_size += runs.size
        if self._new_size > max(KEEP, self._runs.size):
            self._compress()

    def _compress(self) -> None:
        self._runs = joined(np.concatenate([self._runs, *self._new]))
        self._new, self._new_size = [], 0

    @property
    def runs(self) -> Runs:
        """The runs, sorted by producer, then by offset."""
        self._compress()
        return self._runs
