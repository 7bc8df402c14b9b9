"""The part of the audit that asks a live broker, as a second job of Spark.

Only when the logs have been read is it known which timestamps there are; so they are read once more, for the answers
that the broker should give. One task for each stretch finds them, one for each log puts them together and asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kafkalet.pipeline.live.broker import LiveBroker
from kafkalet.protocol.errors import KafkaError

from .asking import Answers, search, whole_log
from .comparing import Bounds, Compared, Comparison, Expected, bounds_of, compare
from .options import AuditOptions
from .partition_audit import Begun, PartitionFacts
from .tasks import Task, begin, packed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def begin_with_broker(begun: Sequence[Begun], options: AuditOptions) -> list[Begun]:
    """What is known of the logs before they are read, by what the broker says of them now.

    The files have to be listed again afterwards: what lies below this high watermark is in them then.
    """
    with _broker(options) as broker:
        bounds = bounds_of(broker, [(each.log.topic, each.log.partition) for each in begun])
    result = []
    for each in begun:
        told = bounds[each.log.topic, each.log.partition]
        if isinstance(told, Bounds):
            result.append(
                each._replace(
                    log=each.log._replace(log_start_offset=told.log_start_offset, is_closed=False),
                    before_offset=told.high_watermark,
                )
            )
        else:
            each.findings.add("list-offsets", f"the broker does not answer for it: {_reason(told)}", file=each.log.path)
            result.append(each)
    return result


def listed_again(each: Begun) -> Begun:
    """With the files that are there now."""
    from kafkalet.pipeline.logs.directory import open_partition

    log = open_partition(each.log.path, lenient=True)
    if each.before_offset is None:
        return begin(log, None)._replace(findings=each.findings)
    told = log._replace(log_start_offset=each.log.log_start_offset, is_closed=False)
    return begin(told, each.before_offset)


def compare_with_broker(
    spark: SparkSession,
    tasks: Sequence[Task],
    begun: Sequence[Begun],
    facts: Sequence[PartitionFacts],
    options: AuditOptions,
    bytes_each: int,
) -> Comparison:
    """Adds what disagrees to the findings of `facts`."""
    context = spark.sparkContext
    asked = [at for at, each in enumerate(begun) if each.before_offset is not None]
    queries = context.broadcast({at: facts[at].queries for at in asked})
    known = context.broadcast({at: _expected(begun[at], facts[at]) for at in asked})
    groups = packed([task for task in tasks if task.log in asked], bytes_each)

    def look(group: list[Task]) -> Iterator[tuple[int, tuple[Task, Answers]]]:
        for task in group:
            yield task.log, (task, search(task.stretch, queries.value[task.log], options.chunk_bytes))

    def ask(logs: Iterable[tuple[int, Iterable[tuple[Task, Answers]]]]) -> Iterator[tuple[int, Compared]]:
        with _broker(options) as broker:
            for log, found in logs:
                ordered = sorted(found, key=lambda each: each[0].number)
                answers = whole_log([(task.stretch, answers) for task, answers in ordered], queries.value[log])
                yield log, compare(broker, known.value[log]._replace(answers=answers))

    compared = {}
    if groups:
        by_log = context.parallelize(groups, len(groups)).flatMap(look)
        compared = dict(by_log.groupByKey(min(len(asked), context.defaultParallelism)).mapPartitions(ask).collect())
    for broadcast in (queries, known):
        broadcast.unpersist()
    for at, one in compared.items():
        facts[at].findings.merge(one.findings)
    names = {at: begun[at].log.name for at in compared}
    return Comparison(
        options.bootstrap or "",
        sum(one.lookups for one in compared.values()),
        sum(one.findings.total for one in compared.values()),
        tuple(names[at] for at, one in sorted(compared.items()) if one.has_moved),
        tuple(one.is_refused for _, one in sorted(compared.items()) if one.is_refused is not None),
    )


def _expected(begun: Begun, facts: PartitionFacts) -> Expected:
    log = begun.log
    return Expected(
        log.topic,
        log.partition,
        log.path,
        log.log_start_offset,
        begun.before_offset or 0,
        facts.last_stable_offset,
        facts.queries,
        whole_log([], facts.queries),
    )


def _broker(options: AuditOptions) -> LiveBroker:
    assert options.bootstrap is not None
    return LiveBroker(options.bootstrap, options.properties)


def _reason(error: KafkaError) -> str:
    return str(error.message or error)
