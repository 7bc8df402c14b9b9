"""Listing of partitions and their segments."""

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalet.formats import epochs_bytes
from kafkalet_spark.logs import directory
from kafkalet_spark.logs.directory import (
    PartitionLog,
    Segment,
    UnreadableLog,
    file_name,
    find,
    is_partition,
    listing,
    open_partition,
    snapshot_path,
    topic_partition,
)
from kafkalet_spark.logs.ends import log_end
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.splits import renewed, split

from .made import TOPIC_ID, Made


@pytest.fixture
def made(tmp_path: Path) -> Made:
    made = Made(tmp_path / "data")
    for at in range(60):
        made.append(at, at + 1)
    made.close()
    return made


def names(logs: list[PartitionLog]) -> list[str]:
    return [log.name for log in logs]


def partition(directory: Path, name: str, log: bytes = b"") -> Path:
    (directory / name).mkdir(parents=True)
    (directory / name / file_name(0, ".log")).write_bytes(log)
    return directory / name


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("orders-0", ("orders", 0)),
        ("a.b-c-12", ("a.b-c", 12)),
        ("-a--3", ("-a-", 3)),
        ("orders", None),
        ("-0", None),
        ("orders-x", None),
        ("orders-", None),
        ("orders-0.1f0e-delete", None),
        ("orders-0.1f0e-stray", None),
        ("orders-0.1f0e-future", None),
        ("orders-1²", None),
    ],
)
def test_directory_name_is_parsed_into_topic_and_partition(name: str, parsed: tuple[str, int] | None) -> None:
    assert topic_partition(name) == parsed


def test_log_has_its_segments_and_checkpointed_offsets(made: Made) -> None:
    [log] = find([str(made.path)])
    assert (log.topic, log.partition, log.path) == ("a.b-c", 0, str(made.place))
    assert [segment.base_offset for segment in log.segments] == made.log.segments.base_offsets
    assert len(log.segments) > 2
    assert log.size_bytes == made.log.size_bytes
    assert (log.log_start_offset, log.high_watermark, log.topic_id) == (0, 120, TOPIC_ID)
    assert [log.is_last(segment) for segment in log.segments] == [False] * (len(log.segments) - 1) + [True]
    assert [log.next_base_offset(at) for at in range(len(log.segments))] == [
        *made.log.segments.base_offsets[1:],
        None,
    ]


def test_files_of_a_segment_have_its_base_offset(made: Made) -> None:
    segment = open_partition(str(made.place)).segments[1]
    stem = str(made.place / f"{segment.base_offset:020d}")
    assert segment.path == f"{stem}.log"
    assert segment.index_path == f"{stem}.index"
    assert segment.time_index_path == f"{stem}.timeindex"
    assert segment.txn_index_path == f"{stem}.txnindex"
    assert segment.snapshot_path == f"{stem}.snapshot" == snapshot_path(str(made.place), segment.base_offset)
    assert Path(segment.index_path).exists()


def test_log_start_is_checkpoint_or_first_base_offset(made: Made) -> None:
    made.open()
    made.delete_until(7)
    assert made.seen().log_start_offset == 7
    made.delete_until(50, files=True)
    assert made.seen().log_start_offset == 50
    made.close()
    (made.path / "log-start-offset-checkpoint").unlink()
    [log] = find([str(made.path)])
    assert log.log_start_offset == log.segments[0].base_offset > 0


def test_clean_shutdown_is_detected(made: Made) -> None:
    assert open_partition(str(made.place)).is_closed
    made.open()
    assert not open_partition(str(made.place)).is_closed
    made.close()


def test_log_without_checkpoints_has_no_high_watermark(tmp_path: Path) -> None:
    partition(tmp_path, "t-0")
    [log] = find([str(tmp_path)])
    assert (log.log_start_offset, log.high_watermark, log.topic_id, log.is_closed) == (0, None, None, False)


