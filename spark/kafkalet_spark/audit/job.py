"""The audit as a Spark job.

    directories ── list ──> stretches ── Spark ──> facts per stretch ── Spark, by log ──> facts per log

The facts about each log are returned to the driver. Their size is bounded, except for the transactions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from kafkalet.formats import METADATA_TOPIC
from kafkalet_spark.logs.directory import Listing, PartitionLog, listing
from kafkalet_spark.requirements import context_of

from .audit_options import AuditOptions
from .audit_tasks import AuditTask, bytes_together, packed, settled, tasks_of
from .broker_job import compare_with_broker
from .changing_logs import Listed, caught_up, listed, live_broker, steadied
from .cluster_metadata import UNKNOWN, ClusterMetadata, read_metadata
from .directory_checks import check_directories
from .facts import SCHEMA, findings_table, tables
from .findings import Findings
from .partition_audit import PartitionFacts, audit_partition
from .stretch_audit import ScanSettings, StretchFacts
from .verdict import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTS, VERDICT, REPORT = "facts.parquet", "verdict.json", "report.txt"


def audit(spark: SparkSession, paths: Sequence[str], options: AuditOptions | None = None) -> Verdict:
    """Audit the logs in `paths`, each of which is a log directory or the directory of one partition.

    Raises FileNotFoundError or NotADirectoryError if a path is not a directory, ValueError if there is no log,
    SparkMissing if the session is one of Spark Connect, and the exceptions of `LiveBroker` if the broker does not
    respond. Defects in the logs do not raise exceptions; they are
    part of the verdict.
    """
    options = options or AuditOptions()
    there = chosen(paths, options)
    damage = Findings()
    metadata = read_metadata(directories_of(there), damage)
    logs, cluster_id = _listed(there.logs, metadata, options)
    directories = check_directories(there, options.topics, cluster_id, metadata)
    directories[-1].findings.merge(damage)
    audited = _audit_logs(spark, logs, options)
    logs, facts = [each for each, _ in audited], [found for _, found in audited]
    compared = None
    if options.bootstrap is not None:
        compared = compare_with_broker(spark, logs, facts, options)
    verdict = Verdict(tuple(facts), compared, tuple(directories), there.unlisted, there.not_wanted)
    if options.out is not None:
        write(verdict, options.out)
    return verdict


def _listed(
    logs: Sequence[PartitionLog], metadata: ClusterMetadata | None, options: AuditOptions
) -> tuple[list[Listed], str | None]:
    """List the files of all logs, with the offsets that the broker reports. Also return the broker's cluster ID."""
    found: list[Listed] = []
    with live_broker(options) if options.bootstrap is not None else nullcontext() as broker:
        for log in logs:
            # Brokers do not serve the controllers' log to clients.
            asked = None if log.topic == METADATA_TOPIC else broker
            with suppress(FileNotFoundError):  # The log was deleted in the meantime.
                settings = UNKNOWN if metadata is None else metadata.settings(log.topic)
                found.append(listed(log, asked, settings))
        if broker is None:
            return found, None
        return caught_up(found, broker), broker.metadata.cluster_id


def directories_of(found: Listing) -> list[str]:
    """Return the log directories that were searched, and those of the partitions that were named."""
    return list(dict.fromkeys([*found.directories, *(os.path.dirname(log.path) for log in found.logs)]))


def chosen(paths: Sequence[str], options: AuditOptions) -> Listing:
    """Return the logs to audit. Raises ValueError if a selected topic does not exist, or if there are no logs at all,
    because an audit of nothing must not succeed."""
    topics = set(options.topics)
    found = listing(paths, lenient=True, with_metadata=True, wanted=lambda topic, _: not topics or topic in topics)
    if missing := topics - {log.topic for log in found.logs} - {each.topic for each in found.unlisted}:
        raise ValueError(f"there is no topic {min(missing)} in {', '.join(paths)}")
    if not found.logs and not found.unlisted:
        raise ValueError(f"there are no logs in {', '.join(paths)}")
    return found


def _audit_logs(
    spark: SparkSession, logs: Sequence[Listed], options: AuditOptions
) -> list[tuple[Listed, PartitionFacts]]:
    """Audit each log. Return its facts and its file listing, which is a new one if the log changed meanwhile."""
    context = context_of(spark)
    sampled = options.timestamps if options.bootstrap is not None else 0
    scan = ScanSettings(options.chunk_bytes, sampled, options.seed)
    tasks = tasks_of([each.prepared for each in logs], options.max_bytes_per_task)
    groups = packed(tasks, bytes_together(tasks, context.defaultParallelism, options.max_bytes_per_task))
    known = context.broadcast(logs)

    def audit_group(group: list[AuditTask]) -> Iterator[tuple[int, tuple[AuditTask, StretchFacts]]]:
        for task in group:
            yield task.log, (task, task.audit(scan))

    def together(
        one: tuple[int, Iterable[tuple[AuditTask, StretchFacts]]],
    ) -> tuple[int, tuple[Listed, PartitionFacts]]:
        at, seen = one
        each = known.value[at]
        facts = audit_partition(each.prepared, settled(seen, scan), options)
        return at, steadied(each, facts, options, scan)

    found: dict[int, tuple[Listed, PartitionFacts]] = {}
    if groups:
        by_log = context.parallelize(groups, len(groups)).flatMap(audit_group)
        found = dict(by_log.groupByKey(min(len(logs), len(groups))).map(together).collect())
    known.unpersist()
    return [
        found[at] if at in found else (each, audit_partition(each.prepared, [], options))
        for at, each in enumerate(logs)
    ]


def write(verdict: Verdict, folder: str) -> None:
    """Write facts.parquet, verdict.json and report.txt."""
    os.makedirs(folder, exist_ok=True)
    with pq.ParquetWriter(os.path.join(folder, FACTS), SCHEMA) as writer:
        for directory in verdict.directories:
            writer.write_table(findings_table(directory.findings))
        for facts in verdict.partitions:
            for table in tables(facts):
                writer.write_table(table)
    with open(os.path.join(folder, VERDICT), "w", encoding="utf-8") as file:
        file.write(verdict.as_json())
    with open(os.path.join(folder, REPORT), "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in verdict.lines())
