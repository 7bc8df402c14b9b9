"""A stream reads each record once, across restarts, and reports missing records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from hypothesis import given
from hypothesis import strategies as st

import kafkalet
from kafkalet_spark.options import read_options
from kafkalet_spark.positions import DataLoss
from kafkalet_spark.stream import LogStream, as_json, from_json, limited

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


TIMEOUT_S = 60


class Growing:
    """A broker with a topic of two partitions, and its directory."""

    def __init__(self, directory: Path, **broker: Any) -> None:
        self.directory = directory
        self.broker = kafkalet.Broker(data_dir=directory, **broker)
        self.all_sent: list[bytes] = []

    def delete_before(self, partition: int, offset: int) -> None:
        """Advance the log start offset with DeleteRecords."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        where = TopicPartition("grows", partition, offset)
        admin.delete_records([where])[where].result()

    def delete_segments_before(self, offset: int) -> int:
        """Delete whole segments of grows-0 with DeleteRecords. Return the base offset of the first remaining one."""
        self.delete_before(0, offset)
        deadline = time.monotonic() + TIMEOUT_S
        while len(left := self.segments()) > 1 and left[1] <= offset:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return left[0]

    def segments(self) -> list[int]:
        return sorted(int(path.stem) for path in (self.directory / "grows-0").glob("*.log"))

    def send_one_by_one(self, count: int) -> None:
        """Send `count` batches of one record, to fill small segments."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 0})
        for number in range(len(self.all_sent), len(self.all_sent) + count):
            producer.produce("grows", b"%d" % number, partition=0)
            assert producer.flush(TIMEOUT_S) == 0
            self.all_sent.append(b"%d" % number)

    def add_partitions(self, count: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        admin.create_partitions([NewPartitions("grows", count)])["grows"].result()

    def send(self, count: int, partitions: int = 2) -> list[bytes]:
        """Send new, unique values to all partitions in turn."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers})
        values = [b"%d" % number for number in range(len(self.all_sent), len(self.all_sent) + count)]
        for number, value in enumerate(values):
            producer.produce("grows", value, partition=number % partitions)
        producer.flush()
        self.all_sent += values
        return values


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    log = Growing(tmp_path / "data")
    with log.broker:
        log.broker.topic("grows").create(2)
        yield log


@pytest.fixture(params=["directory", "broker"])
def texts(request: pytest.FixtureRequest, growing: Growing) -> dict[str, str]:
    """The source options of the stream."""
    if request.param == "directory":
        return {"path": str(growing.directory), "subscribe": "grows"}
    return {"kafka.bootstrap.servers": growing.broker.bootstrap_servers, "subscribe": "grows"}


def take(spark: SparkSession, texts: dict[str, str], place: Path, **more: str) -> list[bytes]:
    """Run a query on all current records. Return the values read since the first run with this `place`."""
    frame = spark.readStream.format("kafkalog").options(startingOffsets="earliest", **texts, **more).load()
    writing = (
        frame.select("value").writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    )
    query = writing.trigger(availableNow=True).start(str(place / "taken"))
    query.awaitTermination()
    return sorted((bytes(row.value) for row in spark.read.parquet(str(place / "taken")).collect()), key=int)


def test_restarted_query_continues_where_it_stopped(
    spark: SparkSession, growing: Growing, texts: dict[str, str], tmp_path: Path
) -> None:
    values = growing.send(100)
    assert take(spark, texts, tmp_path) == values
    assert take(spark, texts, tmp_path) == values
    values += growing.send(50)
    assert take(spark, texts, tmp_path, maxOffsetsPerTrigger="20") == values


# Without Spark


def stream(texts: dict[str, str], **more: str) -> LogStream:
    return LogStream(("offset", "partition"), read_options({**texts, **more}, streaming=True))


def planned(of: LogStream, start: Any, end: Any) -> list[tuple[int, int, int]]:
    return [(task.want.partition, task.want.start, task.want.end) for task in of.partitions(start, end)]  # type: ignore[attr-defined]


@pytest.fixture
def read_all() -> Any:
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    return ReadAllAvailable()


