"""Entries of .log files are read in windows, and unreadable bytes between them are skipped."""

from pathlib import Path

import pytest

from kafkalet.inspection import reading
from kafkalet.inspection.reading import Entry, ReadOnlyFile, Unreadable, entries, read_file
from tests.unit.storage.producing import logged, message_set

BATCHES = [bytes(logged(offset, 2).view()) for offset in (0, 2, 4)]
SIZE = len(BATCHES[0])


def read(path: Path, data: bytes, *, heads: bool = False) -> list[tuple[int, int] | str]:
    """Return the position and base offset of each entry, or the range of unreadable bytes."""
    path.write_bytes(data)
    with ReadOnlyFile(str(path)) as file:
        return [
            (each.position, each.batch.base_offset) if isinstance(each, Entry) else f"{each.position}-{each.end}"
            for each in entries(file, heads=heads)
        ]


@pytest.mark.parametrize("heads", [True, False])
def test_all_entries_are_read_across_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heads: bool) -> None:
    monkeypatch.setattr(reading, "WINDOW_BYTES", 100)
    assert read(tmp_path / "log", b"".join(BATCHES), heads=heads) == [(0, 0), (SIZE, 2), (2 * SIZE, 4)]


def test_legacy_messages_are_entries(tmp_path: Path) -> None:
    assert read(tmp_path / "log", bytes(message_set(1, 0))) == [(0, 0)]


@pytest.mark.parametrize("length", [b"\0\0\0\0", b"\0\0\0\x20", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"])
def test_reading_continues_at_next_batch_after_damaged_length(tmp_path: Path, length: bytes) -> None:
    damaged = BATCHES[1][:8] + length + BATCHES[1][12:]
    assert read(tmp_path / "log", BATCHES[0] + damaged + BATCHES[2]) == [(0, 0), f"{SIZE}-{2 * SIZE}", (2 * SIZE, 4)]


def test_incomplete_entry_at_the_end_is_unreadable(tmp_path: Path) -> None:
    for cut in (1, SIZE - 12, SIZE - 1):
        assert read(tmp_path / "log", BATCHES[0] + BATCHES[1][:-cut]) == [(0, 0), f"{SIZE}-{2 * SIZE - cut}"]


def test_zeros_at_the_end_are_described(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(BATCHES[0] + bytes(500))
    with ReadOnlyFile(str(tmp_path / "log")) as file:
        assert list(entries(file))[1] == Unreadable(SIZE, SIZE + 500, "500 bytes of zeros")


def test_entry_above_the_limit_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = bytes(logged(2, 50).view())
    monkeypatch.setattr(reading, "MAX_ENTRY_BYTES", 200)
    monkeypatch.setattr(reading, "WINDOW_BYTES", 80)
    found = read(tmp_path / "log", BATCHES[0] + large)
    assert found == [(0, 0), f"{SIZE}-{SIZE + len(large)}"]


def test_file_is_neither_created_nor_changed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ReadOnlyFile(str(tmp_path / "missing"))
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "file").chmod(0o444)
    assert read_file(str(tmp_path / "file")) == b"abc"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
