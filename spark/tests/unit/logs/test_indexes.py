"""Index files, compared with those of kafkalet's storage, and invalid ones."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.storage.files import Files
from kafkalet.storage.txn_index import TransactionIndex
from kafkalet_spark.logs.directory import open_partition
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.indexes import (
    AbortedTransactions,
    check_positions,
    offset_index_bytes,
    read_offset_index,
    read_time_index,
    read_transaction_index,
    time_index_bytes,
    transaction_index_bytes,
)

from .made import Made

BASE = 1000
Reader = Callable[[str, int], Any]


def column(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "00000000000000001000.index"


def test_indexes_are_read_as_storage_writes_them(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    for at in range(60):
        made.append(at * 3 % 50, at)
        made.transactional(7, at)
        made.end(7, commit=at % 2 == 0, ms=at)
    made.close()
    entries = 0
    for segment, theirs in zip(open_partition(str(made.place)).segments, made.log.segments, strict=True):
        offsets = read_offset_index(segment.index_path, segment.base_offset)
        check_positions(segment.index_path, offsets, segment.size)
        words = struct.iter_unpack(">ii", Path(segment.index_path).read_bytes())
        assert [(o - segment.base_offset, p) for o, p in zip(*map(np.ndarray.tolist, offsets), strict=True)] == list(
            words
        )
        times = read_time_index(segment.time_index_path, segment.base_offset)
        assert (times.largest, times.offset[-1]) == theirs.time_index.last_entry[:2]
        aborted, stable = read_transaction_index(segment.txn_index_path, segment.base_offset)
        rows = list(zip(*(each.tolist() for each in (*aborted, stable)), strict=True))
        assert rows == [tuple(each) for each in TransactionIndex(Files().file(segment.txn_index_path), 0)]
        entries += len(rows) * offsets.offset.size
    assert entries > 10


def test_offset_lookup_returns_entry_at_or_below(path: Path) -> None:
    path.write_bytes(offset_index_bytes(BASE, column(1010, 1020), column(100, 300)))
    index = read_offset_index(str(path), BASE)
    assert [index.lookup(at) for at in (1000, 1009, 1010, 1019, 1020, 5000)] == [0, 0, 100, 100, 300, 300]


def test_time_lookup_returns_entry_at_or_below_or_strictly_below(path: Path) -> None:
    path.write_bytes(time_index_bytes(BASE, column(5, 9), column(1010, 1020)))
    index = read_time_index(str(path), BASE)
    assert [index.last_offset_until(ms) for ms in (4, 5, 8, 9, 10)] == [-1, 1010, 1010, 1020, 1020]
    assert [index.last_offset_before(ms) for ms in (5, 6, 9, 10)] == [-1, 1010, 1010, 1020]
    assert index.largest == 9


@pytest.mark.parametrize(("read", "entry"), [(read_offset_index, ">ii"), (read_time_index, ">qi")])
@pytest.mark.parametrize("allocated", [0, 1, 1000, 800_000])
@pytest.mark.parametrize("is_hole", [True, False])
def test_preallocated_space_has_no_entries(path: Path, read: Reader, entry: str, allocated: int, is_hole: bool) -> None:
    size = struct.calcsize(entry)
    data = b"".join(struct.pack(entry, at * 256, at * 256) for at in range(1, 600))
    with path.open("wb") as file:
        file.write(data)
        if is_hole:
            file.truncate(len(data) + allocated * size)
        else:
            file.write(bytes(allocated * size))
    first, _ = read(str(path), BASE)
    assert first.size == 599


@pytest.mark.parametrize("is_hole", [True, False])
def test_index_of_preallocated_space_only_is_empty(path: Path, is_hole: bool) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 20)
        if not is_hole:
            file.write(bytes(10 << 20))
    assert read_offset_index(str(path), BASE).offset.size == 0


def test_single_entry_of_zeros_is_valid(path: Path) -> None:
    path.write_bytes(bytes(12))
    index = read_time_index(str(path), BASE)
    assert (index.timestamp.tolist(), index.offset.tolist()) == ([0], [BASE])


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 1 << 20)), max_size=30))
def test_written_indexes_are_read_back(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]) -> None:
    path = tmp_path_factory.getbasetemp() / "index"
    first, second = (np.cumsum(column(*(step[at] for step in steps))) for at in (0, 1))
    path.write_bytes(offset_index_bytes(BASE, first + BASE, second))
    assert [each.tolist() for each in read_offset_index(str(path), BASE)] == [(first + BASE).tolist(), second.tolist()]
    path.write_bytes(time_index_bytes(BASE, second, first + BASE))
    assert [each.tolist() for each in read_time_index(str(path), BASE)] == [second.tolist(), (first + BASE).tolist()]
    path.write_bytes(transaction_index_bytes(AbortedTransactions(second, first, first + BASE), first))
    aborted, stable = read_transaction_index(str(path), 0)
    assert [each.tolist() for each in (*aborted, stable)] == [
        second.tolist(), first.tolist(), (first + BASE).tolist(), first.tolist(),
    ]  # fmt: skip


@pytest.mark.parametrize("offset", [BASE - 1, BASE + (1 << 31)])
def test_offset_too_far_from_the_base_is_rejected(offset: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        offset_index_bytes(BASE, column(offset), column(0))


def txn(producer: int, first: int, last: int, stable: int = 0, version: int = 0) -> bytes:
    return struct.pack(">hqqqq", version, producer, first, last, stable)


@pytest.mark.parametrize(
    ("read", "data", "position", "reason"),
    [
        (read_offset_index, struct.pack(">iii", 1, 1, 1), 8, "4 trailing bytes; an entry has 8"),
        (read_offset_index, struct.pack(">iiii", 5, 1, 5, 2), 8, "offset 5 is not above the previous one"),
        (read_offset_index, struct.pack(">iiii", 5, 9, 6, 9), 8, "position 9 is not above the previous one"),
        (read_offset_index, struct.pack(">iiii", 5, 9, 0, 0) + b"\0\0\0\1\0\0\0\1", 8, "offset 0 is not above"),
        (read_offset_index, struct.pack(">ii", -1, 1), 0, "relative offset -1 is negative"),
        (read_offset_index, struct.pack(">ii", 1, -1), 0, "position -1 is negative"),
        (read_time_index, struct.pack(">qi", 1, 1) + b"x", 12, "1 trailing bytes; an entry has 12"),
        (read_time_index, struct.pack(">qiqi", 5, 1, 5, 2), 12, "timestamp 5 is not above the previous one"),
        (read_time_index, struct.pack(">qiqi", 5, 3, 6, 2), 12, "offset 2 is below the previous one"),
        (read_time_index, struct.pack(">qi", -5, 3), 0, "timestamp -5 is negative"),
        (read_time_index, struct.pack(">qi", 5, -3), 0, "relative offset -3 is negative"),
        (read_transaction_index, txn(1, BASE, BASE + 1)[:-1], 0, "33 trailing bytes; an entry has 34"),
        (read_transaction_index, txn(1, BASE, BASE + 1) + txn(1, 5, BASE + 1), 34, "is not above the previous one"),
        (read_transaction_index, txn(1, 5, BASE - 1), 0, "the marker at 999 is below the base offset 1000"),
        (read_transaction_index, txn(1, BASE + 9, BASE + 9), 0, "first offset 1009 is not below that of the marker"),
        (read_transaction_index, txn(1, BASE, BASE + 1, version=1), 0, "version 1 is not supported"),
    ],
)
def test_invalid_entry_is_rejected_with_position(
    path: Path, read: Reader, data: bytes, position: int, reason: str
) -> None:
    path.write_bytes(data)
    with pytest.raises(CorruptFile) as caught:
        read(str(path), BASE)
    assert (caught.value.path, caught.value.position) == (str(path), position)
    assert reason in caught.value.reason


def test_entry_past_the_end_of_the_log_is_rejected(path: Path) -> None:
    path.write_bytes(offset_index_bytes(BASE, column(1010, 1020), column(100, 300)))
    index = read_offset_index(str(path), BASE)
    check_positions(str(path), index, 301)
    with pytest.raises(CorruptFile, match="byte 8: position 300 is past the end of the log, which has 300 bytes"):
        check_positions(str(path), index, 300)


def test_missing_index_is_corrupt_but_missing_transaction_index_is_empty(path: Path) -> None:
    for read in (read_offset_index, read_time_index):
        with pytest.raises(CorruptFile, match="byte 0: the file does not exist"):
            read(str(path), BASE)
    assert read_transaction_index(str(path), BASE).aborted.producer_id.size == 0


def test_index_with_swap_suffix_is_found(path: Path) -> None:
    Path(f"{path}.swap").write_bytes(offset_index_bytes(BASE, column(1010), column(100)))
    assert read_offset_index(str(path), BASE).offset.tolist() == [1010]


def test_transactions_are_selected_by_row_or_mask() -> None:
    aborted = AbortedTransactions(column(1, 2), column(3, 4), column(5, 6))
    assert [each.tolist() for each in aborted.take(np.array([False, True]))] == [[2], [4], [6]]
