"""The options of `kafkalog` have the same meaning as in Spark's own Kafka source: the same cases run on both.

Each case is a set of options and its outcome, which is either the records that are read or an error. It is run with
Spark's connector, with kafkalog and a broker, and with kafkalog and the directory of that broker. Intended differences
are part of the cases, and listed in docs/pipeline.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

import kafkalet
from kafkalet_spark.options import read_options
from kafkalet_spark.source import LogReader
from kafkalet_spark.stream import LogStream, as_json

from . import connector

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T0 = 1_357_000_000_000
REFUSED = "refused"
TIMEOUT_S = 60
CONFIG = {
    "log.retention.ms": "-1",
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "1",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
SKEW = (100, 10, 1, 0)

Outcome = str | dict[str, list[int]]
"""REFUSED, or the offsets that are read from each partition."""


def by_partition(topic: str, *numbers: object) -> str:
    return json.dumps({topic: {str(partition): number for partition, number in enumerate(numbers)}})


def ten(start: int = 0, end: int = 10) -> dict[str, list[int]]:
    """Return offsets of the topic of ten records."""
    return {"ten-0": list(range(start, end))} if start < end else {}


class Case(NamedTuple):
    options: dict[str, str]
    outcome: Outcome
    """The outcome with kafkalog."""
    on_spark: Outcome | None = None
    """The outcome with Spark's connector, if it differs."""


def case(outcome: Outcome, *, on_spark: Outcome | None = None, **options: str) -> Case:
    given = {name.replace("__", "."): text for name, text in options.items()}
    chosen = {"subscribe", "subscribePattern", "assign"} & given.keys()
    return Case(given if chosen else {"subscribe": "ten", **given}, outcome, on_spark)


