"""`kafkalet_spark.dumping.ranges`: the offsets of a run, and data loss."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet_spark.dumping.dump_runs import Covered
from kafkalet_spark.dumping.manifest import EMPTY, Dumped, Manifest
from kafkalet_spark.dumping.ranges import as_text, new_offsets, topic_ids
from kafkalet_spark.option_types import BadOption
from kafkalet_spark.options import read_options
from kafkalet_spark.positions import DataLoss


def test_topic_id_is_formatted_as_in_kafka() -> None:
    assert as_text(bytes.fromhex("000102030405060708090a0b0c0d0eff")) == "AAECAwQFBgcICQoLDA0O_w"


def test_zeros_and_none_are_not_topic_ids() -> None:
    assert as_text(bytes(16)) is None
    assert as_text(None) is None


def test_topic_without_id_has_none(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path, topics=["old"]):
        pass
    (tmp_path / "old-0" / "partition.metadata").unlink()
    assert topic_ids(read_options({"path": str(tmp_path)}), {"old"}) == {"old": None}


TopicPartition = tuple[str, int]


class Logs:
    """A source with the given partitions and offsets."""

    def __init__(self, ends: Mapping[TopicPartition, tuple[int, int]]) -> None:
        self._ends = ends

    def partitions(self) -> list[TopicPartition]:
        return sorted(self._ends)

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {key: self._ends[key][0] for key in partitions}

    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {key: self._ends[key][1] for key in partitions}

    def at(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Look up timestamps; in this source, the timestamp of a record is its offset."""
        return {key: at if at < self._ends[key][1] else None for key, at in timestamps_ms.items()}

    def splits(self, ranges: Sequence[Any], pushed: Any) -> list[Any]:
        raise AssertionError("planning needs no splits")


T0, T1 = ("t", 0), ("t", 1)


def new(
    ends: Mapping[TopicPartition, tuple[int, int]],
    dumped: Mapping[TopicPartition, Dumped] = {},
    ids: tuple[str | None, str | None] = (None, None),
    **options: str,
) -> tuple[list[Covered], list[str]]:
    manifest = Manifest(1, {}, {"t": ids[0]}, dumped) if dumped else EMPTY
    return new_offsets(Logs(ends), read_options({"path": "/logs", **options}), manifest, {"t": ids[1]})


def test_first_run_dumps_everything() -> None:
    assert new({T0: (2, 9), T1: (0, 4)}) == ([Covered("t", 0, None, 2, 9), Covered("t", 1, None, 0, 4)], [])


def test_new_empty_partition_is_recorded() -> None:
    assert new({T0: (3, 3)})[0] == [Covered("t", 0, None, 3, 3)]


def test_later_run_continues_after_the_last_one() -> None:
    assert new({T0: (0, 9)}, {T0: Dumped(0, 4, 4)})[0] == [Covered("t", 0, None, 4, 9)]


def test_partition_without_new_offsets_is_left_out() -> None:
    assert new({T0: (0, 9), T1: (0, 4)}, {T0: Dumped(0, 9, 9), T1: Dumped(0, 3, 3)})[0] == [Covered("t", 1, None, 3, 4)]


def test_first_run_with_end_before_start_is_rejected() -> None:
    for options in (
        {"startingOffsets": '{"t":{"0":10}}'},
        {"endingOffsets": '{"t":{"0":1}}'},
        {"startingOffsets": '{"t":{"0":10}}', "failOnDataLoss": "false"},
    ):
        with pytest.raises(BadOption, match="of t-0 is after its resolved end offset"):
            new({T0: (2, 9)}, **options)


def test_missing_partition_of_assign_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert new({T0: (0, 9)}, assign='{"t":[0,7]}')[0] == [Covered("t", 0, None, 0, 9)]
    assert "assign names partitions that do not exist: t-7" in caplog.text


def test_added_partition_starts_as_in_the_options() -> None:
    covered, _ = new({T0: (0, 9), T1: (0, 8)}, {T0: Dumped(0, 9, 9)}, startingOffsets='{"t":{"0":1,"1":5}}')
    assert covered == [Covered("t", 1, None, 5, 8)]


