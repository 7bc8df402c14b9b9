"""Index files are read without validation."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from kafkalet.inspection.kinds import Kind
from kafkalet_spark.audit.index_files import read_index
from kafkalet_spark.logs.files import UnreadableFile


@pytest.mark.parametrize("padding", [0, 8, 8000])
def test_preallocated_zeros_are_not_entries(tmp_path: Path, padding: int) -> None:
    path = tmp_path / "x.index"
    path.write_bytes(pack(">iiii", 3, 100, 9, 256) + bytes(padding))
    entries, torn_bytes, padding_bytes = read_index(str(path), Kind.OFFSET_INDEX)
    assert (entries.tolist(), torn_bytes, padding_bytes) == ([(3, 100), (9, 256)], 0, padding)


def test_single_entry_may_be_zeros(tmp_path: Path) -> None:
    path = tmp_path / "x.timeindex"
    path.write_bytes(bytes(12))
    assert read_index(str(path), Kind.TIME_INDEX).entries.tolist() == [(0, 0)]


@pytest.mark.parametrize("rest", [b"abc", bytes(3)])
def test_incomplete_entry_is_detected(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "x.txnindex"
    path.write_bytes(pack(">hqqqq", 0, 1, 2, 3, 4) + rest)
    entries, torn_bytes, padding_bytes = read_index(str(path), Kind.TXN_INDEX)
    assert (entries.tolist(), torn_bytes, padding_bytes) == ([(0, 1, 2, 3, 4)], 3, 0)


def test_invalid_entries_are_returned(tmp_path: Path) -> None:
    path = tmp_path / "x.index"
    path.write_bytes(pack(">iiii", -5, -1, 2, 0))
    assert read_index(str(path), Kind.OFFSET_INDEX).entries.tolist() == [(-5, -1), (2, 0)]


def test_directory_in_place_of_an_index_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="it is a directory, not a file"):
        read_index(str(tmp_path), Kind.OFFSET_INDEX)
