"""The Spark job around the sink: assigns partitions to rows, sorts them by time, and writes them.

    check         The columns are checked, see rows.py.
    assign        Partitions are assigned by murmur2. Only keys and row numbers are sent to Python for this.
    repartition   Each partition of a topic goes to one task or, if that would leave cores idle, to one task per time
                  range. The boundaries of the ranges come from a sample, which is the same for the same input.
    sort          Rows are sorted by timestamp and, if timestamps are equal, by input order. This way, the same input
                  produces the same logs, even if a task is retried.
    write         Rows are written with df.write.format("kafkalog").

Input is written without a shuffle if it is already sorted by time (order.py), has no timestamps, or is not to be
sorted. Each task then writes a fragment of every partition for which it has rows, and the fragments are ordered by
their first timestamps. This is the fastest way, but it is not used if it would produce many small fragments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import IntegerType

from kafkalet_spark.failures import job_failures
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.requirements import context_of

from .order import is_in_order
from .placement import partitions_of
from .rows import check_columns
from .target import TargetDirectory
from .write_options import WriteOptions, write_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TASKS_PER_CORE = 2
"""More than one, so that a single slow task does not leave cores idle."""
TASK_BYTES = 256 << 20
"""The amount of data per task, chosen so that it can be sorted in memory."""
FRAGMENT_BYTES = 16 << 20
"""Input is repartitioned if its tasks would write smaller fragments than this."""
SAMPLE_EVERY = 1009
"""One row in this many is sampled to find the boundaries of the time ranges."""
_NUMBER = "__number"
_TASK = "__task"


class LoadOptions(NamedTuple):
    """The destination of a load, and the order of its rows."""

    path: str
    """The log directory."""
    options: Mapping[str, str] = {}
    """The write options of the data source `kafkalog`, except for `path`."""
    overwrite: bool = False
    """Whether to replace existing topics instead of appending to them."""
    sort: str = "time"
    """`time` to sort the rows by timestamp, or `none` to keep the order of the input."""


def load(spark: SparkSession, frame: DataFrame, options: LoadOptions) -> None:
    """Partition and sort the rows of `frame`, and write them to a log directory.

    Raises BadOption for an invalid option, BadRows for columns or values that cannot be written as records, and
    JobFailed if a task fails.
    """
    writing = {**options.options, "path": options.path}
    with job_failures():
        rows = arranged(spark, frame, options)
        mode = "overwrite" if options.overwrite else "append"
        rows.write.format("kafkalog").mode(mode).options(**writing).save()


def arranged(spark: SparkSession, frame: DataFrame, options: LoadOptions) -> DataFrame:
    """Return the rows repartitioned and sorted for writing. Raises BadOption or BadRows."""
    writing = write_options({**options.options, "path": options.path})
    check_columns({field.name: field.dataType.simpleString() for field in frame.schema.fields}, writing.topic)
    if options.sort not in ("time", "none"):
        raise BadOption(f"sort must be time or none, not {options.sort}")
    if options.sort == "none" or "timestamp" not in frame.columns:
        return frame
    there = TargetDirectory(writing.path).partitions()
    counts = {topic: numbers[-1] + 1 for topic, numbers in there.items()}
    if _may_stay(spark, frame, writing, counts) and is_in_order(frame):
        return frame
    numbered = frame.withColumn(_NUMBER, functions.monotonically_increasing_id())
    placed = numbered.withColumn("partition", _partition(frame.columns, writing, counts))
    moved, order = _moved(spark, frame, placed, writing, counts)
    ordered = moved.sortWithinPartitions(*order, functions.col("timestamp").asc_nulls_last(), _NUMBER)
    return ordered.select(*dict.fromkeys([*frame.columns, "partition"]))


def _may_stay(spark: SparkSession, frame: DataFrame, writing: WriteOptions, counts: Mapping[str, int]) -> bool:
    """Return whether the rows can stay in their tasks, because these would write few fragments, or large ones.

    With transactions, each partition must be written by one task.
    """
    if writing.shape or writing.topic is None or getattr(frame, "_jdf", None) is None:
        return False
    tasks = int(frame._jdf.queryExecution().toRdd().getNumPartitions())
    partitions = writing.partitions_of(writing.topic) or counts.get(writing.topic, 1)
    few = tasks <= TASKS_PER_CORE * context_of(spark).defaultParallelism
    return few or _size_bytes(frame) // (tasks * partitions) >= FRAGMENT_BYTES


def _moved(
    spark: SparkSession, frame: DataFrame, placed: DataFrame, writing: WriteOptions, counts: Mapping[str, int]
) -> tuple[DataFrame, list[str]]:
    """Repartition the rows. Return them, and the columns by which to sort them before the timestamp."""
    tasks = _tasks(spark, frame)
    topic = writing.topic
    if topic is None:
        return placed.repartition(tasks, "topic", "partition"), ["topic", "partition"]
    count = writing.partitions_of(topic) or counts.get(topic)
    if count is None and "partition" in frame.columns and writing.by_column is not False:
        return placed.repartition(tasks, "partition"), ["partition"]
    count = count or 1
    if count >= tasks:
        task = functions.pmod(functions.col("partition"), functions.lit(tasks))
        return placed.withColumn(_TASK, task).repartitionById(tasks, functions.col(_TASK)), ["partition"]
    stretches = 1 if writing.shape else -(-tasks // count)
    task = functions.col("partition") * stretches + _stretch(frame, stretches)
    return placed.withColumn(_TASK, task).repartitionById(count * stretches, functions.col(_TASK)), []


def _tasks(spark: SparkSession, frame: DataFrame) -> int:
    """Return the number of writing tasks: enough to use all cores, and enough for the data size that Spark
    estimates."""
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    return max(TASKS_PER_CORE * context_of(spark).defaultParallelism, min(-(-_size_bytes(frame) // TASK_BYTES), most))


def _size_bytes(frame: DataFrame) -> int:
    """Return Spark's estimate of the data size; 0 if there is none (Spark Connect)."""
    plan = getattr(frame, "_jdf", None)
    return 0 if plan is None else int(plan.queryExecution().optimizedPlan().stats().sizeInBytes())


