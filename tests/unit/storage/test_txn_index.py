"""Tests of the transaction index: searches, truncation, and the file format."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.storage.files import Files
from kafkalet.storage.txn_index import CorruptTransactionIndex, TransactionIndex
from kafkalet.storage.values import AbortedTransaction

NAME = "00000000000000000100.txnindex"
FIRST = AbortedTransaction(producer_id=7, first_offset=100, last_offset=110, last_stable_offset=105)
SECOND = AbortedTransaction(producer_id=8, first_offset=105, last_offset=120, last_stable_offset=115)
THIRD = AbortedTransaction(producer_id=9, first_offset=115, last_offset=130, last_stable_offset=131)


@pytest.fixture
def files() -> Iterator[Files]:
    files = Files(durable=False)
    yield files
    files.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / NAME)


def index_at(files: Files, path: str, *entries: AbortedTransaction) -> TransactionIndex:
    index = TransactionIndex(files.file(path), 100)
    for entry in entries:
        index.append(entry)
    return index


def test_file_is_created_with_the_first_entry(files: Files, path: str) -> None:
    index = index_at(files, path)
    assert list(index) == []
    assert index.collect(0, 1000).aborted == []
    index.write()
    index.reset()
    assert not os.path.exists(path)
    index.append(FIRST)
    assert os.path.getsize(path) == 34


def test_entry_has_kafkas_format(files: Files, path: str) -> None:
    index_at(files, path, FIRST)
    with open(path, "rb") as file:
        assert file.read().hex() == ("000000000000000000070000000000000064000000000000006e0000000000000069")


def test_entries_are_read_after_reopening(files: Files, path: str) -> None:
    index_at(files, path, FIRST, SECOND).close()
    index = index_at(files, path)
    assert list(index) == [FIRST, SECOND]
    assert (len(index), index.last_offset) == (2, 120)


def test_partial_entry_is_overwritten(files: Files, path: str) -> None:
    index_at(files, path, FIRST).close()
    with open(path, "ab") as file:
        file.write(b"\xff" * 20)
    index = index_at(files, path, SECOND)
    index.close()
    assert list(index_at(files, path)) == [FIRST, SECOND]


def test_markers_must_increase(files: Files, path: str) -> None:
    index = index_at(files, path, SECOND)
    with pytest.raises(AssertionError):
        index.append(FIRST)
    assert list(index) == [SECOND]


def test_search_finds_transactions_that_overlap_the_range(files: Files, path: str) -> None:
    index = index_at(files, path, FIRST, SECOND, THIRD)
    assert index.collect(100, 101).aborted == [FIRST]
    assert index.collect(110, 111).aborted == [FIRST, SECOND]
    assert index.collect(111, 112).aborted == [SECOND]
    assert index.collect(121, 200).aborted == [THIRD]
    assert index.collect(131, 200).aborted == []


def test_search_ends_when_the_stable_offset_reaches_the_upper_bound(files: Files, path: str) -> None:
    index = index_at(files, path, FIRST, SECOND, THIRD)
    assert index.collect(100, 111).complete
    assert not index.collect(100, 132).complete
    assert index.collect(100, 131).complete


def test_truncation_drops_the_markers_at_the_offset_and_above(files: Files, path: str) -> None:
    index = index_at(files, path, FIRST, SECOND, THIRD)
    index.truncate_to(121)
    assert list(index) == [FIRST, SECOND]
    index.truncate_to(120)
    assert list(index) == [FIRST]
    assert os.path.getsize(path) == 34
    index.append(SECOND)
    assert list(index) == [FIRST, SECOND]


def test_a_reset_leaves_an_empty_file(files: Files, path: str) -> None:
    index = index_at(files, path, FIRST)
    index.reset()
    assert list(index) == []
    assert index.last_offset == -1
    assert os.path.getsize(path) == 0


def test_a_marker_below_the_segment_is_corruption(files: Files, path: str) -> None:
    index = index_at(files, path, AbortedTransaction(7, 50, 99, 100))
    with pytest.raises(CorruptTransactionIndex):
        index.check()
    index_at(files, path + "2", FIRST, SECOND).check()


def test_entry_of_an_unknown_version_is_corruption(files: Files, path: str) -> None:
    with open(path, "wb") as file:
        file.write(b"\x00\x01" + bytes(32))
    index = index_at(files, path)
    with pytest.raises(CorruptTransactionIndex):
        list(index)


def test_removed_index_can_be_used_again(files: Files, path: str) -> None:
    index = index_at(files, path, FIRST)
    index.remove()
    assert not os.path.exists(path)
    assert list(index) == []
    index.remove()


def test_rename_before_and_after_the_file_exists(files: Files, path: str) -> None:
    index = index_at(files, path)
    index.rename(path + ".deleted")
    index.append(FIRST)
    assert os.path.exists(path + ".deleted")
    index.rename(path)
    assert index.path == path
    assert list(index) == [FIRST]
    assert os.listdir(os.path.dirname(path)) == [NAME]


@st.composite
def histories(draw: st.DrawFn) -> list[AbortedTransaction]:
    """Generates aborts like those of a log: markers increase, and the stable offset is that of open transactions."""
    history = []
    offset = 100
    open_since: dict[int, int] = {}
    for _ in range(draw(st.integers(0, 40))):
        producer = draw(st.integers(0, 4))
        if producer in open_since and draw(st.booleans()):
            first = open_since.pop(producer)
            stable = min(open_since.values(), default=offset + 1)
            history.append(AbortedTransaction(producer, first, offset, stable))
        else:
            open_since.setdefault(producer, offset)
        offset += 1
    return history


@given(history=histories(), fetch_offset=st.integers(90, 150), length=st.integers(1, 60), cut=st.integers(90, 150))
def test_search_equals_a_linear_search(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[AbortedTransaction],
    fetch_offset: int,
    length: int,
    cut: int,
) -> None:
    files = Files(durable=False)
    try:
        index = index_at(files, str(tmp_path_factory.mktemp("index") / NAME), *history)
        upper_bound = fetch_offset + length
        found = index.collect(fetch_offset, upper_bound)
        assert found.aborted == [
            entry for entry in history if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound
        ]
        index.truncate_to(cut)
        assert list(index) == [entry for entry in history if entry.last_offset < cut]
    finally:
        files.close()


@pytest.mark.parametrize(
    "changed", [{"first_offset": 111}, {"first_offset": -1}, {"producer_id": -1}], ids=lambda fields: next(iter(fields))
)
def test_check_finds_invalid_entries(files: Files, path: str, changed: dict[str, int]) -> None:
    index = index_at(files, path, FIRST._replace(**changed))
    with pytest.raises(CorruptTransactionIndex, match="which is invalid"):
        index.check()
