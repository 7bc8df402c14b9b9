"""`kafkalet.storage.directories`: several log directories, and directories that fail."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkalet.clock import ManualClock
from kafkalet.storage.directories import DirectoriesRefused, LogDirectories
from kafkalet.storage.directory import DirectoryInUse, LogDirectory
from kafkalet.storage.failures import StorageFailed
from kafkalet.storage.file_system import FileSystem
from kafkalet.storage.identity import IdentityRefused
from kafkalet.storage.log import Log
from kafkalet.storage.values import Isolation

from .broken_disk import BrokenDisk
from .place import CONFIG, TOPIC_ID
from .producing import T0, produced, record

Opening = Callable[..., LogDirectories]


@pytest.fixture
def disk(tmp_path: Path) -> BrokenDisk:
    """The disk of directory b."""
    return BrokenDisk(tmp_path / "b")


@pytest.fixture
def opening(tmp_path: Path, disk: FileSystem) -> Iterator[Opening]:
    """A function that opens the directories with these names."""
    opened: list[LogDirectories] = []

    def open_them(*names: str, **more: object) -> LogDirectories:
        directories = LogDirectories(
            [str(tmp_path / name) for name in names],
            ManualClock(T0),
            **{"system": disk, **more},  # type: ignore[arg-type]
        )
        opened.append(directories)
        return directories

    yield open_them
    for directories in opened:
        directories.close(discard=True)


def create(directories: LogDirectories, *names: str, **more: bool) -> list[Log]:
    return [directories.get_or_create(name, 0, TOPIC_ID, CONFIG, **more) for name in names]


def append(log: Log) -> int:
    return log.append_as_leader(produced(record(T0, value="x")), 0).last_offset


def names(path: Path) -> set[str]:
    return {found.name for found in path.iterdir() if found.is_dir()}


def test_new_log_goes_to_the_directory_with_the_fewest_logs(opening: Opening, tmp_path: Path) -> None:
    directories = opening("a", "b", "c")
    create(directories, "t", "u", "v", "w")
    assert [names(tmp_path / name) for name in "abc"] == [{"t-0", "w-0"}, {"u-0"}, {"v-0"}]
    directories.delete("u", 0)
    create(directories, "x")
    assert (tmp_path / "b" / "x-0").is_dir()


def test_existing_logs_are_found_where_they_are(opening: Opening, tmp_path: Path) -> None:
    directories = opening("a", "b")
    for log in create(directories, "t", "u"):
        append(log)
    directories.close()
    assert (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()
    directories = opening("b", "a")
    assert directories.found() == [("t", 0, TOPIC_ID), ("u", 0, TOPIC_ID)]
    assert [log.log_end_offset for log in create(directories, "t", "u")] == [1, 1]
    assert directories.holder("t", 0) is directories.at(str(tmp_path / "a"))


def test_directories_of_one_broker_have_one_cluster_id_and_different_directory_ids(
    opening: Opening, tmp_path: Path
) -> None:
    opening("a", "b")
    found = [dict(line.split("=", 1) for line in read(tmp_path / name) if "=" in line) for name in "ab"]
    assert found[0]["cluster.id"] == found[1]["cluster.id"]
    assert found[0]["directory.id"] != found[1]["directory.id"]


def read(path: Path) -> list[str]:
    return (path / "meta.properties").read_text().splitlines()


def test_directory_of_another_cluster_is_refused(opening: Opening) -> None:
    opening("a").close()
    opening("b").close()
    with pytest.raises(IdentityRefused, match=r"b/meta\.properties: cluster\.id is"):
        opening("a", "b")


def test_copy_of_a_directory_is_refused(opening: Opening, tmp_path: Path) -> None:
    opening("a").close()
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    with pytest.raises(DirectoriesRefused, match=r"have the same directory\.id"):
        opening("a", "c")


def test_partition_in_two_directories_is_refused(opening: Opening, tmp_path: Path) -> None:
    directories = opening("a", "c")
    append(*create(directories, "t"))
    directories.close()
    shutil.copytree(tmp_path / "a" / "t-0", tmp_path / "c" / "t-0")
    with pytest.raises(DirectoriesRefused, match=r"partition t-0 is in two log directories: .*/a/t-0 and .*/c/t-0"):
        opening("a", "c")
    shutil.rmtree(tmp_path / "c" / "t-0")
    opening("a", "c")  # nothing is locked


def test_log_of_a_deleted_topic_in_another_directory_becomes_a_stray(opening: Opening, tmp_path: Path) -> None:
    directories = opening("a", "c")
    append(*create(directories, "t"))
    directories.close()
    other = opening("c")
    other.get_or_create("t", 0, bytes(16 * [7]), CONFIG)
    other.close()
    directories = opening("c", "a")
    [log] = create(directories, "t", is_new=False)
    assert log.log_end_offset == 1
    assert log.directory == str(tmp_path / "a" / "t-0")
    [stray] = names(tmp_path / "c")
    assert stray.endswith("-stray")


def test_failed_directory_can_be_restored(opening: Opening) -> None:
    directories = opening("a", "b")
    logs = create(directories, "t", "u")
    for log in logs:
        append(log)
    broken = directories.online[0]
    directories.fail(broken.path, "broken")
    broken.abandon()
    restored = directories.restore(broken.path)
    assert [directory.path for directory in directories] == directories.paths
    assert directories.holder("t", 0) is restored
    [log] = create(directories, "t", is_new=False)
    assert append(log) == 1
    with pytest.raises(ValueError, match="a cannot be restored: it is online"):
        directories.restore(broken.path)


def test_directory_given_twice_is_refused(opening: Opening) -> None:
    with pytest.raises(DirectoriesRefused, match="a is given 2 times"):
        opening("a", "b", "b/../a")


def test_directory_in_use_is_refused(opening: Opening) -> None:
    opening("a")
    with pytest.raises(DirectoryInUse):
        opening("b", "a")
    opening("b")


def test_directory_that_cannot_be_opened_is_offline(
    opening: Opening, disk: BrokenDisk, caplog: pytest.LogCaptureFixture
) -> None:
    disk.is_broken = True
    directories = opening("a", "b")
    assert list(directories.offline.values()) == [
        f"{disk.path[:-1]} cannot be used: {disk.path[:-1]}: Input/output error"
    ]
    assert "this log directory is offline" in caplog.text
    [log] = create(directories, "t")
    assert append(log) == 0


def test_file_in_place_of_a_directory_is_offline(opening: Opening, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    assert list(opening("a", "b").offline) == [str(tmp_path / "a")]


def test_broker_without_usable_directory_does_not_start(opening: Opening, disk: BrokenDisk, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    disk.is_broken = True
    with pytest.raises(DirectoriesRefused, match=r"none of the log directories can be used: .*a.*; .*b: Input/output"):
        opening("a", "b")
    with pytest.raises(OSError, match="Input/output error"):
        opening("b")


def test_log_that_may_be_in_an_offline_directory_is_not_created_again(opening: Opening, disk: BrokenDisk) -> None:
    disk.is_broken = True
    directories = opening("a", "b")
    with pytest.raises(StorageFailed, match=r"the log is not in a directory that is online; .*b cannot be used"):
        create(directories, "t", is_new=False)
    create(directories, "t", is_new=True)


OPERATIONS: dict[str, Callable[[Log, LogDirectory], object]] = {
    "append": lambda log, directory: append(log),
    "roll": lambda log, directory: log.roll(),
    "flush": lambda log, directory: log.flush(),
    "truncation": lambda log, directory: log.truncate_to(0),
    "read": lambda log, directory: log.read(0, 1000, Isolation.LOG_END, True).records.read(),  # type: ignore[union-attr]
    "deletion": lambda log, directory: directory.delete("u", 0),
    "checkpoint": lambda log, directory: directory.checkpoint(),
}


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "read"])
def test_failed_operation_takes_the_directory_offline(opening: Opening, disk: BrokenDisk, name: str) -> None:
    directories = opening("a", "b")
    failed: list[LogDirectory] = []
    directories.on_failure = failed.append
    logs = create(directories, "t", "u", "v", "w")
    for log in logs:
        append(log)
    [_, broken] = directories.online
    disk.is_broken = True
    with pytest.raises((StorageFailed, OSError)):
        OPERATIONS[name](logs[1], broken)
    assert failed == [broken]
    assert "b is offline until the broker restarts" in directories.offline[broken.path]
    for log in (logs[1], logs[3]):  # u and w
        with pytest.raises(StorageFailed, match="is offline until the broker restarts"):
            append(log)
    assert [append(logs[0]), append(logs[2])] == [1, 1]
    [moved] = create(directories, "new")
    assert moved.directory.startswith(directories.paths[0])


def test_failed_creation_takes_the_directory_offline_and_uses_another(opening: Opening, disk: BrokenDisk) -> None:
    directories = opening("a", "b")
    create(directories, "t")
    disk.is_broken = True
    [log] = create(directories, "u")
    assert log.directory.startswith(directories.paths[0])
    assert list(directories.offline) == [directories.paths[1]]


def test_creation_fails_when_all_directories_have_failed(opening: Opening, disk: BrokenDisk) -> None:
    directories = opening("b")
    disk.is_broken = True
    for _ in range(2):
        with pytest.raises(StorageFailed, match="Input/output error"):
            create(directories, "t")
    assert directories.have_all_failed


def test_failed_flush_in_the_background_takes_the_directory_offline(opening: Opening, disk: BrokenDisk) -> None:
    soon: list[Callable[[], None]] = []
    directories = opening("a", "b", call_soon=soon.append)
    _, log = create(directories, "t", "u")
    append(log)
    [_, directory] = directories.online
    flusher = directory.environment.flusher
    descriptors = directory.environment.files.descriptors([log.segments.active.path])
    disk.is_broken = True
    flusher.submit("u-0", descriptors, lambda error: log.failures.take_offline(error) if error else None)
    with flusher._changed:
        flusher._changed.wait_for(lambda: not flusher._under_way, 10)
    flusher.abandon()
    assert flusher._thread is not None
    flusher._thread.join(10)
    [collect] = soon
    collect()
    assert list(directories.offline) == [directory.path]


def test_failure_in_another_thread_takes_the_directory_offline_in_the_thread_of_the_logs(
    opening: Opening, disk: BrokenDisk
) -> None:
    soon: list[Callable[[], None]] = []
    directories = opening("a", "b", call_soon=soon.append)
    _, log = create(directories, "t", "u")
    append(log)
    disk.is_broken = True
    errors: list[BaseException] = []

    def read() -> None:
        try:
            log.segments.active._file.read(1, 0)
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert [type(error) for error in errors] == [OSError]
    assert not directories.offline
    [take_offline] = soon
    take_offline()
    assert list(directories.offline) == [directories.paths[1]]


def test_failed_directory_is_not_marked_as_clean_and_its_records_survive(
    opening: Opening, disk: BrokenDisk, tmp_path: Path
) -> None:
    directories = opening("a", "b")
    logs = create(directories, "t", "u")
    for log in logs:
        append(log)
    [_, broken] = directories.online
    disk.is_broken = True
    with pytest.raises(StorageFailed):
        append(logs[1])
    broken.abandon()
    disk.is_broken = False
    directories.close()
    assert (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert not (tmp_path / "b" / ".kafka_cleanshutdown").exists()
    assert [log.log_end_offset for log in create(opening("a", "b"), "t", "u")] == [1, 1]


def test_temporary_directory_stays_online(opening: Opening, disk: BrokenDisk) -> None:
    directories = opening("b", durable=False)
    [log] = create(directories, "t")
    append(log)
    disk.is_broken = True
    with pytest.raises(StorageFailed):
        append(log)
    disk.is_broken = False
    assert append(log) == 1
    assert not directories.offline


def test_directory_can_be_made_to_fail(opening: Opening) -> None:
    directories = opening("a", "b")
    _, log = create(directories, "t", "u")
    directories.fail(directories.paths[1], "taken offline by a test")
    with pytest.raises(StorageFailed, match=r"taken offline by a test; log directory .*b is offline until"):
        append(log)
    with pytest.raises(ValueError, match="b cannot fail: it is offline already"):
        directories.fail(directories.paths[1], "again")
    with pytest.raises(ValueError, match=r"/c cannot fail: the directories are .*a, .*b"):
        directories.fail("/c", "missing")


def test_new_log_goes_to_the_preferred_directory(opening: Opening) -> None:
    directories = opening("a", "b")
    directories.preferred["t", 0] = directories.paths[1]
    [log] = create(directories, "t")
    assert log.directory.startswith(directories.paths[1])
    assert not directories.preferred


def test_place_is_where_a_log_is_or_would_be_created(opening: Opening) -> None:
    directories = opening("a", "b")
    create(directories, "t")
    for name, place in (("t", "a"), ("u", "b")):
        found = directories.place(name, 0)
        assert found is not None
        assert Path(found.path).name == place


def test_deleted_segments_of_a_copy_do_not_remain_when_it_replaces_the_log(opening: Opening, tmp_path: Path) -> None:
    """Kafka looks for them in the new directory, too (LogSegment.deleteTypeIfExists)."""
    directories = opening("a", "c")
    create(directories, "t")
    _, to = directories
    copy = to.get_or_create_future("t", 0, TOPIC_ID, CONFIG)
    append(copy)
    copy.local.roll()
    copy.local.delete_segments([copy.local.segments.first], "of a test")
    assert list(Path(copy.directory).glob("*.deleted"))
    to.adopt_future("t", 0)
    assert not list((tmp_path / "c" / "t-0").glob("*.deleted"))