def test_logs_are_sorted_by_topic_and_partition(tmp_path: Path) -> None:
    for name in ("b-0", "a-10", "a-9", "a.b-1"):
        partition(tmp_path, name)
    assert names(find([str(tmp_path)])) == ["a-9", "a-10", "a.b-1", "b-0"]


def test_other_directories_are_ignored(tmp_path: Path) -> None:
    partition(tmp_path, "t-0")
    for name in ("t-1.0f-delete", "t-2.0f-future", "t-3.0f-stray", "__cluster_metadata-0", "other"):
        partition(tmp_path, name)
    (tmp_path / "backup-2024").mkdir()
    (tmp_path / "file-7").write_text("")
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    assert names(find([str(tmp_path)])) == ["t-0"]


def test_logs_of_several_directories_are_found(tmp_path: Path) -> None:
    partition(tmp_path / "one", "t-1")
    partition(tmp_path / "two", "t-0")
    (tmp_path / "two" / "log-start-offset-checkpoint").write_text("0\n2\nt 0 5\nt 1 6\n")
    logs = find([str(tmp_path / "one"), str(tmp_path / "two"), str(tmp_path / "one")])
    assert [(log.name, log.log_start_offset) for log in logs] == [("t-0", 5), ("t-1", 0)]


def test_partition_in_two_places_is_rejected(tmp_path: Path) -> None:
    partition(tmp_path / "one", "t-1")
    partition(tmp_path / "two", "t-1")
    with pytest.raises(ValueError, match=r"t-1 lies both in .*one/t-1 and in .*two/t-1"):
        find([str(tmp_path / "one"), str(tmp_path / "two")])


def test_partition_directory_is_accepted_as_path(made: Made) -> None:
    assert find([str(made.place)]) == find([str(made.path)])
    assert is_partition(str(made.place))
    assert not is_partition(str(made.path))


def test_log_directory_may_be_named_like_a_partition(tmp_path: Path) -> None:
    partition(tmp_path / "kafka-1", "t-0")
    assert names(find([str(tmp_path / "kafka-1")])) == ["t-0"]


