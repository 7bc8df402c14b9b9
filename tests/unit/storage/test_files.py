"""Tests of files with a limited number of descriptors, and of file ranges, which outlive rename and removal."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalet.storage import file_system as module
from kafkalet.storage.file_system import FileSystem
from kafkalet.storage.files import FileRange, Files, replace_file


@pytest.fixture
def files() -> Iterator[Files]:
    pool = Files(durable=False, max_open=3)
    yield pool
    pool.close()


def open_descriptors(directory: Path) -> list[str]:
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    return [os.readlink(link) for link in links if os.path.lexists(link) and str(directory) in os.readlink(link)]


def test_file_is_created_on_first_use(files: Files, tmp_path: Path) -> None:
    file = files.file(str(tmp_path / "a"))
    assert not (tmp_path / "a").exists()
    file.write(b"abc", 0)
    assert (tmp_path / "a").read_bytes() == b"abc"


def test_create_keeps_no_descriptor(tmp_path: Path) -> None:
    Files(durable=True).file(str(tmp_path / "a")).create()
    assert (tmp_path / "a").exists()
    assert open_descriptors(tmp_path) == []


def test_without_durability_files_are_created_with_the_first_write(files: Files, tmp_path: Path) -> None:
    file = files.file(str(tmp_path / "d" / "a"))
    file.create()
    file.rename(str(tmp_path / "d" / "b"))
    assert not (tmp_path / "d").exists()
    file.write(b"x", 0)
    files.replace(str(tmp_path / "e" / "c"), b"y")
    assert (tmp_path / "d" / "b").read_bytes() == b"x"
    assert (tmp_path / "e" / "c").read_bytes() == b"y"


@pytest.mark.parametrize("durable", [True, False])
def test_directory_of_a_durable_pool_is_not_created(tmp_path: Path, durable: bool) -> None:
    path = str(tmp_path / "gone" / "d" / "a") if not durable else str(tmp_path / "d" / "a")
    files = Files(durable=durable)
    with pytest.raises(FileNotFoundError):
        files.file(path).write(b"x", 0)
    with pytest.raises(FileNotFoundError):
        files.replace(path, b"x")
    assert list(tmp_path.iterdir()) == []


def test_writes_are_positional(files: Files, tmp_path: Path) -> None:
    file = files.file(str(tmp_path / "a"))
    file.write(b"abcdef", 0)
    file.write(bytearray(b"XY"), 2)
    file.write(memoryview(b"Z"), 6)
    assert file.read(100, 0) == b"abXYefZ"
    assert file.read(2, 5) == b"fZ"
    assert file.read(5, 7) == b""


def test_partial_write_is_continued(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.pwrite
    monkeypatch.setattr(module, "_pwrite", lambda fd, data, position: whole(fd, bytes(data[:2]), position))
    file = files.file(str(tmp_path / "a"))
    file.write(b"abcdefg", 1)
    assert file.read(100, 1) == b"abcdefg"


def test_partial_read_is_continued(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.pread
    monkeypatch.setattr(module, "_pread", lambda fd, length, position: whole(fd, min(length, 2), position))
    file = files.file(str(tmp_path / "a"))
    file.write(b"abcdefg", 0)
    assert file.read(5, 1) == b"bcdef"
    assert file.read(50, 4) == b"efg"


def test_seek_replaces_pread_and_pwrite(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "a", os.O_RDWR | os.O_CREAT)
    assert module._seek_and_write(fd, b"abcdef", 3) == 6
    assert module._seek_and_read(fd, 3, 5) == b"cde"
    os.close(fd)


def test_no_more_descriptors_are_open_than_allowed(files: Files, tmp_path: Path) -> None:
    many = [files.file(str(tmp_path / str(number))) for number in range(10)]
    for file in many:
        file.write(file.path.encode(), 0)
    assert len(open_descriptors(tmp_path)) == 3
    assert [file.read(1000, 0).decode() for file in many] == [file.path for file in many]


def test_a_file_that_is_used_again_and_again_keeps_its_descriptor(files: Files, tmp_path: Path) -> None:
    hot = files.file(str(tmp_path / "hot"))
    hot.write(b"", 0)
    for number in range(10):
        files.file(str(tmp_path / str(number))).write(b"", 0)
        hot.fileno()
    assert str(tmp_path / "hot") in open_descriptors(tmp_path)


def test_files_release_descriptors_when_the_process_has_none_left(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = files.file(str(tmp_path / "first"))
    first.write(b"x", 0)
    real, failures = os.open, [OSError(24, "Too many open files")]

    def scarce(path: str, *rest: int) -> int:
        if failures:
            raise failures.pop()
        return real(path, *rest)

    monkeypatch.setattr(module.os, "open", scarce)
    files.file(str(tmp_path / "second")).write(b"y", 0)
    assert open_descriptors(tmp_path) == [str(tmp_path / "second")]
    assert first.read(1, 0) == b"x"


def test_range_has_a_length_and_can_be_sliced(files: Files, tmp_path: Path) -> None:
    file = files.file(str(tmp_path / "a"))
    file.write(b"0123456789", 0)
    piece = FileRange(file, 2, 6)
    assert len(piece) == 6
    assert piece.read() == b"234567"
    assert piece.slice(1, 3).read() == b"345"
    assert piece.slice(4, 100).read() == b"67"
    assert len(piece.slice(100, 5)) == 0
    assert os.pread(piece.fileno(), 6, piece.position) == b"234567"
    assert "position=2" in repr(piece)


def test_a_range_is_readable_after_the_file_was_renamed(files: Files, tmp_path: Path) -> None:
    file = files.file(str(tmp_path / "a"))
    file.write(b"0123456789", 0)
    piece = FileRange(file, 2, 6)
    file.close()
    file.rename(str(tmp_path / "b"))
    assert piece.read() == b"234567"
    assert not (tmp_path / "a").exists()


def test_a_range_is_readable_after_the_directory_was_renamed(files: Files, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    file = files.file(str(tmp_path / "d" / "a"))
    file.write(b"0123456789", 0)
    piece = FileRange(file, 2, 6)
    file.close()
    (tmp_path / "d").rename(tmp_path / "e")
    file.moved(str(tmp_path / "e" / "a"))
    assert piece.read() == b"234567"


@pytest.mark.parametrize("is_open", [True, False])
def test_a_range_is_readable_after_the_file_was_removed(files: Files, tmp_path: Path, is_open: bool) -> None:
    file = files.file(str(tmp_path / "a"))
    file.write(b"0123456789", 0)
    piece = FileRange(file, 2, 6)
    if not is_open:
        file.close()
    file.remove()
    assert not (tmp_path / "a").exists()
    for number in range(10):
        files.file(str(tmp_path / str(number))).write(b"", 0)
    files.close()
    assert piece.read() == b"234567"
    assert not (tmp_path / "a").exists()


def test_descriptor_of_a_removed_file_is_closed_with_its_last_range(files: Files, tmp_path: Path) -> None:
    file = files.file(str(tmp_path / "a"))
    file.write(b"0123456789", 0)
    piece = FileRange(file, 2, 6)
    file.remove()
    del file
    assert len(open_descriptors(tmp_path)) == 1
    del piece
    assert open_descriptors(tmp_path) == []


def test_removing_a_missing_file_raises_no_error(files: Files, tmp_path: Path) -> None:
    file = files.file(str(tmp_path / "a"))
    file.write(b"x", 0)
    file.remove()
    file.remove()
    gone = files.file(str(tmp_path / "nowhere" / "b"))
    gone.remove()
    with pytest.raises(FileNotFoundError):
        gone.read(1, 0)


def test_truncated_file_continues_at_its_new_size(files: Files, tmp_path: Path) -> None:
    file = files.file(str(tmp_path / "a"))
    file.write(b"0123456789", 0)
    file.truncate(4)
    assert file.size() == 4
    file.write(b"x", 4)
    assert file.read(10, 0) == b"0123x"


@pytest.mark.parametrize("durable", [True, False])
def test_only_a_durable_pool_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool) -> None:
    forced: list[int] = []
    monkeypatch.setattr(module.os, "fsync", forced.append)
    files = Files(durable=durable)
    files.replace(str(tmp_path / "b"), b"y")
    files.close()
    assert len(forced) == (2 if durable else 0)  # the new content, its directory


def test_replace_leaves_the_old_or_the_new_content(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    replace_file(path, b"old", durable=False)
    replace_file(path, b"newer", durable=True)
    assert Files().read_all(path) == b"newer"
    assert os.listdir(tmp_path) == ["a"]


def test_descriptors_that_were_opened_before_one_fails_are_closed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(NotADirectoryError):
        Files().descriptors([str(tmp_path / "a"), str(tmp_path / "missing"), str(tmp_path / "file" / "b")])
    assert open_descriptors(tmp_path) == []


class FewDescriptors(FileSystem):
    """A process with a limit of open files."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        if not self.left:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        fd = super().open(path, flags, mode)
        self.left -= 1
        return fd

    def close(self, fd: int) -> None:
        super().close(fd)
        self.left += 1


def test_pool_closes_its_files_if_the_process_has_too_many(tmp_path: Path) -> None:
    files = Files(system=FewDescriptors(2))
    for name in "ab":
        files.file(str(tmp_path / name)).write(name.encode(), 0)
    kept = [files.file(str(tmp_path / name)) for name in "ab"]
    for file in kept:
        file.read(1, 0)
    opened = files.descriptors([str(tmp_path / "a"), str(tmp_path)])
    assert len(opened) == 2
    for descriptor in opened:
        descriptor.close()
    for file in kept:
        file.read(1, 0)
    files.replace(str(tmp_path / "c"), b"c")
    assert files.read_all(str(tmp_path / "c")) == b"c"
