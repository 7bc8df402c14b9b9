"""Compare logs with a live broker, in a second Spark job.

The timestamps to look up are known only after the logs have been read, so the expected results are computed in a second
pass over the logs. One task per stretch looks up the timestamps; one task per log combines the results and queries the
broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.requirements import context_of

from .audit_options import AuditOptions
from .audit_tasks import AuditTask, bytes_together, packed, tasks_of
from .changing_logs import KEPT_CHANGING, TRIES, Listed, audit_here, listed_again, live_broker
from .comparing import Compared, Comparison, ExpectedPartition, compare
from .expected_lookups import Answers, search, whole_log
from .findings import Findings
from .partition_audit import PartitionFacts
from .stretch_audit import ScanSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compare_with_broker(
    spark: SparkSession, logs: Sequence[Listed], facts: Sequence[PartitionFacts], options: AuditOptions
) -> Comparison:
    """Compare the logs with the broker, and add disagreements to the findings of `facts`."""
    context = context_of(spark)
    left_out = {at: reason for at, each in enumerate(logs) if (reason := _incomparable(each, facts[at]))}
    asked = {at for at, each in enumerate(logs) if each.is_compared} - left_out.keys()
    every = tasks_of([each.reported for each in logs], options.max_bytes_per_task)
    tasks = [task for task in every if task.log in asked]
    groups = packed(tasks, bytes_together(tasks, context.defaultParallelism, options.max_bytes_per_task))
    queries = context.broadcast({at: facts[at].queries for at in asked})
    known = context.broadcast({at: (logs[at], facts[at].last_stable_offset, facts[at].log_end_offset) for at in asked})

    def search_group(group: list[AuditTask]) -> Iterator[tuple[int, tuple[AuditTask, Answers]]]:
        for task in group:
            yield task.log, (task, search(task.stretch, queries.value[task.log], options.chunk_bytes))

    def ask(found: Iterable[tuple[int, Iterable[tuple[AuditTask, Answers]]]]) -> Iterator[tuple[int, Compared]]:
        with live_broker(options) as broker:
            for log, parts in found:
                each, stable, end = known.value[log]
                answers = _together(parts, queries.value[log])
                yield log, _compared(broker, each, _expected(each, stable, end, queries.value[log], answers), options)

    compared = {}
    if groups:
        by_log = context.parallelize(groups, len(groups)).flatMap(search_group)
        compared = dict(by_log.groupByKey(min(len(asked), context.defaultParallelism)).mapPartitions(ask).collect())
    for broadcast in (queries, known):
        broadcast.unpersist()
    for at, one in compared.items():
        facts[at].findings.merge(one.findings)
    left_out |= {at: one.not_compared for at, one in compared.items() if one.not_compared is not None}
    return Comparison(
        options.bootstrap or "",
        sum(one.lookups for one in compared.values()),
        sum(one.findings.total for one in compared.values()),
        tuple(f"{logs[at].prepared.log.name} ({reason})" for at, reason in sorted(left_out.items())),
        tuple(one.is_refused for _, one in sorted(compared.items()) if one.is_refused is not None),
        tuple(
            f"{logs[at].prepared.log.name}: {difference}"
            for at, one in sorted(compared.items())
            for difference in one.explained
        ),
    )


def _incomparable(each: Listed, facts: PartitionFacts) -> str | None:
    """Return the reason why another replica may legitimately differ from these files, or None."""
    if each.prepared.is_followers:
        if facts.chain.compacted_up_to:
            return "a follower's copy, compacted independently of the leader"
        if each.prepared.log.log_start_offset > facts.chain.log_begins_at:
            return "a follower's copy, with other segment boundaries than the leader"
    return None


def _compared(broker: LiveBroker, each: Listed, expected: ExpectedPartition, options: AuditOptions) -> Compared:
    """Compare one log with the broker. If the log changes during the comparison, retry a few times."""
    for _ in range(TRIES):
        compared = compare(broker, expected)
        # In this order: if the replacement has ended in between, the files have changed.
        if not (each.is_being_replaced() or each.has_changed()) and compared.not_compared is None:
            return compared
        each = listed_again(each, broker)
        if not each.is_compared:
            return compared
        facts = audit_here(each, options, ScanSettings(options.chunk_bytes))
        found = (
            (task, search(task.stretch, expected.queries, options.chunk_bytes))
            for task in tasks_of([each.reported], options.max_bytes_per_task)
        )
        answers = _together(found, expected.queries)
        expected = _expected(each, facts.last_stable_offset, facts.log_end_offset, expected.queries, answers)
    return Compared(0, Findings(expected.topic, expected.partition), KEPT_CHANGING)


def _together(parts: Iterable[tuple[AuditTask, Answers]], queries: NDArray[np.int64]) -> Answers:
    ordered = sorted(parts, key=lambda part: part[0].number)
    return whole_log([(task.stretch, answers) for task, answers in ordered], queries)


def _expected(each: Listed, stable: int, end: int, queries: NDArray[np.int64], answers: Answers) -> ExpectedPartition:
    log = each.reported.log
    own_start = each.prepared.companions.log_start_offset
    begins_at = log.segments[0].base_offset if log.segments else 0
    return ExpectedPartition(
        log.topic,
        log.partition,
        log.path,
        begins_at,
        log.log_start_offset,
        end,
        stable,
        queries,
        answers,
        begins_at if own_start is None else max(own_start, begins_at),
        each.is_in_place,
        each.prepared.is_followers,
    )
