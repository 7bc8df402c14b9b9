"""Tests of lookups by timestamp: the search, the special timestamps, and the list of ListOffsets v0."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet.storage import lookup
from kafkalet.storage.files import File
from kafkalet.storage.lookup import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    legacy_offsets_before,
)
from kafkalet.storage.segment import Segment
from kafkalet.storage.values import TimestampOffset

from .place import CONFIG, Place, find
from .producing import T0, logged, message_set, record

SMALL = CONFIG._replace(segment_bytes=100)  # one batch per segment


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data")


def at(place: Place, ms: int) -> tuple[int, int] | None:
    """Return the result of a lookup as milliseconds after T0 and offset."""
    found = find(place.log, T0 + ms)
    return None if found is None else (found.timestamp - T0, found.offset)


# Lookup by timestamp


@pytest.fixture
def searched_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "batch_takes_long", lambda entry: True)


@pytest.mark.usefixtures("searched_in_threads")
def test_lookup_continues_after_an_entry_that_was_searched_in_a_thread(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(50):  # the header announces a later timestamp than the records have
        place.log.append_as_given(with_max_timestamp(T0 + 9, place.log.log_end_offset), 0)
    place.append(7)
    read, entry = [], Segment.entry
    monkeypatch.setattr(Segment, "entry", lambda segment, at, size: read.append(at) or entry(segment, at, size))
    assert find(place.log, T0 + 5) == (T0 + 7, 50, 0)
    assert len(read) <= 2 * 51


@pytest.mark.usefixtures("searched_in_threads")
def test_lookup_begins_again_if_the_log_was_truncated_while_a_thread_searched(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        place.log.append_as_given(with_max_timestamp(T0 + 9, place.log.log_end_offset), 0)
    searched: list[int] = []
    search = lookup._first_reaching

    def searching(entry: Batch, timestamp: int, log_start_offset: int) -> TimestampOffset | None:
        searched.append(entry.base_offset)
        if searched == [0, 1]:
            place.log.truncate_to(0)
            place.append(6)
        return search(entry, timestamp, log_start_offset)

    monkeypatch.setattr(lookup, "_first_reaching", searching)
    assert find(place.log, T0 + 5) == (T0 + 6, 0, 0)
    assert searched == [0, 1, 0]


def with_max_timestamp(timestamp: int, offset: int) -> bytes:
    """Return a batch whose record is at T0, but whose header has another max timestamp."""
    record = Record(offset, T0, None, b"x" * 100)
    return build_batch([record], base_offset=offset, leader_epoch=0, max_timestamp=timestamp)


def test_lookup_finds_the_first_record_at_or_after_the_time(place: Place) -> None:
    place.append(2, 4)
    place.append(6, 8)
    assert [at(place, ms) for ms in range(1, 10)] == [
        (2, 0), (2, 0), (4, 1), (4, 1), (6, 2), (6, 2), (8, 3), (8, 3), None,
    ]  # fmt: skip


def test_first_match_is_by_offset_not_by_timestamp(place: Place) -> None:
    place.append(1, 9, 5)
    place.append(3, 7)
    assert at(place, 4) == (9, 1)
    assert at(place, 6) == (9, 1)


def test_only_the_first_segment_that_reaches_the_timestamp_is_searched(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL)
    place.append(9)
    place.append(5)
    place.log.maybe_increment_log_start_offset(1)
    assert at(place, 5) is None  # the deleted record at 9 hides later segments
    place.log.apply_retention()
    assert at(place, 5) == (5, 1)


def test_deleted_records_are_skipped(place: Place) -> None:
    place.append(1, 2, 3)
    place.append(1, 2)
    place.log.maybe_increment_log_start_offset(1)
    assert at(place, 1) == (2, 1)
    place.log.maybe_increment_log_start_offset(4)
    assert at(place, 1) == (2, 4)
    assert at(place, 3) is None


def test_search_continues_past_a_batch_with_deleted_matches(place: Place) -> None:
    place.append(9, 1)
    place.append(7)
    place.log.maybe_increment_log_start_offset(1)
    assert at(place, 5) == (7, 2)


def test_batch_with_a_wrong_largest_timestamp_is_skipped(place: Place) -> None:
    """A follower does not compare the header with the records; neither does Kafka."""
    place.replicate(logged(0, ts=T0 + 1, set={"max_ts": T0 + 9}))
    place.replicate(logged(1, ts=T0 + 5))
    assert at(place, 3) == (5, 1)
    assert find(place.log, MAX_TIMESTAMP) is None


def test_result_has_the_leader_epoch_of_its_entry(place: Place) -> None:
    place.append(1)
    place.replicate(logged(1, ts=T0 + 2), leader_epoch=5)
    found = find(place.log, T0 + 2)
    assert found is not None
    assert found.leader_epoch == 5


def test_lookup_in_an_empty_log_finds_nothing(place: Place) -> None:
    assert find(place.log, 0) is None


def test_under_log_append_time_an_entry_is_found_by_its_first_offset(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(message_timestamp_type="LogAppendTime"))
    place.append(5, 6, 7)
    place.clock.advance(milliseconds=10)
    place.append(5, 6, 7)
    assert at(place, 1) == (10, 3)
    assert at(place, 0) == (0, 0)


def test_records_without_timestamp_are_never_found(place: Place) -> None:
    place.append(record(-1), record(-1))
    place.append(1)
    assert find(place.log, 0) == (T0 + 1, 2, 0)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_records_are_found_inside_compressed_entries(place: Place, codec: str) -> None:
    place.append(1, 3, 5, codec=codec)
    assert at(place, 2) == (3, 1)


def test_a_message_of_format_1_is_found(place: Place) -> None:
    place.log.append_as_follower(message_set(1, 1, 4))
    assert at(place, 2) == (4, 1)
    found = find(place.log, T0 + 2)
    assert found is not None
    assert found.leader_epoch == -1


def test_markers_are_found_like_records(place: Place) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(7, commit=True)
    assert at(place, 0) == (1, 0)


batches_of_times = st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=4), min_size=1, max_size=25)


@given(times=batches_of_times, start=st.integers(0, 30), dense=st.booleans(), reopen=st.booleans())
def test_search_equals_a_linear_search(
    tmp_path_factory: pytest.TempPathFactory, times: list[list[int]], start: int, dense: bool, reopen: bool
) -> None:
    interval = 0 if dense else 300
    place = Place(tmp_path_factory.mktemp("find"), CONFIG._replace(segment_bytes=400, index_interval_bytes=interval))
    for batch in times:
        place.append(*batch)
    if reopen:
        place.reopen()
    place.log.maybe_increment_log_start_offset(min(start, place.log.log_end_offset))
    segments = [
        [(entry.timestamp - T0, entry.offset) for _, batch in segment.entries() for entry in batch.records()]
        for segment in place.log.segments
    ]
    for wanted in range(52):
        chosen = next((segment for segment in segments if max(segment)[0] >= wanted), [])
        start_offset = place.log.log_start_offset
        expected = next(((ms, offset) for ms, offset in chosen if ms >= wanted and offset >= start_offset), None)
        assert at(place, wanted) == expected
    largest = max(ms for segment in segments for ms, _ in segment)
    found = find(place.log, MAX_TIMESTAMP)
    assert found is not None
    assert (found.timestamp - T0, found.offset) == next(
        (ms, offset) for segment in segments for ms, offset in segment if ms == largest
    )
    place.directory.close(discard=True)


def test_a_search_in_a_large_log_reads_no_more_than_in_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of entries read by a search is limited by index.interval.bytes, not by the size of the log."""
    read = File.read
    read_bytes = {100: 0, 10_000: 0}

    def counted(file: File, length: int, position: int) -> bytes:
        read_bytes[count] += length
        return read(file, length, position)

    for count in read_bytes:
        place = Place(tmp_path / str(count))
        for number in range(count):
            place.append(record(T0 + number, value="x" * 200))
        wanted = [random.randrange(count) for _ in range(300)]
        with monkeypatch.context() as patch:
            patch.setattr(File, "read", counted)
            for ms in wanted:
                assert at(place, ms) == (ms, ms)
        place.directory.close(discard=True)
    assert 0 < read_bytes[10_000] < 2 * read_bytes[100]


