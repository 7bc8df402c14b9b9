"""The Spark tasks of an audit, each of which reads one or more stretches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from kafkalet.formats import METADATA_TOPIC
from kafkalet_spark.logs.directory import PartitionLog

from .audit_ranges import AuditRange, stretches, whole
from .cluster_metadata import UNKNOWN, TopicSettings
from .companion_files import read_companion_files
from .findings import Findings
from .partition_audit import PreparedLog
from .stretch_audit import ScanSettings, StretchFacts, audit_stretch

SMALLEST_TASK_BYTES = 4 << 20
WAVES = 3
"""The number of tasks per core. It is greater than one so that no core is idle for long at the end."""


class AuditTask(NamedTuple):
    """A stretch, with the index of its log and its own index within that log."""

    log: int
    number: int
    stretch: AuditRange
    epoch_starts: tuple[int, ...]

    def audit(self, scan: ScanSettings) -> StretchFacts:
        """Audit the stretch."""
        return audit_stretch(self.stretch, self.number, self.epoch_starts, scan)


def begin(log: PartitionLog, before_offset: int | None, settings: TopicSettings = UNKNOWN) -> PreparedLog:
    """Read the small files that belong to a log, such as checkpoints."""
    if log.topic == METADATA_TOPIC:  # The clean shutdown marker describes the broker, not the controller.
        log = log._replace(is_closed=False)
    findings = Findings(log.topic, log.partition)
    return PreparedLog(log, read_companion_files(log, findings, settings), findings, before_offset)


def tasks_of(prepared: Sequence[PreparedLog], max_bytes: int) -> list[AuditTask]:
    """Divide all logs into stretches that are not much longer than `max_bytes`, and return a task for each."""
    found = []
    for at, each in enumerate(prepared):
        epoch_starts = tuple(start for _, start in each.companions.epochs or ())
        parts = stretches(each.log, each.companions, each.before_offset, max_bytes)
        found += [AuditTask(at, number, stretch, epoch_starts) for number, stretch in enumerate(parts)]
    return found


def bytes_together(tasks: Iterable[AuditTask], cores: int, max_bytes: int) -> int:
    """Return how many bytes one Spark task should read, so that all cores are used."""
    total = sum(task.stretch.end - task.stretch.start for task in tasks)
    return min(max(total // (max(cores, 1) * WAVES), SMALLEST_TASK_BYTES), max_bytes)


def packed(tasks: Iterable[AuditTask], bytes_each: int) -> list[list[AuditTask]]:
    """Group tasks so that each group reads about `bytes_each` bytes."""
    groups: list[list[AuditTask]] = []
    size = 0
    for task in tasks:
        length = task.stretch.end - task.stretch.start
        if not groups or size + length > bytes_each:
            groups.append([])
            size = 0
        groups[-1].append(task)
        size += length
    return groups


def settled(seen: Iterable[tuple[AuditTask, StretchFacts]], scan: ScanSettings) -> list[StretchFacts]:
    """Return the facts about the stretches of a log, in order.

    If the stretches of a segment do not join exactly, the segment is audited again as a whole.
    """
    facts: list[StretchFacts] = []
    ordered = sorted(seen, key=lambda each: each[0].number)
    for _, group in groupby(ordered, key=lambda each: each[0].stretch.path):
        parts = list(group)
        fits = all(
            part.damaged_bytes == 0 and (task.stretch.is_last or part.extent.end_position == task.stretch.end)
            for task, part in parts
        )
        if len(parts) == 1 or fits:
            facts += [part for _, part in parts]
        else:
            one = whole([task.stretch for task, _ in parts])
            facts.append(parts[0][0]._replace(stretch=one).audit(scan))
    return facts
