"""Whether input has to be brought into the order of time, or lies in it already, as files of events mostly do.

One look at the timestamps alone tells: within each task no row may be earlier than one before it, and the times of no
two tasks may overlap. (The order of the tasks says nothing: Spark numbers those that read files by size, and what they
leave is put in the order of time in the end.) The look counts for the write that follows only if both see the same rows
in the same tasks: what went through a shuffle is not looked at, for another run may deal it out otherwise.
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
    """Whether the rows are in the order of their timestamps, task by task. A row without one is not."""
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
    """Which of a task's timestamps are earlier than one before them, or null."""
    latest = np.iinfo(np.int64).min
    for column in columns:
        times = column.fill_null(np.iinfo(np.int64).min).to_numpy()
        peaks = np.maximum.accumulate(np.append(latest, times))
        latest = peaks[-1]
        yield pa.array((times < peaks[:-1]) | column.is_null().to_numpy(zero_copy_only=False))


def _is_shuffled(frame: DataFrame) -> bool:
    plan = getattr(frame, "_jdf", None)
    return plan is None or "Exchange" in plan.queryExecution().executedPlan().toString()