def test_stream_starts_at_latest_by_default(growing: Growing, texts: dict[str, str]) -> None:
    growing.send(10)
    assert stream(texts).initialOffset() == {"grows": {"0": 5, "1": 5}}
    assert stream(texts, startingOffsets="earliest").initialOffset() == {"grows": {"0": 0, "1": 0}}


def test_offset_range_is_read_repeatably(growing: Growing, texts: dict[str, str], read_all: Any) -> None:
    growing.send(10)
    start = {"grows": {"0": 1, "1": 0}}
    end = stream(texts).latestOffset(start, read_all)
    growing.send(10)
    assert planned(stream(texts), start, end) == [(0, 1, 5), (1, 0, 5)]


def test_offset_is_unchanged_without_new_records(growing: Growing, texts: dict[str, str], read_all: Any) -> None:
    growing.send(4)
    end = stream(texts).latestOffset({}, read_all)
    assert stream(texts).latestOffset(end, read_all) == end
    assert planned(stream(texts), end, end) == []


def test_new_partition_is_read_from_its_beginning(growing: Growing, texts: dict[str, str], read_all: Any) -> None:
    growing.send(4)
    start = {"grows": {"0": 2}}
    end = stream(texts).latestOffset(start, read_all)
    assert end == {"grows": {"0": 2, "1": 2}}
    assert planned(stream(texts), start, end) == [(1, 0, 2)]


def test_available_now_query_ignores_later_records(growing: Growing, texts: dict[str, str], read_all: Any) -> None:
    growing.send(4)
    of = stream(texts)
    of.prepareForTriggerAvailableNow()
    growing.send(4)
    assert of.latestOffset({"grows": {"0": 0, "1": 0}}, read_all) == {"grows": {"0": 2, "1": 2}}


def test_first_batch_does_not_wait_for_min_offsets_per_trigger(growing: Growing, texts: dict[str, str]) -> None:
    of = stream(texts, minOffsetsPerTrigger="10")
    growing.send(8)
    start = {"grows": {"0": 0, "1": 0}}
    assert of.latestOffset(start, of.getDefaultReadLimit()) == {"grows": {"0": 4, "1": 4}}


def test_later_batches_wait_for_min_offsets_per_trigger(growing: Growing, texts: dict[str, str]) -> None:
    of = stream(texts, minOffsetsPerTrigger="10")
    growing.send(8)
    start = of.latestOffset({"grows": {"0": 0, "1": 0}}, of.getDefaultReadLimit())
    growing.send(8)
    assert of.latestOffset(start, of.getDefaultReadLimit()) == start
    growing.send(8)
    assert of.latestOffset(start, of.getDefaultReadLimit()) == {"grows": {"0": 12, "1": 12}}


def test_no_batch_waits_longer_than_max_trigger_delay(growing: Growing, texts: dict[str, str]) -> None:
    of = stream(texts, minOffsetsPerTrigger="10", maxTriggerDelay="0ms")
    growing.send(2)
    start = of.latestOffset({"grows": {"0": 0, "1": 0}}, of.getDefaultReadLimit())
    growing.send(2)
    assert of.latestOffset(start, of.getDefaultReadLimit()) == {"grows": {"0": 2, "1": 2}}


@pytest.mark.parametrize(
    ("start", "end", "reason", "left"),
    [
        ({"grows": {"0": 0}}, {"grows": {"0": 9}}, "grows-0 now ends at 5", [(0, 0, 5)]),
        ({"gone": {"0": 0}}, {"gone": {"0": 9}}, "gone-0 is gone, and its offsets up to 9 were not read", []),
        ({"gone": {"0": 3}, "grows": {"0": 0}}, {"grows": {"0": 2}}, "gone-0 is gone", [(0, 0, 2)]),
        ({"grows": {"0": 4}}, {"grows": {"0": 2}}, "grows-0 went back from offset 4 to 2", []),
    ],
)
def test_data_loss_fails_the_query_unless_tolerated(
    growing: Growing, texts: dict[str, str], start: Any, end: Any, reason: str, left: list[tuple[int, int, int]]
) -> None:
    growing.send(10)
    with pytest.raises(DataLoss, match=reason):
        stream(texts).partitions(start, end)
    assert planned(stream(texts, failOnDataLoss="false"), start, end) == left


