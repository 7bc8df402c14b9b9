"""Sizes, times and paths as people write them."""

import pytest

from kafkalet.pipeline.option_types import duration_ms, local_path, size_bytes


@pytest.mark.parametrize(
    ("text", "size"), [("5", 5), (" 64k ", 65536), ("64 MiB", 64 << 20), ("2GB", 2 << 30), ("1t", None), ("1x", None)]
)
def test_a_size_has_a_unit_up_to_the_largest(text: str, size: int | None) -> None:
    assert size_bytes(text, "g") == size


@pytest.mark.parametrize(
    ("text", "ms"), [("250", 250), ("5ms", 5), ("2s", 2000), ("1m", 60_000), ("1 MIN", 60_000), ("1h", 3_600_000)]
)
def test_a_duration_is_in_milliseconds_unless_it_says_otherwise(text: str, ms: int) -> None:
    assert duration_ms(text, "h") == ms


def test_a_larger_unit_than_the_largest_is_none() -> None:
    assert (duration_ms("1d", "h"), duration_ms("1d", "d")) == (None, 86_400_000)
    assert (size_bytes("1t", "g"), size_bytes("1t", "t")) == (None, 1 << 40)


@pytest.mark.parametrize("address", ["/a/b", "file:/a/b", "file:///a/b"])
def test_an_address_of_a_file_is_its_path(address: str) -> None:
    assert local_path(address) == "/a/b"
