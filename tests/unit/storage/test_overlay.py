"""An overlay behaves like a file system in which everything may be changed, but leaves the directory below
unchanged.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.storage.directory import DirectoryInUse, LogDirectory
from kafkalet.storage.file_system import DISK, READ, READ_AND_WRITE, Buffer, FileSystem
from kafkalet.storage.files import replace_file
from kafkalet.storage.overlay import Overlay
from kafkalet.storage.values import Isolation
from tests.profile import examples

from .place import CONFIG, TOPIC_ID, Place, content
from .producing import produced

Listing = dict[str, tuple[int, int, int, bytes]]


def listing(directory: Path) -> Listing:
    """Return mode, times and contents of everything in a directory."""
    found = {}
    for path in sorted(directory.rglob("*")):
        status = path.stat()
        data = path.read_bytes() if path.is_file() else b""
        found[str(path)] = status.st_mode, status.st_mtime_ns, status.st_ctime_ns, data
    return found


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = tmp_path / "base"
    (base / "t-0").mkdir(parents=True)
    (base / "a").write_bytes(b"contents of a")
    (base / "t-0" / "0.log").write_bytes(b"records" * 10)
    (base / "t-0" / "0.index").write_bytes(b"entries" + bytes(100))
    return base


@pytest.fixture
def overlay(base: Path) -> Iterator[Overlay]:
    before = listing(base)
    overlay = Overlay([str(base)])
    yield overlay
    overlay.close_overlay()
    assert listing(base) == before
    assert not os.path.exists(overlay.temporary)


def read(system: FileSystem, path: str) -> bytes:
    fd = system.open(path, READ)
    try:
        data = system.read(fd, 1 << 20, 0)
        assert len(data) == system.size(fd) == system.status(path).st_size
        return data
    finally:
        system.close(fd)


def write(system: FileSystem, path: str, data: bytes, position: int = 0) -> None:
    fd = system.open(path, READ_AND_WRITE)
    try:
        system.write(fd, data, position)
    finally:
        system.close(fd)


def test_original_is_opened_in_place(overlay: Overlay, base: Path) -> None:
    fd = overlay.open(str(base / "t-0" / "0.log"), READ_AND_WRITE)
    assert os.fstat(fd).st_ino == (base / "t-0" / "0.log").stat().st_ino
    overlay.close(fd)
    assert os.listdir(overlay.temporary) == []


def test_written_file_is_a_copy(overlay: Overlay, base: Path) -> None:
    write(overlay, str(base / "a"), b"X", 3)
    assert read(overlay, str(base / "a")) == b"conXents of a"


def test_copy_keeps_zeros(overlay: Overlay, base: Path) -> None:
    write(overlay, str(base / "t-0" / "0.index"), b"E")
    assert read(overlay, str(base / "t-0" / "0.index")) == b"Entries" + bytes(100)


def test_descriptor_stays_valid_when_its_file_is_copied(overlay: Overlay, base: Path) -> None:
    first, second = (overlay.open(str(base / "a"), READ_AND_WRITE) for _ in range(2))
    overlay.write(first, b"1", 0)
    overlay.write(second, b"2", 1)
    assert overlay.read(first, 3, 0) == overlay.read(second, 3, 0) == b"12n"
    overlay.close(first)
    overlay.close(second)


def test_segment_is_never_copied(overlay: Overlay, base: Path) -> None:
    path = str(base / "t-0" / "0.log")
    assert not overlay.can_append(path)
    with pytest.raises(OSError, match="read-only") as raised:
        write(overlay, path, b"more", 70)
    assert raised.value.errno == errno.EROFS
    assert overlay.can_append(str(base / "t-0" / "9.log"))


def test_truncated_file_has_a_limit(overlay: Overlay, base: Path) -> None:
    path = str(base / "t-0" / "0.log")
    fd = overlay.open(path, READ_AND_WRITE)
    overlay.truncate(fd, 9)
    assert overlay.size(fd) == 9
    assert overlay.read(fd, 100, 0) == b"recordsre"
    assert overlay.read(fd, 100, 50) == b""
    overlay.close(fd)
    assert read(overlay, path) == b"recordsre"
    assert overlay.status(path).st_mtime_ns == os.stat(path).st_mtime_ns
    assert os.listdir(overlay.temporary) == []


def test_renamed_directory_is_an_alias(overlay: Overlay, base: Path) -> None:
    write(overlay, str(base / "t-0" / "new"), b"new")
    overlay.rename(str(base / "t-0"), str(base / "t-0.x-delete"))
    assert not overlay.exists(str(base / "t-0"))
    assert read(overlay, str(base / "t-0.x-delete" / "0.log")) == b"records" * 10
    assert sorted(overlay.names(str(base / "t-0.x-delete"))) == ["0.index", "0.log", "new"]
    assert not overlay.can_append(str(base / "t-0.x-delete" / "0.log"))
    overlay.remove_tree(str(base / "t-0.x-delete"))
    assert overlay.names(str(base)) == ["a"]


def test_directory_created_again_is_empty(overlay: Overlay, base: Path) -> None:
    overlay.remove_tree(str(base / "t-0"))
    overlay.make_directory(str(base / "t-0"))
    assert overlay.names(str(base / "t-0")) == []
    write(overlay, str(base / "t-0" / "0.log"), b"x")
    assert read(overlay, str(base / "t-0" / "0.log")) == b"x"
    assert overlay.can_append(str(base / "t-0" / "0.log"))


def test_replaced_file_uses_one_temporary_file(overlay: Overlay, base: Path) -> None:
    for number in range(5):
        replace_file(str(base / "a"), b"%d" % number, durable=True, system=overlay)
    assert read(overlay, str(base / "a")) == b"4"
    assert sorted(overlay.names(str(base))) == ["a", "t-0"]
    assert len(os.listdir(overlay.temporary)) == 1


def test_paths_outside_are_not_redirected(overlay: Overlay, tmp_path: Path) -> None:
    write(overlay, str(tmp_path / "outside"), b"x")
    assert (tmp_path / "outside").read_bytes() == b"x"
    overlay.unlink(str(tmp_path / "outside"))
    assert not (tmp_path / "outside").exists()


def test_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Overlay([str(tmp_path / "missing")])
    assert not (tmp_path / "missing").exists()


NAMES = st.sampled_from(["a", "b", "t-0", "t-1", "t-0/0.index", "t-0/1.log", "t-1/0.index", "t-1/x"])
Steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.binary(min_size=1, max_size=9), st.integers(0, 20)),
        st.tuples(st.just("replace"), NAMES, st.binary(max_size=9)),
        st.tuples(st.just("truncate"), NAMES, st.integers(0, 200)),
        st.tuples(st.just("rename"), NAMES, NAMES),
        st.tuples(st.sampled_from(["unlink", "make_directory", "remove_tree"]), NAMES),
    ),
    max_size=12,
)


def perform(system: FileSystem, root: Path, step: tuple[Any, ...]) -> str:
    """Perform a step. Return "ok" or "failed"."""
    kind, name, *rest = step
    path = str(root / name)
    try:
        if kind == "write":
            write(system, path, *rest)
        elif kind == "replace":
            replace_file(path, rest[0], durable=False, system=system)
        elif kind == "truncate":
            fd = system.open(path, READ_AND_WRITE)
            try:
                system.truncate(fd, rest[0])
            finally:
                system.close(fd)
        elif kind == "rename":
            system.rename(path, str(root / rest[0]))
        else:
            getattr(system, kind)(path)
    except OSError:
        return "failed"
    return "ok"


def contents(system: FileSystem, root: str, below: str = "") -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for name in system.names(os.path.join(root, below) if below else root):
        path = os.path.join(below, name)
        if system.is_directory(os.path.join(root, path)):
            found[path] = None
            found |= contents(system, root, path)
        else:
            assert system.is_file(os.path.join(root, path))
            found[path] = read(system, os.path.join(root, path))
    return found


@settings(max_examples=examples(3), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=Steps)
def test_any_sequence_of_steps_behaves_as_on_a_disk(base: Path, tmp_path: Path, steps: list[tuple[Any, ...]]) -> None:
    plain = tmp_path / "plain"
    shutil.rmtree(plain, ignore_errors=True)
    shutil.copytree(base, plain)
    before = listing(base)
    overlay = Overlay([str(base)])
    try:
        for step in steps:
            if step[0] == "rename" and _is_unlike_a_broker(plain, step[1], step[2]):
                continue
            assert perform(overlay, base, step) == perform(DISK, plain, step), step
            assert contents(overlay, str(base)) == contents(DISK, str(plain)), step
        assert listing(base) == before
    finally:
        overlay.close_overlay()


def _is_unlike_a_broker(root: Path, old: str, new: str) -> bool:
    """Return whether a rename replaces a directory by another one, which no storage code does."""
    return ((root / new).is_dir() and (root / old).is_dir()) or new.startswith(old + "/")


# Logs


def opened(path: Path, overlay: Overlay, use: Callable[[LogDirectory], object]) -> None:
    place = Place(path.parent / "unused")
    place.directory.close(discard=True)
    directory = LogDirectory(str(path), place.clock, system=overlay)
    try:
        use(directory)
    finally:
        directory.close()


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("torn", [0, 40])
def test_log_is_recovered_and_appended_to_in_the_overlay(tmp_path: Path, is_clean: bool, torn: int) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(index_interval_bytes=100), durable=True)
    for number in range(20):
        place.append(number, number + 1)
    place.directory.close()
    segment = tmp_path / "data" / "t-0" / f"{0:020d}.log"
    if not is_clean:
        (tmp_path / "data" / ".kafka_cleanshutdown").unlink()
        (tmp_path / "data" / "recovery-point-offset-checkpoint").unlink()
    if torn:
        os.truncate(segment, segment.stat().st_size - torn)
    before = listing(tmp_path / "data")
    overlay = Overlay([str(tmp_path / "data")])
    end = 40 - (2 if torn else 0)

    def use(directory: LogDirectory) -> None:
        log = directory.get_or_create("t", 0, TOPIC_ID, CONFIG)
        assert log.log_end_offset == end
        log.append_as_leader(produced(1), 0)
        assert log.log_end_offset == end + 1
        assert log.segments.base_offsets == [0, end]
        assert content(log.read(end, 1000, Isolation.LOG_END, True))
        assert content(log.read(0, 1000, Isolation.LOG_END, True))
        assert log.roll(end + 1)
        log.truncate_to(5)
        assert log.log_end_offset == 5
        log.append_as_leader(produced(1), 0)
        assert len(log.segments) == 2

    opened(tmp_path / "data", overlay, use)
    assert listing(tmp_path / "data") == before
    sizes = [os.path.getsize(os.path.join(overlay.temporary, name)) for name in os.listdir(overlay.temporary)]
    assert max(sizes) < segment.stat().st_size
    overlay.close_overlay()


class RecordingDisk(FileSystem):
    """Remembers what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, fd: int, data: Buffer, position: int) -> int:
        self.written.append(bytes(data))
        return super().write(fd, data, position)


