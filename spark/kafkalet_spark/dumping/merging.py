"""Merge the small files of a run before it is committed.

Each task writes at least one file per date of its records. If the records of a partition are not ordered by time, every
task has records of every date, and without merging, the dump would consist of files of a few kilobytes. Therefore,
staged files that are consecutive in offset order and have the same target directory are merged up to the target size.
Files of more than half that size are left as they are, because copying them costs more than it gains.

A merge writes a new file and does not change its source files, so it can be retried; the sources are deleted with the
staging directory. Only files in the driver's list, which becomes the record of the run, are part of the dump.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kafkalet_spark.requirements import context_of

from .dump_files import ROW_GROUP_BYTES, WrittenFile, open_sink
from .dump_runs import STAGING
from .shape import DumpShape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 2
PIECE_BYTES = 8 << 20


def groups_of(files: Iterable[WrittenFile], target_bytes: int) -> list[list[WrittenFile]]:
    """Return the files in offset order, in groups of files to be merged into one."""
    groups: list[list[WrittenFile]] = []
    room = 0
    for file in sorted(files, key=lambda file: (file.topic, file.partition, file.date, file.first_offset)):
        before = groups[-1][-1] if groups else None
        follows = before is not None and before[1:4] == file[1:4]
        small = file.size_bytes <= target_bytes // 2
        if follows and small and file.size_bytes <= room:
            groups[-1].append(file)
            room -= file.size_bytes
        else:
            groups.append([file])
            room = target_bytes - file.size_bytes if small else 0
    return groups


def merged(
    spark: SparkSession, out: str, files: Sequence[WrittenFile], shape: DumpShape, begun: Callable[[int, int], None]
) -> list[WrittenFile]:
    """Merge the small files of a run with Spark. Return all files of the run. Raises Spark's exceptions.

    If there are any small files, `begun` is first called with the number of tasks and the number of bytes.
    """
    groups = groups_of(files, shape.target_file_bytes)
    small = [group for group in groups if len(group) > 1]
    if not small:
        return [group[0] for group in groups]
    tasks = min(len(small), TASKS_PER_CORE * context_of(spark).defaultParallelism)
    begun(tasks, sum(file.size_bytes for group in small for file in group))
    dealt = sorted(small, key=lambda group: sum(file.size_bytes for file in group))
    dealt = [group for first in range(tasks) for group in dealt[first::tasks]]
    found = context_of(spark).parallelize(dealt, tasks).map(lambda group: merge(out, group, shape)).collect()
    return [group[0] for group in groups if len(group) == 1] + [WrittenFile(*each) for each in found]


def merge(out: str, files: Sequence[WrittenFile], shape: DumpShape) -> WrittenFile:
    """Write the records of several consecutive files to one file."""
    staged = os.path.join(STAGING, os.urandom(8).hex(), "0" + shape.suffix)
    os.makedirs(os.path.dirname(os.path.join(out, staged)))
    sources = [os.path.join(out, file.staged) for file in files]
    target = os.path.join(out, staged)
    if shape.format == "parquet":
        _merge_parquet(sources, target, shape)
    else:
        _merge_lines(sources, target, shape)
    return files[0]._replace(
        staged=staged,
        last_offset=files[-1].last_offset,
        records=sum(file.records for file in files),
        size_bytes=os.path.getsize(target),
    )


def _merge_parquet(sources: Sequence[str], target: str, shape: DumpShape) -> None:
    """Merge Parquet files. Rows are buffered up to the size of a row group, so that row groups are merged as well."""
    with pq.ParquetFile(sources[0]) as file:
        sink = open_sink(target, file.schema_arrow, shape)
    waiting: list[pa.RecordBatch] = []
    for source in sources:
        with pq.ParquetFile(source) as file:
            for batch in file.iter_batches():
                waiting.append(batch)
                if sum(each.nbytes for each in waiting) >= ROW_GROUP_BYTES:
                    sink.write(waiting)
                    waiting = []
    if waiting:
        sink.write(waiting)
    sink.close()


def _merge_lines(sources: Iterable[str], target: str, shape: DumpShape) -> None:
    compression = None if shape.compression == "none" else shape.compression
    with pa.output_stream(target, compression=compression) as output:
        for source in sources:
            with pa.input_stream(source, compression=compression) as lines:
                while piece := lines.read(PIECE_BYTES):
                    output.write(piece)
