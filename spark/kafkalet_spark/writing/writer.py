"""The sink for `df.write.format("kafkalog").save(DIR)`: tasks write fragments, and the driver commits them.

mode("append") appends to existing logs; mode("overwrite") replaces the topics that are written, but no others. The
options are described in write_options.py, the columns in rows.py.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from kafkalet.clock import Clock, SystemClock
from kafkalet_spark.option_types import BadOption

from . import log_producers, staging
from .assembly import Load
from .commit import commit, recover
from .fragments import Fragment
from .rows import Sorter, check_columns
from .target import TargetDirectory, start_of
from .task import FragmentStart, TaskLogs
from .write_options import write_options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


@dataclass
class Fragments(WriterCommitMessage):
    """The output of one task attempt."""

    task: int
    fragments: tuple[Fragment, ...]
    counts: Mapping[str, int]
    """The number of partitions of each topic in the output."""


class KafkaLogWriter(DataSourceArrowWriter):
    """Writes rows of `schema` to logs. Raises BadOption or BadRows, and DirectoryInUse if a broker is running.

    The writer is created on the driver and sent to the tasks.
    """

    def __init__(
        self, schema: StructType, options: Mapping[str, str], overwrite: bool, clock: Clock | None = None
    ) -> None:
        self.options = write_options(options)
        check_columns({field.name: field.dataType.simpleString() for field in schema.fields}, self.options.topic)
        self.overwrite = overwrite
        self.now_ms = (clock or SystemClock()).now_ms()
        self.job = staging.new_job()
        recover(self.options.path)
        there = TargetDirectory(self.options.path).partitions()
        self._counts = {topic: numbers[-1] + 1 for topic, numbers in there.items()}
        """The number of partitions of each existing topic. All tasks must use the same numbers."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Fragments:
        """Write the rows of a task to the staging directory."""
        context = TaskContext.get()
        task, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
        return self.write_task(iterator, task, attempt)

    def write_task(self, batches: Iterator[pa.RecordBatch], task: int, attempt: int) -> Fragments:
        """Write the rows of a task. The `attempt` number must be unique. Raises BadRows, SegmentFull or OSError."""
        sorter = Sorter(self.options.topic, self.options.by_column, self._count_of, task, self.now_ms)
        name = f"{task}-{attempt}"
        root = staging.writing(TargetDirectory(self.options.path), self.job)
        logs = TaskLogs(root, name, task, self.options, sorter, self._origin_of)
        try:
            logs.add_all(batches)
            counts = {topic: self._count_of(topic) or 1 for topic in sorter.topics}
            return Fragments(task, logs.close(), counts)
        except BaseException:
            shutil.rmtree(os.path.join(root, name), ignore_errors=True)
            raise

    def _count_of(self, topic: str) -> int | None:
        """Return the number of partitions of a topic; None if the `partition` column may hold any number."""
        wanted, there = self.options.partitions_of(topic), self._counts.get(topic)
        if wanted is None or there is None:
            return wanted or there
        if wanted < there and not self.overwrite:
            raise BadOption(f"partitions is {wanted}, but topic {topic} already has {there}")
        return wanted

    def _origin_of(self, topic: str, partition: int) -> FragmentStart:
        log = None if self.overwrite else TargetDirectory(self.options.path).log(topic, partition)
        known = log_producers.at_end(log) if log is not None and self.options.shape else {}
        return FragmentStart(start_of(log, self.options.leader_epoch), max(known, default=-1))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the output of all tasks. Called on the driver when the tasks are done."""
        done = [message for message in messages if isinstance(message, Fragments)]
        counts: dict[str, int] = {}
        if self.options.topic is not None:
            counts[self.options.topic] = self._count_of(self.options.topic) or 1
        for message in done:
            for topic, count in message.counts.items():
                counts[topic] = max(counts.get(topic, 0), count)
        load = Load(
            self.job,
            [(message.task, fragment) for message in done for fragment in message.fragments],
            counts,
            self.overwrite,
            self.options.leader_epoch,
            self.options.durable,
        )
        commit(TargetDirectory(self.options.path), load)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the output of all tasks. Called on the driver when the job has failed."""
        shutil.rmtree(staging.writing(TargetDirectory(self.options.path), self.job), ignore_errors=True)
