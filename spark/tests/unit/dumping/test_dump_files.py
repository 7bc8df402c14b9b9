"""`kafkalet_spark.dumping.dump_files`: rows are written to files by topic, partition and date."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.dumping import dump_files
from kafkalet_spark.dumping.dump_files import WrittenFile, characters, write_files
from kafkalet_spark.dumping.shape import DumpShape

DAY_US = 86_400_000_000
PARQUET, LINES = DumpShape("parquet", "zstd"), DumpShape("jsonl", "none")


def rows(offsets: Sequence[int], days: Sequence[int], topic: Any = "t", partition: Any = 0) -> pa.RecordBatch:
    """Return a row for each offset, at noon of its day, counted from 1970-01-01."""
    count = len(offsets)
    at = np.array(days, np.int64) * DAY_US + DAY_US // 2
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"k%d" % offset for offset in offsets], pa.binary()),
            "value": pa.array([None if offset % 3 == 0 else b"v" * offset for offset in offsets], pa.binary()),
            "topic": pa.array([topic] * count if isinstance(topic, str) else topic, pa.string()),
            "partition": pa.array([partition] * count if isinstance(partition, int) else partition, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array(at).cast(pa.timestamp("us", tz="Europe/Berlin")),
        }
    )


def lines(offsets: Sequence[int], days: Sequence[int]) -> pa.RecordBatch:
    batch = rows(offsets, days).select(["topic", "partition", "offset", "timestamp"])
    return batch.append_column("line", pa.array([f'{{"offset":{offset}}}\n' for offset in offsets]))


def written(out: Path, batches: Sequence[pa.RecordBatch], shape: DumpShape = PARQUET) -> list[WrittenFile]:
    """Run a task with these rows and return its files."""
    return write_files(batches, str(out), "_staging", shape)


def offsets_of(out: Path, file: WrittenFile) -> list[int]:
    found: list[int] = pq.read_table(out / file.staged)["offset"].to_pylist()
    return found


def test_rows_of_one_date_go_into_one_file(tmp_path: Path) -> None:
    (file,) = written(tmp_path, [rows([3, 4], [0, 0]), rows([7], [0])])
    assert (file.topic, file.partition, file.date) == ("t", 0, "1970-01-01")
    assert (file.first_offset, file.last_offset, file.records) == (3, 7, 3)
    assert file.size_bytes == (tmp_path / file.staged).stat().st_size
    assert offsets_of(tmp_path, file) == [3, 4, 7]


def test_each_date_has_a_file_in_offset_order(tmp_path: Path) -> None:
    found = written(tmp_path, [rows([0, 1, 2, 3], [15706, 15707, 15706, 15707]), rows([4], [15706])])
    assert {file.date: offsets_of(tmp_path, file) for file in found} == {
        "2013-01-01": [0, 2, 4],
        "2013-01-02": [1, 3],
    }


def test_date_is_in_utc_even_before_1970(tmp_path: Path) -> None:
    found = written(tmp_path, [rows([0], [-1])])
    assert found[0].date == "1969-12-31"


def test_topics_and_partitions_get_separate_files(tmp_path: Path) -> None:
    found = written(tmp_path, [rows([0, 1, 2, 3, 4], [0] * 5, ["a", "b", "a", "b", "a"], [0, 0, 1, 0, 0])])
    assert {(file.topic, file.partition): offsets_of(tmp_path, file) for file in found} == {
        ("a", 0): [0, 4],
        ("b", 0): [1, 3],
        ("a", 1): [2],
    }


def test_parquet_files_omit_partition_columns(tmp_path: Path) -> None:
    batch = rows([1, 2, 3], [0, 0, 0])
    (file,) = written(tmp_path, [batch])
    table = pq.read_table(tmp_path / file.staged)
    assert table.schema.names == ["key", "value", "offset", "timestamp"]
    assert table.schema.field("timestamp").type == pa.timestamp("us", tz="UTC")
    assert table["value"].to_pylist() == [b"v", b"vv", None]


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_json_lines_file_consists_of_the_lines(tmp_path: Path, compression: str) -> None:
    (file,) = written(tmp_path, [lines([1, 2], [0, 0]), lines([3], [0])], DumpShape("jsonl", compression))
    how = None if compression == "none" else compression
    with pa.input_stream(str(tmp_path / file.staged), compression=how) as stream:
        assert stream.read() == b'{"offset":1}\n{"offset":2}\n{"offset":3}\n'
    assert file.staged.endswith({"none": ".jsonl", "gzip": ".jsonl.gz", "zstd": ".jsonl.zst"}[compression])


def test_no_rows_write_no_files(tmp_path: Path) -> None:
    assert written(tmp_path, []) == []
    assert written(tmp_path, [rows([], [])]) == []
    assert list(tmp_path.iterdir()) == []


def test_each_attempt_has_its_own_directory(tmp_path: Path) -> None:
    first, second = (written(tmp_path, [rows([0], [0])])[0].staged for _ in range(2))
    assert first != second
    assert first.startswith("_staging/")


def test_large_file_has_several_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_files, "ROW_GROUP_BYTES", 1000)
    (file,) = written(tmp_path, [rows([offset], [0]) for offset in range(100, 140)])
    assert pq.ParquetFile(tmp_path / file.staged).num_row_groups > 1
    assert offsets_of(tmp_path, file) == list(range(100, 140))


@pytest.mark.parametrize("file_format", ["parquet", "jsonl"])
def test_file_is_closed_at_the_target_size(tmp_path: Path, file_format: str) -> None:
    shape = DumpShape(file_format, "none", target_file_bytes=2000)
    make = rows if file_format == "parquet" else lines
    found = written(tmp_path, [make([offset], [0]) for offset in range(100, 600)], shape)
    assert len(found) > 2
    assert [file.first_offset for file in found[1:]] == [file.last_offset + 1 for file in found[:-1]]
    assert (found[0].first_offset, found[-1].last_offset) == (100, 599)
    assert all(2000 <= file.size_bytes < 8000 for file in found[:-1])
    assert sum(file.records for file in found) == 500


@pytest.mark.parametrize(
    ("period", "dates"),
    [
        ("day", {"2013-01-01": [0, 2], "2013-01-31": [1], "2013-02-01": [3], "1969-12-31": [4]}),
        ("month", {"2013-01": [0, 1, 2], "2013-02": [3], "1969-12": [4]}),
        ("year", {"2013": [0, 1, 2, 3], "1969": [4]}),
        ("none", {"": [0, 1, 2, 3, 4]}),
    ],
)
def test_date_follows_the_folder_period(tmp_path: Path, period: str, dates: dict[str, list[int]]) -> None:
    batch = rows([0, 1, 2, 3, 4], [15706, 15736, 15706, 15737, -1])
    found = written(tmp_path, [batch], DumpShape("parquet", "zstd", date_folders=period))
    assert {file.date: offsets_of(tmp_path, file) for file in found} == dates


def test_memory_is_bounded_with_many_dates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_files, "TASK_BYTES", 2000)
    writing = dump_files.Writing(str(tmp_path), "_staging/a", PARQUET)
    for offset in range(100, 200):
        writing.add(rows([offset], [offset % 10]))
        assert writing._waiting_bytes < 2000
    assert sum(file.records for file in writing.close()) == 100


def test_least_recently_used_file_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_files, "OPEN_FILES", 2)
    found = written(tmp_path, [rows([offset], [day]) for offset, day in enumerate([0, 1, 0, 2, 1])])
    by_date = sorted((file.date, offsets_of(tmp_path, file)) for file in found)
    assert by_date == [
        ("1970-01-01", [0, 2]),
        ("1970-01-02", [1]),
        ("1970-01-02", [4]),
        ("1970-01-03", [3]),
    ]


@given(st.lists(st.lists(st.integers(-2, 2), max_size=6), max_size=5))
def test_rows_are_in_the_files_of_their_dates(tmp_path_factory: pytest.TempPathFactory, days: list[list[int]]) -> None:
    out = tmp_path_factory.mktemp("out")
    offset, batches, expected = 0, [], set()
    for some in days:
        offsets = list(range(offset, offset + len(some)))
        offset += len(some)
        batches.append(rows(offsets, some))
        expected |= {(str(np.datetime64(day, "D")), each) for day, each in zip(some, offsets, strict=True)}
    found = written(out, batches)
    assert {(file.date, each) for file in found for each in offsets_of(out, file)} == expected
    assert sum(file.records for file in found) == offset
    for file in found:
        inside = offsets_of(out, file)
        assert inside == sorted(inside)
        assert (file.first_offset, file.last_offset) == (inside[0], inside[-1])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_characters_of_a_slice_match_its_rows(kind: pa.DataType) -> None:
    strings = pa.array(["a", "", "bcd", "e"], kind)
    assert bytes(characters(strings)) == b"abcde"
    assert bytes(characters(strings.slice(1, 2))) == b"bcd"
    assert bytes(characters(strings.slice(4))) == b""
    assert bytes(characters(pa.array([], kind))) == b""