CASES = {
    # Topics
    "subscribe": case({"five-0": [0, 1, 2, 3, 4]}, subscribe=" five , "),
    "subscribe to nothing": case(REFUSED, subscribe=" , "),
    "subscribe to a missing topic": case(REFUSED, subscribe="ten,missing"),
    "subscribe to an illegal name": case(REFUSED, subscribe="a b"),
    "two choices of topics": case(REFUSED, subscribe="ten", subscribePattern="ten"),
    "internal topic by name": case({"__consumer_offsets-0": [0]}, on_spark={}, subscribe="__consumer_offsets"),
    "pattern is searched for": case({"five-0": [0, 1, 2, 3, 4]}, subscribePattern=" i.e "),
    "pattern in Java's syntax": case({"five-0": [0, 1, 2, 3, 4]}, subscribePattern=r"^\Qf\E[a-z&&[^x]]\p{Lower}++$"),
    "pattern leaves out internal topics": case({}, subscribePattern="^__consumer"),
    "pattern that is empty": case(REFUSED, subscribePattern=" "),
    "pattern that is illegal": case(REFUSED, subscribePattern="("),
    "pattern without a match": case({}, subscribePattern="nothing"),
    "assign": case({"skew-2": [0]}, assign='{"skew":[2,2]}'),
    "assign a missing partition": case({"skew-2": [0]}, assign='{"skew":[2,9,-1]}'),
    "assign a missing topic": case(REFUSED, assign='{"missing":[0]}'),
    "assign no partition": case({}, assign='{"skew":[]}'),
    "assign nothing": case({}, assign="{}"),
    "assign text": case(REFUSED, assign="ten"),
    "assign a number": case(REFUSED, assign='{"ten":0}'),
    "assign numbers as text": case(REFUSED, assign='{"ten":["0"]}'),
    # Start
    "from earliest": case(ten(), startingOffsets=" EARLIEST "),
    "from latest": case(REFUSED, startingOffsets="latest"),
    "from an empty text": case(REFUSED, startingOffsets=""),
    "from a number": case(REFUSED, startingOffsets="-2"),
    "from an offset": case(ten(7), startingOffsets=by_partition("ten", 7)),
    "from a fraction": case(ten(7), startingOffsets=by_partition("ten", 7.9)),
    "from an offset as text": case(REFUSED, startingOffsets=by_partition("ten", "7")),
    "from -1": case(REFUSED, startingOffsets=by_partition("ten", -1)),
    "from -2": case(ten(), startingOffsets=by_partition("ten", -2)),
    "from -3": case(REFUSED, startingOffsets=by_partition("ten", -3)),
    "from the end": case({}, startingOffsets=by_partition("ten", 10)),
    "from past the end": case(REFUSED, startingOffsets=by_partition("ten", 11)),
    "from past the end, tolerant": case(REFUSED, startingOffsets=by_partition("ten", 11), failOnDataLoss="false"),
    "from too few partitions": case(REFUSED, subscribe="skew", startingOffsets=by_partition("skew", 1)),
    "from too many partitions": case(REFUSED, startingOffsets=by_partition("ten", 1, 1)),
    "from before the log start": case(REFUSED, subscribe="cut", startingOffsets=by_partition("cut", 1)),
    "from before the log start, tolerant": case(
        {"cut-0": [4, 5]}, subscribe="cut", startingOffsets=by_partition("cut", 1), failOnDataLoss="false"
    ),
    # End
    "to an offset": case(ten(0, 3), endingOffsets=by_partition("ten", 3)),
    "to earliest": case(REFUSED, endingOffsets="earliest"),
    "to -2": case(REFUSED, endingOffsets=by_partition("ten", -2)),
    "to -3": case(REFUSED, endingOffsets=by_partition("ten", -3)),
    "to before the start": case(
        REFUSED, startingOffsets=by_partition("ten", 5), endingOffsets=by_partition("ten", 3), failOnDataLoss="false"
    ),
    "to other partitions": case(
        REFUSED, startingOffsets=by_partition("ten", 5), endingOffsets=by_partition("five", 3)
    ),
    "to before the log start": case(REFUSED, subscribe="cut", endingOffsets=by_partition("cut", 2)),
    "to before the log start, tolerant": case(
        REFUSED, subscribe="cut", endingOffsets=by_partition("cut", 2), failOnDataLoss="false"
    ),
    "to past the end": case(REFUSED, endingOffsets=by_partition("ten", 12)),
    "to past the end, tolerant": case(ten(), endingOffsets=by_partition("ten", 12), failOnDataLoss="false"),
    # Timestamps
    "from a time": case(ten(6), startingTimestamp=f" {T0 + 6} "),
    "from a time that is none": case(REFUSED, startingTimestamp="now"),
    "from a time that is too large": case(REFUSED, startingTimestamp="99999999999999999999"),
    "from a time after all records": case(REFUSED, startingTimestamp=str(T0 + 99)),
    "from a time after all records, latest": case(
        {}, startingTimestamp=str(T0 + 99), startingOffsetsByTimestampStrategy="LATEST"
    ),
    "from the time -1": case({}, startingTimestamp="-1"),
    "from the time -2": case(ten(), startingTimestamp="-2"),
    "from the time -5": case(REFUSED, startingTimestamp="-5"),
    "unknown strategy": case(REFUSED, startingOffsetsByTimestampStrategy="skip"),
    "time wins over the rest": case(
        ten(8), startingTimestamp=str(T0 + 8), startingOffsetsByTimestamp="no", startingOffsets="latest"
    ),
    "from times of partitions": case(ten(6), startingOffsetsByTimestamp=by_partition("ten", T0 + 6)),
    "from times of too few partitions": case(
        REFUSED, subscribe="skew", startingOffsetsByTimestamp=by_partition("skew", T0)
    ),
    "to a time": case(ten(0, 6), endingTimestamp=str(T0 + 6)),
    "to a time after all records": case(ten(), endingTimestamp=str(T0 + 99)),
    "to times of partitions": case(ten(0, 6), endingOffsetsByTimestamp=by_partition("ten", T0 + 6)),
    "to times of too few partitions": case(
        REFUSED, subscribe="skew", endingOffsetsByTimestamp=by_partition("skew", T0)
    ),
    "to a time before the start": case(REFUSED, startingTimestamp=str(T0 + 8), endingTimestamp=str(T0 + 3)),
    "to times before the start": case(
        REFUSED,
        startingOffsetsByTimestamp=by_partition("ten", T0 + 8),
        endingOffsetsByTimestamp=by_partition("ten", T0 + 3),
    ),
    "from a time to an offset before": case(
        REFUSED, startingTimestamp=str(T0 + 8), endingOffsets=by_partition("ten", 3)
    ),
    "from a time to a time": case(ten(3, 8), startingTimestamp=str(T0 + 3), endingTimestamp=str(T0 + 8)),
    # Other options
    "isolation level": case({"txn-0": [0, 1]}, subscribe="txn", kafka__isolation__level="read_committed"),
    "isolation level that is none": case(REFUSED, kafka__isolation__level="none"),
    "failOnDataLoss": case(REFUSED, failOnDataLoss="yes"),
    "includeHeaders": case(REFUSED, includeHeaders="yes"),
    "minPartitions": case(ten(), minPartitions="2"),
    "minPartitions of 0": case(REFUSED, minPartitions="0"),
    "minPartitions with blanks": case(REFUSED, minPartitions=" 4 "),
    "minPartitions that is too large": case(REFUSED, minPartitions="99999999999"),
    "maxRecordsPerPartition of 0": case(REFUSED, maxRecordsPerPartition="0"),
    "triggers of a batch": case(ten(), maxOffsetsPerTrigger="x", maxTriggerDelay="soon"),
    "triggers that contradict each other": case(REFUSED, maxOffsetsPerTrigger="5", minOffsetsPerTrigger="6"),
    "group": case(ten(), groupIdPrefix="mine", kafka__group__id="mine"),
    "poll and session": case(ten(), kafka__max__poll__records="3", kafka__session__timeout__ms="6000"),
    "poll timeout that is no number": case(REFUSED, kafkaConsumer__pollTimeoutMs="soon"),
    "retries that are no number": case(REFUSED, fetchOffset__numRetries="x"),
    "retry interval that is no number": case(REFUSED, fetchOffset__retryIntervalMs="x"),
    "auto.offset.reset": case(REFUSED, kafka__auto__offset__reset="earliest"),
    "key.deserializer": case(REFUSED, kafka__key__deserializer="x"),
    "enable.auto.commit": case(REFUSED, kafka__enable__auto__commit="false"),
    "interceptor.classes": case(REFUSED, kafka__interceptor__classes="x"),
    "unknown option": case(ten(), color="red"),
}  # fmt: skip


