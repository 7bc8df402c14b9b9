"""Parsing of sizes, durations and paths."""

import pytest

from kafkalet_spark.option_types import duration_ms, local_path, size_bytes


@pytest.mark.parametrize(
    ("text", "size"), [("5", 5), (" 64k ", 65536), ("64 MiB", 64 << 20), ("2GB", 2 << 30), ("1t", None), ("1x", None)]
)
def test_size_may_have_a_unit(text: str, size: int | None) -> None:
    assert size_bytes(text, "g") == size


@pytest.mark.parametrize(
    ("text", "ms"), [("250", 250), ("5ms", 5), ("2s", 2000), ("1m", 60_000), ("1 MIN", 60_000), ("1h", 3_600_000)]
)
def test_duration_without_unit_is_in_milliseconds(text: str, ms: int) -> None:
    assert duration_ms(text, "h") == ms


def test_unit_above_the_largest_is_refused() -> None:
    assert (duration_ms("1d", "h"), duration_ms("1d", "d")) == (None, 86_400_000)
    assert (size_bytes("1t", "g"), size_bytes("1t", "t")) == (None, 1 << 40)


@pytest.mark.parametrize("address", ["/a/b", "file:/a/b", "file:///a/b"])
def test_file_uri_becomes_a_path(address: str) -> None:
    assert local_path(address) == "/a/b"