def test_end_follows_a_truncated_log(growing: Growing, texts: dict[str, str], read_all: Any) -> None:
    growing.send(10)
    assert stream(texts).latestOffset({"grows": {"0": 17, "1": 5}}, read_all) == {"grows": {"0": 5, "1": 5}}


def test_deleted_partition_is_not_in_the_next_offset(growing: Growing, read_all: Any) -> None:
    growing.send(10)
    pattern = {"path": str(growing.directory), "subscribePattern": "grows|gone"}
    assert stream(pattern).latestOffset({"gone": {"0": 3}}, read_all) == {"grows": {"0": 5, "1": 5}}


def test_new_partition_that_does_not_start_at_0_is_a_loss(growing: Growing) -> None:
    growing.send(10)
    growing.delete_before(0, 3)
    live = {"kafka.bootstrap.servers": growing.broker.bootstrap_servers, "subscribe": "grows"}
    end = {"grows": {"0": 5, "1": 5}}
    with pytest.raises(DataLoss, match="the new partition grows-0 begins at offset 3 instead of 0"):
        stream(live).partitions({"grows": {"1": 5}}, end)
    assert planned(stream(live, failOnDataLoss="false"), {"grows": {"1": 5}}, end) == [(0, 3, 5)]


def test_unread_deleted_records_are_a_loss(growing: Growing) -> None:
    growing.send(10)
    growing.delete_before(0, 3)
    live = {"kafka.bootstrap.servers": growing.broker.bootstrap_servers, "subscribe": "grows"}
    with pytest.raises(DataLoss, match="grows-0 now begins at 3"):
        stream(live).partitions({"grows": {"0": 1}}, {"grows": {"0": 5}})
    assert planned(stream(live, failOnDataLoss="false"), {"grows": {"0": 1}}, {"grows": {"0": 5}}) == [(0, 3, 5)]


def test_limit_is_divided_in_proportion_to_unread_offsets() -> None:
    begun, ends = {("t", 0): 0, ("t", 1): 100, ("t", 2): 5}, {("t", 0): 300, ("t", 1): 200, ("t", 2): 5}
    assert limited(begun, ends, 100) == {("t", 0): 75, ("t", 1): 125, ("t", 2): 5}
    assert limited(begun, ends, 1000) == ends


def test_share_below_one_offset_is_rounded_up_and_others_down() -> None:
    begun, ends = {("t", 0): 0, ("t", 1): 0, ("t", 2): 0}, {("t", 0): 100, ("t", 1): 10, ("t", 2): 1}
    assert limited(begun, ends, 12) == {("t", 0): 10, ("t", 1): 1, ("t", 2): 1}
    assert limited(begun, ends, 2) == {("t", 0): 1, ("t", 1): 1, ("t", 2): 1}


def test_small_partition_beside_a_backlog_is_read() -> None:
    ends = {("t", 0): 10_000_000, ("t", 1): 50}
    begun = dict.fromkeys(ends, 0)
    for _ in range(50):
        begun = limited(begun, ends, 1000)
    assert begun["t", 1] == 50


BACKLOGS = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.integers(0, 9)),
    st.tuples(st.integers(0, 1 << 40), st.integers(-5, 1 << 40) | st.integers(-5, 100)),
    min_size=1,
)


@given(BACKLOGS, st.integers(1, 1 << 41) | st.integers(1, 50))
def test_every_partition_with_unread_offsets_advances(
    backlogs: dict[tuple[str, int], tuple[int, int]], most: int
) -> None:
    begun = {key: start for key, (start, _) in backlogs.items()}
    ends = {key: start + unread for key, (start, unread) in backlogs.items()}
    found = limited(begun, ends, most)
    unread = {key: end - begun[key] for key, end in ends.items() if end > begun[key]}
    taken = {key: found[key] - begun[key] for key in unread}
    assert all(0 < taken[key] <= unread[key] for key in unread)
    assert {key: end for key, end in found.items() if key not in unread} == {
        key: end for key, end in ends.items() if key not in unread
    }
    total = sum(unread.values())
    rounded_up = sum(most * (size / float(total)) < 1 for size in unread.values())
    assert sum(taken.values()) <= max(most, 0) + rounded_up


