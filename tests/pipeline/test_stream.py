"""A stream takes each record once, across restarts, and notices what is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

import kafkalet
from kafkalet.pipeline.options import read_options
from kafkalet.pipeline.positions import DataLoss
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

    def delete_before(self, partition: int, offset: int) -> None:
        """Let DeleteRecords move the log start offset."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        where = TopicPartition("grows", partition, offset)
        admin.delete_records([where])[where].result()

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
        ({"grows": {"0": 0}}, {"grows": {"0": 9}}, "grows-0 ends at 5 now", [(0, 0, 5)]),
        ({"gone": {"0": 0}}, {"gone": {"0": 9}}, "gone-0 is gone, and its offsets to 9 have not been read", []),
        ({"gone": {"0": 3}, "grows": {"0": 0}}, {"grows": {"0": 2}}, "gone-0 is gone", [(0, 0, 2)]),
        ({"grows": {"0": 4}}, {"grows": {"0": 2}}, "grows-0 went back from offset 4 to 2", []),
    ],
)
def test_loss_of_data_fails_the_query_unless_it_is_tolerated(
    growing: Growing, texts: dict[str, str], start: Any, end: Any, reason: str, left: list[tuple[int, int, int]]
) -> None:
    growing.send(10)
    with pytest.raises(DataLoss, match=reason):
        stream(texts).partitions(start, end)
    assert planned(stream(texts, failOnDataLoss="false"), start, end) == left


def test_end_follows_a_log_that_was_cut_back(growing: Growing, texts: dict[str, str], read_all: Any) -> None:
    growing.send(10)
    assert stream(texts).latestOffset({"grows": {"0": 17, "1": 5}}, read_all) == {"grows": {"0": 5, "1": 5}}


def test_partition_that_is_gone_is_not_in_the_next_offset(growing: Growing, read_all: Any) -> None:
    growing.send(10)
    pattern = {"path": str(growing.directory), "subscribePattern": "grows|gone"}
    assert stream(pattern).latestOffset({"gone": {"0": 3}}, read_all) == {"grows": {"0": 5, "1": 5}}


def test_new_partition_that_does_not_begin_at_0_is_a_loss(growing: Growing) -> None:
    growing.send(10)
    growing.delete_before(0, 3)
    live = {"kafka.bootstrap.servers": growing.broker.bootstrap_servers, "subscribe": "grows"}
    end = {"grows": {"0": 5, "1": 5}}
    with pytest.raises(DataLoss, match="the new partition grows-0 begins at offset 3 instead of 0"):
        stream(live).partitions({"grows": {"1": 5}}, end)
    assert planned(stream(live, failOnDataLoss="false"), {"grows": {"1": 5}}, end) == [(0, 3, 5)]


def test_records_that_were_deleted_before_they_were_read_are_a_loss(growing: Growing) -> None:
    growing.send(10)
    growing.delete_before(0, 3)
    live = {"kafka.bootstrap.servers": growing.broker.bootstrap_servers, "subscribe": "grows"}
    with pytest.raises(DataLoss, match="grows-0 begins at 3 now"):
        stream(live).partitions({"grows": {"0": 1}}, {"grows": {"0": 5}})
    assert planned(stream(live, failOnDataLoss="false"), {"grows": {"0": 1}}, {"grows": {"0": 5}}) == [(0, 3, 5)]


def test_limit_is_shared_out_in_proportion_to_what_is_unread() -> None:
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