class Logs(NamedTuple):
    servers: str
    directory: str


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    """Topics with one partition: ten and five records, one that starts at offset 4, one with an open transaction;
    skew."""
    directory = tmp_path_factory.mktemp("parity")
    with kafkalet.Broker(data_dir=directory, config=CONFIG) as broker:
        servers = broker.bootstrap_servers
        for name, partitions in {"ten": 1, "five": 1, "cut": 1, "txn": 1, "skew": len(SKEW)}.items():
            broker.topic(name).create(partitions)
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        counts = {("ten", 0): 10, ("five", 0): 5, ("cut", 0): 6} | {("skew", n): size for n, size in enumerate(SKEW)}
        for (topic, partition), count in counts.items():
            for number in range(count):
                producer.produce(topic, b"v", b"k", partition, timestamp=T0 + number)
        assert producer.flush(TIMEOUT_S) == 0
        admin, start = AdminClient({"bootstrap.servers": servers}), TopicPartition("cut", 0, 4)
        admin.delete_records([start])[start].result(TIMEOUT_S)
        transactional = Producer(
            {"bootstrap.servers": servers, "transactional.id": "t", "transaction.timeout.ms": 900_000, "log_level": 0}
        )
        transactional.init_transactions(TIMEOUT_S)
        for ends in (True, False):
            transactional.begin_transaction()
            for number in range(2):
                transactional.produce("txn", b"v", b"k", 0, timestamp=T0 + number)
            if ends:
                transactional.commit_transaction(TIMEOUT_S)
        assert transactional.flush(TIMEOUT_S) == 0
        commit(servers)
        wait_for_log_start(directory, "cut 0 4")
        yield Logs(servers, str(directory))


def wait_for_log_start(directory: Path, line: str) -> None:
    """Wait until the checkpoint has this line, from which readers of the directory learn about deleted records."""
    checkpoint = directory / "log-start-offset-checkpoint"
    for _ in range(TIMEOUT_S * 20):
        if checkpoint.exists() and line in checkpoint.read_text().splitlines():
            return
        time.sleep(0.05)
    pytest.fail(f"{checkpoint.name} does not say {line!r}")


def commit(servers: str) -> None:
    """Create the internal offsets topic with one record."""
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "log_level": 0})
    consumer.commit(offsets=[TopicPartition("ten", 0, 1)], asynchronous=False)
    consumer.close()


def on_spark(spark: SparkSession, logs: Logs, options: dict[str, str]) -> Outcome:
    given = {"kafka.bootstrap.servers": logs.servers, "fetchOffset.numRetries": "1", "fetchOffset.retryIntervalMs": "1"}
    try:
        frame = spark.read.format("kafka").options(**given, **{"kafkaConsumer.pollTimeoutMs": "500"} | options).load()
        rows = frame.select("topic", "partition", "offset").collect()
    except Exception:  # noqa: BLE001 - what Spark raises has no common family
        return REFUSED
    return gathered((f"{row.topic}-{row.partition}", row.offset) for row in rows)


