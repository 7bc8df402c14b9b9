"""Start and end of reading, by the rules of Spark's Kafka source."""

from collections.abc import Mapping, Sequence

import pytest

from kafkalet_spark.filters import Pushed
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.options import TopicPartition, read_options
from kafkalet_spark.origin import AnySplit, PartitionRange
from kafkalet_spark.positions import DataLoss, ranges

A, B = ("t", 0), ("t", 1)


class Known:
    """An origin: t-0 has offsets 10 to 100, one second apart; t-1 has 0 to 5, all in the first second."""

    def partitions(self) -> list[TopicPartition]:
        return [A, B]

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {key: {A: 10, B: 0}[key] for key in partitions}

    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {key: {A: 100, B: 5}[key] for key in partitions}

    def at(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        found: dict[TopicPartition, int | None] = {}
        for key, at in timestamps_ms.items():
            if key == A:
                found[key] = max(10, -(-at // 1000)) if at <= 99_000 else None
            else:
                found[key] = 0 if at <= 0 else None
        return found

    def splits(self, ranges: Sequence[PartitionRange], pushed: Pushed) -> Sequence[AnySplit]:
        raise NotImplementedError


def of(**texts: str) -> list[tuple[int, int]]:
    return [(each.start, each.end) for each in ranges(Known(), read_options({"path": "/l", **texts}))]


def test_everything_is_read_by_default() -> None:
    assert of() == [(10, 100), (0, 5)]


def test_offsets_per_partition() -> None:
    assert of(startingOffsets='{"t":{"0":20,"1":-2}}', endingOffsets='{"t":{"0":-1,"1":3}}') == [(20, 100), (0, 3)]


def test_offsets_must_name_every_partition() -> None:
    with pytest.raises(BadOption, match="every partition"):
        of(startingOffsets='{"t":{"0":20}}')


def test_deleted_offsets_are_data_loss() -> None:
    with pytest.raises(DataLoss, match="t-0 has offsets 10 to 100"):
        of(startingOffsets='{"t":{"0":5,"1":0}}')


def test_offsets_past_the_end_are_data_loss() -> None:
    with pytest.raises(DataLoss, match="t-1 has offsets 0 to 5"):
        of(endingOffsets='{"t":{"0":-1,"1":6}}')


def test_lost_offsets_are_skipped_without_fail_on_data_loss() -> None:
    offsets = {"startingOffsets": '{"t":{"0":5,"1":9}}', "endingOffsets": '{"t":{"0":500,"1":9}}'}
    assert of(failOnDataLoss="false", **offsets) == [(10, 100), (5, 5)]


@pytest.mark.parametrize("loss", ["true", "false"])
@pytest.mark.parametrize(
    "texts",
    [
        {"startingOffsets": '{"t":{"0":101,"1":0}}'},
        {"endingOffsets": '{"t":{"0":9,"1":5}}'},
        {"startingTimestamp": "0", "endingOffsets": '{"t":{"0":3,"1":5}}'},
        {"startingTimestamp": "80000", "endingTimestamp": "20000", "startingOffsetsByTimestampStrategy": "latest"},
    ],
    ids=["past the end", "before the log start", "timestamp after offset", "timestamp after timestamp"],
)
def test_start_after_end_is_refused_even_without_fail_on_data_loss(texts: dict[str, str], loss: str) -> None:
    with pytest.raises(BadOption, match=r"start offset \d+ of t-0 is after its resolved end offset"):
        of(failOnDataLoss=loss, **texts)


def test_start_equal_to_end_reads_nothing() -> None:
    offsets = {"startingOffsets": '{"t":{"0":50,"1":0}}', "endingOffsets": '{"t":{"0":50,"1":5}}'}
    assert of(**offsets) == [(50, 50), (0, 5)]


def test_missing_partition_of_assign_is_skipped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert of(assign='{"t":[0,1,7]}') == [(10, 100), (0, 5)]
    assert "assign names partitions that do not exist: t-7" in caplog.text


def test_starting_timestamp_after_the_last_record_is_an_error() -> None:
    with pytest.raises(BadOption, match="No offset matched from request of topic-partition t-1 and timestamp 20000"):
        of(startingTimestamp="20000")


def test_starting_timestamp_after_the_last_record_means_the_end_with_strategy_latest() -> None:
    assert of(startingTimestamp="20000", startingOffsetsByTimestampStrategy="latest") == [(20, 100), (5, 5)]


def test_timestamps_per_partition() -> None:
    assert of(startingOffsetsByTimestamp='{"t":{"0":30000,"1":0}}') == [(30, 100), (0, 5)]


def test_timestamps_must_name_every_partition() -> None:
    with pytest.raises(BadOption, match="every partition"):
        of(startingOffsetsByTimestamp='{"t":{"0":30000}}')


def test_ending_timestamp_after_the_last_record_means_the_end() -> None:
    assert of(endingTimestamp="20000") == [(10, 20), (0, 5)]
