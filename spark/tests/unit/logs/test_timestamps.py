"""Offset lookups by timestamp, compared with those of the log itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalet.protocol.records.build import build_message_set
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage import lookup
from kafkalet.tasks.task import finish
from kafkalet_spark.decoding.batches import walk
from kafkalet_spark.logs.directory import open_partition
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.timestamps import EARLIEST, LATEST, MAX_TIMESTAMP, TimestampSearch, may_hold, offset_for

from .made import CONFIG, T0, Made, records


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "data")


def found(made: Made, ms: int) -> tuple[int, int] | None:
    """Look up a time in milliseconds after T0, in the files and in the log. Return the offset and the time found."""
    answer = offset_for(made.seen(), T0 + ms)
    theirs = finish(lookup.find(made.log, T0 + ms))
    assert answer == (theirs and (theirs.offset, theirs.timestamp))
    return answer and (answer[0], answer[1] - T0)


def test_lookup_finds_first_record_at_or_after_time(made: Made) -> None:
    made.append(2, 4)
    made.append(6, 8)
    assert [found(made, ms) for ms in range(1, 10)] == [
        (0, 2), (0, 2), (1, 4), (1, 4), (2, 6), (2, 6), (3, 8), (3, 8), None,
    ]  # fmt: skip
    made.close()


def test_lookup_finds_first_match_in_offset_order(made: Made) -> None:
    made.append(1, 9, 5)
    made.append(3, 7)
    assert (found(made, 4), found(made, 6)) == ((1, 9), (1, 9))
    made.close()


def test_lookup_finds_records_in_compressed_batches_and_wrappers(made: Made) -> None:
    made.append_old(1, 3, 9, 6, codec=Codec.GZIP)
    made.append(20, 30, codec=Codec.GZIP)
    assert (found(made, 5), found(made, 21)) == ((1, 9), (4, 30))
    made.close()


def test_only_first_segment_that_reaches_the_time_is_searched(made: Made) -> None:
    made.append(9)
    made.log.roll()
    made.append(5)
    made.delete_until(1)
    assert found(made, 5) is None  # because of the deleted record at time 9
    made.close()


def test_records_below_the_log_start_are_skipped(made: Made) -> None:
    made.append(1, 2, 3)
    made.append(1, 2)
    made.delete_until(1)
    assert found(made, 1) == (1, 2)
    made.delete_until(4)
    assert (found(made, 1), found(made, 3)) == ((4, 2), None)
    made.close()


def test_segment_without_timestamps_uses_modification_time(made: Made) -> None:
    made.append_old(0, 5)
    made.log.roll()
    made.append(7)
    assert found(made, 0) is None
    assert found(made, 7) == (1, 7)
    made.close()


def test_lookup_works_without_time_indexes(made: Made) -> None:
    for at in range(0, 90, 3):
        made.append_old(1, at % 37, at)
        made.append_old(0, at)
    before = [found(made, ms) for ms in range(95)]
    made.close()
    for path in made.place.glob("*.timeindex"):
        path.unlink()
    search = TimestampSearch(open_partition(str(made.place)))
    assert [answer and (answer[0], answer[1] - T0) for answer in map(search.offset_for, range(T0, T0 + 95))] == before


def test_special_timestamps_are_resolved(made: Made) -> None:
    made.append(5, 9)
    made.append(9, 3)
    made.delete_until(1)
    seen = made.seen()
    assert [offset_for(seen, name) for name in (LATEST, EARLIEST, MAX_TIMESTAMP)] == [(4, -1), (1, -1), (1, T0 + 9)]
    with pytest.raises(ValueError, match="unknown special timestamp -9"):
        offset_for(seen, -9)
    made.close()


def test_max_timestamp_without_timestamps_is_first_record(made: Made) -> None:
    made.append(-1, -1)
    assert offset_for(made.seen(), MAX_TIMESTAMP) == (0, -1)
    made.close()


def test_empty_log_has_no_match(made: Made) -> None:
    seen = made.seen()
    assert [offset_for(seen, at) for at in (T0, MAX_TIMESTAMP)] == [None, None]
    assert [offset_for(seen, at) for at in (LATEST, EARLIEST)] == [(0, -1), (0, -1)]
    made.close()
    nothing = made.seen_closed()._replace(segments=())
    assert [offset_for(nothing, at) for at in (T0, MAX_TIMESTAMP, LATEST)] == [None, None, (0, -1)]


def test_unreadable_entry_is_named(made: Made) -> None:
    made.append(1)
    made.append(5, 6, codec=Codec.GZIP)
    made.close()
    path = Path(made.log.segments.active.path)
    data = bytearray(path.read_bytes())
    second = int(walk(bytes(data))[0].position[1])
    data[second + 61 : second + 65] = b"none"
    path.write_bytes(data)
    with pytest.raises(CorruptFile) as caught:
        offset_for(open_partition(str(made.place)), T0 + 5)
    assert (caught.value.path, caught.value.position) == (str(path), second)


def test_corrupt_time_index_is_rejected_unless_lenient(tmp_path: Path) -> None:
    made = Made(tmp_path / "data", CONFIG._replace(segment_bytes=500))
    for at in range(30):
        made.append(at)
    right = [found(made, ms) for ms in range(30)]
    made.close()
    path = made.place / f"{made.log.segments.base_offsets[1]:020d}.timeindex"
    path.write_bytes(b"\xff" * 12)
    log = open_partition(str(made.place))
    with pytest.raises(CorruptFile, match="byte 0: timestamp -1 is negative"):
        offset_for(log, T0 + 25)
    assert [offset_for(log, T0 + ms, lenient=True) for ms in range(30)] == [(at, T0 + ms) for at, ms in right]


def test_log_is_listed_again_if_segments_were_deleted(tmp_path: Path) -> None:
    made = Made(tmp_path / "data", CONFIG._replace(segment_bytes=500))
    for at in range(30):
        made.append(at)
    before = made.seen()
    made.delete_until(20, files=True)
    made.seen()
    assert offset_for(before, T0) == (20, T0 + 20)
    assert offset_for(before, MAX_TIMESTAMP) == (29, T0 + 29)
    made.close()


def test_may_hold_selects_batches_by_time(made: Made) -> None:
    made.append(5, 9)
    made.append_time(7)
    made.append(3, 4)
    data = Path(made.log.segments.active.path).read_bytes() + build_message_set(1, records(8))
    made.close()
    batches, _ = walk(data)
    assert batches.position.size == 4

    def hold(first: int | None, last: int | None) -> list[bool]:
        bounds = (None if ms is None else T0 + ms for ms in (first, last))
        return may_hold(batches, *bounds).tolist()

    assert hold(None, None) == [True] * 4
    assert hold(8, None) == [True, False, False, True]
    assert hold(None, 6) == [True, False, True, True]  # only LogAppendTime gives the time of all records
    assert hold(5, 7) == [True, True, False, True]
