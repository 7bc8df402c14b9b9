"""The audit as a job of Spark.

    directories ── find ──> stretches ── Spark: one task or more each ──> what was seen ── Spark: by log ──> facts

Small segments share a task. What comes back to the driver is of bounded size for each log, but for the transactions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from kafkalet.pipeline.logs.directory import PartitionLog, find

from .facts import SCHEMA, tables
from .findings import Findings
from .options import AuditOptions
from .partition_audit import Begun, PartitionFacts, audit_partition
from .stretch_audit import StretchFacts, audit_stretch
from .stretches import Stretch, stretches, whole
from .surroundings import look_around
from .verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTS, VERDICT, REPORT = "facts.parquet", "verdict.json", "report.html"
SMALLEST_TASK_BYTES = 4 << 20
WAVES = 3
"""Tasks for each core, so that none is long idle at the end."""


class Task(NamedTuple):
    """A stretch, and whose it is: the number of its log, and its own number in it."""

    log: int
    number: int
    stretch: Stretch
    epoch_starts: tuple[int, ...]


def audit(spark: SparkSession, paths: Sequence[str], options: AuditOptions | None = None) -> Verdict:
    """Audit the logs in `paths`, each a log directory or the directory of one log.

    Raises FileNotFoundError, NotADirectoryError and ValueError as `kafkalet.pipeline.logs.directory.find` does, and
    what `LiveBroker` raises where a broker is to be asked and does not answer. What is wrong with the logs is never
    raised, it is in the verdict.
    """
    options = options or AuditOptions()
    begun = [begin(log, None) for log in chosen(paths, options)]
    facts = _audit_logs(spark, begun, options)
    verdict = Verdict(tuple(facts), None)
    if options.out is not None:
        write(verdict, options.out, options)
    return verdict


def chosen(paths: Sequence[str], options: AuditOptions) -> list[PartitionLog]:
    """The logs to be audited. Raises ValueError for a topic that is not there."""
    logs = find(paths, lenient=True)
    if missing := set(options.topics) - {log.topic for log in logs}:
        raise ValueError(f"there is no topic {min(missing)} in {', '.join(paths)}")
    return [log for log in logs if not options.topics or log.topic in options.topics]


def begin(log: PartitionLog, before_offset: int | None) -> Begun:
    """Look at what lies around a log."""
    findings = Findings(log.topic, log.partition)
    return Begun(log, look_around(log, findings), findings, before_offset)


def tasks(begun: Sequence[Begun], max_bytes: int) -> list[Task]:
    """The stretches of all logs."""
    found = []
    for at, each in enumerate(begun):
        epoch_starts = tuple(start for _, start in each.around.epochs or ())
        parts = stretches(each.log, each.around, each.before_offset, max_bytes)
        found += [Task(at, number, stretch, epoch_starts) for number, stretch in enumerate(parts)]
    return found


def packed(tasks: Iterable[Task], bytes_each: int) -> list[list[Task]]:
    """Tasks together that read about `bytes_each`."""
    groups: list[list[Task]] = []
    size = 0
    for task in tasks:
        length = task.stretch.end - task.stretch.start
        if not groups or size + length > bytes_each:
            groups.append([])
            size = 0
        groups[-1].append(task)
        size += length
    return groups


def _audit_logs(spark: SparkSession, begun: list[Begun], options: AuditOptions) -> list[PartitionFacts]:
    context = spark.sparkContext
    all_tasks = tasks(begun, options.max_bytes_per_task)
    if not all_tasks:
        return [audit_partition(each, [], options) for each in begun]
    total = sum(task.stretch.end - task.stretch.start for task in all_tasks)
    cores = max(context.defaultParallelism, 1)
    bytes_each = min(max(total // (cores * WAVES), SMALLEST_TASK_BYTES), options.max_bytes_per_task)
    groups = packed(all_tasks, bytes_each)
    known = context.broadcast(begun)
    chunk_bytes = options.chunk_bytes

    def look(group: list[Task]) -> Iterator[tuple[int, tuple[Task, StretchFacts]]]:
        for task in group:
            seen = audit_stretch(task.stretch, task.number, task.epoch_starts, chunk_bytes)
            yield task.log, (task, seen)

    def together(one: tuple[int, Iterable[tuple[Task, StretchFacts]]]) -> tuple[int, PartitionFacts]:
        log, seen = one
        return log, audit_partition(known.value[log], settled(seen, chunk_bytes), options)

    by_log = context.parallelize(groups, len(groups)).flatMap(look).groupByKey(min(len(begun), len(groups)))
    found = dict(by_log.map(together).collect())
    known.unpersist()
    return [found[at] if at in found else audit_partition(each, [], options) for at, each in enumerate(begun)]


def settled(seen: Iterable[tuple[Task, StretchFacts]], chunk_bytes: int) -> list[StretchFacts]:
    """In order. A segment whose stretches do not fit together is audited once more, in one."""
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
            first = parts[0][0]
            one = whole([task.stretch for task, _ in parts])
            facts.append(audit_stretch(one, first.number, first.epoch_starts, chunk_bytes))
    return facts


def write(verdict: Verdict, folder: str, options: AuditOptions) -> None:
    """The three results."""
    os.makedirs(folder, exist_ok=True)
    with pq.ParquetWriter(os.path.join(folder, FACTS), SCHEMA) as writer:
        for facts in verdict.partitions:
            for table in tables(facts, options.heaviest_keys):
                writer.write_table(table)
    with open(os.path.join(folder, VERDICT), "w", encoding="utf-8") as file:
        file.write(verdict.as_json(options.heaviest_keys))
