"""Changes of the metadata are written once and reverted together."""

import pytest

from kafkalet.broker.cluster.changes import Changes
from kafkalet.storage.failures import StorageFailed


class Kept:
    """Some data, with a list of the states that were written."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.written: list[list[str]] = []
        self.fails = False
        self.changes = Changes(self.write)

    def write(self) -> None:
        if self.fails:
            raise StorageFailed("no space")
        self.written.append(list(self.values))

    def add(self, value: str, *, refused: bool = False) -> None:
        with self.changes.begin() as change:
            self.values.append(value)
            change.undo(lambda: self.values.remove(value))
            change.then(lambda: self.values.append(f"{value} is written"))
            if refused:
                raise ValueError(value)


def test_single_change_is_written_and_followed() -> None:
    kept = Kept()
    kept.add("a")
    assert kept.written == [["a"]]
    assert kept.values == ["a", "a is written"]


def test_nested_changes_are_written_once_at_end() -> None:
    kept = Kept()
    with kept.changes.begin():
        kept.add("a")
        assert kept.changes.are_under_way
        kept.add("b")
        assert kept.written == []
    assert kept.written == [["a", "b"]]
    assert kept.values == ["a", "b", "a is written", "b is written"]
    assert not kept.changes.are_under_way


def test_failed_nested_change_is_reverted_alone() -> None:
    kept = Kept()
    with kept.changes.begin():
        kept.add("a")
        with pytest.raises(ValueError, match="b"):
            kept.add("b", refused=True)
    assert kept.written == [["a"]]
    assert kept.values == ["a", "a is written"]


def test_all_changes_are_reverted_if_writing_fails() -> None:
    kept = Kept()
    kept.fails = True

    def add_both() -> None:
        with kept.changes.begin():
            kept.add("a")
            kept.add("b")

    with pytest.raises(StorageFailed):
        add_both()
    assert kept.values == []
    kept.fails = False
    kept.add("c")
    assert kept.written == [["c"]]