def test_rewritten_index_is_not_copied(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(index_interval_bytes=100), durable=True)
    for number in range(20):
        place.append(number)
    place.directory.close()
    index = tmp_path / "data" / "t-0" / f"{0:020d}.index"
    index.write_bytes(b"\1" * 4096)
    (tmp_path / "data" / ".kafka_cleanshutdown").unlink()
    (tmp_path / "data" / "recovery-point-offset-checkpoint").unlink()
    disk = RecordingDisk()
    overlay = Overlay([str(tmp_path / "data")], disk)
    opened(tmp_path / "data", overlay, lambda directory: directory.get_or_create("t", 0, TOPIC_ID, CONFIG))
    assert index.read_bytes() == b"\1" * 4096
    assert disk.written
    assert not any(b"\1" * 100 in data for data in disk.written)
    overlay.close_overlay()


def test_directory_of_a_running_broker_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", durable=True)
    overlay = Overlay([str(tmp_path / "data")])
    with pytest.raises(DirectoryInUse):
        LogDirectory(str(tmp_path / "data"), place.clock, system=overlay)
    place.directory.close()
    first = LogDirectory(str(tmp_path / "data"), place.clock, system=overlay)
    other = Overlay([str(tmp_path / "data")])
    second = LogDirectory(str(tmp_path / "data"), place.clock, system=other)
    with pytest.raises(DirectoryInUse):
        LogDirectory(str(tmp_path / "data"), place.clock)
    first.close()
    second.close()
    overlay.close_overlay()
    other.close_overlay()
