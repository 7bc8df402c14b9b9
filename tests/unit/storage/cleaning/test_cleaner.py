"""Tests of one round: the records that are left, the files, and the effects on readers and offsets."""

import errno
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from kafkalet.protocol.records.batch import batches
from kafkalet.storage.cleaning.cleaner import CleanerSettings, Round, group_by_size
from kafkalet.storage.file_system import Buffer, FileSystem
from kafkalet.storage.files import FileRange
from kafkalet.storage.values import Isolation
from tests.unit.storage.place import bases, content, index_entries, time_entries
from tests.unit.storage.producing import T0, record

from .cleaned_place import COMPACTED, CleanedPlace, Kept, run

DAY_MS = 86_400_000


@pytest.fixture
def place(tmp_path: Path) -> CleanedPlace:
    return CleanedPlace(tmp_path / "data")


# Records


def test_newest_record_of_each_key_is_left(place: CleanedPlace) -> None:
    place.put("abc", "ab", "ad")
    place.clean()
    assert place.kept() == [Kept(2, b"c", b"2"), Kept(4, b"b", b"4"), Kept(5, b"a", b"5"), Kept(6, b"d", b"6")]


def test_records_of_the_active_segment_do_not_count(place: CleanedPlace) -> None:
    place.put("ab")
    place.log.roll()
    place.put("a")
    assert place.clean(roll=False) is not None
    assert place.kept_keys() == "aba"


def test_second_round_compares_clean_records_with_dirty_ones(place: CleanedPlace) -> None:
    place.put("abc")
    place.clean()
    place.put("b")
    assert place.clean() is not None
    assert [each.offset for each in place.kept()] == [0, 2, 3]


def test_nothing_is_cleaned_twice(place: CleanedPlace) -> None:
    place.put("abc")
    assert place.clean() is not None
    assert place.clean() is None


def test_result_counts_bytes_and_records(place: CleanedPlace) -> None:
    place.put("aab", "cc")
    size = place.log.size_bytes
    found = place.clean()
    assert found == Round(0, 5, size, place.log.size_bytes, 5, 3)
    assert place.checkpoint == 5


def test_full_offset_map_ends_the_round(place: CleanedPlace) -> None:
    place.put("ab", "abcd", "ab")
    small = CleanerSettings(dedupe_buffer_bytes=24 * 4, load_factor=0.5)
    found = place.clean(small)
    assert found is not None
    assert (found.first_dirty_offset, found.end_offset) == (0, 2)
    assert place.kept_keys() == "ababcdab"
    found = place.clean(small)
    assert found is not None
    assert (found.first_dirty_offset, found.end_offset) == (2, 4)
    assert place.kept_keys() == "abcdab"


def test_tombstone_is_removed_in_the_first_round_after_its_delete_horizon(place: CleanedPlace) -> None:
    place.put("aA", "b")
    place.clean()
    assert place.kept_keys() == "Ab"
    place.clock.advance(milliseconds=DAY_MS)
    place.put("c")
    place.clean()
    assert place.kept_keys() == "bc"


def test_offsets_of_removed_records_can_still_be_read_from(place: CleanedPlace) -> None:
    place.put("abc", "ab", "abc")
    place.clean()
    assert place.offsets() == [5, 6, 7]
    assert place.read(3).position.offset == 3
    assert place.log.log_start_offset == 0


# Transactions