def test_directory_with_only_partition_metadata_is_a_log(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    [log] = find([str(tmp_path)])
    assert (log.segments, log_end(log).offset) == ((), 0)


def test_missing_path_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        find([str(tmp_path / "nowhere")])
    with pytest.raises(ValueError, match="is not called TOPIC-PARTITION"):
        open_partition(str(tmp_path))


@pytest.mark.parametrize("name", ["log-start-offset-checkpoint", "replication-offset-checkpoint"])
def test_corrupt_checkpoint_is_rejected_unless_lenient(made: Made, name: str) -> None:
    (made.path / name).write_text("0\n7\n")
    with pytest.raises(CorruptFile, match=f"{name}, byte 2: it has 0 entries, but declares 7"):
        find([str(made.path)])
    [log] = find([str(made.path)], lenient=True)
    assert log.log_start_offset == 0


def test_corrupt_partition_metadata_is_rejected_unless_lenient(made: Made) -> None:
    (made.place / "partition.metadata").write_text("nothing")
    with pytest.raises(CorruptFile, match=r"partition\.metadata, byte 0"):
        find([str(made.path)])
    assert find([str(made.path)], lenient=True)[0].topic_id is None


def test_deleted_and_cleaned_files_are_ignored(made: Made) -> None:
    bases = made.log.segments.base_offsets
    for base, suffix in ((bases[0], "deleted"), (bases[1], "cleaned")):
        shutil.copy(made.place / file_name(base, ".log"), made.place / f"{file_name(base, '.log')}.{suffix}")
    (made.place / file_name(bases[0], ".log")).unlink()
    assert [segment.base_offset for segment in open_partition(str(made.place)).segments] == bases[1:]


def swapped(made: Made, base: int) -> Path:
    """Return the log directory of a broker that was killed after a compaction, before renaming the .swap file."""
    first, second = (made.place / file_name(base, ".log") for base in made.log.segments.base_offsets[:2])
    swap = made.place / f"{file_name(base, '.log')}.swap"
    swap.write_bytes(first.read_bytes() + second.read_bytes())
    return swap


def test_swap_file_replaces_segments_that_it_covers(made: Made) -> None:
    bases = made.log.segments.base_offsets
    swap = swapped(made, bases[0])
    for suffix in (".index", ".timeindex"):
        (made.place / f"{file_name(bases[0], suffix)}.swap").write_bytes(b"")
    (made.place / file_name(bases[0], ".log")).unlink()
    log = open_partition(str(made.place))
    assert [segment.base_offset for segment in log.segments] == [bases[0], *bases[2:]]
    assert log.segments[0].path == str(swap)
    assert log.segments[0].index_path == str(made.place / f"{file_name(bases[0], '.index')}.swap")


def test_swap_file_is_ignored_while_replaced_segments_exist(made: Made) -> None:
    bases = made.log.segments.base_offsets
    swapped(made, bases[0])
    log = open_partition(str(made.place))
    assert [segment.base_offset for segment in log.segments] == bases
    assert not any(segment.path.endswith(".swap") for segment in log.segments)


def test_segment_renamed_between_two_listings_is_found(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    listings = iter([1, 2, 4])  # the names; the first one; a name that no longer exists; and so on
    everything, listdir = sorted(os.listdir(made.place)), os.listdir

    def names(path: str) -> list[str]:
        at = next(listings, None)
        logs = [name for name in everything if name.endswith(".log")]
        return listdir(path) if at is None else [*logs[at:], f"{7:020d}.log"]

    monkeypatch.setattr(os, "listdir", names)
    log = open_partition(str(made.place))
    assert [segment.base_offset for segment in log.segments] == made.log.segments.base_offsets


def test_log_deleted_during_listing_is_left_out(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def names(path: str) -> set[str]:
        shutil.rmtree(path, ignore_errors=True)
        return {f"{7:020d}.log"}

    monkeypatch.setattr(directory, "_names", names)
    assert find([str(made.path)]) == []


def dangling(path: Path) -> str:
    path.symlink_to("/nowhere")
    return "a link to /nowhere, which does not exist"


def directory_of_that_name(path: Path) -> str:
    path.mkdir()
    return "it is a directory, not a file"


def pipe(path: Path) -> str:
    os.mkfifo(path)
    return "it is not a regular file"


UNREADABLE = pytest.mark.parametrize("make", [dangling, directory_of_that_name, pipe])


@UNREADABLE
def test_unreadable_segment_is_listed_with_reason(made: Made, make: Callable[[Path], str]) -> None:
    path = made.place / file_name(made.log.segments.base_offsets[1], ".log")
    path.unlink()
    reason = make(path)
    [log] = listing([str(made.path)]).logs
    assert [segment.base_offset for segment in log.segments] == made.log.segments.base_offsets
    assert [bool(segment.fault) for segment in log.segments][:3] == [False, True, False]
    assert reason in str(log.segments[1].fault)
    assert log.segments[1].size == 0


@UNREADABLE
def test_find_rejects_partition_with_unreadable_segment(made: Made, make: Callable[[Path], str]) -> None:
    path = made.place / file_name(made.log.segments.base_offsets[1], ".log")
    path.unlink()
    reason = make(path)
    for look in (lambda: find([str(made.path)]), lambda: open_partition(str(made.place))):
        with pytest.raises(UnreadableLog, match=rf"a\.b-c-0 \({path}: .*{reason}\)"):
            look()
    assert len(open_partition(str(made.place), unreadable_too=True).segments) == len(made.log.segments.base_offsets)


def test_find_ignores_unreadable_partition_that_is_not_wanted(made: Made) -> None:
    broken = partition(made.path, "other-0")
    (broken / file_name(0, ".log")).unlink()
    dangling(broken / file_name(0, ".log"))
    assert names(find([str(made.path)], wanted=lambda topic, number: topic != "other")) == ["a.b-c-0"]


def test_segment_without_permission_is_listed_with_reason(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not path.endswith(".log"))
    [log] = listing([str(made.path)]).logs
    assert {segment.fault for segment in log.segments} == {"Permission denied"}


def test_partition_directory_that_cannot_be_listed_is_named(made: Made) -> None:
    dangling(made.path / "other-3")
    [unlisted] = listing([str(made.path)]).unlisted
    assert (unlisted.name, unlisted.path) == ("other-3", str(made.path / "other-3"))
    assert unlisted.reason == "a link to /nowhere, which does not exist"
    with pytest.raises(UnreadableLog, match=r"other-3 \(.*/other-3: a link to /nowhere"):
        find([str(made.path)])


def test_partition_in_two_places_is_listed_twice(tmp_path: Path) -> None:
    partition(tmp_path / "one", "t-1")
    partition(tmp_path / "two", "t-1")
    found = listing([str(tmp_path / "one"), str(tmp_path / "two")])
    assert [log.path for log in found.logs] == [str(tmp_path / "one" / "t-1"), str(tmp_path / "two" / "t-1")]
    assert found.directories == (str(tmp_path / "one"), str(tmp_path / "two"))


def test_metadata_log_is_listed_on_request(tmp_path: Path) -> None:
    partition(tmp_path, "__cluster_metadata-0")
    assert listing([str(tmp_path)]).logs == ()
    assert [log.name for log in listing([str(tmp_path)], with_metadata=True).logs] == ["__cluster_metadata-0"]


def test_unfinished_compaction_replaces_nothing(made: Made) -> None:
    bases = made.log.segments.base_offsets
    swapped(made, bases[1])
    (made.place / f"{file_name(bases[0], '.log')}.cleaned").write_bytes(b"")
    log = open_partition(str(made.place))
    assert [segment.base_offset for segment in log.segments] == bases
    assert not any(segment.path.endswith(".swap") for segment in log.segments)


def test_log_is_small_and_picklable(made: Made) -> None:
    log = open_partition(str(made.place))
    data = pickle.dumps(log)
    assert pickle.loads(data) == log
    assert len(data) < 200 * len(log.segments) + 500


def test_segment_detects_that_its_file_was_replaced(made: Made) -> None:
    first = open_partition(str(made.place)).segments[0]
    assert first == Segment(0, first.path, Path(first.path).stat().st_size, Path(first.path).stat().st_ino)
    assert not first.is_replaced
    first.check_is_there()
    other = Path(f"{first.path}.other")
    other.write_bytes(b"")
    other.replace(first.path)
    assert first.is_replaced
    with pytest.raises(FileNotFoundError, match="a compaction has replaced it"):
        first.check_is_there()
    assert not first._replace(inode=0).is_replaced


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="held locks are listed only on Linux")
def test_records_that_a_running_broker_has_deleted_are_below_the_log_start(tmp_path: Path) -> None:
    made = Made(tmp_path)
    for at in range(9):
        made.append(at)
    planned = split(open_partition(str(made.place)), 0, 9, max_bytes=1 << 20)
    made.delete_until(4)
    assert open_partition(str(made.place)).log_start_offset == 4
    with pytest.raises(FileNotFoundError, match="deleted"):
        renewed(planned[0])
    (made.path / ".lock").unlink()  # as if the broker had been killed: it then starts at the checkpoint's offset
    assert open_partition(str(made.place)).log_start_offset == 0
    made.close()


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="held locks are listed only on Linux")
def test_records_of_an_old_format_without_an_epoch_are_not_deleted(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.append_old(1, 1)
    made.append(2)
    (made.place / "leader-epoch-checkpoint").write_bytes(epochs_bytes([(0, 1)]))
    assert open_partition(str(made.place)).log_start_offset == 0
    made.close()
