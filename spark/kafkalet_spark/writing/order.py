"""Check whether the input is already sorted by time, as event files usually are.

This takes one pass over the timestamps: within each task, they must not decrease, and the time ranges of different
tasks must not overlap. (The order of the tasks does not matter: if they read files, Spark numbers them by file size,
but their output is ordered by time in the end.) The result applies to the later write only if the same tasks have the
same rows then. A plan with a shuffle is therefore treated as unsorted, because another run may distribute the rows
differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BooleanType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def is_in_order(frame: DataFrame) -> bool:
    """Return whether the rows are sorted by timestamp within each task, and the time ranges of tasks do not overlap.
    A null timestamp counts as unsorted."""
    if _is_shuffled(frame):
        return False
    falling = arrow_udf(falls, BooleanType())  # type: ignore[call-overload]
    milliseconds = functions.unix_millis("timestamp")
    looked = frame.select(
        functions.spark_partition_id().alias("task"), milliseconds.alias("t"), falling(milliseconds).alias("falls")
    )
    tasks = looked.groupBy("task").agg(
        functions.min("t").alias("first"), functions.max("t").alias("last"), functions.bool_or("falls").alias("falls")
    )
    found = tasks.collect()
    if any(row["falls"] for row in found):
        return False
    in_time = sorted((row["first"], row["last"]) for row in found)
    return all(before[1] <= after[0] for before, after in pairwise(in_time))


def falls(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """Mark the timestamps of a task that are null, or earlier than a preceding timestamp."""
    latest = np.iinfo(np.int64).min
    for column in columns:
        times = column.fill_null(np.iinfo(np.int64).min).to_numpy()
        peaks = np.maximum.accumulate(np.append(latest, times))
        latest = peaks[-1]
        yield pa.array((times < peaks[:-1]) | column.is_null().to_numpy(zero_copy_only=False))


def _is_shuffled(frame: DataFrame) -> bool:
    plan = getattr(frame, "_jdf", None)
    return plan is None or "Exchange" in plan.queryExecution().executedPlan().toString()