def begin(place: CleanedPlace, keys: str, producer_id: int, sequence: int = 0) -> None:
    place.put(keys, transactional=True, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


def test_aborted_records_are_removed(place: CleanedPlace) -> None:
    place.put("a")
    begin(place, "ab", 1)
    place.end_transaction(1, commit=False)
    place.put("b")
    place.clean()
    assert [(each.offset, each.key) for each in place.kept()] == [(0, b"a"), (4, b"b")]


def test_transaction_index_keeps_transactions_whose_marker_stays(place: CleanedPlace) -> None:
    begin(place, "ab", 1)
    place.end_transaction(1, commit=False)
    begin(place, "c", 1, 2)
    place.end_transaction(1, commit=True)
    place.clean()
    segment = place.log.segments.first
    assert [each.last_offset for each in segment.txn_index] == [2]
    place.put("d")
    place.clean()
    # The records are gone, so the abort marker is no longer needed, and gets a delete horizon.
    assert not list(place.log.segments.first.txn_index)
    horizon = place.clock.now_ms() + COMPACTED.delete_retention_ms
    assert [each.delete_horizon_ms for each in place.batches() if each.is_control] == [horizon, None]


def test_open_transaction_stays(place: CleanedPlace) -> None:
    place.put("ab")
    place.log.roll()
    begin(place, "ab", 1)
    assert place.clean() is not None
    assert place.kept_keys() == "abab"
    assert place.log.last_stable_offset == 2


def test_read_committed_consumers_see_the_same_records(place: CleanedPlace) -> None:
    begin(place, "ab", 1)
    place.end_transaction(1, commit=False)
    begin(place, "cd", 1, 2)
    place.end_transaction(1, commit=True)
    place.put("e")
    place.clean()
    found = place.read(0, Isolation.LAST_STABLE)
    assert found.aborted == [(1, 0, 2, 3)]
    assert place.kept_keys() == "cde"


# Segments


def filled(tmp_path: Path, config: Any = COMPACTED, *, segments: int = 5, **more: Any) -> CleanedPlace:
    """Return a log with one batch of the same two keys per segment, and an active segment without records."""
    tmp_path.mkdir(exist_ok=True)
    place = CleanedPlace(tmp_path / "data", config, **more)
    for _ in range(segments):
        place.put("ab")
        place.log.roll()
    return place


def test_small_segments_are_combined(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.clean()
    assert bases(place.log) == [0, 10]
    assert place.kept_keys() == "ab"


def test_combined_segments_are_not_larger_than_segment_bytes(tmp_path: Path) -> None:
    place = filled(tmp_path)
    size = place.log.segments.first.size_bytes
    place.log.reconfigure(COMPACTED._replace(segment_bytes=2 * size))
    place.clean()
    assert bases(place.log) == [0, 4, 8, 10]


def test_groups_respect_the_size_of_the_indexes(tmp_path: Path) -> None:
    place = filled(tmp_path)
    segments = list(place.log.segments)[:5]
    assert [each.time_index.size_bytes for each in segments] == [12] * 5
    groups = group_by_size(segments, COMPACTED._replace(segment_index_bytes=24), 10)
    assert [[each.base_offset for each in group] for group in groups] == [[0, 2], [4, 6], [8]]


def test_groups_have_no_offset_that_an_index_cannot_represent(tmp_path: Path) -> None:
    place = filled(tmp_path)
    segments = list(place.log.segments)[:5]
    assert len(group_by_size(segments, COMPACTED, (1 << 31))) == 1
    groups = group_by_size(segments, COMPACTED, (1 << 31) + 1)
    assert [[each.base_offset for each in group] for group in groups] == [[0, 2, 4, 6], [8]]


def test_new_segment_has_the_modification_time_of_the_last_old_one(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("a")
    place.log.roll()
    place.clock.advance(milliseconds=5000)
    place.put("b")
    place.clock.advance(milliseconds=5000)
    place.clean()
    assert place.log.segments.first.modified_ms == T0 + 5000
    for suffix in ("log", "index", "timeindex"):
        assert place.file(f"{0:020d}.{suffix}").stat().st_mtime_ns == (T0 + 5000) * 1_000_000


def test_index_entries_are_as_far_apart_as_the_buffer(place: CleanedPlace) -> None:
    for _ in range(40):
        place.append(record(T0, "a", "v" * 400), record(T0, "b"))
    place.append(*(record(T0 + n, f"k{n}", "v" * 400) for n in range(3)))
    for n in range(40):
        place.append(record(T0 + 50, f"m{n}", "v" * 400))
    place.log.reconfigure(COMPACTED._replace(index_interval_bytes=0))
    place.clean(CleanerSettings(io_buffer_bytes=2048))
    segment = place.log.segments.first
    positions = [position for position, _ in segment.heads()]
    entries = index_entries(place.file(f"{0:020d}.index"))
    assert len(entries) > 3
    assert {position for _, position in entries} <= set(positions)
    assert [segment.locate(offset).position for offset, _ in entries] != []  # type: ignore[union-attr]
    assert time_entries(place.file(f"{0:020d}.timeindex"))[-1][0] == T0 + 50


def test_batch_larger_than_the_buffer_is_cleaned(place: CleanedPlace) -> None:
    place.append(record(T0, "a", "v" * 5000), record(T0, "b", "v" * 5000))
    place.put("a")
    place.clean(CleanerSettings(io_buffer_bytes=100))
    assert [each.offset for each in place.kept()] == [1, 2]


def test_limited_rate_delays_the_round(place: CleanedPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[float] = []
    monkeypatch.setattr("kafkalet.storage.cleaner_state.Cleaning.pause", lambda self, seconds: paused.append(seconds))
    place.put("abc" * 100, "abc" * 100)
    place.clean(CleanerSettings(max_bytes_per_second=1000.0))
    assert max(paused) > 5


# Files


def names(place: CleanedPlace) -> list[str]:
    return [name for name in place.names() if ".log" in name]


def test_old_files_are_deleted_after_the_delay(tmp_path: Path) -> None:
    place = filled(tmp_path, durable=True)
    place.clean()
    deleted = [f"{offset:020d}.log.deleted" for offset in range(0, 10, 2)]
    assert names(place) == sorted([f"{0:020d}.log", *deleted, f"{10:020d}.log"])
    place.clock.advance(milliseconds=COMPACTED.file_delete_delay_ms)
    assert names(place) == [f"{0:020d}.log", f"{10:020d}.log"]


def test_snapshots_of_combined_segments_are_deleted(tmp_path: Path) -> None:
    place = filled(tmp_path)
    assert f"{4:020d}.snapshot" in place.names()
    place.clean()
    assert [name for name in place.names() if name.endswith(".snapshot")] == [f"{10:020d}.snapshot"]


def test_range_of_an_old_segment_stays_readable(tmp_path: Path) -> None:
    place = filled(tmp_path)
    old = place.read(0).records
    assert isinstance(old, FileRange)
    place.clean()
    place.put("ab")
    place.clean()  # renames the new segment to the name that the old one has now
    assert [each.offset for batch in batches(old.read()) for each in batch.records()] == [0, 1]
    place.clock.advance(milliseconds=COMPACTED.file_delete_delay_ms)
    assert [each.offset for batch in batches(old.read()) for each in batch.records()] == [0, 1]


def test_log_opens_with_the_same_records(tmp_path: Path) -> None:
    place = filled(tmp_path, durable=True)
    place.clean()
    kept = place.kept()
    place.reopen()
    assert place.kept() == kept
    assert place.checkpoint == 10


def test_crash_after_the_round_loses_nothing(tmp_path: Path) -> None:
    place = filled(tmp_path, durable=True)
    place.clean()
    kept = place.kept()
    place.crash()
    assert place.kept() == kept


class CrashingFileSystem(FileSystem):
    """Fails at the given change of a file, and at all later ones, as if the process had ended."""

    def __init__(self, changes: int) -> None:
        self.changes_left = changes

    def _change(self) -> None:
        if not self.changes_left:
            raise OSError(errno.EIO, "crashed")
        self.changes_left -= 1

    def write(self, fd: int, data: Buffer, position: int) -> int:
        self._change()
        return super().write(fd, data, position)

    def truncate(self, fd: int, size: int) -> None:
        self._change()
        super().truncate(fd, size)

    def sync(self, fd: int) -> None:
        self._change()
        super().sync(fd)

    def rename(self, old: str, new: str) -> None:
        self._change()
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        if self.exists(path):
            self._change()
        super().unlink(path)


def test_crash_at_any_change_of_a_file_loses_nothing(tmp_path: Path) -> None:
    """The log then has the old or the new records."""
    crashes = 0
    while True:
        place = filled(tmp_path / str(crashes), segments=2, durable=True)
        before, files = place.kept(), place.directory.environment.files
        system, crashing = files.system, CrashingFileSystem(crashes)
        files.system = crashing
        place.clean(roll=False)
        files.system = system
        if crashing.changes_left:
            break
        place.crash()
        assert place.kept() in ([Kept(2, b"a", b"0"), Kept(3, b"b", b"1")], before)
        assert not [name for name in place.names() if name.endswith((".cleaned", ".swap", ".deleted"))]
        assert place.log.log_end_offset == 4
        place.log.maybe_increment_high_watermark(4)
        assert place.clean(roll=False) is not None or place.checkpoint == 4
        assert place.kept_keys() == "ab"
        crashes += 1
    assert crashes > 20


# Aborting


def stopped_while_renaming(place: CleanedPlace) -> Coroutine[Any, Any, object]:
    """Start a round that has renamed the files of one of five old segments."""
    steps = place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms())
    result = None
    while not any(name.endswith(".deleted") for name in place.names()):
        step = steps.send(result)
        result = None if step is None else step.function()
    return steps


def test_old_files_are_renamed_in_several_turns(tmp_path: Path) -> None:
    place = filled(tmp_path, durable=True)
    steps = stopped_while_renaming(place)
    assert f"{0:020d}.log.swap" in place.names()
    assert f"{4:020d}.log" in place.names()
    assert place.kept_keys() == "ab"
    assert bases(place.log) == [0, 10]
    steps.close()
    assert f"{0:020d}.log" in place.names()


def test_crash_between_the_turns_completes_the_replacement(tmp_path: Path) -> None:
    place = filled(tmp_path, durable=True)
    stopped_while_renaming(place)
    place.crash()
    assert place.kept_keys() == "ab"
    assert names(place) == [f"{0:020d}.log", f"{10:020d}.log"]


def test_truncation_between_the_turns_completes_the_replacement(tmp_path: Path) -> None:
    place = filled(tmp_path, durable=True)
    steps = stopped_while_renaming(place)
    place.log.truncate_to(5)
    assert f"{0:020d}.log.swap" not in place.names()
    assert (place.log.log_end_offset, bases(place.log), place.kept_keys()) == (5, [0], "")
    with pytest.raises(StopIteration) as end:
        steps.send(None)
    assert end.value.value == (place.log, None)


def test_truncation_during_the_round_aborts_it(tmp_path: Path) -> None:
    place = filled(tmp_path)
    steps = 0

    def truncate() -> None:
        nonlocal steps
        steps += 1
        if steps == 2:
            place.log.truncate_to(5)

    found = run(place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms()), truncate)
    assert found == (place.log, None)
    assert place.kept_keys() == "abab"
    assert place.checkpoint is None
    assert not [name for name in place.names() if name.endswith(".cleaned")]


def test_truncation_lowers_the_checkpoint(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.clean()
    place.put("ab")
    place.log.truncate_to(5)
    assert place.checkpoint == 0
    assert place.log.log_end_offset == 5


def test_truncation_of_the_active_segment_aborts_nothing(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.put("cd")
    truncated = False

    def truncate() -> None:
        nonlocal truncated
        if not truncated:
            truncated = True
            place.log.truncate_to(11)

    found = run(place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms()), truncate)
    assert found is not None
    assert found[1] is not None
    assert place.checkpoint == 10


def test_deletion_of_the_log_aborts_the_round_and_removes_the_checkpoint(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.cleaner.state.set_offset(place.key, 2)
    log = place.log
    found = run(
        place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms()),
        lambda: place.directory.delete(*place.key),
    )
    assert found == (log, None)
    assert place.checkpoint is None
    assert not os.path.exists(tmp_path / "data" / "t-0")


def test_closing_the_directory_aborts_the_round(tmp_path: Path) -> None:
    place = filled(tmp_path, durable=True)
    kept = place.kept()
    found = run(place.cleaner.clean_filthiest(CleanerSettings(), place.clock.now_ms()), place.directory.close)
    assert found is not None
    assert found[1] is None
    place.open()
    assert place.kept() == kept


# Offsets


def test_high_watermark_at_the_end_of_a_replaced_segment_stays_readable(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data")
    place.put("aaaa", "a")
    place.log.maybe_increment_high_watermark(place.log.log_end_metadata())
    end = place.log.high_watermark_metadata()
    place.log.roll()
    place.append({"ts": T0, "key": "a", "value": "x"}, visible=False)
    place.log._high_watermark = end  # at the end of the first segment, as a slow follower leaves it
    assert place.clean(roll=False) is not None
    assert place.offsets(Isolation.HIGH_WATERMARK) == [4]
    assert len(content(place.read(0, Isolation.HIGH_WATERMARK))) == place.log.segments.first.size_bytes


def test_lookups_by_timestamp_find_records_in_new_segments(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.put("c")
    assert place.log.segments.first_reaching(T0) is place.log.segments.first
    place.clean()
    found = place.log.segments.first_reaching(T0)
    assert found is not None
    assert found is place.log.segments.first
    assert [batch.base_offset for _, batch in found.entries()] == [8, 10]


def test_log_start_offset_inside_a_segment_stays(tmp_path: Path) -> None:
    place = filled(tmp_path)
    place.log.maybe_increment_log_start_offset(3)
    place.clean()
    assert place.log.log_start_offset == 3
    assert place.offsets() == [8, 9]
    place.cleaner.delete_old_segments()
    assert bases(place.log) == [0, 10]


def test_record_format_1_is_cleaned(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data", COMPACTED._replace(record_version=1))
    place.put("aab", "ac", codec="gzip")
    place.clean()
    assert [(each.offset, each.key) for each in place.kept()] == [(2, b"b"), (3, b"a"), (4, b"c")]


# Releases


def test_index_has_entries_for_batches(place: CleanedPlace) -> None:
    place.log.reconfigure(COMPACTED._replace(index_interval_bytes=0))
    place.put("a", "b", "ab", "c", "d")
    place.clean()
    heads = list(place.log.segments.first.heads())
    assert index_entries(place.file(f"{0:020d}.index")) == [(head.last_offset, at) for at, head in heads[1:]]


def test_full_index_makes_the_log_uncleanable(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data", COMPACTED._replace(index_interval_bytes=0))
    for key in "abcdef":
        place.clock.advance(milliseconds=1)
        place.put(key)
    place.log.reconfigure(COMPACTED._replace(index_interval_bytes=0, segment_index_bytes=36))
    assert place.clean() is None
    assert "full index" in place.cleaner.state.uncleanable[place.key]


def test_index_of_old_releases_has_entries_for_pieces(place: CleanedPlace) -> None:
    place.log.reconfigure(COMPACTED._replace(index_interval_bytes=0, indexes_each_batch=False))
    place.put("a", "b", "ab", "c", "d")
    place.clean()
    assert index_entries(place.file(f"{0:020d}.index")) == []


def test_old_releases_set_no_delete_horizon(tmp_path: Path) -> None:
    place = CleanedPlace(tmp_path / "data", COMPACTED._replace(sets_delete_horizons=False, segment_bytes=100))
    place.put("aA")
    place.clean()
    assert [batch.delete_horizon_ms for batch in place.batches()] == [None]
    place.clock.advance(milliseconds=DAY_MS)
    place.put("b")
    place.clean()
    assert place.kept_keys() == "Ab"  # the clean segment is not a day newer than that of the tombstone
    place.clock.advance(milliseconds=DAY_MS)
    place.put("c")
    place.clean()
    assert place.kept_keys() == "bc"


@pytest.mark.parametrize(("where", "counts"), [("nowhere", [1]), ("end of the round", [1, 0]), ("high watermark", [1])])
def test_last_batch_of_a_round_stays_without_records(tmp_path: Path, where: str, counts: list[int]) -> None:
    place = CleanedPlace(tmp_path / "data", COMPACTED._replace(keeps_empty_batch_before=where))
    place.put("a")
    begin(place, "b", 1)
    place.log.roll()
    place.end_transaction(1, commit=False)
    place.log.producers._by_id.clear()  # it has expired
    place.clean(roll=False)
    assert [batch.count for batch in place.batches() if not batch.is_control][: len(counts)] == counts


def test_many_old_files_are_deleted_in_several_turns(tmp_path: Path) -> None:
    place = filled(tmp_path, segments=25)
    place.clean()
    place.clock.advance(milliseconds=COMPACTED.file_delete_delay_ms)
    assert len([name for name in place.names() if name.endswith(".log.deleted")]) == 5
    place.clock.advance(milliseconds=1)
    assert not [name for name in place.names() if name.endswith(".deleted")]