def test_starting_offsets_apply_only_to_new_partitions() -> None:
    covered, losses = new({T0: (0, 9)}, {T0: Dumped(0, 4, 4)}, startingOffsets='{"t":{"0":7}}')
    assert (covered, losses) == ([Covered("t", 0, None, 4, 9)], [])


def test_new_partition_starts_at_timestamp() -> None:
    assert new({T0: (0, 9)}, startingTimestamp="5")[0] == [Covered("t", 0, None, 5, 9)]
    assert new({T0: (0, 9)}, startingOffsetsByTimestamp='{"t":{"0":6}}')[0] == [Covered("t", 0, None, 6, 9)]


def test_ending_offsets_are_used() -> None:
    assert new({T0: (0, 9)}, endingOffsets='{"t":{"0":6}}')[0] == [Covered("t", 0, None, 0, 6)]
    assert new({T0: (0, 9)}, {T0: Dumped(0, 7, 7)}, endingOffsets='{"t":{"0":6}}') == ([], [])
    assert new({T0: (0, 9)}, endingOffsets='{"t":{"0":60}}')[0] == [Covered("t", 0, None, 0, 9)]


def test_starting_offset_is_required_for_every_new_partition() -> None:
    with pytest.raises(BadOption, match="offsets must be set for every partition"):
        new({T0: (0, 9), T1: (0, 9)}, startingOffsets='{"t":{"0":1}}')


LOSSES = [
    (
        {T0: (6, 9)}, {T0: Dumped(0, 4, 4)}, (None, None),
        "t-0 was dumped to offset 4, but starts at 6: the offsets between are lost",
        [Covered("t", 0, None, 6, 9, 2)],
    ),
    (
        {T0: (0, 3)}, {T0: Dumped(0, 4, 4)}, (None, None),
        "t-0 was dumped to offset 4, but ends at 3: it was truncated or recreated",
        [Covered("t", 0, None, 3, 3)],
    ),
    (
        {T0: (0, 9)}, {T0: Dumped(0, 4, 4)}, ("a", "b"),
        r"t-0 was dumped to offset 4, but its topic was recreated \(topic id a, now b\)",
        [Covered("t", 0, "b", 0, 9)],
    ),
    (
        {T0: (0, 9)}, {T0: Dumped(0, 9, 9), T1: Dumped(0, 4, 4)}, ("a", "a"),
        "t-1 was dumped to offset 4 and is missing",
        [],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("ends", "dumped", "ids", "words", "left"), LOSSES)
def test_data_loss_is_an_error_unless_tolerated(
    ends: Mapping[TopicPartition, tuple[int, int]],
    dumped: Mapping[TopicPartition, Dumped],
    ids: tuple[str | None, str | None],
    words: str,
    left: list[Covered],
) -> None:
    with pytest.raises(DataLoss, match=words):
        new(ends, dumped, ids)
    covered, losses = new(ends, dumped, ids, failOnDataLoss="false")
    assert covered == left
    assert len(losses) == 1


def test_topic_id_that_was_unknown_before_is_not_a_loss() -> None:
    assert new({T0: (0, 9)}, {T0: Dumped(0, 4, 4)}, (None, "b")) == ([Covered("t", 0, "b", 4, 9)], [])


def test_unselected_partitions_are_not_missed() -> None:
    assert new({T0: (0, 9)}, {T0: Dumped(0, 9, 9), ("u", 0): Dumped(0, 4, 4)}, subscribe="t") == ([], [])


def test_missing_starting_offset_is_a_loss() -> None:
    with pytest.raises(DataLoss, match="t-0 has offsets 3 to 9, but the dump should start at 1"):
        new({T0: (3, 9)}, startingOffsets='{"t":{"0":1}}')
    assert new({T0: (3, 9)}, startingOffsets='{"t":{"0":1}}', failOnDataLoss="false")[0] == [
        Covered("t", 0, None, 3, 9)
    ]


def test_only_some_of_many_losses_are_listed() -> None:
    ends = {("t", number): (6, 9) for number in range(8)}
    with pytest.raises(DataLoss, match=r"t-4 was.*; and 3 more; set failOnDataLoss=false"):
        new(ends, {key: Dumped(0, 4, 4) for key in ends})
