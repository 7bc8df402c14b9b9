"""Tests of .index files: Kafka's format, lookups, and the search for an upper bound."""

import struct
from bisect import bisect_left
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.storage.files import Files
from kafkalet.storage.index import IndexPool, OutOfOrder
from kafkalet.storage.offset_index import OffsetIndex

BASE = 40


def index(directory: Path, entries: list[tuple[int, int]] = [], max_bytes: int = 1 << 20) -> OffsetIndex:  # noqa: B006
    made = OffsetIndex(Files(), IndexPool(), str(directory / "0.index"), BASE, max_bytes, new=True)
    for offset, position in entries:
        made.append(offset, position)
    return made


def reopened(directory: Path) -> OffsetIndex:
    return OffsetIndex(Files(), IndexPool(), str(directory / "0.index"), BASE, 1 << 20, new=False)


def test_lookup_finds_the_last_entry_at_or_below(tmp_path: Path) -> None:
    made = index(tmp_path, [(45, 100), (60, 5000)])
    assert [made.lookup(offset) for offset in (40, 44, 45, 59, 60, 10**12)] == [0, 0, 100, 100, 5000, 5000]


def test_lookup_in_an_empty_index_returns_zero(tmp_path: Path) -> None:
    assert index(tmp_path).lookup(77) == 0


def test_the_last_offset_of_an_empty_index_is_the_base(tmp_path: Path) -> None:
    assert index(tmp_path).last_offset == BASE
    assert index(tmp_path, [(45, 100)]).last_offset == 45


def test_offsets_must_increase(tmp_path: Path) -> None:
    made = index(tmp_path, [(45, 100)])
    with pytest.raises(OutOfOrder):
        made.append(45, 200)


def test_index_is_full_at_its_maximum_size(tmp_path: Path) -> None:
    made = index(tmp_path, max_bytes=23)
    assert made.max_entries == 2
    made.append(41, 10)
    assert not made.is_full
    made.append(42, 20)
    assert made.is_full
    with pytest.raises(AssertionError):
        made.append(43, 30)


def test_offsets_are_limited_to_31_bits_above_the_base(tmp_path: Path) -> None:
    made = index(tmp_path)
    assert not made.can_hold(BASE - 1)
    assert made.can_hold(BASE)
    assert made.can_hold(BASE + 2**31 - 1)
    assert not made.can_hold(BASE + 2**31)


@pytest.mark.parametrize(
    ("offset", "left"), [(39, 0), (44, 0), (45, 0), (46, 1), (60, 1), (61, 2), (70, 2), (71, 3), (99, 3)]
)
def test_truncation_drops_entries_at_and_above_the_offset(tmp_path: Path, offset: int, left: int) -> None:
    made = index(tmp_path, [(45, 100), (60, 5000), (70, 9000)])
    made.truncate_to(offset)
    assert len(made) == left


def test_truncation_of_an_index_that_is_not_loaded_drops_entries(tmp_path: Path) -> None:
    index(tmp_path, [(45, 100), (60, 5000)]).flush()
    made = reopened(tmp_path)
    made.truncate_to(60)
    assert len(made) == 1
    made.keep_loaded()
    assert made.lookup(60) == 100


def test_file_has_kafkas_format(tmp_path: Path) -> None:
    index(tmp_path, [(45, 100), (60, 5000)]).flush()
    assert (tmp_path / "0.index").read_bytes() == struct.pack(">iiii", 5, 100, 20, 5000)


def test_an_empty_index_has_an_empty_file_once_it_is_flushed(tmp_path: Path) -> None:
    made = index(tmp_path)
    assert not (tmp_path / "0.index").exists()
    made.flush()
    assert (tmp_path / "0.index").read_bytes() == b""


def test_flush_appends_only_new_entries(tmp_path: Path) -> None:
    made = index(tmp_path, [(45, 100)])
    made.flush()
    made.append(60, 5000)
    made.flush()
    made.truncate_to(60)
    made.append(61, 6000)
    made.flush()
    assert reopened(tmp_path).lookup(61) == 6000
    assert len(reopened(tmp_path)) == 2


def test_flush_after_a_truncation_truncates_the_file(tmp_path: Path) -> None:
    made = index(tmp_path, [(45, 100), (60, 5000)])
    made.flush()
    made.truncate_to(50)
    made.flush()
    assert (tmp_path / "0.index").stat().st_size == 8


