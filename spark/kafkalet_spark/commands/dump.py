"""`kafkalet-spark dump DIR... --out OUT`: export topics to Parquet or JSON Lines."""

from __future__ import annotations

import logging
from argparse import Namespace

from kafkalet.units import counted
from kafkalet_spark.dumping.dump import DumpOptions, Plan, dump, dump_options, plan
from kafkalet_spark.filters import Pushed
from kafkalet_spark.plan import Reading, expected, megabytes, reading_text, readings, settings_text
from kafkalet_spark.progress import ExpectedWork
from kafkalet_spark.reader import origin_of

from .command_line import source_options
from .running import Running

_LOG = logging.getLogger("kafkalet_spark")


def prepare(parsed: Namespace) -> DumpJob:
    """Check the options and return the job. Raises UsageError, BadOption."""
    return DumpJob(
        dump_options(
            source_options(parsed),
            parsed.out,
            parsed.format,
            parsed.compression,
            target_file_bytes=parsed.target_file_bytes,
            date_folders=parsed.date_folders,
        )
    )


class DumpJob:
    """One run of a dump."""

    def __init__(self, options: DumpOptions) -> None:
        self._options = options

    def dry_run(self, running: Running) -> None:
        found = plan(self._options)
        for loss in found.losses:
            running.say(f"lost: {loss}")
        running.say(reading_text(_readings(found)))
        shape = {name.replace("_", " "): value for name, value in self._options.shape._asdict().items()}
        running.say(settings_text({"out": self._options.out, **shape, "run": found.manifest.run + 1}))

    def run(self, running: Running) -> int:
        spark = running.spark
        with running.progress("dump") as progress:

            def planned(found: Plan) -> None:
                progress.expect(expected(_readings(found)))
                for loss in found.losses:
                    _LOG.warning("%s", loss)

            def merging(tasks: int, size_bytes: int) -> None:
                progress.begin("merge", ExpectedWork(size_bytes=size_bytes, tasks=tasks))

            run = dump(spark, self._options, planned, merging=merging, clock=running.clock)
        if run is None:
            running.say(f"no new records for {self._options.out}")
        else:
            partitions = sum(part.end > part.start for part in run.covered)
            running.say(
                f"dumped {counted(run.records, 'record')} from {counted(partitions, 'partition')} "
                f"to {self._options.out}: {counted(len(run.files), 'file')}, {megabytes(run.size_bytes)}"
            )
        return 0


def _readings(found: Plan) -> list[Reading]:
    return readings(found.ranges, origin_of(found.read).splits(found.ranges, Pushed()))
