"""The job around the sink: rows of any kind are given their partitions, brought into order of time, and written.

    frame       columns as rows.py says
    placed      the partition by murmur2, for which only keys go to Python; records without a key by their number
    moved       each partition of a topic to one task; or, where that would leave cores idle, to several, by time
    sorted      by timestamp; among equal ones by the order of the input, so that the same input gives the same logs
    written     by df.write.format("kafkalog")

Without `sort` rows are written where they are, and nothing is moved: each task leaves a fragment of each partition that
it meets, which follow one another in the order of their first timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import IntegerType

from kafkalet.pipeline.options import BadOption

from .ground import Ground
from .placement import partitions_of
from .rows import check_columns
from .settings import WriteOptions, write_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TASKS_PER_CORE = 2
"""So that a task that takes longer than others does not leave cores idle."""
_QUANTILE_ERROR = 0.01
_NUMBER = "__number"
_TASK = "__task"


class LoadOptions(NamedTuple):
    """What is to be done with a frame."""

    path: str
    """The log directory."""
    options: Mapping[str, str] = {}
    """Of the sink, as settings.py has them; the path is not among them."""
    overwrite: bool = False
    """Replace the topics that are written, or let them go on."""
    sort: str = "time"
    """`time`, or `none`."""


def load(spark: SparkSession, frame: DataFrame, options: LoadOptions) -> None:
    """Write the rows of `frame`. Raises BadOption, BadRows; what Spark raises when a task fails."""
    writing = {**options.options, "path": options.path}
    rows = arranged(spark, frame, write_options(writing), options)
    mode = "overwrite" if options.overwrite else "append"
    rows.write.format("kafkalog").mode(mode).options(**writing).save()


def arranged(spark: SparkSession, frame: DataFrame, writing: WriteOptions, options: LoadOptions) -> DataFrame:
    """The rows where they are to be written, in their order."""
    check_columns({field.name: field.dataType.simpleString() for field in frame.schema.fields}, writing.topic)
    if options.sort not in ("time", "none"):
        raise BadOption(f"sort is time or none, not {options.sort}")
    if options.sort == "none" or "timestamp" not in frame.columns:
        return frame
    there = {} if options.overwrite else Ground(writing.path).partitions()
    columns = frame.columns
    numbered = frame.withColumn(_NUMBER, functions.monotonically_increasing_id())
    if writing.topic is None:
        return _by_topic(spark, numbered, columns, writing)
    count = max(writing.partitions_of(writing.topic) or 0, max(there.get(writing.topic, []), default=-1) + 1)
    placed = numbered.withColumn("partition", _partition(columns, writing, count))
    if not count:  # as many as the column names
        return _by_topic(spark, placed, [*columns], writing)
    cores = spark.sparkContext.defaultParallelism
    parts = 1 if writing.shape else -(-TASKS_PER_CORE * cores // count)
    moved = _spread(placed, count, parts)
    ordered = moved.sortWithinPartitions("timestamp", _NUMBER)
    return ordered.select(*dict.fromkeys([*columns, "partition"]))


def _spread(placed: DataFrame, count: int, parts: int) -> DataFrame:
    """Each partition to `parts` tasks of its own, one for each stretch of time."""
    task = functions.col("partition")
    if parts > 1:
        milliseconds = functions.unix_millis("timestamp").cast("double").alias("t")
        shares = [each / parts for each in range(1, parts)]
        bounds = placed.select(milliseconds).approxQuantile("t", shares, _QUANTILE_ERROR)
        stretch = functions.lit(0)
        for bound in dict.fromkeys(bounds):
            stretch = stretch + (functions.unix_millis("timestamp") >= int(bound)).cast("int")
        task = task * parts + functions.coalesce(stretch, functions.lit(parts - 1))
    return placed.withColumn(_TASK, task).repartitionById(count * parts, functions.col(_TASK))


def _by_topic(spark: SparkSession, numbered: DataFrame, columns: list[str], writing: WriteOptions) -> DataFrame:
    """Topics that only the rows know: rows with the same hash of topic and key, or partition, to the same task."""
    return numbered


def _partition(columns: list[str], writing: WriteOptions, count: int) -> Column:
    by_key = functions.lit(0)
    if count > 1:
        number = functions.pmod(functions.col(_NUMBER), functions.lit(count)).cast("int")
        by_key = number
        if "key" in columns:
            by_key = functions.coalesce(_murmur2(functions.col("key").cast("binary"), count), number)
    if "partition" in columns and writing.by_column is not False:
        return functions.coalesce(functions.col("partition"), by_key)
    return by_key


def _murmur2(key: Column, count: int) -> Column:
    """Only keys travel to Python; null keys come back as null."""

    def place(keys: pa.Array) -> pa.Array:
        placed = partitions_of(keys, count, np.zeros(len(keys), np.int64))
        return pa.array(placed, mask=keys.is_null().to_numpy(zero_copy_only=False))

    found: Column = arrow_udf(place, IntegerType())(key)  # type: ignore[call-overload]  # type hints say the kind
    return found