def test_entries_are_read_from_the_file(tmp_path: Path) -> None:
    index(tmp_path, [(45, 100), (60, 5000)]).flush()
    found = reopened(tmp_path)
    assert found.last_offset == 60
    assert [found.lookup(offset) for offset in (44, 45, 60)] == [0, 100, 5000]


def test_preallocated_zeros_are_not_entries(tmp_path: Path) -> None:
    (tmp_path / "0.index").write_bytes(struct.pack(">iiii", 5, 100, 256, 512) + bytes(8 * 100))
    found = reopened(tmp_path)
    assert len(found) == 2
    found.append(BASE + 300, 700)
    found.flush()
    assert (tmp_path / "0.index").stat().st_size == 24


def test_a_file_of_zeros_is_an_empty_index(tmp_path: Path) -> None:
    (tmp_path / "0.index").write_bytes(bytes(8 * 100))
    assert len(reopened(tmp_path)) == 0


def test_a_missing_file_is_an_empty_index(tmp_path: Path) -> None:
    assert len(reopened(tmp_path)) == 0


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">iii", 5, 100, 20),
        struct.pack(">iiii", 5, 100, 5, 200),
        struct.pack(">iiii", 5, 100, 4, 200),
        struct.pack(">iiii", 5, 100, 6, 99),
        struct.pack(">ii", -1, 100),
        struct.pack(">ii", 1, -100),
    ],
)
def test_invalid_entries_are_rebuilt(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "0.index").write_bytes(data)
    found = reopened(tmp_path)
    found.rebuild = lambda: found.append(BASE + 7, 70)
    assert (len(found), found.lookup(BASE + 7)) == (1, 70)


def test_upper_bound_is_an_entry_after_the_position(tmp_path: Path) -> None:
    made = index(tmp_path, [(45, 100), (60, 5000), (70, 9000)])
    assert [made.upper_bound(position) for position in (0, 99, 101, 4999, 5001, 8999)] == [45, 45, 60, 60, 70, 70]
    assert made.upper_bound(9001) is None
    made.flush()
    assert reopened(tmp_path).upper_bound(101) == 60
    assert index(tmp_path).upper_bound(0) is None


def test_upper_bound_skips_an_exact_entry_that_no_probe_hits(tmp_path: Path) -> None:
    """As in Kafka, whose search in three entries probes the third and the second, but never the first."""
    made = index(tmp_path, [(45, 100), (60, 5000), (70, 9000)])
    assert made.upper_bound(100) == 60
    assert made.upper_bound(5000) == 60 or made.upper_bound(5000) == 70
    assert index(tmp_path, [(45, 100)]).upper_bound(100) is None


@given(st.lists(st.integers(1, 100), min_size=1, max_size=3000).map(lambda steps: steps), st.data())
def test_the_upper_bound_is_never_below_the_position(steps: list[int], data: st.DataObject) -> None:
    positions = (
        [sum(steps[: at + 1]) for at in range(len(steps))] if len(steps) < 50 else list(range(7, 7 + len(steps)))
    )
    made = OffsetIndex(Files(), IndexPool(), "nowhere", 0, 1 << 20, new=True)
    for offset, position in enumerate(positions):
        made.append(offset, position)
    wanted = data.draw(st.integers(0, positions[-1] + 5))
    found = made.upper_bound(wanted)
    nearest = bisect_left(positions, wanted)
    if found is None:
        assert nearest >= len(positions) - 1
    else:
        assert found in (nearest, nearest + 1)
        assert found == nearest or positions[nearest] == wanted


def test_position_is_that_of_the_given_entry(tmp_path: Path) -> None:
    index(tmp_path, [(45, 100), (60, 5000)]).flush()
    assert [reopened(tmp_path).position(entry) for entry in (0, 1, -1)] == [100, 5000, 5000]


def test_position_between_entries_has_no_offset() -> None:
    made = OffsetIndex(Files(), IndexPool(), "nowhere", 100, 1 << 20, new=True)
    made.append(110, 1000)
    made.append(120, 2000)
    assert [made.offset_at(position) for position in (1000, 1500, 2000, 2500)] == [110, None, 120, None]