def _stretch(frame: DataFrame, stretches: int) -> Column:
    """Return a column with the number of each row's time range. All ranges hold about the same number of rows."""
    number = functions.lit(0)
    if stretches > 1:
        times = frame.select(functions.unix_millis("timestamp").alias("t"), functions.monotonically_increasing_id())
        sampled = times.where(functions.col(times.columns[1]) % SAMPLE_EVERY == 0).select("t").dropna().toArrow()
        ordered = np.sort(sampled["t"].to_numpy())
        bounds = {int(ordered[len(ordered) * each // stretches]) for each in range(1, stretches) if len(ordered)}
        time = functions.unix_millis("timestamp")
        for bound in sorted(bounds):
            number = number + (time >= bound).cast("int")
    return functions.coalesce(number, functions.lit(stretches - 1))


def _partition(columns: list[str], writing: WriteOptions, there: Mapping[str, int]) -> Column:
    """Return the `partition` column. If it is null or missing, the key determines the partition."""
    by_key = functions.lit(0)
    topic = writing.topic
    if topic is None or (writing.partitions_of(topic) or there.get(topic, 1)) > 1:
        key = functions.col("key").cast("binary") if "key" in columns else functions.lit(None).cast("binary")
        names = functions.col("topic") if topic is None else functions.lit(None).cast("string")
        by_key = _murmur2(key, functions.col(_NUMBER), names, writing, there)
    if "partition" in columns and writing.by_column is not False:
        return functions.coalesce(functions.col("partition"), by_key)
    return by_key


def _murmur2(key: Column, number: Column, topic: Column, writing: WriteOptions, there: Mapping[str, int]) -> Column:
    def count_of(name: str | None) -> int:
        return writing.partitions_of(name) or there.get(name, 1) if name else 1

    def place(keys: pa.Array, numbers: pa.Array, topics: pa.Array) -> pa.Array:
        ordinals = numbers.to_numpy()
        if writing.topic is not None:
            return pa.array(partitions_of(keys, count_of(writing.topic), ordinals))
        coded = topics.dictionary_encode()
        counts = np.array([*map(count_of, coded.dictionary.to_pylist()), 1], np.int64)
        return pa.array(partitions_of(keys, counts[coded.indices.fill_null(-1).to_numpy()], ordinals))

    found: Column = arrow_udf(place, IntegerType())(key, number, topic)  # type: ignore[call-overload]
    return found
