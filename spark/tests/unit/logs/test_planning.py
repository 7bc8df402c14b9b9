"""Planning the splits of many logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalet_spark.logs.directory import PartitionLog, open_partition
from kafkalet_spark.logs.planning import plan
from kafkalet_spark.logs.splits import Split

from .made import CONFIG, Made

LARGE, SMALL = 200, 20


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[PartitionLog]:
    """A log of two hundred records with one entry each, and one of twenty."""
    return [made(tmp_path_factory.mktemp("plan"), partition, count) for partition, count in enumerate((LARGE, SMALL))]


def made(path: Path, partition: int, count: int, per_batch: int = 1) -> PartitionLog:
    log = Made(path / "data", CONFIG._replace(segment_bytes=5000), topic="t", partition=partition)
    for at in range(0, count, per_batch):
        log.append(*range(at, at + per_batch))
    log.close()
    return open_partition(str(log.place))


def ranges(logs: list[PartitionLog]) -> list[tuple[PartitionLog, int, int]]:
    return [(log, 0, end) for log, end in zip(logs, (LARGE, SMALL), strict=True)]


def counts(splits: list[Split]) -> list[int]:
    return [sum(each.partition == number for each in splits) for number in (0, 1)]


def covered(splits: list[Split]) -> list[tuple[int, int]]:
    return [(each.partition, at) for each in splits for at in range(each.start_offset, each.end_offset)]


ALL = [(0, at) for at in range(LARGE)] + [(1, at) for at in range(SMALL)]


def test_each_log_is_one_split_by_default(logs: list[PartitionLog]) -> None:
    splits = plan(ranges(logs), max_bytes=1 << 30)
    assert counts(splits) == [1, 1]
    assert covered(splits) == ALL


def test_splits_respect_max_bytes(logs: list[PartitionLog]) -> None:
    splits = plan(ranges(logs), max_bytes=2000)
    assert max(each.size_bytes for each in splits) <= 2000
    assert covered(splits) == ALL


@pytest.mark.parametrize("max_records", [1, 7, 64, 1000])
def test_splits_respect_max_records(logs: list[PartitionLog], max_records: int) -> None:
    splits = plan(ranges(logs), max_bytes=1 << 30, max_records=max_records)
    assert counts(splits) == [-(-LARGE // max_records), -(-SMALL // max_records)]
    assert max(each.end_offset - each.start_offset for each in splits) <= max_records
    assert covered(splits) == ALL


@pytest.mark.parametrize("min_splits", [1, 2, 3, 10, 50, 220])
def test_min_splits_is_reached(logs: list[PartitionLog], min_splits: int) -> None:
    splits = plan(ranges(logs), max_bytes=1 << 30, min_splits=min_splits)
    assert min_splits <= len(splits) <= 2 * min_splits + 2
    assert covered(splits) == ALL


def test_largest_ranges_are_cut_most(logs: list[PartitionLog]) -> None:
    large, small = counts(plan(ranges(logs), max_bytes=1 << 30, min_splits=22))
    assert 6 <= large / small <= 12


def test_entries_are_shared_if_there_are_too_few(tmp_path: Path) -> None:
    log = made(tmp_path, 0, 40, per_batch=40)
    splits = plan([(log, 0, 40)], max_bytes=1 << 30, min_splits=6)
    assert len(splits) == 6
    assert {each.pieces for each in splits} == {splits[0].pieces}
    assert covered(splits) == [(0, at) for at in range(40)]


def test_splits_never_outnumber_records(tmp_path: Path) -> None:
    log = made(tmp_path, 0, 6, per_batch=3)
    assert len(plan([(log, 0, 6)], max_bytes=1 << 30, min_splits=100)) == 6


def test_no_ranges_have_no_splits(logs: list[PartitionLog]) -> None:
    assert plan([], max_bytes=1, min_splits=5) == []
    assert plan([(logs[0], 7, 7), (logs[1], 9, 3)], max_bytes=1, min_splits=5, max_records=3) == []


@pytest.mark.parametrize("wrong", [{"max_records": 0}, {"min_splits": 0}, {"max_bytes": 0}])
def test_limits_below_one_are_rejected(logs: list[PartitionLog], wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        plan(ranges(logs), **{"max_bytes": 100} | wrong)