# Special timestamps


@pytest.mark.parametrize("special", [EARLIEST, EARLIEST_LOCAL])
def test_earliest_is_the_log_start_with_its_leader_epoch(place: Place, special: int) -> None:
    place.log.assign_epoch_start_offset(0, 0)
    assert find(place.log, special) == (-1, 0, 0)
    place.append(1, 2)
    place.log.maybe_increment_log_start_offset(1)
    assert find(place.log, special) == (-1, 1, 0)


def test_earliest_has_no_epoch_if_the_first_one_began_later(place: Place) -> None:
    place.log.append_as_follower(message_set(1, 1))
    place.log.assign_epoch_start_offset(3, 1)
    assert find(place.log, EARLIEST) == (-1, 0, -1)


def test_max_timestamp_finds_its_first_record(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL)
    for ms in (2, 6, 4, 6, 5):
        place.append(ms)
    assert find(place.log, MAX_TIMESTAMP) == (T0 + 6, 1, 0)
    place.append(7, 9, 9)
    assert find(place.log, MAX_TIMESTAMP) == (T0 + 9, 6, 0)


def test_max_timestamp_may_find_a_deleted_record(place: Place) -> None:
    place.append(1, 9, 2)
    place.log.maybe_increment_log_start_offset(3)
    assert find(place.log, MAX_TIMESTAMP) == (T0 + 9, 1, 0)


