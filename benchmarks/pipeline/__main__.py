"""The pipeline on Spark beside Spark's own Kafka connector, in one run on local[2].

    python -m benchmarks.pipeline [reading] [loading] [memory] [--gib 0.25] [--value-bytes 100 1024] [...]

The logs are made by the pipeline itself, in a directory that goes with the run (--directory says where: two times
--gib are needed). Apache Kafka comes from the script that the behaviour tests use, the connector by Maven; what is
missing is said and left out. Brokers, Spark and its workers share this machine: look at the ratios.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalet.pipeline.session import missing as spark_missing
from kafkalet.pipeline.session import spark_session
from tests.oracle.apache_kafka import missing as kafka_missing
from tests.spark import connector

from . import loading, reading, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = ("reading", "loading", "memory")
MASTER = "local[2]"
WARM_BYTES = 16 << 20


def show(name: str, *figures: str) -> None:
    print(f"  {name:<36}" + "".join(f"{figure:>15}" for figure in figures), flush=True)


COLUMNS = ("s", "records/s", "MB/s", "CPU s", "worker, MiB")


def head(text: str, *columns: str) -> None:
    print(f"\n{text}", flush=True)
    show("", *columns)


def rates(records: int, size: int, figure: reading.Figure | loading.Figure) -> tuple[str, ...]:
    speeds = f"{records / figure.seconds:,.0f}", f"{size / figure.seconds / 1e6:,.0f}"
    return f"{figure.seconds:,.1f}", *speeds, f"{figure.cpu_s:,.1f}", f"{figure.worker_mib:,.0f}"


def read(spark: SparkSession, root: Path, told: argparse.Namespace) -> None:
    for value_bytes in told.value_bytes:
        directory = root / f"log-{value_bytes}"
        begun = time.perf_counter()
        log = reading.made(spark, directory, told.size, value_bytes, batchSize=told.batch_bytes)
        seconds = time.perf_counter() - begun
        title = f"reading {log.records:,} records of {value_bytes} bytes, {log.size / 2**30:.2f} GiB"
        print(f"\n{title} (made in {seconds:.0f} s)")
        with ExitStack() as stack:
            frames = reading.readers(spark, log, stack, alone=told.alone)
            for query in reading.QUERIES:
                head(query, *COLUMNS)
                for figure in reading.measured(log, frames, query, told.runs):
                    show(figure.reader, *rates(log.records, log.size, figure))
        shutil.rmtree(directory)


def write(spark: SparkSession, root: Path, told: argparse.Namespace) -> None:
    for value_bytes in told.value_bytes:
        bench = loading.Bench(spark, root, told.size, value_bytes)
        head(f"loading {bench.records:,} records of {value_bytes} bytes", *COLUMNS)
        for figure in bench.measured(told.runs, alone=told.alone):
            size = bench.records * (value_bytes + loading.generate.KEY_BYTES)
            show(figure.writer, *rates(bench.records, size, figure))
        shutil.rmtree(root / f"rows-{value_bytes}.parquet")


def weigh(spark: SparkSession, root: Path, told: argparse.Namespace) -> None:
    size = min(told.size, reading.MOST_WEIGHED_BYTES)
    head(f"memory of a worker, one partition of {size / 2**30:.2f} GiB", "peak, MiB")
    for name, mib in reading.bounded(spark, root, told.size):
        show(name, f"{mib:,.0f}")


def wanted(told: argparse.Namespace, part: str) -> bool:
    return not told.parts or part in told.parts


def warm_up(spark: SparkSession, root: Path, told: argparse.Namespace) -> None:
    """Let Java and the workers see each reader and writer, on a little."""
    if wanted(told, "loading"):
        bench = loading.Bench(spark, root, WARM_BYTES, 100)
        for _ in bench.measured(2, alone=True):
            pass
    log = reading.made(spark, root / "warm", WARM_BYTES, 100)
    with ExitStack() as stack:
        frames = reading.readers(spark, log, stack, alone=True)
        for query in reading.QUERIES:
            for _ in reading.measured(log, frames, query, 2):
                pass
    shutil.rmtree(log.directory)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="reading, loading, memory; all by default")
    parser.add_argument("--gib", type=float, default=0.25, help="the size of each log")
    parser.add_argument("--value-bytes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--batch-bytes", default="16k", help="of the logs that are read")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without Apache Kafka")
    parser.add_argument("--directory", type=Path, help="where the logs are made; a temporary directory by default")
    told = parser.parse_args(arguments)
    if unknown := set(told.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    told.size = int(told.gib * 2**30)
    return told


def main(arguments: Sequence[str] | None = None) -> None:
    told = parsed(arguments)
    if reason := spark_missing():
        print(f"without the pipeline: {reason}", file=sys.stderr)
        return
    try:
        jars = ",".join(map(str, connector.jars()))
    except connector.Unavailable as unavailable:
        print(f"without the pipeline: {unavailable}", file=sys.stderr)
        return
    if not told.alone and (lacking := kafka_missing(serving.RELEASE)):
        print(f"without Apache Kafka: {lacking}", file=sys.stderr)
        told.alone = True
    spark = spark_session(MASTER, conf={"spark.jars": jars, "spark.driver.memory": "2g", "spark.log.level": "ERROR"})
    root = Path(tempfile.mkdtemp(prefix="kafkalet-bench-", dir=told.directory))
    try:
        warm_up(spark, root, told)
        for part, run in zip(PARTS, (read, write, weigh), strict=True):
            if wanted(told, part):
                run(spark, root, told)
    finally:
        spark.stop()
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
