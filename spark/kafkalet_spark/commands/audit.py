"""`kafkalet-spark audit DIR...`: verify log directories, optionally against a live broker."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from kafkalet_spark.audit import AuditOptions, audit
from kafkalet_spark.audit.audit_ranges import stretches
from kafkalet_spark.audit.audit_tasks import begin
from kafkalet_spark.audit.job import FACTS, REPORT, VERDICT, chosen
from kafkalet_spark.logs.directory import Listing
from kafkalet_spark.option_table import AUDIT
from kafkalet_spark.plan import megabytes, settings_text, table
from kafkalet_spark.progress import ExpectedWork

from .command_line import UsageError, absolute, pairs
from .running import Running

LEVELS = 2
"""Each timestamp is looked up under both isolation levels."""


def prepare(parsed: Namespace) -> AuditJob:
    """Check the options and return the job. Raises UsageError."""
    given = pairs("--option", parsed.option)
    foreign = [name for name in given if not name.startswith("kafka.")]
    if foreign:
        raise UsageError(f"--option {foreign[0]}: audit accepts only client properties (kafka.*)")
    numbers = {option.name: getattr(parsed, option.name.replace("-", "_")) for option in AUDIT if option.parse is int}
    for name, number in numbers.items():
        if number < 0:
            raise UsageError(f"--{name} {number}: must be 0 or more")
    options = AuditOptions(
        out=parsed.out,
        bootstrap=parsed.bootstrap,
        properties={name.removeprefix("kafka."): value for name, value in given.items()},
        topics=tuple(parsed.topic),
        compacted=tuple(parsed.compacted),
        timestamps=parsed.timestamps,
        seed=parsed.seed,
        max_bytes_per_task=parsed.max_bytes_per_task,
        producer_id_expiration_ms=parsed.producer_id_expiration_ms,
    )
    return AuditJob([*map(absolute, parsed.directories)], options)


class AuditJob:
    """One run of an audit."""

    def __init__(self, directories: list[str], options: AuditOptions) -> None:
        self._directories = directories
        self._options = options

    def dry_run(self, running: Running) -> None:
        options = self._options
        there = chosen(self._directories, options)
        logs = there.logs
        counts = []
        for log in logs:
            tasks = stretches(log, begin(log, None).companions, None, options.max_bytes_per_task)
            counts.append((log, sum(1 for _ in tasks)))
        rows = [
            [log.topic, str(log.partition), f"{len(log.segments):,}", f"{parts:,}", megabytes(log.size_bytes)]
            for log, parts in counts
        ]
        total = [
            "total",
            f"{len(logs):,}",
            f"{sum(len(log.segments) for log in logs):,}",
            f"{sum(parts for _, parts in counts):,}",
            megabytes(sum(log.size_bytes for log in logs)),
        ]
        running.say(table(["topic", "partition", "segments", "splits", "bytes"], [*rows, total]))
        for line in _unreadable(there):
            running.say(f"unreadable: {line}")
        asked = (
            None if options.bootstrap is None else f"{len(logs) * options.timestamps * LEVELS:,} of {options.bootstrap}"
        )
        running.say(settings_text({"out": options.out, "timestamp lookups": asked, "seed": options.seed}))

    def run(self, running: Running) -> int:
        size = sum(log.size_bytes for log in chosen(self._directories, self._options).logs)
        with running.progress("audit", ExpectedWork(size_bytes=size)):
            verdict = audit(running.spark, self._directories, self._options)
        for line in verdict.lines():
            running.say(line)
        if self._options.out is not None:
            running.say(f"wrote {FACTS}, {VERDICT} and {REPORT} to {self._options.out}")
        return verdict.exit_status


def _unreadable(there: Listing) -> Iterator[str]:
    for each in there.unlisted:
        yield f"{each.name}: {each.path}: {each.reason}"
    for log in there.logs:
        yield from (f"{log.name}: {segment.path}: {segment.fault}" for segment in log.segments if segment.fault)
