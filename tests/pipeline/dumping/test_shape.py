"""`kafkalet.pipeline.dumping.shape`: formats, compressions, and the ends of names."""

import pytest

from kafkalet.pipeline.dumping.shape import COMPRESSIONS, Shape


@pytest.mark.parametrize(
    ("shape", "suffix"),
    [
        (Shape("parquet", "zstd"), ".parquet"),
        (Shape("parquet", "none"), ".parquet"),
        (Shape("jsonl", "none"), ".jsonl"),
        (Shape("jsonl", "gzip"), ".jsonl.gz"),
        (Shape("jsonl", "zstd"), ".jsonl.zst"),
    ],
)
def test_a_name_ends_as_readers_expect(shape: Shape, suffix: str) -> None:
    assert shape.suffix == suffix


def test_text_is_not_compressed_unless_it_is_asked_for() -> None:
    assert COMPRESSIONS["jsonl"][0] == "none"
