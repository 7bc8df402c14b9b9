"""Segments with indexes that are complete, missing or wrong."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kafkalet_spark.logs import indexed
from kafkalet_spark.logs.directory import PartitionLog, open_partition
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.heads import heads
from kafkalet_spark.logs.indexed import IndexedSegment, floor_segment, segments_of
from kafkalet_spark.logs.indexes import offset_index_bytes, read_offset_index

from .made import CONFIG, T0, Made


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """About forty entries of two records in two segments, after a clean shutdown."""
    made = Made(tmp_path / "data", CONFIG._replace(segment_bytes=2500))
    for at in range(40):
        made.append(at, at)
    made.close()
    return made


def first(log: PartitionLog, *, lenient: bool = False) -> IndexedSegment:
    return IndexedSegment(log, log.segments[0], lenient=lenient)


def last(log: PartitionLog, *, lenient: bool = False) -> IndexedSegment:
    return IndexedSegment(log, log.segments[-1], lenient=lenient)


def seen(made: Made) -> PartitionLog:
    return open_partition(str(made.place))


def every_offset_is_found(segment: IndexedSegment) -> bool:
    entries = list(heads(segment.segment.path, 0, segment.segment.size))
    found = [segment.entry_with(at) for each in entries for at in range(each.base_offset, each.last_offset + 1)]
    return found == [each for each in entries for _ in range(each.base_offset, each.last_offset + 1)]


def test_every_offset_is_found_by_the_index(made: Made) -> None:
    assert all(every_offset_is_found(segment) for segment in segments_of(seen(made)))


def test_walk_begins_close_to_the_offset(made: Made) -> None:
    segment = first(seen(made))
    offset = int(segment.offsets.offset[3])
    assert segment.position_before(offset) == segment.offsets.position[3]
    assert segment.position_before(offset - 1) == segment.offsets.position[2]
    assert segment.position_before(0) == 0


def test_first_entry_after_a_gap_is_returned(made: Made) -> None:
    log = seen(made)
    head = last(log).entry_with(log.segments[-1].base_offset - 5)
    assert head is not None
    assert head.position == 0
    assert last(log).entry_with(1 << 40) is None


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("number", [0, -1])
def test_missing_index_is_corrupt_after_clean_shutdown(made: Made, suffix: str, number: int) -> None:
    log = seen(made)
    path = Path(log.segments[number].path).with_suffix(suffix)
    path.unlink()
    with pytest.raises(CorruptFile, match="the file does not exist") as caught:
        _ = getattr(segments_of(log)[number], "offsets" if suffix == ".index" else "times")
    assert caught.value.path == str(path)


def test_active_segment_of_running_broker_may_lack_indexes(made: Made) -> None:
    made.open()
    made.log.roll()
    made.append(90, 91)
    log = made.seen()
    assert not Path(log.segments[-1].index_path).exists()
    assert every_offset_is_found(last(log))
    assert last(log).times.largest == T0 + 91
    Path(log.segments[0].index_path).unlink()
    with pytest.raises(CorruptFile, match="the file does not exist"):
        _ = first(log).offsets
    made.close()


def test_empty_segment_needs_no_index(made: Made) -> None:
    made.open()
    made.log.roll()
    made.close()
    log = seen(made)
    Path(log.segments[-1].index_path).unlink()
    Path(log.segments[-1].time_index_path).unlink()
    assert last(log).entry_with(0) is None
    assert last(log).times.largest == -1


def test_old_segment_without_time_index_is_walked(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    made.append_old(0, 5)
    made.append_old(1, 7, 3)
    made.append(4)
    made.close()
    log = seen(made)
    Path(log.segments[0].time_index_path).unlink()
    segment = first(log)
    assert segment.times.largest == T0 + 7


def test_largest_timestamp_is_known_for_inactive_segments(made: Made) -> None:
    log = seen(made)
    assert first(log).largest_timestamp == made.log.segments.first.largest_timestamp
    assert last(log).largest_timestamp is None


def test_empty_time_index_of_old_messages_is_ignored(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    made.append_old(1, 7)
    made.log.roll()
    made.append(9)
    made.close()
    log = seen(made)
    assert first(log).largest_timestamp == T0 + 7
    Path(log.segments[0].time_index_path).write_bytes(b"")  # as an upgrade to 0.10.1 leaves it
    assert first(log).largest_timestamp is None


@pytest.mark.parametrize("damage", ["missing", "torn", "falls", "outside"])
def test_damaged_index_is_rejected_or_bypassed_if_lenient(made: Made, damage: str) -> None:
    log = seen(made)
    path = Path(log.segments[0].index_path)
    data = path.read_bytes()
    position = 0
    if damage == "missing":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(data[:-3])
        position = len(data) - 8
    elif damage == "falls":
        path.write_bytes(data[:16] + data[8:])
        position = 16
    else:
        path.write_bytes(data + struct.pack(">ii", 9999, 1 << 20))
        position = len(data)
    with pytest.raises(CorruptFile) as caught:
        _ = first(log).offsets
    assert (caught.value.path, caught.value.position) == (str(path), position)
    assert every_offset_is_found(first(log, lenient=True))


@pytest.mark.parametrize("lenient", [True, False])
def test_missing_or_replaced_segment_is_not_corrupt(made: Made, lenient: bool) -> None:
    log = seen(made)
    path = Path(log.segments[0].path)
    path.rename(f"{path}.deleted")
    Path(log.segments[0].index_path).unlink()
    Path(log.segments[0].time_index_path).write_bytes(b"x")
    for what in ("offsets", "times"):
        with pytest.raises(FileNotFoundError):
            getattr(first(log, lenient=lenient), what)
        path.write_bytes(b"")  # another file


def test_damaged_time_index_is_rejected_or_bypassed_if_lenient(made: Made) -> None:
    log = seen(made)
    right = first(log).times
    path = Path(log.segments[0].time_index_path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFile):
        _ = first(log).times
    assert first(log, lenient=True).times.largest == right.largest


@pytest.mark.parametrize("shift", [-1, 7])
def test_index_entry_with_wrong_position_is_rejected_on_use(made: Made, shift: int) -> None:
    log = seen(made)
    path = Path(log.segments[0].index_path)
    offset, position = read_offset_index(str(path), 0)
    position[2] += shift
    path.write_bytes(offset_index_bytes(0, offset, position))
    asked = int(offset[2])
    with pytest.raises(CorruptFile, match=f"byte 16: the index entry for offset {asked} points to byte {position[2]},"):
        first(log).entry_with(asked)
    assert every_offset_is_found(first(log, lenient=True))


def test_index_entry_that_points_too_far_is_rejected(made: Made) -> None:
    log = seen(made)
    path = Path(log.segments[0].index_path)
    offset, position = read_offset_index(str(path), 0)
    path.write_bytes(offset_index_bytes(0, offset[:3], position[[0, 1, 3]]))
    with pytest.raises(CorruptFile, match="byte 16: the index entry for offset"):
        first(log).entry_with(int(offset[2]))
    assert every_offset_is_found(first(log, lenient=True))


def test_index_entry_that_points_to_earlier_entry_is_rejected(made: Made) -> None:
    log = seen(made)
    path = Path(log.segments[0].index_path)
    offset, position = read_offset_index(str(path), 0)
    path.write_bytes(offset_index_bytes(0, offset[[2, 5]], position[[1, 2]]))
    with pytest.raises(CorruptFile, match="byte 8: the index entry for offset"):
        first(log).entry_with(int(offset[5]))


def test_index_entries_after_the_listing_are_ignored(made: Made) -> None:
    before = seen(made)
    made.open()
    while len(made.log.segments) == len(before.segments):
        made.append(99, 99)
    made.close()
    assert last(before).offsets.position.max() < before.segments[-1].size
    assert every_offset_is_found(last(before))


def test_index_entry_of_truncated_data_is_skipped(made: Made) -> None:
    log = seen(made)
    path = Path(log.segments[-1].path)
    position = int(last(log).offsets.position[-1])
    path.write_bytes(path.read_bytes()[: position + 30])
    assert last(seen(made)).position_before(1 << 40) == last(log).offsets.position[-2]


def test_bytes_after_the_last_index_entry_are_walked_once(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "_FAR_BYTES", 300)
    monkeypatch.setattr(indexed, "_INTERVAL_BYTES", 200)
    log = seen(made)
    path = Path(log.segments[0].index_path)
    path.write_bytes(path.read_bytes()[:16])
    segment = first(log)
    assert segment.offsets.offset.size > 4
    assert all(
        segment.claim(slot).check(segment.segment, lenient=False, is_last=False)
        for slot in range(segment.offsets.offset.size)
    )
    assert every_offset_is_found(segment)


def test_walk_does_not_begin_at_wrong_index_entry(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "_FAR_BYTES", 300)
    log = seen(made)
    path = Path(log.segments[0].index_path)
    offset, position = read_offset_index(str(path), 0)
    position[1] += 5
    path.write_bytes(offset_index_bytes(0, offset[:2], position[:2]))
    with pytest.raises(CorruptFile, match="byte 8: the index entry for offset"):
        _ = first(log).offsets
    assert every_offset_is_found(first(log, lenient=True))


def test_segment_is_found_by_offset(made: Made) -> None:
    log = seen(made)
    bases = [segment.base_offset for segment in log.segments]
    assert [floor_segment(log, at) for at in (-5, 0, bases[1] - 1, bases[1], 1 << 40)] == [0, 0, 0, 1, len(bases) - 1]
