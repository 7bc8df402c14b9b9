"""Index files are read without validation."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from kafkalet_spark.audit.index_files import read_entries, torn_bytes
from kafkalet_spark.logs.indexes import OFFSET_ENTRY, TIME_ENTRY, TXN_ENTRY


@pytest.mark.parametrize("padding", [0, 8, 8000])
def test_preallocated_zeros_are_not_entries(tmp_path: Path, padding: int) -> None:
    path = tmp_path / "x.index"
    path.write_bytes(pack(">iiii", 3, 100, 9, 256) + bytes(padding))
    assert read_entries(str(path), OFFSET_ENTRY).tolist() == [(3, 100), (9, 256)]
    assert torn_bytes(str(path), OFFSET_ENTRY) == 0


def test_single_entry_may_be_zeros(tmp_path: Path) -> None:
    path = tmp_path / "x.timeindex"
    path.write_bytes(bytes(12))
    assert read_entries(str(path), TIME_ENTRY).tolist() == [(0, 0)]


@pytest.mark.parametrize("rest", [b"abc", bytes(3)])
def test_incomplete_entry_is_detected(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "x.txnindex"
    path.write_bytes(pack(">hqqqq", 0, 1, 2, 3, 4) + rest)
    assert read_entries(str(path), TXN_ENTRY, is_padded=False).tolist() == [(0, 1, 2, 3, 4)]
    assert torn_bytes(str(path), TXN_ENTRY) == 3


def test_invalid_entries_are_returned(tmp_path: Path) -> None:
    path = tmp_path / "x.index"
    path.write_bytes(pack(">iiii", -5, -1, 2, 0))
    assert read_entries(str(path), OFFSET_ENTRY).tolist() == [(-5, -1), (2, 0)]
