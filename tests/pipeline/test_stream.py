"""A stream takes each record once, across restarts, and notices what is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

import kafkalet
from kafkalet.pipeline.options import read_options
from kafkalet.pipeline.stream import LogStream, as_json, from_json, limited

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")


class Growing:
    """A broker with a topic of two partitions, and the directory it writes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.broker = kafkalet.Broker(data_dir=directory)
        self.sent = 0

    def send(self, count: int) -> list[bytes]:
        """Values that were never sent before, to both partitions."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers})
        values = [b"%d" % number for number in range(self.sent, self.sent + count)]
        for number, value in enumerate(values):
            producer.produce("grows", value, partition=number % 2)
        producer.flush()
        self.sent += count
        return values


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    log = Growing(tmp_path / "data")
    with log.broker:
        log.broker.create_topic("grows", partitions=2)
        yield log


@pytest.fixture(params=["directory", "broker"])
def texts(request: pytest.FixtureRequest, growing: Growing) -> dict[str, str]:
    """Where the stream comes from."""
    if request.param == "directory":
        return {"path": str(growing.directory), "subscribe": "grows"}
    return {"kafka.bootstrap.servers": growing.broker.bootstrap_servers, "subscribe": "grows"}


def take(spark: SparkSession, texts: dict[str, str], place: Path, **more: str) -> list[bytes]:
    """Run a query on all there is now, and say which values it has taken since it was first run with this `place`."""
    frame = spark.readStream.format("kafkalog").options(startingOffsets="earliest", **texts, **more).load()
    writing = (
        frame.select("value").writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    )
    query = writing.trigger(availableNow=True).start(str(place / "taken"))
    query.awaitTermination()
    return sorted((bytes(row.value) for row in spark.read.parquet(str(place / "taken")).collect()), key=int)


def test_a_restarted_query_goes_on_where_it_stopped(
    spark: SparkSession, growing: Growing, texts: dict[str, str], tmp_path: Path
) -> None:
    values = growing.send(100)
    assert take(spark, texts, tmp_path) == values
    assert take(spark, texts, tmp_path) == values
    values += growing.send(50)
    assert take(spark, texts, tmp_path, maxOffsetsPerTrigger="20") == values


def test_a_query_follows_the_log(spark: SparkSession, growing: Growing, tmp_path: Path) -> None:
    taken: list[bytes] = []

    def collect(frame: DataFrame, _: int) -> None:
        taken.extend(bytes(row.value) for row in frame.collect())

    options = {"path": str(growing.directory), "subscribe": "grows", "startingOffsets": "earliest"}
    frame = spark.readStream.format("kafkalog").options(**options).load()
    query = frame.writeStream.foreachBatch(collect).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        values = growing.send(30)
        query.processAllAvailable()
        values += growing.send(30)
        query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(taken, key=int) == values


# -- without Spark


def stream(texts: dict[str, str], **more: str) -> LogStream:
    return LogStream(("offset", "partition"), read_options({**texts, **more}, streaming=True))


def planned(of: LogStream, start: Any, end: Any) -> list[tuple[int, int, int]]:
    return [(task.want.partition, task.want.start, task.want.end) for task in of.partitions(start, end)]  # type: ignore[attr-defined]


@pytest.fixture
def read_all() -> Any:
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    return ReadAllAvailable()


def test_a_stream_starts_at_the_end_unless_told_otherwise(growing: Growing, texts: dict[str, str]) -> None:
    growing.send(10)
    assert stream(texts).initialOffset() == {"grows": {"0": 5, "1": 5}}
    assert stream(texts, startingOffsets="earliest").initialOffset() == {"grows": {"0": 0, "1": 0}}


def test_a_range_of_offsets_is_read_the_same_way_twice(growing: Growing, texts: dict[str, str], read_all: Any) -> None:
    growing.send(10)
    start = {"grows": {"0": 1, "1": 0}}
    end = stream(texts).latestOffset(start, read_all)
    growing.send(10)
    assert planned(stream(texts), start, end) == [(0, 1, 5), (1, 0, 5)]


def test_nothing_new_is_the_same_offset(growing: Growing, texts: dict[str, str], read_all: Any) -> None:
    growing.send(4)
    end = stream(texts).latestOffset({}, read_all)
    assert stream(texts).latestOffset(end, read_all) == end
    assert planned(stream(texts), end, end) == []


def test_a_partition_that_turns_up_is_read_from_its_beginning(
    growing: Growing, texts: dict[str, str], read_all: Any
) -> None:
    growing.send(4)
    start = {"grows": {"0": 2}}
    end = stream(texts).latestOffset(start, read_all)
    assert end == {"grows": {"0": 2, "1": 2}}
    assert planned(stream(texts), start, end) == [(1, 0, 2)]


def test_a_query_that_takes_what_is_there_does_not_take_more(
    growing: Growing, texts: dict[str, str], read_all: Any
) -> None:
    growing.send(4)
    of = stream(texts)
    of.prepareForTriggerAvailableNow()
    growing.send(4)
    assert of.latestOffset({"grows": {"0": 0, "1": 0}}, read_all) == {"grows": {"0": 2, "1": 2}}


def test_a_stream_waits_for_as_many_offsets_as_it_is_told(growing: Growing, texts: dict[str, str]) -> None:
    of = stream(texts, minOffsetsPerTrigger="10")
    start = {"grows": {"0": 0, "1": 0}}
    growing.send(8)
    assert of.latestOffset(start, of.getDefaultReadLimit()) == start
    growing.send(8)
    assert of.latestOffset(start, of.getDefaultReadLimit()) == {"grows": {"0": 8, "1": 8}}


def test_but_not_for_longer_than_the_longest_delay(growing: Growing, texts: dict[str, str]) -> None:
    of = stream(texts, minOffsetsPerTrigger="10", maxTriggerDelay="0ms")
    growing.send(2)
    end = of.latestOffset({"grows": {"0": 0, "1": 0}}, of.getDefaultReadLimit())
    assert end == {"grows": {"0": 1, "1": 1}}


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        ({"grows": {"0": 0}}, {"grows": {"0": 9}}, "grows-0 ends at 5 now"),
        ({"gone": {"0": 0}}, {"gone": {"0": 9}}, "gone-0 is gone"),
    ],
)
def test_a_loss_of_data_fails_the_query_unless_it_is_put_up_with(
    growing: Growing, texts: dict[str, str], start: Any, end: Any, reason: str
) -> None:
    growing.send(10)
    with pytest.raises(Exception, match=reason):
        stream(texts).partitions(start, end)
    assert planned(stream(texts, failOnDataLoss="false"), start, end) in ([(0, 0, 5)], [])


def test_records_that_were_deleted_before_they_were_read_are_a_loss(growing: Growing) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    growing.send(10)
    admin = AdminClient({"bootstrap.servers": growing.broker.bootstrap_servers})
    admin.delete_records([TopicPartition("grows", 0, 3)])[TopicPartition("grows", 0, 3)].result()
    live = {"kafka.bootstrap.servers": growing.broker.bootstrap_servers, "subscribe": "grows"}
    with pytest.raises(Exception, match="grows-0 begins at 3 now"):
        stream(live).partitions({"grows": {"0": 1}}, {"grows": {"0": 5}})
    assert planned(stream(live, failOnDataLoss="false"), {"grows": {"0": 1}}, {"grows": {"0": 5}}) == [(0, 3, 5)]


def test_each_partition_gives_its_share_of_a_limit() -> None:
    begun, ends = {("t", 0): 0, ("t", 1): 100, ("t", 2): 5}, {("t", 0): 300, ("t", 1): 200, ("t", 2): 5}
    assert limited(begun, ends, 100) == {("t", 0): 75, ("t", 1): 125, ("t", 2): 5}
    assert limited(begun, ends, 1000) == ends
    assert sum(limited(begun, ends, 7).values()) - sum(begun.values()) == 7


def test_offsets_survive_json() -> None:
    offsets = {("b", 1): 3, ("a", 10): 2, ("a", 2): 1}
    assert from_json(as_json(offsets)) == offsets
    assert str(as_json(offsets)) == str(as_json(dict(reversed(offsets.items()))))
