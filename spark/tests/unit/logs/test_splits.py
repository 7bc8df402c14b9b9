"""Cutting a range of a log into tasks."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kafkalet.protocol.records.codecs import Codec
from kafkalet_spark.decoding.chunks import read_chunks
from kafkalet_spark.decoding.records import decode
from kafkalet_spark.logs import index_stretches
from kafkalet_spark.logs.directory import PartitionLog, open_partition
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.indexes import offset_index_bytes, read_offset_index
from kafkalet_spark.logs.splits import Piece, Split, SplitCutter, renewed, split

from .made import CONFIG, T0, Made

END = 240


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """240 records in 120 entries of about 100 bytes, in segments of about 2,000 bytes, with ascending timestamps."""
    made = Made(tmp_path_factory.mktemp("splits") / "data")
    for at in range(0, END, 2):
        made.append(at, at + 1)
    made.close()
    return made


@pytest.fixture
def log(made: Made) -> PartitionLog:
    return open_partition(str(made.place))


def seen(splits: list[Split]) -> list[int]:
    """Return the offsets that the tasks read, in order."""
    return [offset for each in splits for offset in offsets(each)]


def offsets(each: Split) -> list[int]:
    found = []
    for piece in each.pieces:
        for chunk in read_chunks(piece.path, piece.start, piece.end):
            assert not chunk.problems
            found += decode(chunk.buffer, chunk.batches, ()).offset.tolist()
    return [offset for offset in found if each.start_offset <= offset < each.end_offset]


def test_splits_respect_max_bytes_and_are_balanced(log: PartitionLog) -> None:
    total = log.size_bytes
    for max_bytes in (700, 1000, 3000, 5000):
        splits = split(log, 0, END, max_bytes=max_bytes)
        sizes = [each.size_bytes for each in splits]
        assert sum(sizes) == total
        assert max(sizes) <= max_bytes
        assert min(sizes) > max_bytes * 0.5
        assert len(splits) <= 1.5 * total / max_bytes + 1


def test_splits_are_consecutive_and_disjoint(log: PartitionLog) -> None:
    splits = split(log, 5, 231, max_bytes=700)
    assert [each.start_offset for each in splits] == [5, *(each.end_offset for each in splits[:-1])]
    assert splits[-1].end_offset == 231
    assert {(each.topic, each.partition) for each in splits} == {("a.b-c", 0)}
    assert seen(splits) == list(range(5, 231))


def test_split_may_span_several_segments(log: PartitionLog) -> None:
    [whole] = split(log, 0, END, max_bytes=1 << 30)
    assert [piece.path for piece in whole.pieces] == [segment.path for segment in log.segments]
    assert [(piece.start, piece.end) for piece in whole.pieces] == [(0, segment.size) for segment in log.segments]
    assert [piece.last for piece in whole.pieces] == [False] * (len(log.segments) - 1) + [True]
    assert whole.size_bytes == log.size_bytes


@pytest.mark.parametrize(("start", "end"), [(0, 1), (1, 2), (7, 8), (37, 101), (239, 240), (100, 100), (101, 3)])
def test_only_the_entries_of_the_range_are_read(log: PartitionLog, start: int, end: int) -> None:
    splits = split(log, start, end, max_bytes=1 << 30)
    assert seen(splits) == list(range(start, end))
    entries = 0 if start >= end else (end - 1) // 2 - start // 2 + 1
    assert sum(each.size_bytes for each in splits) <= entries * 110


def test_range_is_limited_to_the_log(log: PartitionLog) -> None:
    splits = split(log, -5, 1 << 60, max_bytes=1 << 30)
    assert [(each.start_offset, each.end_offset) for each in splits] == [(0, END)]
    assert split(log, END, 1 << 60, max_bytes=1000) == []
    assert split(log._replace(log_start_offset=50), 0, 52, max_bytes=1000)[0].start_offset == 50


def test_empty_log_has_no_splits(log: PartitionLog) -> None:
    assert split(log._replace(segments=()), 0, 50, max_bytes=1000) == []


def test_max_bytes_of_zero_is_rejected(log: PartitionLog) -> None:
    with pytest.raises(ValueError, match="max_bytes must be at least 1, not 0"):
        split(log, 0, END, max_bytes=0)


def test_splits_are_small_and_picklable(log: PartitionLog) -> None:
    splits = split(log, 0, END, max_bytes=700)
    assert pickle.loads(pickle.dumps(splits)) == splits
    assert max(len(pickle.dumps(each)) for each in splits) < 1000


def test_places_are_thinned_out(log: PartitionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_stretches, "_PLACES_PER_SPLIT", 3)
    splits = split(log, 0, END, max_bytes=6000)
    assert seen(splits) == list(range(END))
    assert max(each.size_bytes for each in splits) <= 6000


def test_one_cutter_handles_many_ranges(log: PartitionLog) -> None:
    cutter = SplitCutter(log)
    for start in range(0, END, 7):
        assert seen(cutter.split(start, start + 7, 300)) == list(range(start, min(start + 7, END)))


# Timestamps


def test_older_segments_and_parts_of_segments_are_skipped(log: PartitionLog) -> None:
    everything = log.size_bytes
    for ms in (0, 1, 50, 119, 200, 239):
        splits = split(log, 0, END, max_bytes=1000, not_before_ms=T0 + ms)
        assert [offset for offset in seen(splits) if offset >= ms] == list(range(ms, END))
        assert sum(each.size_bytes for each in splits) <= everything * (END - ms) / END + 500
    assert all(each.end_offset > 230 for each in split(log, 0, END, max_bytes=1000, not_before_ms=T0 + 10**6))


def test_out_of_order_records_are_not_lost(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    times = [(at * 37) % 60 if at % 9 else at for at in range(120)]
    for ms in times:
        made.append(ms)
    log = made.seen()
    for ms in range(0, 62, 3):
        found = seen(split(log, 0, 120, max_bytes=500, not_before_ms=T0 + ms))
        assert [at for at in found if times[at] >= ms] == [at for at in range(120) if times[at] >= ms]
    made.close()


def test_segment_without_timestamps_is_skipped(tmp_path: Path) -> None:
    made = Made(tmp_path / "data")
    made.append(-1)
    made.log.roll()
    made.append(5)
    log = made.seen()
    assert seen(split(log, 0, 2, max_bytes=500, not_before_ms=T0)) == [1]
    assert seen(split(log, 0, 2, max_bytes=500, not_before_ms=-1)) == [0, 1]
    made.close()


# Sparse indexes


def without_entries(log: PartitionLog) -> None:
    for segment in log.segments:
        Path(segment.index_path).write_bytes(b"")


@pytest.fixture
def own(tmp_path: Path) -> Made:
    made = Made(tmp_path / "data")
    for at in range(0, END, 2):
        made.append(at, at + 1)
    made.close()
    return made


def test_gap_of_the_index_is_cut_at_entries(own: Made) -> None:
    log = open_partition(str(own.place))
    without_entries(log)
    splits = split(log, 3, END - 3, max_bytes=500)
    assert max(each.size_bytes for each in splits) <= 500
    assert seen(splits) == list(range(3, END - 3))


def test_entry_larger_than_max_bytes_is_one_split(tmp_path: Path) -> None:
    made = Made(tmp_path / "data", CONFIG._replace(segment_bytes=10**6))
    for at in range(3):
        made.append(at, value=b"x" * 5000)
    log = made.seen()
    made.close()
    splits = split(log, 0, 3, max_bytes=1000)
    assert [each.size_bytes > 5000 for each in splits] == [True] * 3
    assert [(each.start_offset, each.end_offset) for each in splits] == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("magic", [0, 1])
def test_split_at_wrapper_begins_with_its_first_record(tmp_path: Path, magic: int) -> None:
    made = Made(tmp_path / "data")
    for at in range(40):
        made.append_old(magic, at, at, at, codec=Codec.GZIP)
    log = made.seen()
    splits = split(log, 1, 118, max_bytes=400)
    made.close()
    assert seen(splits) == list(range(1, 118))
    assert all(each.start_offset % 3 == 0 for each in splits[1:])


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_missing_index_is_rejected_or_bypassed_if_lenient(own: Made, suffix: str) -> None:
    path = own.place / f"{own.log.segments.base_offsets[1]:020d}{suffix}"
    path.unlink()
    log = open_partition(str(own.place))
    with pytest.raises(CorruptFile, match="the file does not exist") as caught:
        split(log, 0, END, max_bytes=500, not_before_ms=T0)
    assert caught.value.path == str(path)
    assert seen(split(log, 0, END, max_bytes=500, not_before_ms=T0, lenient=True)) == list(range(END))


def test_wrong_index_entry_is_rejected_or_skipped_if_lenient(own: Made) -> None:
    segment = open_partition(str(own.place)).segments[1]
    offset, position = read_offset_index(segment.index_path, segment.base_offset)
    data = offset_index_bytes(segment.base_offset, offset, position + 3)
    Path(segment.index_path).write_bytes(data)
    log = open_partition(str(own.place))
    with pytest.raises(CorruptFile, match="where that offset is not found") as caught:
        split(log, 0, END, max_bytes=700)
    assert caught.value.path == segment.index_path
    assert seen(split(log, 0, END, max_bytes=700, lenient=True)) == list(range(END))


def test_incomplete_last_entry_is_left_out(own: Made) -> None:
    path = Path(own.log.segments.active.path)
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes() + path.read_bytes()[:50])
    for end in (END, 1 << 60):
        splits = split(open_partition(str(own.place)), 0, end, max_bytes=700)
        assert (splits[-1].pieces[-1].end, splits[-1].end_offset) == (whole, END)


def test_damage_in_the_middle_is_left_to_the_reader(own: Made) -> None:
    """After the damage, splits begin where the index says."""
    segment = open_partition(str(own.place)).segments[1]
    path = Path(segment.path)
    data = bytearray(path.read_bytes())
    data[8:12] = b"\xff" * 4
    path.write_bytes(data)
    splits = split(open_partition(str(own.place)), 0, END, max_bytes=700)
    assert sum(each.size_bytes for each in splits) == own.log.size_bytes
    problems = [
        chunk.problems
        for each in splits
        for piece in each.pieces
        for chunk in read_chunks(piece.path, piece.start, piece.end)
        if chunk.problems
    ]
    assert len(problems) == 1


# Changes of the log


def test_piece_detects_that_its_file_was_replaced(own: Made) -> None:
    [whole] = split(open_partition(str(own.place)), 0, END, max_bytes=1 << 30)
    assert not any(piece.is_replaced for piece in whole.pieces)
    path = Path(whole.pieces[0].path)
    other = path.with_suffix(".other")
    other.write_bytes(path.read_bytes())
    other.replace(path)
    assert [piece.is_replaced for piece in whole.pieces] == [True] + [False] * (len(whole.pieces) - 1)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        _ = whole.pieces[0].is_replaced


def merged(own: Made, count: int) -> None:
    """Merge the first segments into one without index entries, like a compaction that drops no records."""
    first, *others = open_partition(str(own.place)).segments[:count]
    swap = Path(f"{first.path}.swap")
    swap.write_bytes(b"".join(Path(segment.path).read_bytes() for segment in (first, *others)))
    Path(first.index_path).write_bytes(b"")
    for segment in others:
        Path(segment.path).rename(f"{segment.path}.deleted")
    swap.replace(first.path)


def test_split_is_renewed_after_compaction_replaced_its_files(own: Made) -> None:
    splits = split(open_partition(str(own.place)), 3, END - 3, max_bytes=3000)
    assert [renewed(each) for each in splits] == splits
    merged(own, 3)
    again = [renewed(each) for each in splits]
    assert again[0] != splits[0]
    assert again[-1] == splits[-1]
    assert [each[:4] for each in again] == [each[:4] for each in splits]
    assert seen(again) == list(range(3, END - 3))


def test_log_is_listed_again_if_segments_were_replaced(own: Made) -> None:
    log = open_partition(str(own.place))
    merged(own, 3)
    splits = split(log, 3, END - 3, max_bytes=700)
    assert seen(splits) == list(range(3, END - 3))
    assert [renewed(each) for each in splits] == splits


def test_split_of_deleted_records_is_rejected(own: Made) -> None:
    log = open_partition(str(own.place))
    own.open()
    own.delete_until(100, files=True)
    own.seen()
    own.close()
    assert seen(split(log, 100, END, max_bytes=700)) == list(range(100, END))
    with pytest.raises(FileNotFoundError, match="its records were deleted before they were read"):
        split(log, 3, END, max_bytes=700)


def test_split_without_remaining_records_is_empty(own: Made) -> None:
    [first, *_] = split(open_partition(str(own.place)), 0, END, max_bytes=500)
    path = Path(first.pieces[0].path)
    other = path.with_suffix(".other")
    other.write_bytes(path.read_bytes()[first.pieces[0].end :])
    other.replace(path)
    path.with_suffix(".index").write_bytes(b"")
    assert renewed(first) == first._replace(pieces=(), size_bytes=0)


def test_renewal_after_deletion_is_rejected(own: Made) -> None:
    splits = split(open_partition(str(own.place)), 0, END, max_bytes=3000)
    own.open()
    own.delete_until(100, files=True)
    own.seen()
    own.close()
    with pytest.raises(FileNotFoundError, match="its records were deleted before they were read"):
        renewed(splits[0])
    assert renewed(splits[-1]) == splits[-1]


def test_piece_without_inode_is_never_replaced(own: Made) -> None:
    piece = Piece(own.log.segments.first.path, 0, 10, False)
    assert (piece.is_replaced, piece.size_bytes) == (False, 10)


def test_splits_of_running_broker_end_at_the_listed_size(own: Made) -> None:
    own.open()
    log = own.seen()
    for at in range(50):
        own.append(at)
    assert seen(split(log, 0, 1 << 60, max_bytes=700)) == list(range(END))
    own.close()