def test_max_timestamp_of_an_empty_log_is_not_found(place: Place) -> None:
    assert find(place.log, MAX_TIMESTAMP) is None


def test_without_timestamps_the_first_record_has_the_largest(place: Place) -> None:
    place.append(record(-1), record(-1))
    place.append(record(-1))
    assert find(place.log, MAX_TIMESTAMP) == (-1, 0, 0)


def test_messages_of_format_0_have_no_largest_timestamp(place: Place) -> None:
    place.log.append_as_follower(message_set(0, record()))
    assert find(place.log, MAX_TIMESTAMP) is None


def test_max_timestamp_changes_after_a_truncation(place: Place) -> None:
    place.append(1)
    place.append(9)
    place.append(5)
    place.log.truncate_to(1)
    assert find(place.log, MAX_TIMESTAMP) == (T0 + 1, 0, 0)


@pytest.mark.parametrize("special", [LATEST_TIERED, EARLIEST_PENDING_UPLOAD])
def test_nothing_is_in_tiered_storage(place: Place, special: int) -> None:
    place.append(1)
    assert find(place.log, special) == (-1, -1, -1)


@pytest.mark.parametrize("timestamp", [LATEST, -7])
def test_other_negative_timestamps_are_refused(place: Place, timestamp: int) -> None:
    with pytest.raises(ValueError, match=f"special timestamp {timestamp}"):
        find(place.log, timestamp)


@pytest.mark.parametrize("timestamp", [0, MAX_TIMESTAMP, EARLIEST_LOCAL, -99])
def test_log_of_format_0_has_no_timestamps(tmp_path: Path, timestamp: int) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(record_version=0))
    with pytest.raises(KafkaError) as refused:
        find(place.log, timestamp)
    assert refused.value.code is Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert find(place.log, EARLIEST) == (-1, 0, -1)


def test_log_of_format_1_has_timestamps(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(record_version=1))
    place.append(5)
    assert at(place, 1) == (5, 0)


# ListOffsets v0


@pytest.fixture
def three(tmp_path: Path) -> Place:
    """A log with segments at offsets 0, 1, 2, last modified 0, 10, 20 ms after T0."""
    place = Place(tmp_path / "data", SMALL)
    for _ in range(3):
        place.append(99)
        place.clock.advance(milliseconds=10)
    return place


def before(place: Place, timestamp: int, number: int = 10) -> list[int]:
    return legacy_offsets_before(place.log, timestamp, number, place.clock.now_ms())


def test_v0_latest_lists_all_segments_and_the_end(three: Place) -> None:
    assert before(three, LATEST) == [3, 2, 1, 0]


def test_v0_earliest_lists_the_first_segment(three: Place) -> None:
    assert before(three, EARLIEST) == [0]


def test_segments_are_listed_by_their_last_modification(three: Place) -> None:
    assert before(three, T0 - 1) == []
    assert before(three, T0) == [0]
    assert before(three, T0 + 19) == [1, 0]
    assert before(three, T0 + 20) == [2, 1, 0]
    assert before(three, T0 + 29) == [2, 1, 0]
    assert before(three, T0 + 30) == [3, 2, 1, 0]


def test_v0_list_is_limited_to_the_latest_offsets(three: Place) -> None:
    assert before(three, LATEST, 2) == [3, 2]
    assert before(three, T0 + 20, 1) == [2]
    assert before(three, LATEST, 0) == []


def test_v0_offsets_below_the_log_start_are_raised_to_it(three: Place) -> None:
    three.log.maybe_increment_log_start_offset(2)
    assert before(three, LATEST) == [3, 2, 2, 2]


def test_v0_list_of_an_empty_log_has_its_start(place: Place) -> None:
    assert before(place, LATEST) == [0]
    assert before(place, T0 - 1) == []
    assert before(place, T0) == [0]


def test_v0_list_has_no_log_end_if_the_last_segment_is_empty(three: Place) -> None:
    three.log.roll()
    assert before(three, LATEST) == [3, 2, 1, 0]
