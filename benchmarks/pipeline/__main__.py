"""Compare the pipeline on Spark with Spark's own Kafka connector, in one run on local[2].

    python -m benchmarks.pipeline [reading] [loading] [memory] [--gib 0.25] [--value-bytes 100 1024] [...]

The pipeline itself writes the logs, into a temporary directory that is deleted after the run (--directory sets its
parent; it needs twice the space of --gib). Apache Kafka is started as in the oracle tests; Maven downloads the
connector. A missing part is reported and skipped. Brokers, Spark and its workers share this machine, so compare the
ratios rather than the absolute figures.
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

from kafkalet_spark.requirements import missing as spark_missing
from kafkalet_spark.session import spark_session
from spark.tests.spark import connector
from tests.oracle.apache_kafka import missing as kafka_missing

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


def read(spark: SparkSession, root: Path, options: argparse.Namespace) -> None:
    for value_bytes in options.value_bytes:
        directory = root / f"log-{value_bytes}"
        begun = time.perf_counter()
        log = reading.generated(spark, directory, options.size, value_bytes, batchSize=options.batch_bytes)
        seconds = time.perf_counter() - begun
        title = f"reading {log.records:,} records of {value_bytes} bytes, {log.size / 2**30:.2f} GiB"
        print(f"\n{title} (generated in {seconds:.0f} s)")
        with ExitStack() as stack:
            frames = reading.readers(spark, log, stack, alone=options.alone)
            for query in reading.QUERIES:
                head(query, *COLUMNS)
                for figure in reading.measured(log, frames, query, options.runs):
                    show(figure.reader, *rates(log.records, log.size, figure))
        shutil.rmtree(directory)


def write(spark: SparkSession, root: Path, options: argparse.Namespace) -> None:
    for value_bytes in options.value_bytes:
        bench = loading.Bench(spark, root, options.size, value_bytes)
        head(f"loading {bench.records:,} records of {value_bytes} bytes", *COLUMNS)
        for figure in bench.measured(options.runs, alone=options.alone):
            size = bench.records * (value_bytes + loading.generate.KEY_BYTES)
            show(figure.writer, *rates(bench.records, size, figure))
        shutil.rmtree(root / f"rows-{value_bytes}.parquet")


def measure_memory(spark: SparkSession, root: Path, options: argparse.Namespace) -> None:
    size = min(options.size, reading.MAX_MEMORY_LOG_BYTES)
    head(f"memory of a worker, one partition of {size / 2**30:.2f} GiB", "peak, MiB")
    for name, mib in reading.worker_memory(spark, root, options.size):
        show(name, f"{mib:,.0f}")


def wanted(options: argparse.Namespace, part: str) -> bool:
    return not options.parts or part in options.parts


def warm_up(spark: SparkSession, root: Path, options: argparse.Namespace) -> None:
    """Run each reader and writer on a small log, to warm up the JVM and the Python workers."""
    if wanted(options, "loading"):
        bench = loading.Bench(spark, root, WARM_BYTES, 100)
        for _ in bench.measured(2, alone=True):
            pass
    log = reading.generated(spark, root / "warm", WARM_BYTES, 100)
    with ExitStack() as stack:
        frames = reading.readers(spark, log, stack, alone=True)
        for query in reading.QUERIES:
            for _ in reading.measured(log, frames, query, 2):
                pass
    shutil.rmtree(log.directory)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="reading, loading, memory; all by default")
    parser.add_argument("--gib", type=float, default=0.25, help="size of each log")
    parser.add_argument("--value-bytes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--batch-bytes", default="16k", help="batch size of the logs to read")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="do not measure Apache Kafka")
    parser.add_argument(
        "--directory", type=Path, help="parent of the temporary directory for the logs (default: the system's)"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part: {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    options.size = int(options.gib * 2**30)
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    if reason := spark_missing():
        print(f"the pipeline is not measured: {reason}", file=sys.stderr)
        return
    try:
        jars = ",".join(map(str, connector.jars()))
    except connector.Unavailable as unavailable:
        print(f"the pipeline is not measured: {unavailable}", file=sys.stderr)
        return
    if not options.alone and (lacking := kafka_missing(serving.RELEASE)):
        print(f"Apache Kafka is not measured: {lacking}", file=sys.stderr)
        options.alone = True
    spark = spark_session(MASTER, conf={"spark.jars": jars, "spark.driver.memory": "2g", "spark.log.level": "ERROR"})
    root = Path(tempfile.mkdtemp(prefix="kafkalet-bench-", dir=options.directory))
    try:
        warm_up(spark, root, options)
        for part, run in zip(PARTS, (read, write, measure_memory), strict=True):
            if wanted(options, part):
                run(spark, root, options)
    finally:
        spark.stop()
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
