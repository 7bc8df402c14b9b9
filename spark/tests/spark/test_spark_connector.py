"""Spark's own Kafka connector as a client: batches by offset and by timestamp, streams, transactions, deleted records.

With `-m oracle` the same tests run against Apache Kafka itself.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

import kafkalet
from tests.oracle.apache_kafka import ApacheKafka, missing

from . import connector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

CONFIG = {"log.retention.ms": "-1", "auto.create.topics.enable": "false"}
LONG_TRANSACTIONS = {"transaction.timeout.ms": 900_000}
TIMEOUT_S = 120

EARLY_MS, LATER_MS, NEVER_MS = 1_357_000_000_000, 1_357_100_000_000, 4_000_000_000_000
EARLY_COUNT, LATER_COUNT, UNCERTAIN_COUNT = 10_000, 10, 5
PARTITIONS = 3

ASKED = [pytest.param(None, id="kafkalet")]
ASKED += [pytest.param(release, id=f"kafka-{release}", marks=pytest.mark.oracle) for release in ("2.8", "3.9", "4.4")]

_numbers = itertools.count()


@pytest.fixture(scope="module", params=ASKED)
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a broker, if the connector is available."""
    try:
        connector.jars()
    except connector.Unavailable as reason:
        pytest.skip(str(reason))
    if request.param is None:
        with kafkalet.Broker(config=CONFIG) as broker:
            yield broker.bootstrap_servers
    elif lacking := missing(request.param):
        pytest.skip(lacking)
    else:
        with ApacheKafka(request.param, config=CONFIG) as kafka:
            yield kafka.bootstrap_servers


class Topic:
    """A topic, and the operations of the tests on it, by librdkafka and by Spark."""

    def __init__(self, spark: SparkSession, servers: str, name: str) -> None:
        self.spark, self.servers, self.name = spark, servers, name
        self.admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def make(self, partitions: int) -> Topic:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self.admin.create_topics([NewTopic(self.name, partitions, 1)])[self.name].result(TIMEOUT_S)
                return self
            except KafkaException as refused:  # Kafka with ZooKeeper continues deleting after it has responded
                exists = refused.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
                if not exists or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def delete(self) -> None:
        self.admin.delete_topics([self.name])[self.name].result(TIMEOUT_S)

    def grow(self, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(self.name, partitions)])[self.name].result(TIMEOUT_S)

    def delete_records(self, partition: int, before: int) -> None:
        where = TopicPartition(self.name, partition, before)
        self.admin.delete_records([where])[where].result(TIMEOUT_S)

    def send(self, numbers: range, time_ms: int, producer: Producer | None = None, **more: Any) -> None:
        """Send one record per number: for 7, key `k7`, value `v7`, timestamp `time_ms` + 7, partition 7 % 3."""
        used = producer or Producer(
            {"bootstrap.servers": self.servers, "queue.buffering.max.messages": 0, "log_level": 0}
        )
        for n in numbers:
            used.produce(self.name, b"v%d" % n, b"k%d" % n, n % PARTITIONS, timestamp=time_ms + n, **more)
        assert used.flush(TIMEOUT_S) == 0

    def transaction(self) -> Producer:
        """Return a producer with an open transaction."""
        producer = Producer(
            {"bootstrap.servers": self.servers, "transactional.id": self.name, "log_level": 0} | LONG_TRANSACTIONS
        )
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        return producer

    def options(self, **options: object) -> dict[str, str]:
        """Return the options of the connector; `kafka__x` stands for `kafka.x`."""
        given = {"kafka.bootstrap.servers": self.servers, "subscribe": self.name, "fetchOffset.retryIntervalMs": "10"}
        given |= {name.replace("__", "."): str(value) for name, value in options.items()}
        if "subscribePattern" in options or "assign" in options:
            del given["subscribe"]
        return given

    def read(self, **options: object) -> DataFrame:
        return self.spark.read.format("kafka").options(**self.options(**options)).load()

    def count(self, **options: object) -> int:
        return self.read(**options).count()

    def follow(self, to: Path, checkpoint: Path | None = None, **options: object) -> list[int]:
        """Stream all current records to Parquet. Return the sizes of the batches."""
        rows = self.spark.readStream.format("kafka").options(**self.options(**options)).load()
        writer = rows.selectExpr("CAST(value AS STRING) AS value", "partition", "offset").writeStream
        writer = writer.format("parquet").option("path", str(to)).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(checkpoint or to.with_suffix(".checkpoint"))).start()
        try:
            assert query.awaitTermination(TIMEOUT_S)
        finally:
            query.stop()
        return [batch.numInputRows for batch in query.recentProgress if batch.numInputRows]

    def read_back(self, path: Path) -> list[int]:
        """Return the numbers that a stream has written."""
        return sorted(int(row.value[1:]) for row in self.spark.read.parquet(str(path)).collect())


