"""`kafkalet_spark.dumping.shape`: formats, compressions and file suffixes."""

import pytest

from kafkalet_spark.dumping.shape import COMPRESSIONS, DumpShape


@pytest.mark.parametrize(
    ("shape", "suffix"),
    [
        (DumpShape("parquet", "zstd"), ".parquet"),
        (DumpShape("parquet", "none"), ".parquet"),
        (DumpShape("jsonl", "none"), ".jsonl"),
        (DumpShape("jsonl", "gzip"), ".jsonl.gz"),
        (DumpShape("jsonl", "zstd"), ".jsonl.zst"),
    ],
)
def test_suffix_is_what_readers_expect(shape: DumpShape, suffix: str) -> None:
    assert shape.suffix == suffix


def test_json_lines_are_uncompressed_by_default() -> None:
    assert COMPRESSIONS["jsonl"][0] == "none"


@pytest.mark.parametrize(
    ("period", "date", "folder"),
    [
        ("day", "2013-01-31", "topic=t/partition=7/date=2013-01-31"),
        ("month", "2013-01", "topic=t/partition=7/month=2013-01"),
        ("year", "2013", "topic=t/partition=7/year=2013"),
        ("none", "", "topic=t/partition=7"),
    ],
)
def test_directory_is_named_after_its_period(period: str, date: str, folder: str) -> None:
    assert DumpShape("parquet", "zstd", date_folders=period).folder("t", 7, date) == folder
