"""Tests of the memory limit for indexes, and of unloading and reloading them."""

from pathlib import Path

from kafkalet.storage.files import Files
from kafkalet.storage.index import IndexPool
from kafkalet.storage.offset_index import OffsetIndex


def make(directory: Path, pool: IndexPool, number: int) -> OffsetIndex:
    index = OffsetIndex(Files(), pool, str(directory / f"{number}.index"), 0, 1 << 20, new=True)
    for offset in range(1, 11):
        index.append(offset, number * 1000 + offset)
    return index


def is_loaded(index: OffsetIndex) -> bool:
    return index._is_loaded


def test_oldest_indexes_are_unloaded_above_the_limit(tmp_path: Path) -> None:
    pool = IndexPool(max_bytes=200)
    made = [make(tmp_path, pool, number) for number in range(4)]
    for index in made:
        index.flush()
        index.allow_unload()
    assert [is_loaded(index) for index in made] == [False, False, True, True]


def test_unloaded_index_is_reloaded_on_use(tmp_path: Path) -> None:
    pool = IndexPool(max_bytes=100)
    made = [make(tmp_path, pool, number) for number in range(3)]
    for index in made:
        index.flush()
        index.allow_unload()
    assert [index.lookup(7) for index in made] == [7, 1007, 2007]
    assert sum(map(is_loaded, made)) == 1


def test_index_of_the_active_segment_is_not_unloaded(tmp_path: Path) -> None:
    pool = IndexPool(max_bytes=100)
    active = make(tmp_path, pool, 0)
    active.flush()
    active.allow_unload()
    active.keep_loaded()
    for number in range(1, 4):
        other = make(tmp_path, pool, number)
        other.flush()
        other.allow_unload()
    assert is_loaded(active)


def test_unwritten_entries_are_never_unloaded(tmp_path: Path) -> None:
    index = make(tmp_path, IndexPool(), 0)
    index.unload()
    assert is_loaded(index)
    index.flush()
    index.append(99, 99)
    index.unload()
    assert index.lookup(99) == 99


def test_rename_and_remove_include_the_file(tmp_path: Path) -> None:
    index = make(tmp_path, IndexPool(), 0)
    index.rename(str(tmp_path / "0.index.deleted"))
    index.flush()
    index.rename(str(tmp_path / "other"))
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    index.remove()
    index.remove()
    assert list(tmp_path.iterdir()) == []
