"""Entries of index files are read with their positions, without preallocated zeros."""

import struct
from pathlib import Path

import pytest

from kafkalet.inspection import index_file
from kafkalet.inspection.index_file import IndexFile
from kafkalet.inspection.kinds import Kind
from kafkalet.inspection.reading import ReadOnlyFile


def read(path: Path, data: bytes, kind: Kind = Kind.OFFSET_INDEX) -> tuple[list[tuple[int, ...]], int, int]:
    """Return the entries with their positions, the size of the padding, and that of the rest."""
    path.write_bytes(data)
    with ReadOnlyFile(str(path)) as file:
        index = IndexFile(file, kind)
        found = [(entry.at, *entry.fields) for entry in index]
        assert len(index) == len(found)
        last = index.last()
        assert (None if last is None else (last.at, *last.fields)) == (found[-1] if found else None)
        return found, index.padding_bytes, index.rest_bytes


@pytest.mark.parametrize("window", [1, 2, 8192])
def test_padding_is_not_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    monkeypatch.setattr(index_file, "_WINDOW_ENTRIES", window)
    data = struct.pack(">4i", 3, 100, 9, 256)
    assert read(tmp_path / "x", data + bytes(800)) == ([(0, 3, 100), (8, 9, 256)], 800, 0)
    assert read(tmp_path / "x", bytes(800)) == ([], 800, 0)
    assert read(tmp_path / "x", b"") == ([], 0, 0)


def test_single_entry_may_be_zero(tmp_path: Path) -> None:
    assert read(tmp_path / "x", bytes(8)) == ([(0, 0, 0)], 0, 0)


def test_part_of_an_entry_is_the_rest(tmp_path: Path) -> None:
    assert read(tmp_path / "x", struct.pack(">qi", 5, 1) + b"abc", Kind.TIME_INDEX) == ([(0, 5, 1)], 0, 3)


def test_transaction_index_has_no_padding(tmp_path: Path) -> None:
    found, padding, _ = read(tmp_path / "x", bytes(68), Kind.TXN_INDEX)
    assert (len(found), padding) == (2, 0)
