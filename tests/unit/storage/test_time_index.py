"""Tests of .timeindex files: Kafka's format, its rules for entries, lookups."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.storage.files import Files
from kafkalet.storage.index import IndexPool, OutOfOrder
from kafkalet.storage.time_index import TimeIndex

BASE = 40


def index(directory: Path, entries: list[tuple[int, int]] = [], max_bytes: int = 1 << 20) -> TimeIndex:  # noqa: B006
    made = TimeIndex(Files(), IndexPool(), str(directory / "0.timeindex"), BASE, max_bytes, new=True)
    for timestamp, offset in entries:
        made.maybe_append(timestamp, offset)
    return made


def reopened(directory: Path) -> TimeIndex:
    return TimeIndex(Files(), IndexPool(), str(directory / "0.timeindex"), BASE, 1 << 20, new=False)


def test_lookup_finds_the_last_entry_at_or_before(tmp_path: Path) -> None:
    made = index(tmp_path, [(1000, 45), (2000, 60)])
    assert made.lookup(1000) == (1000, 45, -1)
    assert made.lookup(1999) == (1000, 45, -1)
    assert made.lookup(2**62) == (2000, 60, -1)


def test_lookup_before_the_first_entry_is_the_base(tmp_path: Path) -> None:
    assert index(tmp_path, [(1000, 45)]).lookup(999) == (-1, BASE, -1)
    assert index(tmp_path).lookup(999) == (-1, BASE, -1)


def test_entry_with_the_last_timestamp_is_skipped(tmp_path: Path) -> None:
    made = index(tmp_path, [(1000, 45), (1000, 46)])
    assert len(made) == 1
    assert made.last_entry == (1000, 45, -1)


def test_no_entry_without_timestamp(tmp_path: Path) -> None:
    assert len(index(tmp_path, [(-1, 45)])) == 0


def test_timestamps_and_offsets_must_not_decrease(tmp_path: Path) -> None:
    made = index(tmp_path, [(1000, 45)])
    with pytest.raises(OutOfOrder):
        made.maybe_append(999, 46)
    with pytest.raises(OutOfOrder):
        made.maybe_append(1001, 44)


def test_one_entry_is_reserved_for_the_roll(tmp_path: Path) -> None:
    made = index(tmp_path, max_bytes=24)
    assert not made.is_full
    made.maybe_append(1000, 41)
    assert made.is_full
    with pytest.raises(AssertionError):
        made.maybe_append(2000, 42)
    made.maybe_append(2000, 42, closing=True)
    assert len(made) == 2


@pytest.mark.parametrize(("offset", "left"), [(40, 0), (45, 0), (46, 1), (60, 1), (61, 2), (100, 2)])
def test_truncation_drops_entries_at_and_above_the_offset(tmp_path: Path, offset: int, left: int) -> None:
    made = index(tmp_path, [(1000, 45), (2000, 60)])
    made.truncate_to(offset)
    assert len(made) == left


def test_lookup_loads_the_index(tmp_path: Path) -> None:
    index(tmp_path, [(1000, 45), (2000, 60)]).flush()
    assert reopened(tmp_path).lookup(1500) == (1000, 45, -1)


def test_truncation_of_an_index_that_is_not_loaded_drops_entries(tmp_path: Path) -> None:
    index(tmp_path, [(1000, 45), (2000, 60)]).flush()
    made = reopened(tmp_path)
    made.truncate_to(60)
    assert len(made) == 1
    made.keep_loaded()
    assert made.last_entry == (1000, 45, -1)


def test_last_entry_is_read_without_loading_the_index(tmp_path: Path) -> None:
    index(tmp_path, [(1000, 45), (2000, 60)]).flush()
    found = reopened(tmp_path)
    assert found.last_entry == (2000, 60, -1)
    assert not found._is_loaded


@pytest.mark.parametrize("padding", [0, 12, 1200])
def test_the_last_entry_is_found_before_padding(tmp_path: Path, padding: int) -> None:
    (tmp_path / "0.timeindex").write_bytes(struct.pack(">qi", 1000, 5) + bytes(padding))
    assert reopened(tmp_path).last_entry == (1000, 45, -1)


def test_last_entry_of_an_empty_index_is_the_base_without_a_timestamp(tmp_path: Path) -> None:
    assert reopened(tmp_path).last_entry == (-1, BASE, -1)
    (tmp_path / "0.timeindex").write_bytes(b"")
    assert reopened(tmp_path).last_entry == (-1, BASE, -1)


def test_file_has_kafkas_format(tmp_path: Path) -> None:
    index(tmp_path, [(1_700_000_000_000, 45), (1_700_000_000_001, 60)]).flush()
    expected = struct.pack(">qiqi", 1_700_000_000_000, 5, 1_700_000_000_001, 20)
    assert (tmp_path / "0.timeindex").read_bytes() == expected


def test_single_zero_entry_is_not_padding(tmp_path: Path) -> None:
    made = index(tmp_path, [(0, BASE)])
    made.flush()
    assert reopened(tmp_path).last_entry == (0, BASE, -1)


def test_preallocated_zeros_are_not_entries(tmp_path: Path) -> None:
    (tmp_path / "0.timeindex").write_bytes(struct.pack(">qi", 1000, 5) + bytes(12 * 100))
    assert len(reopened(tmp_path)) == 1


entries = st.lists(st.tuples(st.integers(1, 2**40), st.integers(1, 1000)), max_size=50).map(
    lambda steps: [
        (sum(s[0] for s in steps[: n + 1]), BASE + sum(s[1] for s in steps[: n + 1])) for n in range(len(steps))
    ]
)


@given(entries=entries, wanted=st.integers(-1, 2**46))
def test_time_index_round_trip(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[int, int]], wanted: int
) -> None:
    directory = tmp_path_factory.mktemp("index")
    made = index(directory, entries)
    made.flush()
    found = reopened(directory)
    assert len(found) == len(entries)
    expected = max((entry for entry in entries if entry[0] <= wanted), default=(-1, BASE))
    assert found.lookup(wanted)[:2] == made.lookup(wanted)[:2] == expected
