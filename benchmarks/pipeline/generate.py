"""Generate logs of any size with the pipeline: the records are unique, and the same on every run.

    python -m benchmarks.pipeline.generate DIR --records 100_000_000 --value-bytes 100 [--partitions 4] [...]

A record has a key of ten digits, a value of hexadecimal digits and a timestamp one millisecond after that of the
previous record. Records are assigned to partitions round-robin. Spark generates and writes them in parallel on the
cores available to it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIRST_MS = 1_357_000_000_000
KEY_BYTES = 10
OVERHEAD_BYTES = 18
"""The average size of a record without its value: key, lengths and deltas."""
TASK_BYTES = 128 << 20


def count_of(size: int, value_bytes: int) -> int:
    """Return the number of records in a log of `size` bytes, rounded up."""
    return size // (value_bytes + OVERHEAD_BYTES - 1) + 1


def frame(spark: SparkSession, records: int, value_bytes: int, partitions: int) -> DataFrame:
    """Return generated records with the columns that the sink accepts, ordered by timestamp."""
    tasks = max(2, records * (value_bytes + OVERHEAD_BYTES) // TASK_BYTES)
    return spark.range(0, records, 1, tasks).selectExpr(
        f"lpad(CAST(id AS STRING), {KEY_BYTES}, '0') AS key",
        f"substring(repeat(sha2(CAST(id AS STRING), 512), {value_bytes // 128 + 1}), 1, {value_bytes}) AS value",
        f"CAST(id % {partitions} AS INT) AS partition",
        f"timestamp_millis({FIRST_MS} + id) AS timestamp",
    )


def write(rows: DataFrame, topic: str, partitions: int, directory: Path, **options: object) -> None:
    """Write rows to a log directory; the options are those of the sink."""
    given = {"topic": topic, "partitions": partitions, "durable": False, "segmentMs": "3650d"} | options
    writer = rows.write.format("kafkalog").mode("append")
    writer.options(**{name: str(value) for name, value in given.items()}).save(str(directory))


def size_of(directory: Path) -> int:
    """Return the total size of the segments in a log directory, in bytes."""
    return sum(path.stat().st_size for path in directory.rglob("*.log"))


def main() -> None:
    from kafkalet_spark.session import spark_session

    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline.generate", description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--records", type=int, default=100_000_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--topic", default="generated")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--batch-bytes", default="16k")
    parser.add_argument("--segment-bytes", default="1g")
    parser.add_argument("--compression", default="none")
    parser.add_argument("--master", help="Spark master URL (default: all cores of this machine)")
    options = parser.parse_args()
    spark = spark_session(options.master)
    try:
        begun = time.perf_counter()
        rows = frame(spark, options.records, options.value_bytes, options.partitions)
        sink = {
            "batchSize": options.batch_bytes,
            "segmentBytes": options.segment_bytes,
            "compression": options.compression,
        }
        write(rows, options.topic, options.partitions, options.directory, **sink)
        seconds = time.perf_counter() - begun
        size = size_of(options.directory)
        rate = options.records / seconds
        print(f"{options.records:,} records, {size / 2**30:.1f} GiB in {seconds:.0f} s: {rate:,.0f}/s")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
