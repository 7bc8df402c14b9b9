"""Tests of opening a log: after a clean shutdown without reading it, after a crash, with stray or damaged files."""

import logging
import os
import struct
from pathlib import Path

import pytest

from kafkalet.protocol.records.batch import batches
from kafkalet.storage import scan
from kafkalet.storage.failures import StorageFailed

from .place import CONFIG, Place, bases, content, find, four, index_entries, time_entries, with_epoch
from .producing import T0, logged, message_set, produced, record

SMALL = CONFIG._replace(segment_bytes=100)  # one batch per segment
DENSE = CONFIG._replace(index_interval_bytes=0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data", DENSE)


def filled(tmp_path: Path) -> Place:
    place = Place(tmp_path / "data", SMALL)
    for number in range(5):
        place.append(number)
    return place


# After a clean shutdown


def test_a_clean_log_is_opened_without_reading_its_entries(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        place.append(number, producer_id=7, producer_epoch=0, base_sequence=number)
    place.directory.close()
    monkeypatch.setattr(scan, "entries", None)
    place.open()
    assert four(place.log) == (0, 20, 20, 20)
    assert place.log.recovery_point == 20
    assert place.append(1, producer_id=7, producer_epoch=0, base_sequence=20).first_offset == 20


def test_indexes_of_a_clean_log_are_reused(place: Place) -> None:
    for number in range(3):
        place.append(number)
    place.reopen()
    for number in range(3, 6):
        place.append(number)
    place.directory.close()
    assert [offset for offset, _ in index_entries(place.file("00000000000000000000.index"))] == [1, 2, 4, 5]
    assert time_entries(place.file("00000000000000000000.timeindex")) == [(T0 + n, n) for n in (1, 2, 4, 5)]


def test_an_open_transaction_stays_open(place: Place) -> None:
    place.append(1)
    place.append(2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.reopen()
    assert place.log.last_stable_offset == 1
    place.end_transaction(7, commit=False)
    assert place.log.last_stable_offset == 3
    assert place.reopen().last_stable_offset == 3


def test_an_empty_log_stays_empty(place: Place) -> None:
    assert four(place.reopen()) == (0, 0, 0, 0)
    place.log.truncate_fully_and_start_at(33)
    assert four(place.reopen()) == (33, 33, 33, 33)


def test_missing_index_is_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = Place(tmp_path / "data", DENSE)
    for number in range(4):
        place.append(number)
    place.directory.close()
    expected = index_entries(place.file("00000000000000000000.index"))
    place.file("00000000000000000000.index").unlink()
    place.open()
    assert "00000000000000000000.log has no valid index" in caplog.text
    assert place.offsets() == [0, 1, 2, 3]
    place.directory.close()
    assert index_entries(place.file("00000000000000000000.index")) == expected


def test_missing_time_index_is_rebuilt(place: Place) -> None:
    place.append(1)
    place.append(2)
    place.directory.close()
    place.file("00000000000000000000.timeindex").unlink()
    place.open()
    assert place.log.segments.active.largest == (T0 + 2, 1, -1)


def test_invalid_transaction_index_is_rebuilt(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL)
    place.append(1)
    place.append(2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(7, commit=False)
    place.directory.close()
    path = place.file("00000000000000000002.txnindex")
    good = path.read_bytes()
    path.write_bytes(struct.pack(">hqqqq", 0, 7, 0, 0, 0))
    place.open()
    place.directory.close()
    assert path.read_bytes() == good


# After a crash


def test_appended_records_survive_a_crash(place: Place) -> None:
    for number in range(20):
        place.append(number, producer_id=7, producer_epoch=0, base_sequence=number)
    before = content(place.read(0))
    place.crash()
    assert four(place.log) == (0, 0, 0, 20)  # the checkpoint does not have the high watermark
    assert content(place.read(0)) == before
    assert place.append(1, producer_id=7, producer_epoch=0, base_sequence=20).first_offset == 20
    assert place.log.latest_epoch == 0


def test_indexes_after_a_crash_equal_those_of_a_clean_shutdown(place: Place, tmp_path: Path) -> None:
    for number in (5, 3, 9, 9, 12):
        place.append(number)
    place.crash()
    place.directory.close()
    recovered = {kind: place.file(f"00000000000000000000.{kind}").read_bytes() for kind in ("index", "timeindex")}
    clean = Place(tmp_path / "clean", DENSE)
    for number in (5, 3, 9, 9, 12):
        clean.append(number)
    clean.directory.close()
    for kind, found in recovered.items():
        assert found == clean.file(f"00000000000000000000.{kind}").read_bytes()


def test_transaction_index_is_rebuilt_after_a_crash(place: Place) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.append(1, producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(8, commit=False)
    place.end_transaction(7, commit=True)
    before = place.file("00000000000000000000.txnindex").read_bytes()
    place.crash()
    assert place.file("00000000000000000000.txnindex").read_bytes() == before
    place.log.maybe_increment_high_watermark(4)
    assert place.log.last_stable_offset == 4


@pytest.mark.parametrize("left", [1, 11, 12, 16, 17, 30, 60, -1])
def test_incomplete_entry_is_truncated(place: Place, left: int) -> None:
    place.append(1)
    size = place.log.size_bytes
    place.append(2)
    os.truncate(place.file("00000000000000000000.log"), size + left if left > 0 else 2 * size - 1)
    place.crash()
    assert (place.log.log_end_offset, place.log.size_bytes) == (1, size)
    assert place.append(3).first_offset == 1


def test_corrupt_entry_and_everything_after_it_are_truncated(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(4):
        place.append(number)
    size = place.log.size_bytes // 4
    place.overwrite(2 * size + 65, b"\xff")
    place.crash()
    assert four(place.log) == (0, 0, 0, 2)
    assert place.log.size_bytes == 2 * size
    assert f"00000000000000000000.log is corrupt at position {2 * size}" in caplog.text
    assert f"removing the last {2 * size} bytes, from position {2 * size} on" in caplog.text


def test_zeros_after_the_last_entry_are_truncated(place: Place) -> None:
    place.append(1)
    size = place.log.size_bytes
    place.overwrite(size, bytes(5000))
    place.crash()
    assert (place.log.log_end_offset, place.log.size_bytes) == (1, size)


def test_segments_after_a_corrupt_one_are_deleted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = filled(tmp_path)
    place.overwrite(65, b"\xff", segment=2)
    place.log.local.recovery_point = 0
    place.directory.checkpoint()
    place.crash()
    assert bases(place.log) == [0, 1, 2]
    assert place.log.log_end_offset == 2
    assert "00000000000000000002.log" in caplog.text
    assert not [name for name in place.names() if name > "00000000000000000003" and name[0] == "0"]


def test_segments_below_the_recovery_point_are_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    place = filled(tmp_path)
    place.log.flush()
    place.append(7)
    place.directory.checkpoint()
    assert place.log.recovery_point == 5
    place.crash()
    assert [text for text in caplog.text.splitlines() if "recovering" in text] == [
        text for text in caplog.text.splitlines() if "00000000000000000005.log" in text and "recovering" in text
    ]
    assert "recovering" in caplog.text
    assert place.offsets() == [0, 1, 2, 3, 4, 5]


def test_the_recovery_point_is_not_raised_by_a_recovery(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.directory.checkpoint()
    point = place.log.recovery_point
    place.append(1)
    place.crash()
    assert place.log.recovery_point == point == 4


def test_segment_with_decreasing_offsets_is_emptied(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.append(1)
    sent = b"".join(with_epoch(logged(offset), 0) for offset in (5, 3, 2))
    place.overwrite(0, sent)
    place.crash()
    assert "cannot recover" in caplog.text
    assert (place.log.log_end_offset, place.log.size_bytes) == (0, 0)


def test_segment_with_an_offset_overflow_is_not_opened(place: Place) -> None:
    place.append(1)
    place.overwrite(0, with_epoch(logged(2**31), 0))
    with pytest.raises(StorageFailed, match=r"00000000000000000000\.log holds offset 2147483648 at 0"):
        place.crash()


def test_epochs_are_recovered_from_the_entries(place: Place) -> None:
    place.log.append_as_leader(produced(1), 0)
    place.log.append_as_leader(produced(1), 6)
    place.crash()
    assert place.log.epochs.entries == ((0, 0), (6, 1))


def test_epochs_past_the_end_are_removed(place: Place) -> None:
    place.append(1)
    place.directory.close()
    place.file("leader-epoch-checkpoint").write_text("0\n2\n0 0\n9 55\n")
    place.open()
    assert place.log.epochs.entries == ((0, 0),)


def test_snapshots_past_the_end_are_deleted(place: Place) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0)
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=1)
    place.directory.close()
    size = place.log.size_bytes
    os.truncate(place.file("00000000000000000000.log"), size - 1)
    (place.path / ".kafka_cleanshutdown").unlink()
    (place.path / "recovery-point-offset-checkpoint").unlink()
    place.open()
    assert [name for name in place.names() if name.endswith(".snapshot")] == ["00000000000000000001.snapshot"]
    assert place.append(1, producer_id=7, producer_epoch=0, base_sequence=1).first_offset == 1


def test_messages_of_old_formats_are_recovered(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(record_version=1))
    place.append(1, 2)
    place.crash()
    assert place.offsets() == [0, 1]


def test_log_start_is_restored_from_the_checkpoint(place: Place) -> None:
    place.append(1, 2)
    place.append(1, 2)
    place.log.maybe_increment_log_start_offset(3)
    place.directory.checkpoint()
    place.crash()
    assert four(place.log) == (3, 4, 4, 4)


def test_log_that_ends_below_its_start_begins_at_the_start(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.append(1, 2)
    place.append(3, 4)
    place.log.maybe_increment_log_start_offset(3)
    place.directory.close()
    os.truncate(place.file("00000000000000000000.log"), 1)
    (place.path / ".kafka_cleanshutdown").unlink()
    place.open()
    assert four(place.log) == (3, 3, 3, 3)
    assert bases(place.log) == [3]
    assert "files are missing" in caplog.text


def test_last_entry_of_the_time_index_below_the_recovery_point_is_restored(tmp_path: Path) -> None:
    size = logged(0).size
    place = Place(tmp_path / "data", CONFIG._replace(segment_bytes=4 * size, index_interval_bytes=size))
    for number in range(4):
        place.append(number)
    place.log.flush()
    place.directory.checkpoint()
    path = place.file("00000000000000000000.timeindex")
    flushed = path.read_bytes()
    place.append(4)  # rolls, which adds the entry
    assert time_entries(path)[-1] == (T0 + 3, 3)
    path.write_bytes(flushed)
    found = find(place.crash(), T0 + 3)
    assert found is not None
    assert found.offset == 3


# Stray files


def test_deleted_files_are_deleted(place: Place) -> None:
    place.append(1)
    place.file("00000000000000000007.log.deleted").write_bytes(b"x")
    place.file("00000000000000000007.snapshot.deleted").write_bytes(b"x")
    place.reopen()
    assert not [name for name in place.names() if name.endswith(".deleted")]


def test_index_files_without_a_log_file_are_deleted(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.append(1)
    place.file("00000000000000000007.index").write_bytes(b"")
    place.file("00000000000000000007.timeindex").write_bytes(b"")
    place.reopen()
    assert not [name for name in place.names() if name.startswith("00000000000000000007")]
    assert "00000000000000000007.index, which has no .log file" in caplog.text


def test_index_of_a_finished_compaction_gets_its_name(tmp_path: Path) -> None:
    """The segment had already been renamed when the broker stopped."""
    place = filled(tmp_path)
    place.directory.close()
    index = place.file("00000000000000000002.index")
    before = index.read_bytes()
    index.rename(f"{index}.swap")
    place.open()
    assert index.read_bytes() == before
    assert bases(place.log) == [0, 1, 2, 3, 4]


def test_empty_transaction_index_is_valid(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.append(1)
    place.directory.close()
    place.file("00000000000000000000.txnindex").write_bytes(b"")
    place.open()
    assert place.offsets() == [0]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_unfinished_compaction_is_undone(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.directory.close()
    for name in ("00000000000000000001.log.cleaned", "00000000000000000001.index.cleaned"):
        place.file(name).write_bytes(b"")
    place.file("00000000000000000002.log.swap").write_bytes(b"")
    place.open()
    assert bases(place.log) == place.offsets() == [0, 1, 2, 3, 4]
    assert not [name for name in place.names() if name.endswith((".cleaned", ".swap"))]


def test_finished_compaction_replaces_the_old_segments(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.directory.close()
    data = b"".join(with_epoch(logged(offset), 0) for offset in (1, 3))
    place.file("00000000000000000001.log.swap").write_bytes(data)
    place.file("00000000000000000001.index.swap").write_bytes(b"")
    place.open()
    assert bases(place.log) == [0, 1, 4]
    assert place.offsets() == [0, 1, 3, 4]


def test_finished_compaction_deletes_the_transaction_index_of_the_segment_it_replaces(tmp_path: Path) -> None:
    place = filled(tmp_path)
    data = place.file("00000000000000000001.log").read_bytes()
    place.directory.close()
    for name, contents in ((".log.swap", data), (".index.swap", b""), (".txnindex", bytes(34))):
        place.file(f"00000000000000000001{name}").write_bytes(contents)
    place.open()
    assert "00000000000000000001.txnindex" not in place.names()


def test_finished_compaction_that_is_incomplete_ends_at_its_last_entry(tmp_path: Path) -> None:
    place = filled(tmp_path)
    data = place.file("00000000000000000001.log").read_bytes()
    place.file("00000000000000000001.log.swap").write_bytes(data + data[: len(data) // 2])
    place.file("00000000000000000001.index.swap").write_bytes(b"")
    log = place.crash()
    assert place.file("00000000000000000001.log").read_bytes() == data
    assert log.log_end_offset == 2


def test_index_of_a_segment_with_an_impossible_offset_is_not_rebuilt(tmp_path: Path) -> None:
    place = filled(tmp_path)
    segment = place.log.segments.first
    place.overwrite(0, struct.pack(">q", 1 << 50))
    segment._rebuild_indexes()
    assert len(segment.offset_index) == 0


def test_other_files_are_ignored(place: Place) -> None:
    place.append(1)
    place.file("notes.txt").write_text("x")
    place.file("00000000000000000000.checksum").write_text("x")
    place.reopen()
    assert {"notes.txt", "00000000000000000000.checksum"} <= set(place.names())


def test_invalid_topic_id_is_rewritten(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.append(1)
    before = place.file("partition.metadata").read_bytes()
    place.directory.close()
    place.file("partition.metadata").write_bytes(b"")
    place.open()
    place.append(2)
    assert place.file("partition.metadata").read_bytes() == before


def test_a_log_in_format_1_with_keys_is_read(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(record_version=1))
    place.append(record(T0 + 1, key="k"))
    place.reopen()
    assert [found.key for batch in batches(content(place.read(0))) for found in batch.records()] == [b"k"]


def test_wrappers_are_recovered(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(record_version=1))
    place.log.append_as_follower(message_set(1, 1, 4, codec="gzip"))
    place.crash()
    assert place.log.log_end_offset == 2
