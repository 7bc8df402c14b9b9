"""What one task does: it reads a stretch of a segment once, and hands on what it saw in bounded size."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from kafkalet.pipeline.decoding.chunks import Problem, read_chunks

from .entries import Broken, Entries, Int64s, entries_of, records_of
from .epoch_runs import EpochRuns, EpochsOfStretch
from .findings import Findings
from .keys import Keys
from .offset_index_check import OffsetIndexCheck
from .offset_order import Extent, OffsetOrder
from .record_checks import RecordChecks, Times
from .runs import Runs, RunsOfStretch
from .series import Bins, SeriesOfStretch
from .sizes import Sizes
from .stretches import Stretch
from .time_index_check import TimeIndexCheck
from .timestamp_sample import TimestampSample


class StretchFacts(NamedTuple):
    """What was seen in one stretch."""

    stretch: Stretch
    number: int
    is_gone: bool
    """The file was deleted before it was read."""
    findings: Findings
    extent: Extent
    damaged_bytes: int
    has_damaged_head: bool
    has_damaged_tail: bool
    sizes: Sizes
    records: int
    """Control records too."""
    markers: int
    """Control records."""
    visible: int
    """Records of data at or above the log start offset."""
    times: Times
    keys: Keys
    by_time: Bins
    by_offset: Bins
    runs: Runs
    epochs: EpochRuns
    largest_timestamp: int
    """Of the headers; -1 where none has one."""
    indexed_timestamps: tuple[int, int] | None
    """The first and the last in the time index; None: there is none."""
    timestamps: Int64s
    """A sample of those of its records."""


class HowToLook(NamedTuple):
    """What tasks are told besides their stretch."""

    chunk_bytes: int = 8 << 20
    sampled_timestamps: int = 0
    seed: int = 0


def audit_stretch(stretch: Stretch, number: int, epoch_starts: tuple[int, ...], how: HowToLook) -> StretchFacts:
    """Read it all. `number` is its place among the stretches of the log; at `epoch_starts` leader epochs begin."""
    return _StretchAudit(stretch, number, epoch_starts, how).run(how.chunk_bytes)


class _StretchAudit:
    def __init__(self, stretch: Stretch, number: int, epoch_starts: tuple[int, ...], how: HowToLook) -> None:
        self.stretch = stretch
        self.number = number
        self.findings = findings = Findings(stretch.topic, stretch.partition)
        self.order = OffsetOrder(stretch, findings)
        self.offset_index = OffsetIndexCheck(stretch, findings)
        self.time_index = TimeIndexCheck(stretch, findings)
        self.checks = RecordChecks(findings, stretch.log_start_offset)
        self.producers = RunsOfStretch(findings, number, stretch.snapshot_offsets)
        self.epochs = EpochsOfStretch(number, epoch_starts)
        self.series = SeriesOfStretch()
        self.sample = TimestampSample(how.sampled_timestamps, how.seed)
        self.sizes = Sizes()
        self.keys = Keys()
        self.damaged_bytes = 0
        self.first_damage: int | None = None
        self.last_damage_end = -1
        self.is_gone = False

    def run(self, chunk_bytes: int) -> StretchFacts:
        stretch = self.stretch
        try:
            for chunk in read_chunks(stretch.path, stretch.start, stretch.end, chunk_bytes=chunk_bytes):
                entries = entries_of(stretch.path, chunk.position, chunk.buffer, chunk.batches)
                if not self._take(entries, chunk.problems):
                    break
        except FileNotFoundError:
            self.is_gone = True
        self.offset_index.finish()
        self.time_index.finish()
        if stretch.is_last and not self.is_gone:
            self._check_files()
        return self._facts()

    def _take(self, entries: Entries, problems: tuple[Problem, ...]) -> bool:
        """Whether to go on: what begins at `before_offset` or behind is still being written."""
        bound = self.stretch.before_offset
        sound = entries if bound is None else entries.before(bound)
        beyond = None
        if sound.position.size < entries.position.size:
            beyond = int(entries.position[sound.position.size])
        for problem in problems:
            is_later = beyond is not None and problem.position >= beyond
            if not (is_later or (bound is not None and self._reached(sound, problem.position) >= bound)):
                self._add_problem(problem)
        self._take_sound(sound)
        return beyond is None

    def _reached(self, entries: Entries, position: int) -> int:
        """The offset behind the last sound entry before `position`."""
        row = int(np.searchsorted(entries.position, position)) - 1
        if row >= 0:
            return int(entries.batches.last_offset[row]) + 1
        extent = self.order.extent
        return self.stretch.first_offset if extent.first_offset is None else extent.last_offset + 1

    def _take_sound(self, entries: Entries) -> None:
        self.order.take(entries)
        self.offset_index.take(entries)
        self.time_index.take(entries)
        self.producers.take(entries)
        self.epochs.take(entries)
        self.series.take(entries)
        counts = np.zeros(entries.position.size, np.int64)
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
            counts += np.bincount(part.row, minlength=counts.size)
            self.checks.take(entries, part)
            self.sample.take(part.timestamp)
            is_data = ~entries.batches.is_control[part.row]
            self.keys = self.keys.and_those(part.key if is_data.all() else part.key.filter(is_data))
        self.sizes = self.sizes.and_those(entries, counts)

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
        """A log that takes appends may not have written its indexes yet."""
        stretch = self.stretch
        if stretch.next_base_offset is None and not stretch.is_closed:
            return
        for suffix in (".index", ".timeindex"):
            path = stretch.beside(suffix)
            if not os.path.exists(path) and not os.path.exists(path + ".swap"):
                self.findings.add("file", f"there is no {suffix} for {os.path.basename(stretch.path)}", file=path)

    def _facts(self) -> StretchFacts:
        extent = self.order.extent
        timestamps = self.time_index.timestamp
        indexed = (int(timestamps[0]), int(timestamps[-1])) if timestamps.size else None
        return StretchFacts(
            self.stretch,
            self.number,
            self.is_gone,
            self.findings,
            extent,
            self.damaged_bytes,
            self.first_damage is not None
            and (extent.first_offset is None or self.first_damage < extent.first_position),
            self.last_damage_end > extent.end_position,
            self.sizes,
            self.checks.records,
            self.checks.markers,
            self.checks.visible,
            self.checks.times,
            self.keys,
            self.series.by_time,
            self.series.by_offset,
            self.producers.runs,
            self.epochs.runs,
            self.time_index.largest,
            indexed,
            self.sample.timestamps,
        )