@pytest.fixture
def topic(spark: SparkSession, servers: str) -> Topic:
    """An empty topic of three partitions."""
    return Topic(spark, servers, f"connector-{next(_numbers)}").make(PARTITIONS)


@pytest.fixture
def few(topic: Topic) -> Topic:
    """A topic of 30 records, ten in each partition."""
    topic.send(range(30), EARLY_MS)
    return topic


@pytest.fixture(scope="module", params=["open", "aborted"])
def many(request: pytest.FixtureRequest, spark: SparkSession, servers: str) -> Topic:
    """10,000 records, then ten later ones, then five of a transaction that is open or was aborted."""
    topic = Topic(spark, servers, f"connector-{next(_numbers)}").make(PARTITIONS)
    topic.send(range(EARLY_COUNT), EARLY_MS)
    topic.send(range(LATER_COUNT), LATER_MS)
    producer = topic.transaction()
    topic.send(range(UNCERTAIN_COUNT), LATER_MS, producer)
    if request.param == "aborted":
        producer.abort_transaction(TIMEOUT_S)
    return topic


def by_partition(topic: Topic, *offsets: int) -> str:
    """Return one offset or timestamp per partition, in the format of the options."""
    return json.dumps({topic.name: {str(partition): offset for partition, offset in enumerate(offsets)}})


def numbers(rows: list[Row]) -> list[int]:
    return sorted(int(bytes(row.value)[1:]) for row in rows)


def refusal(action: Callable[[], object]) -> str:
    """Return Spark's error message for a failing action."""
    with pytest.raises(Exception, match=r".") as raised:
        action()
    return str(raised.value)


# Batches by offset