def on_kafkalog(place: dict[str, str], options: dict[str, str]) -> Outcome:
    try:
        read_options({**place, **options}, streaming=None)
        reader = LogReader(("topic", "partition", "offset"), read_options({**place, **options}))
        rows = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
    except Exception as error:  # noqa: BLE001 - a refusal of whatever kind has to say what is refused
        return REFUSED if str(error) else f"{error!r} has no message"
    return gathered((f"{row['topic']}-{row['partition']}", row["offset"]) for row in rows)


def gathered(records: Iterator[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for partition, offset in records:
        found.setdefault(partition, []).append(offset)
    return {partition: sorted(offsets) for partition, offsets in found.items()}


@pytest.fixture(scope="module")
def sparks(spark: SparkSession) -> SparkSession:
    """A session with Spark's Kafka connector."""
    try:
        connector.jars()
    except connector.Unavailable as reason:
        pytest.skip(str(reason))
    return spark


@pytest.mark.parametrize("name", CASES)
def test_spark_has_the_expected_outcome(sparks: SparkSession, logs: Logs, name: str) -> None:
    options, outcome, differs = CASES[name]
    assert on_spark(sparks, logs, options) == (outcome if differs is None else differs)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", ["broker", "directory"])
def test_kafkalog_has_the_expected_outcome(logs: Logs, name: str, place: str) -> None:
    where = {"kafka.bootstrap.servers": logs.servers} if place == "broker" else {"path": logs.directory}
    assert on_kafkalog(where, CASES[name].options) == CASES[name].outcome


# Tasks


def tasks_of_spark(spark: SparkSession, logs: Logs, options: dict[str, str]) -> int:
    frame = spark.read.format("kafka").options(**{"kafka.bootstrap.servers": logs.servers}, **options).load()
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


@pytest.mark.parametrize(("least", "count"), [(5, 5), (12, 12), (200, 111)])
def test_broker_is_read_by_as_many_tasks_as_in_spark(sparks: SparkSession, logs: Logs, least: int, count: int) -> None:
    options = {"subscribe": "skew", "minPartitions": str(least)}
    assert tasks_of_spark(sparks, logs, options) == count
    reader = LogReader(("offset",), read_options({"kafka.bootstrap.servers": logs.servers, **options}))
    assert len(reader.partitions()) == count


# Streams


def batches_of_spark(spark: SparkSession, logs: Logs, checkpoint: Path, options: dict[str, str]) -> Any:
    """Return the batch sizes and end offset of a stream with Trigger.AvailableNow, or REFUSED."""
    given = {"kafka.bootstrap.servers": logs.servers, "startingOffsets": "earliest", **options}
    try:
        frame = spark.readStream.format("kafka").options(**given).load().select("offset")
        writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(TIMEOUT_S)
    except Exception:  # noqa: BLE001 - as above
        return REFUSED
    progress = [each for each in query.recentProgress if each.numInputRows]
    return [each.numInputRows for each in progress], json.loads(progress[-1].sources[0].endOffset)


def batches_of_kafkalog(logs: Logs, options: dict[str, str]) -> Any:
    given = {"path": logs.directory, "startingOffsets": "earliest", **options}
    sizes = []
    try:
        of = LogStream(("offset",), read_options(given, streaming=True))
        start = of.initialOffset()
        of.prepareForTriggerAvailableNow()
        while (end := of.latestOffset(start, of.getDefaultReadLimit())) != start:
            sizes.append(sum(batch.num_rows for task in of.partitions(start, end) for batch in of.read(task)))
            start = end
    except Exception:  # noqa: BLE001 - as above
        return REFUSED
    return sizes, start


END = as_json({("skew", number): size for number, size in enumerate(SKEW)})


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"maxOffsetsPerTrigger": "40"}, ([40, 39, 32], END)),
        ({"startingOffsets": by_partition("skew", 0, 0, 2, 0)}, REFUSED),
        (
            {"startingOffsets": by_partition("skew", 60, -1, 2, -2), "failOnDataLoss": "false"},
            ([40], END),
        ),
        ({"endingOffsets": "latest"}, REFUSED),
    ],
    ids=["shares of a limit", "from past the end", "from past the end, tolerant", "with an end"],
)
def test_streams_read_the_same_batches(
    sparks: SparkSession, logs: Logs, tmp_path: Path, options: dict[str, str], outcome: Any
) -> None:
    chosen = {"subscribe": "skew", **options}
    assert batches_of_kafkalog(logs, chosen) == outcome
    assert batches_of_spark(sparks, logs, tmp_path, chosen) == outcome
