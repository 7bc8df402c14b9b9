"""The audit as a job of Spark.

    directories ── find ──> stretches ── Spark: one task or more each ──> what was seen ── Spark: by log ──> facts

What comes back to the driver is of bounded size for each log, but for the transactions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from kafkalet.pipeline.logs.directory import PartitionLog, find

from .broker_job import begin_with_broker, compare_with_broker, listed_again
from .facts import SCHEMA, tables
from .options import AuditOptions
from .partition_audit import Begun, PartitionFacts, audit_partition
from .report import page
from .stretch_audit import HowToLook, StretchFacts
from .tasks import Task, begin, bytes_together, packed, settled, tasks_of
from .verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTS, VERDICT, REPORT = "facts.parquet", "verdict.json", "report.html"


def audit(spark: SparkSession, paths: Sequence[str], options: AuditOptions | None = None) -> Verdict:
    """Audit the logs in `paths`, each a log directory or the directory of one log.

    Raises FileNotFoundError, NotADirectoryError and ValueError as `kafkalet.pipeline.logs.directory.find` does, and
    what `LiveBroker` raises where a broker is to be asked and does not answer. What is wrong with the logs is never
    raised, it is in the verdict.
    """
    options = options or AuditOptions()
    begun = [begin(log, None) for log in chosen(paths, options)]
    if options.bootstrap is not None:
        begun = [listed_again(each) for each in begin_with_broker(begun, options)]
    tasks = tasks_of(begun, options.max_bytes_per_task)
    bytes_each = bytes_together(tasks, spark.sparkContext.defaultParallelism, options.max_bytes_per_task)
    facts = _audit_logs(spark, packed(tasks, bytes_each), begun, options)
    compared = None
    if options.bootstrap is not None:
        compared = compare_with_broker(spark, tasks, begun, facts, options, bytes_each)
    verdict = Verdict(tuple(facts), compared)
    if options.out is not None:
        write(verdict, options.out, options)
    return verdict


def chosen(paths: Sequence[str], options: AuditOptions) -> list[PartitionLog]:
    """The logs to be audited. Raises ValueError for a topic that is not there."""
    logs = find(paths, lenient=True)
    if missing := set(options.topics) - {log.topic for log in logs}:
        raise ValueError(f"there is no topic {min(missing)} in {', '.join(paths)}")
    return [log for log in logs if not options.topics or log.topic in options.topics]


def _audit_logs(
    spark: SparkSession, groups: list[list[Task]], begun: list[Begun], options: AuditOptions
) -> list[PartitionFacts]:
    context = spark.sparkContext
    sampled = options.timestamps if options.bootstrap is not None else 0
    how = HowToLook(options.chunk_bytes, sampled, options.seed)
    known = context.broadcast(begun)

    def look(group: list[Task]) -> Iterator[tuple[int, tuple[Task, StretchFacts]]]:
        for task in group:
            yield task.log, (task, task.look(how))

    def together(one: tuple[int, Iterable[tuple[Task, StretchFacts]]]) -> tuple[int, PartitionFacts]:
        log, seen = one
        return log, audit_partition(known.value[log], settled(seen, how), options)

    found: dict[int, PartitionFacts] = {}
    if groups:
        by_log = context.parallelize(groups, len(groups)).flatMap(look)
        found = dict(by_log.groupByKey(min(len(begun), len(groups))).map(together).collect())
    known.unpersist()
    return [found[at] if at in found else audit_partition(each, [], options) for at, each in enumerate(begun)]


def write(verdict: Verdict, folder: str, options: AuditOptions) -> None:
    """The three results."""
    os.makedirs(folder, exist_ok=True)
    with pq.ParquetWriter(os.path.join(folder, FACTS), SCHEMA) as writer:
        for facts in verdict.partitions:
            for table in tables(facts, options.heaviest_keys):
                writer.write_table(table)
    with open(os.path.join(folder, VERDICT), "w", encoding="utf-8") as file:
        file.write(verdict.as_json(options.heaviest_keys))
    with open(os.path.join(folder, REPORT), "w", encoding="utf-8") as file:
        file.write(page(verdict))