def test_offsets_survive_json() -> None:
    offsets = {("b", 1): 3, ("a", 10): 2, ("a", 2): 1}
    assert from_json(as_json(offsets)) == offsets
    assert str(as_json(offsets)) == str(as_json(dict(reversed(offsets.items()))))


# A running query


class Following:
    """A running query that collects values, and the log that it reads."""

    def __init__(self, spark: SparkSession, texts: dict[str, str], checkpoint: Path, **more: str) -> None:
        self.taken: list[bytes] = []

        def collect(frame: DataFrame, _: int) -> None:
            self.taken.extend(bytes(row.value) for row in frame.collect())

        frame = spark.readStream.format("kafkalog").options(startingOffsets="earliest", **texts, **more).load()
        writer = frame.writeStream.foreachBatch(collect).option("checkpointLocation", str(checkpoint))
        self.query = writer.start()

    def __enter__(self) -> Following:
        return self

    def __exit__(self, *_: object) -> None:
        self.query.stop()

    def sees(self, values: list[bytes]) -> None:
        """Wait for all records, and compare them."""
        self.query.processAllAvailable()
        assert sorted(self.taken, key=int) == sorted(values, key=int)


def test_running_query_reads_new_partitions_and_survives_deleted_segments(
    spark: SparkSession, growing: Growing, texts: dict[str, str], tmp_path: Path
) -> None:
    with Following(spark, texts, tmp_path / "c") as following:
        values = growing.send(40)
        following.sees(values)
        growing.delete_before(0, 20)
        growing.add_partitions(4)
        values += growing.send(40, partitions=4)
        following.sees(values)


def test_running_query_fails_when_unread_records_are_deleted(
    spark: SparkSession, growing: Growing, tmp_path: Path
) -> None:
    live = {"kafka.bootstrap.servers": growing.broker.bootstrap_servers, "subscribe": "grows"}
    with Following(spark, live, tmp_path / "c") as following:
        following.sees(growing.send(40))
    unread = growing.send(40)
    growing.delete_before(0, 30)
    with (
        Following(spark, live, tmp_path / "c") as following,
        pytest.raises(Exception, match="grows-0 now begins at 30, and offsets from 20 were not read"),
    ):
        following.sees([])
    with Following(spark, live, tmp_path / "c", failOnDataLoss="false") as following:
        following.sees([value for value in unread if int(value) % 2 or int(value) >= 60])


def test_unread_segments_deleted_during_a_query_are_a_loss(spark: SparkSession, tmp_path: Path) -> None:
    values = [b"%d" % number for number in range(120)]
    texts = {"path": str(tmp_path / "data"), "subscribe": "grows"}
    often = {"log.initial.task.delay.ms": "0", "log.retention.check.interval.ms": "10"}
    growing = Growing(tmp_path / "data", version="3.9", config=often)
    with growing.broker:
        growing.broker.topic("grows").create(config={"segment.bytes": "500", "file.delete.delay.ms": "0"})
        growing.send_one_by_one(60)
        with Following(spark, texts, tmp_path / "c") as following:
            following.sees(values[:60])
            assert growing.delete_segments_before(30) > 0
            growing.send_one_by_one(30)
            following.sees(values[:90])
        growing.send_one_by_one(30)
        begins = growing.delete_segments_before(110)
    assert 90 < begins <= 110
    with (
        Following(spark, texts, tmp_path / "c") as following,
        pytest.raises(Exception, match=r"grows-0 now begins at \d+, and offsets from 90 were not read"),
    ):
        following.sees([])
    with Following(spark, texts, tmp_path / "c", failOnDataLoss="false") as following:
        following.query.processAllAvailable()
        assert set(values[110:]) <= set(following.taken) <= set(values[begins:])
