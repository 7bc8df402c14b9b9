"""`kafkalet_spark.dumping.merging`: small files are merged in offset order, without losing records."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.dumping import merging
from kafkalet_spark.dumping.dump_files import WrittenFile, write_files
from kafkalet_spark.dumping.merging import groups_of, merge
from kafkalet_spark.dumping.shape import DumpShape

from .test_dump_files import lines, offsets_of, rows


def file(first: int, size: int, date: str = "2013-01-01", partition: int = 0) -> WrittenFile:
    return WrittenFile(f"_staging/{first}", "t", partition, date, first, first, 1, size)


def sizes(files: list[WrittenFile], target: int = 100) -> list[list[int]]:
    return [[each.size_bytes for each in group] for group in groups_of(files, target)]


def test_consecutive_files_are_grouped_up_to_the_target() -> None:
    assert sizes([file(n, 30) for n in range(7)]) == [[30, 30, 30], [30, 30, 30], [30]]


def test_file_of_more_than_half_the_target_stays_alone() -> None:
    assert sizes([file(0, 10), file(1, 10), file(2, 60), file(3, 10), file(4, 10)]) == [[10, 10], [60], [10, 10]]


def test_files_are_grouped_in_offset_order_by_directory() -> None:
    files = [file(5, 10), file(0, 10), file(3, 10, "2013-01-02"), file(2, 10, partition=1)]
    found = [[(each.partition, each.date, each.first_offset) for each in group] for group in groups_of(files, 100)]
    assert found == [
        [(0, "2013-01-01", 0), (0, "2013-01-01", 5)],
        [(0, "2013-01-02", 3)],
        [(1, "2013-01-01", 2)],
    ]


@given(st.lists(st.tuples(st.integers(1, 200), st.sampled_from("ab"), st.integers(0, 1))), st.integers(1, 150))
def test_groups_are_disjoint_and_not_too_large(made: list[tuple[int, str, int]], target: int) -> None:
    files = [file(n, size, date, partition) for n, (size, date, partition) in enumerate(made)]
    groups = groups_of(files, target)
    assert sorted(each for group in groups for each in group) == sorted(files)
    for group in groups:
        assert len(group) == 1 or sum(each.size_bytes for each in group) <= target
        assert len({each[1:4] for each in group}) == 1
        assert [each.first_offset for each in group] == sorted(each.first_offset for each in group)


def test_merged_parquet_has_the_rows_of_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = DumpShape("parquet", "zstd")
    sources = [
        each
        for start in (0, 10, 20)
        for each in write_files([rows(range(start, start + 5), [0] * 5)], str(tmp_path), "_staging", shape)
    ]
    monkeypatch.setattr(merging, "ROW_GROUP_BYTES", 200)
    found = merge(str(tmp_path), sources, shape)
    assert offsets_of(tmp_path, found) == [*range(5), *range(10, 15), *range(20, 25)]
    assert (found.first_offset, found.last_offset, found.records) == (0, 24, 15)
    assert found.size_bytes == (tmp_path / found.staged).stat().st_size
    assert pq.read_schema(tmp_path / found.staged) == pq.read_schema(tmp_path / sources[0].staged)
    assert all((tmp_path / source.staged).exists() for source in sources)


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_merged_lines_are_those_of_its_sources(tmp_path: Path, compression: str) -> None:
    shape = DumpShape("jsonl", compression)
    sources = [
        each
        for start in (0, 10)
        for each in write_files([lines([start, start + 1], [0, 0])], str(tmp_path), "_staging", shape)
    ]
    found = merge(str(tmp_path), sources, shape)
    how = None if compression == "none" else compression
    with pa.input_stream(str(tmp_path / found.staged), compression=how) as stream:
        text = stream.read()
    assert text == b"".join(b'{"offset":%d}\n' % offset for offset in (0, 1, 10, 11))
