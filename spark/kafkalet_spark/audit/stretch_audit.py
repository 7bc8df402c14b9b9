"""Audit one stretch: read it once and collect facts of bounded size."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.units import counted
from kafkalet_spark.decoding.chunks import Problem, read_chunks
from kafkalet_spark.logs.files import reason_of

from .audit_ranges import AuditRange
from .entries import Broken, Entries, Int64s, entries_of, records_of
from .epoch_runs import EpochRuns, EpochsOfStretch
from .findings import Findings
from .offset_index_check import OffsetIndexCheck
from .offset_order import Extent, OffsetOrder
from .producer_runs import Runs, RunsOfStretch
from .record_checks import RecordChecks, Times
from .time_index_check import TimeIndexCheck
from .timestamp_sample import TimestampSample
from .unique_keys import KeysOfStretch

EVERYTHING = 1 << 62
"""A size larger than any file."""


class StretchFacts(NamedTuple):
    """The facts about one stretch."""

    stretch: AuditRange
    number: int
    is_gone: bool
    """Whether the file was deleted before it was read."""
    not_read: str | None
    """Why the file, or the rest of it, could not be read."""
    findings: Findings
    extent: Extent
    damaged_bytes: int
    has_damaged_head: bool
    has_damaged_tail: bool
    entries: int
    records: int
    """The number of records, including control records."""
    markers: int
    """The number of control records."""
    visible: int
    """The number of data records at or above the log start offset."""
    times: Times
    runs: Runs
    epochs: EpochRuns
    largest_timestamp: int
    """The largest timestamp in the batch headers; -1 if there is none."""
    indexed_timestamps: tuple[int, int] | None
    """The first and the last timestamp in the time index; None if there are none."""
    timestamps: Int64s
    """A sample of the timestamps of the records."""
    compacted_keys: NDArray[np.void]
    """Rows of unique_keys.KEY."""
    repeats_key: bool
    """Whether a key occurs twice from the offset on that the log cleaner has reached."""
    index_entries: int = 0
    """The number of entries in the whole .index of the segment."""
    first_indexed_position: int = 0
    """The position in the first of them."""

    @property
    def is_damaged(self) -> bool:
        """Whether part of the stretch could not be read."""
        return self.damaged_bytes > 0 or self.not_read is not None


class ScanSettings(NamedTuple):
    """Settings for all tasks."""

    chunk_bytes: int = 8 << 20
    sampled_timestamps: int = 0
    seed: int = 0


def audit_stretch(stretch: AuditRange, number: int, epoch_starts: tuple[int, ...], scan: ScanSettings) -> StretchFacts:
    """Audit one stretch. `number` is its index in the log; `epoch_starts` are the start offsets of leader epochs."""
    return _StretchAudit(stretch, number, epoch_starts, scan).run(scan.chunk_bytes)


class _StretchAudit:
    def __init__(self, stretch: AuditRange, number: int, epoch_starts: tuple[int, ...], scan: ScanSettings) -> None:
        self.stretch = stretch
        self.number = number
        self.findings = findings = Findings(stretch.topic, stretch.partition)
        self.order = OffsetOrder(stretch, findings)
        self.offset_index = OffsetIndexCheck(stretch, findings)
        self.time_index = TimeIndexCheck(stretch, findings)
        self.checks = RecordChecks(findings, stretch.log_start_offset)
        self.producers = RunsOfStretch(findings, number, stretch.snapshot_offsets)
        self.epochs = EpochsOfStretch(number, epoch_starts)
        self.sample = TimestampSample(scan.sampled_timestamps, scan.seed)
        self.entries = 0
        self.unique_keys = KeysOfStretch(findings, number, stretch)
        self.damaged_bytes = 0
        self.first_damage: int | None = None
        self.last_damage_end = -1
        self.is_gone = False
        self.not_read = stretch.fault
        self.stops_early = False
        self.is_old = False
        """Whether the stretch has entries of format 0 or 1."""

    def run(self, chunk_bytes: int) -> StretchFacts:
        stretch = self.stretch
        try:
            if self.not_read is None:
                self._read(chunk_bytes)
        except FileNotFoundError:
            self.is_gone = True
        except OSError as error:
            self.not_read = reason_of(error)
        if self.not_read is not None:
            self.findings.skip(stretch.path, self.not_read)
            if stretch.fault is not None and not os.path.isfile(stretch.path):
                self.findings.add(
                    "file", stretch.fault, fault="log-is-no-file", file=stretch.path, offset=stretch.base_offset
                )
            self.offset_index.skip(self.order.extent.end_position, EVERYTHING)
            self.time_index.skip()
        elif not self.is_gone:
            self._check_zeros()
        self.offset_index.finish()
        self.time_index.finish()
        self.unique_keys.finish()
        if stretch.is_last and not self.is_gone:
            self._check_files()
        return self._facts()

    def _read(self, chunk_bytes: int) -> None:
        stretch = self.stretch
        for chunk in read_chunks(stretch.path, stretch.start, stretch.end, chunk_bytes=chunk_bytes):
            entries = entries_of(stretch.path, chunk.position, chunk.buffer, chunk.batches)
            if not self._take(entries, chunk.problems):
                self.stops_early = True
                break

    def _check_zeros(self) -> None:
        """Check for zeros at the end of the file, which `read_chunks` reports neither as an entry nor as a problem."""
        stretch = self.stretch
        covered = max(self.order.extent.end_position, self.last_damage_end, stretch.start)
        self.findings.checked["bytes"] += covered - stretch.start
        zeros = stretch.end - covered
        if self.stops_early:
            self.findings.checked["bytes appended meanwhile"] += zeros
        if zeros <= 0 or self.stops_early or not stretch.is_last:
            return
        if stretch.takes_appends and (stretch.segment_size % 1000 == 0 or stretch.segment_size % 1024 == 0):
            self.findings.checked["bytes allocated ahead"] += zeros
            return
        extent = self.order.extent
        offset = stretch.base_offset if extent.first_offset is None else extent.last_offset + 1
        message = f"{counted(zeros, 'byte')} of zeros after the last entry"
        self.findings.add("zeros", message, file=stretch.path, position=covered, offset=offset)

    def _take(self, entries: Entries, problems: tuple[Problem, ...]) -> bool:
        """Audit entries and problems that are below `before_offset`. Return whether to continue."""
        bound = self.stretch.before_offset
        sound = entries if bound is None else entries.before(bound)
        beyond = None
        if sound.position.size < entries.position.size:
            beyond = int(entries.position[sound.position.size])
        for problem in problems:
            is_later = beyond is not None and problem.position >= beyond
            if is_later or (bound is not None and self._reached(sound, problem.position) >= bound and self._grows()):
                self.stops_early = True
            else:
                self._add_problem(problem)
        self._take_sound(sound)
        return beyond is None

    def _grows(self) -> bool:
        """Return whether the file has grown since it was listed. If so, a broker was writing its last entry."""
        return os.path.getsize(self.stretch.path) > self.stretch.segment_size

    def _reached(self, entries: Entries, position: int) -> int:
        """Return the offset after the last valid entry before `position`."""
        row = int(np.searchsorted(entries.position, position)) - 1
        if row >= 0:
            return int(entries.batches.last_offset[row]) + 1
        extent = self.order.extent
        return self.stretch.first_offset if extent.first_offset is None else extent.last_offset + 1

    def _take_sound(self, entries: Entries) -> None:
        self.entries += entries.position.size
        self.findings.checked["batches"] += entries.position.size
        self.is_old |= bool((entries.batches.magic < 2).any())
        self.order.take(entries)
        self.offset_index.take(entries)
        self.time_index.take(entries)
        self.producers.take(entries)
        self.epochs.take(entries)
        for part in records_of(entries, ("offset", "timestamp", "key")):
            if isinstance(part, Broken):
                self.findings.add(
                    "records",
                    part.reason,
                    file=entries.path,
                    position=int(entries.position[part.row]),
                    offset=int(entries.batches.base_offset[part.row]),
                )
                continue
            self.checks.take(entries, part)
            self.sample.take(part.timestamp)
            self.unique_keys.take(entries, part)

    def _add_problem(self, problem: Problem) -> None:
        kind = "truncated" if problem.reason.startswith("truncated") else "unreadable"
        if "checksum" in problem.reason:
            kind = "checksum"
        self.findings.add(
            kind, problem.reason, file=problem.path, position=problem.position, offset=problem.base_offset
        )
        self.damaged_bytes += problem.size
        if self.first_damage is None:
            self.first_damage = problem.position
        self.last_damage_end = problem.position + problem.size
        self.offset_index.skip(problem.position, problem.size)
        self.time_index.skip()

    def _check_files(self) -> None:
        """Check that the indexes exist. The indexes of an active segment may not have been written yet."""
        stretch = self.stretch
        if self.not_read is not None or stretch.takes_appends:
            return
        suffixes = [".index", ".timeindex"]
        if self.is_old and not any(name.endswith(".timeindex") for name in os.listdir(os.path.dirname(stretch.path))):
            suffixes.remove(".timeindex")  # introduced in Kafka 0.10.1
        for suffix in suffixes:
            path = stretch.beside(suffix)
            others = (path + ".swap", path.removesuffix(".swap"))
            if not os.path.lexists(path) and not any(map(os.path.exists, others)):
                message = f"there is no {suffix} for {os.path.basename(stretch.path)}"
                self.findings.add("file", message, fault=f"no{suffix}", file=path, offset=stretch.base_offset)

    def _has_damaged_head(self, extent: Extent) -> bool:
        if extent.first_offset is None:
            return self.first_damage is not None or self.not_read is not None
        return self.first_damage is not None and self.first_damage < extent.first_position

    def _facts(self) -> StretchFacts:
        extent = self.order.extent
        timestamps = self.time_index.timestamp
        indexed = (int(timestamps[0]), int(timestamps[-1])) if timestamps.size else None
        return StretchFacts(
            self.stretch,
            self.number,
            self.is_gone,
            self.not_read,
            self.findings,
            extent,
            self.damaged_bytes,
            self._has_damaged_head(extent),
            self.last_damage_end > extent.end_position or self.not_read is not None,
            self.entries,
            self.checks.records,
            self.checks.markers,
            self.checks.visible,
            self.checks.times,
            self.producers.runs,
            self.epochs.runs,
            self.time_index.largest,
            indexed,
            self.sample.timestamps,
            self.unique_keys.below,
            self.unique_keys.repeats,
            self.offset_index.entries,
            self.offset_index.first_position,
        )