def test_rows_have_the_sent_fields(few: Topic) -> None:
    rows = few.read().orderBy("timestamp").collect()
    assert [(bytes(row.key), bytes(row.value)) for row in rows] == [(b"k%d" % n, b"v%d" % n) for n in range(30)]
    assert [(row.topic, row.partition, row.offset) for row in rows] == [
        (few.name, n % PARTITIONS, n // PARTITIONS) for n in range(30)
    ]
    assert {row.timestampType for row in rows} == {0}
    times = few.read().selectExpr("unix_millis(timestamp) AS ms").collect()
    assert sorted(row.ms for row in times) == [EARLY_MS + n for n in range(30)]


def test_batch_is_limited_by_offsets_of_each_partition(few: Topic) -> None:
    rows = few.read(startingOffsets=by_partition(few, 2, -2, 9), endingOffsets=by_partition(few, 4, 3, -1)).collect()
    assert sorted((row.partition, row.offset) for row in rows) == [(0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (2, 9)]


def test_batch_from_earliest_to_an_offset(many: Topic) -> None:
    assert many.count(endingOffsets=by_partition(many, 1234, 0, 0)) == 1234


def test_partitions_can_be_assigned(few: Topic) -> None:
    rows = few.read(assign=json.dumps({few.name: [1]})).collect()
    assert {row.partition for row in rows} == {1}
    assert len(rows) == 10


def test_topics_can_be_matched_by_a_pattern(few: Topic) -> None:
    assert few.count(subscribePattern=f"connector.{few.name.removeprefix('connector-')}") == 30


def test_batch_has_min_partitions_tasks(few: Topic) -> None:
    rows = few.read(minPartitions=9)
    assert rows.rdd.getNumPartitions() >= 9
    assert numbers(rows.collect()) == list(range(30))


def test_headers_are_read_on_request(topic: Topic) -> None:
    topic.send(range(1), EARLY_MS, headers=[("a", b"1"), ("a", None), ("b", b"")])
    topic.send(range(1, 2), EARLY_MS)
    first, second = topic.read(includeHeaders=True).orderBy("timestamp").collect()
    assert [(header.key, header.value) for header in first.headers] == [("a", b"1"), ("a", None), ("b", b"")]
    assert second.headers is None


# Batches by timestamp


def test_batch_starts_at_a_timestamp(many: Topic) -> None:
    options = {"kafka.isolation.level": "read_committed"}
    assert many.count(startingTimestamp=LATER_MS, **options) == LATER_COUNT


def test_batch_ends_before_a_timestamp(many: Topic) -> None:
    assert many.count(endingTimestamp=LATER_MS) == EARLY_COUNT


def test_timestamps_may_differ_by_partition(few: Topic) -> None:
    starting = by_partition(few, EARLY_MS + 6, EARLY_MS, EARLY_MS + 29)
    ending = by_partition(few, EARLY_MS + 7, EARLY_MS + 4, NEVER_MS)
    rows = few.read(startingOffsetsByTimestamp=starting, endingOffsetsByTimestamp=ending).collect()
    assert numbers(rows) == [1, 6, 29]


def test_timestamp_after_the_last_record_is_rejected(many: Topic) -> None:
    said = refusal(lambda: many.count(startingTimestamp=NEVER_MS))
    assert "No offset matched from request" in said


def test_timestamp_after_the_last_record_is_latest_if_requested(many: Topic) -> None:
    assert many.count(startingTimestamp=NEVER_MS, startingOffsetsByTimestampStrategy="latest") == 0


# Transactions


@pytest.mark.parametrize(
    ("level", "count"),
    [
        ("read_committed", EARLY_COUNT + LATER_COUNT),
        ("read_uncommitted", EARLY_COUNT + LATER_COUNT + UNCERTAIN_COUNT),
    ],
)
def test_isolation_level_is_applied(many: Topic, level: str, count: int) -> None:
    assert many.count(kafka__isolation__level=level) == count


def test_read_committed_stream_waits_for_open_transaction(few: Topic, tmp_path: Path) -> None:
    producer = few.transaction()
    few.send(range(30, 33), EARLY_MS, producer)
    few.send(range(33, 36), EARLY_MS)
    options = {"startingOffsets": "earliest", "kafka.isolation.level": "read_committed"}
    few.follow(tmp_path / "rows", **options)
    assert few.read_back(tmp_path / "rows") == list(range(30))
    producer.commit_transaction(TIMEOUT_S)
    few.follow(tmp_path / "rows", **options)
    assert few.read_back(tmp_path / "rows") == list(range(36))


# Writing


def test_frame_is_written_with_keys_headers_and_partitions(topic: Topic) -> None:
    frame = topic.spark.range(1000).selectExpr(
        "CAST(concat('k', id) AS BINARY) AS key",
        "CAST(concat('v', id) AS BINARY) AS value",
        "CAST(id % 3 AS INT) AS partition",
        "array(struct('h' AS key, CAST(id AS STRING) AS value)) AS headers",
    )
    frame = frame.selectExpr(
        "key",
        "value",
        "partition",
        "transform(headers, h -> struct(h.key, CAST(h.value AS BINARY) AS value)) AS headers",
    )
    options = topic.options(topic=topic.name, kafka__compression__type="zstd", includeHeaders=True)
    frame.write.format("kafka").options(**options).save()
    rows = topic.read(includeHeaders=True).collect()
    assert numbers(rows) == list(range(1000))
    for row in rows:
        number = int(bytes(row.value)[1:])
        assert (bytes(row.key), row.partition) == (b"k%d" % number, number % PARTITIONS)
        assert [(header.key, bytes(header.value)) for header in row.headers] == [("h", b"%d" % number)]


def test_rows_are_written_to_the_topic_column(few: Topic, servers: str) -> None:
    copies = [Topic(few.spark, servers, f"{few.name}-copy-{number}").make(1) for number in range(2)]
    rows = few.read().selectExpr(f"concat('{few.name}-copy-', partition % 2) AS topic", "value")
    rows.write.format("kafka").options(**few.options()).save()
    assert numbers(copies[0].read().collect()) == [n for n in range(30) if n % PARTITIONS % 2 == 0]
    assert numbers(copies[1].read().collect()) == [n for n in range(30) if n % PARTITIONS % 2 == 1]


def test_stream_is_written(few: Topic, servers: str, tmp_path: Path) -> None:
    to = Topic(few.spark, servers, f"{few.name}-copy").make(1)
    rows = few.spark.readStream.format("kafka").options(**few.options(startingOffsets="earliest")).load()
    writer = rows.select("key", "value").writeStream.format("kafka").options(**to.options(topic=to.name))
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(TIMEOUT_S)
    finally:
        query.stop()
    assert numbers(to.read().collect()) == list(range(30))


# Streams


def test_stream_respects_max_offsets_per_trigger(few: Topic, tmp_path: Path) -> None:
    batches = few.follow(tmp_path / "rows", startingOffsets="earliest", maxOffsetsPerTrigger=12)
    assert batches == [12, 12, 6]
    assert few.read_back(tmp_path / "rows") == list(range(30))


def test_restarted_stream_reads_the_rest(few: Topic, tmp_path: Path) -> None:
    assert few.follow(tmp_path / "rows", startingOffsets="earliest") == [30]
    few.send(range(30, 47), EARLY_MS)
    assert few.follow(tmp_path / "rows", startingOffsets="earliest") == [17]
    assert few.read_back(tmp_path / "rows") == list(range(47))


def test_stream_starts_at_a_timestamp(few: Topic, tmp_path: Path) -> None:
    few.follow(tmp_path / "rows", startingTimestamp=EARLY_MS + 20)
    assert few.read_back(tmp_path / "rows") == list(range(20, 30))


def test_running_stream_reads_new_records(few: Topic) -> None:
    rows = few.spark.readStream.format("kafka").options(**few.options(startingOffsets="earliest")).load()
    query = rows.writeStream.format("memory").queryName("meanwhile").start()
    try:
        query.processAllAvailable()
        few.send(range(30, 40), EARLY_MS)
        query.processAllAvailable()
        assert numbers(few.spark.table("meanwhile").collect()) == list(range(40))
    finally:
        query.stop()


def test_stream_reads_added_partitions(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    topic = Topic(spark, servers, f"connector-{next(_numbers)}").make(1)
    topic.send(range(0, 9, PARTITIONS), EARLY_MS)
    topic.follow(tmp_path / "rows", startingOffsets="earliest")
    topic.grow(PARTITIONS)
    topic.send(range(9, 30), EARLY_MS)
    topic.follow(tmp_path / "rows", startingOffsets="earliest")
    assert topic.read_back(tmp_path / "rows") == [0, 3, 6, *range(9, 30)]


# Deleted records


def test_deleted_offsets_fail_a_stream(few: Topic, tmp_path: Path) -> None:
    few.follow(tmp_path / "rows", startingOffsets="earliest", assign=json.dumps({few.name: [0]}))
    few.send(range(30, 60), EARLY_MS)
    few.delete_records(0, 15)
    said = refusal(lambda: few.follow(tmp_path / "rows", assign=json.dumps({few.name: [0]})))
    assert "failOnDataLoss" in said
    assert f"{few.name}-0" in said


def test_deleted_offsets_are_skipped_if_requested(few: Topic, tmp_path: Path) -> None:
    few.follow(tmp_path / "rows", startingOffsets="earliest")
    few.send(range(30, 60), EARLY_MS)
    few.delete_records(0, 15)
    few.follow(tmp_path / "rows", failOnDataLoss=False)
    gone = [n for n in range(30, 45) if n % PARTITIONS == 0]
    assert few.read_back(tmp_path / "rows") == [n for n in range(60) if n not in gone]


def test_recreated_topic_fails_a_stream(few: Topic, tmp_path: Path) -> None:
    few.follow(tmp_path / "rows", startingOffsets="earliest")
    few.delete()
    few.make(PARTITIONS).send(range(3), EARLY_MS)
    assert "failOnDataLoss" in refusal(lambda: few.follow(tmp_path / "rows"))


def test_batch_of_deleted_offsets_is_rejected(few: Topic) -> None:
    few.delete_records(0, 5)
    said = refusal(lambda: few.count(startingOffsets=by_partition(few, 2, -2, -2)))
    assert "failOnDataLoss" in said


def test_batch_starts_at_first_remaining_offset_if_requested(few: Topic) -> None:
    few.delete_records(0, 5)
    rows = few.read(startingOffsets=by_partition(few, 2, -2, -2), failOnDataLoss=False).collect()
    assert numbers(rows) == [n for n in range(30) if n % PARTITIONS or n >= 15]
