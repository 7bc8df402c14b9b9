"""Tests of a log: append as leader and follower, roll, read, truncation, retention, deletion of files."""

import struct
from functools import partial
from pathlib import Path

import pytest

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet.storage.refusals import AppendRefused
from kafkalet.storage.replicated import UnexpectedOffset
from kafkalet.storage.values import Isolation

from .place import CONFIG, Place, bases, content, four, index_entries, with_epoch
from .producing import T0, logged, message_set, produced, record

SMALL = CONFIG._replace(segment_bytes=100)  # one batch per segment
DAY_MS = 86_400_000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data")


@pytest.fixture
def small(tmp_path: Path) -> Place:
    return Place(tmp_path / "data", SMALL)


# Append as leader


def test_append_returns_the_offsets(place: Place) -> None:
    place.append(1)
    place.log.maybe_increment_log_start_offset(1)
    appended = place.append(5, 9, 7)
    assert (appended.first_offset, appended.last_offset, appended.max_timestamp) == (1, 3, T0 + 9)
    assert (appended.log_append_time_ms, appended.log_start_offset, appended.leader_epoch) == (-1, 1, 0)
    assert not appended.duplicate
    assert appended.size_bytes == place.log.log_end_metadata().position - place.read(1).position.position


def test_append_assigns_offsets_and_leader_epoch(place: Place) -> None:
    place.append(1, 2)
    place.log.append_as_leader(produced(3), 4)
    found = list(batches(content(place.read(0))))
    assert [(batch.base_offset, batch.leader_epoch) for batch in found] == [(0, 0), (2, 4)]
    assert place.log.latest_epoch == 4
    assert place.log.end_offset_for_epoch(0) == (0, 2)


@pytest.mark.parametrize("version", [1, 2])
def test_validated_records_are_placed_after_those_appended_meanwhile(tmp_path: Path, version: int) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(record_version=version))
    sent = produced if version == 2 else partial(message_set, version)
    accepted = place.log.validation(sent(5, 9, 7), 0)()
    place.log.append_as_leader(sent(1, 2), 4)
    appended = place.log.append_validated(accepted, 4)
    assert appended is not None
    assert (appended.first_offset, appended.last_offset, place.log.log_end_offset) == (2, 4, 5)
    assert place.log.segments.active.largest == (T0 + 9, 3 if version == 1 else 4, -1)
    found = list(batches(content(place.read(2))))
    assert [record.offset for batch in found for record in batch.records()] == [2, 3, 4]
    for batch in found:
        batch.check_crc()
        assert batch.leader_epoch == (4 if version == 2 else -1)


def test_validated_wrapper_of_format_0_is_not_placed_elsewhere(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(record_version=0))
    accepted = place.log.validation(message_set(0, 5, 9, codec="gzip"), 0)()
    place.log.append_as_leader(message_set(0, 1), 0)
    assert place.log.append_validated(accepted, 0) is None
    assert place.log.log_end_offset == 1


def test_append_accepts_read_only_memory(place: Place) -> None:
    place.log.append_as_leader(bytes(produced(1)), 0)
    place.log.append_as_leader(memoryview(bytes(produced(2))), 0)
    assert place.offsets() == [0, 1]


def test_append_returns_the_log_append_time(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(message_timestamp_type="LogAppendTime"))
    place.clock.advance(milliseconds=77)
    assert place.append(1).log_append_time_ms == T0 + 77


def built(place: Place, *values: bytes, leader_epoch: int = 0) -> bytes:
    """Return a batch built for the log end."""
    offset = place.log.log_end_offset
    records = [Record(offset + n, T0, None, value, ()) for n, value in enumerate(values)]
    return build_batch(records, base_offset=offset, leader_epoch=leader_epoch)


def put(place: Place, *values: bytes, leader_epoch: int = 0) -> None:
    last_offset = place.log.append_built(built(place, *values, leader_epoch=leader_epoch))
    assert last_offset == place.log.log_end_offset - 1


def test_built_batch_is_appended_unchanged(tmp_path: Path) -> None:
    ready, checked = Place(tmp_path / "ready"), Place(tmp_path / "checked")
    for values in ((b"a",), (b"b", b"c"), (b"d" * 5000,), (b"e",)):
        put(ready, *values)
        checked.log.append_as_follower(built(checked, *values))
    assert content(ready.read(0)) == content(checked.read(0))
    assert ready.log.log_end_offset == checked.log.log_end_offset == 5
    assert ready.log.producers.end_offset == checked.log.producers.end_offset
    ready.log.flush()
    checked.log.flush()
    name = f"{0:020}.index"
    assert ready.file(name).read_bytes() == checked.file(name).read_bytes()


def test_first_built_batch_of_an_epoch_writes_the_epoch(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", durable=True)
    place.log.assign_epoch_start_offset(3, 0)
    put(place, b"a", leader_epoch=3)
    assert place.file("leader-epoch-checkpoint").read_text() == "0\n1\n3 0\n"
    place.directory.close()


def test_built_batch_may_begin_a_segment_and_an_epoch(small: Place) -> None:
    put(small, b"a")
    put(small, b"b")
    put(small, b"c", leader_epoch=3)
    assert bases(small.log) == [0, 1, 2]
    assert small.log.latest_epoch == 3


def test_built_batch_that_is_too_large_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(max_message_bytes=100))
    put(place, b"a")
    with pytest.raises(AppendRefused) as refused:
        put(place, b"b" * 100)
    assert refused.value.code == Code.MESSAGE_TOO_LARGE
    assert place.log.log_end_offset == 1


def test_empty_append_appends_nothing(place: Place) -> None:
    appended = place.log.append_as_leader(b"", 0)
    assert (appended.first_offset, appended.last_offset, appended.size_bytes) == (-1, -1, 0)
    assert place.log.log_end_offset == 0


def test_duplicate_returns_the_earlier_offsets(place: Place) -> None:
    for sequence in range(3):
        place.append(sequence, producer_id=7, producer_epoch=0, base_sequence=sequence)
    size = place.log.size_bytes
    again = place.append(1, producer_id=7, producer_epoch=0, base_sequence=1)
    assert again.duplicate
    assert (again.first_offset, again.last_offset, again.log_append_time_ms) == (1, 1, T0 + 1)
    assert (place.log.log_end_offset, place.log.size_bytes) == (3, size)


def test_out_of_order_sequence_is_refused(place: Place) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0)
    with pytest.raises(AppendRefused) as refused:
        place.append(2, producer_id=7, producer_epoch=0, base_sequence=5)
    assert refused.value.code is Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert place.log.log_end_offset == 1


def test_append_larger_than_a_segment_is_refused(small: Place) -> None:
    with pytest.raises(AppendRefused) as refused:
        small.append(record(value="x" * 200))
    assert refused.value.code is Code.RECORD_LIST_TOO_LARGE
    assert four(small.log) == (0, 0, 0, 0)


def test_messages_of_old_formats_clear_the_epochs(tmp_path: Path) -> None:
    place = Place(tmp_path / "data")
    place.append(1)
    place.log.append_as_follower(_at(message_set(1, record()), 1))
    assert place.log.latest_epoch is None


def _at(data: bytearray, offset: int) -> bytes:
    struct.pack_into(">q", data, 0, offset)
    return bytes(data)


# Append as follower


def test_a_follower_keeps_offsets_epochs_and_bytes(place: Place) -> None:
    sent = [with_epoch(logged(offset, 2), 3) for offset in (5, 9)]
    appended = place.log.append_as_follower(b"".join(sent))
    assert (appended.first_offset, appended.last_offset, appended.leader_epoch) == (5, 10, 3)
    assert content(place.read(0)) == b"".join(sent)
    assert place.log.latest_epoch == 3
    assert place.offsets() == [5, 6, 9, 10]


@pytest.mark.parametrize("offsets", [(2, 4), (3, 3), (9, 8), (6, 4)])
def test_follower_refuses_offsets_that_do_not_increase(place: Place, offsets: tuple[int, int]) -> None:
    place.replicate(logged(0, 3))
    with pytest.raises(UnexpectedOffset):
        place.replicate(*[logged(offset) for offset in offsets])
    assert place.log.log_end_offset == 3


def test_follower_refuses_corrupt_entries(place: Place) -> None:
    data = bytearray(with_epoch(logged(0), 0))
    data[-1] ^= 1
    with pytest.raises(KafkaError) as refused:
        place.log.append_as_follower(data)
    assert refused.value.code is Code.CORRUPT_MESSAGE


def test_follower_drops_an_incomplete_entry(place: Place) -> None:
    sent = with_epoch(logged(0, 2), 0)
    place.log.append_as_follower(sent + with_epoch(logged(2), 0)[:-1])
    assert (place.log.log_end_offset, place.log.size_bytes) == (2, len(sent))
    assert place.log.append_as_follower(b"").first_offset == -1


# Damage


def test_damage_is_reported_once_with_file_position_and_offset(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    for value in range(3):
        place.append(value)
    path = Path(place.log.directory) / "00000000000000000000.log"
    positions = [position for position, _ in place.log.segments.active.heads()]
    data = bytearray(path.read_bytes())
    data[positions[1] + 8 : positions[1] + 12] = (3).to_bytes(4, "big")  # the length
    path.write_bytes(data)
    for _ in range(2):
        with pytest.raises(KafkaError):
            place.log.read(2, 1000, Isolation.LOG_END, True)
    [line] = [record.getMessage() for record in caplog.records]
    assert "cannot read offset 2" in line
    assert "Found record size 3" in line
    assert f"in file {path}, at position {positions[1]}" in line


def test_entry_that_is_longer_than_its_file_is_reported_once(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    for value in range(3):
        place.append(value)
    path = Path(place.log.directory) / "00000000000000000000.log"
    positions = [position for position, _ in place.log.segments.active.heads()]
    data = bytearray(path.read_bytes())
    data[positions[1] + 8 : positions[1] + 12] = (1 << 30).to_bytes(4, "big")  # the length
    path.write_bytes(data)
    for _ in range(2):
        assert len(place.log.read(2, 1000, Isolation.LOG_END, True).records) == 0
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: cannot read offset 2: the entry at position {positions[1]} is incomplete"
    ]


# Roll


def test_new_segment_begins_with_the_first_offset_that_did_not_fit(small: Place) -> None:
    small.append(1, 2)
    small.append(3)
    assert bases(small.log) == [0, 2]


def test_new_segment_begins_after_a_followers_gap(small: Place) -> None:
    small.replicate(logged(0))
    small.replicate(logged(50))
    assert bases(small.log) == [0, 50]


def test_segment_for_an_old_format_begins_at_a_lower_bound_of_its_offsets(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(segment_bytes=60))
    place.replicate(logged(0, ts=5))
    far = 3 * 2**31
    place.log.append_as_follower(_at(message_set(1, record()), far))
    assert bases(place.log) == [0, far - (2**31 - 1)]
    assert place.offsets() == [0, far]


def test_a_roll_takes_a_snapshot_of_the_producers(small: Place) -> None:
    small.append(1, producer_id=7, producer_epoch=0, base_sequence=0)
    small.append(2)
    assert small.file("00000000000000000001.snapshot").exists()


def test_a_roll_completes_and_writes_the_indexes(small: Place) -> None:
    small.append(1)
    small.append(2)
    assert small.file("00000000000000000000.index").read_bytes() == b""
    assert small.file("00000000000000000000.timeindex").stat().st_size == 12


def test_record_timestamps_roll_the_segment(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(segment_ms=1000))
    place.append(0)
    place.append(1000)
    place.append(1001)
    assert bases(place.log) == [0, 2]


def test_segment_rolled_for_a_refused_append_stays(small: Place) -> None:
    """As in Kafka, which rolls the segment before it checks the producer."""
    small.append(1, producer_id=7, producer_epoch=0, base_sequence=0)
    with pytest.raises(AppendRefused):
        small.append(2, producer_id=7, producer_epoch=0, base_sequence=5)
    assert bases(small.log) == [0, 1]
    assert four(small.log) == (0, 1, 1, 1)


def test_index_without_room_rolls_a_segment_for_each_append(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(segment_index_bytes=4))
    for number in range(3):
        place.append(number)
    assert bases(place.log) == [0, 1, 2]
    assert place.offsets() == [0, 1, 2]


def test_full_index_rolls_a_segment(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(segment_index_bytes=40, index_interval_bytes=0))
    for number in range(8):
        place.append(number)
    assert bases(place.log) == [0, 3, 6]


def test_log_is_flushed_after_flush_messages(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(flush_messages=3))
    place.append(1, 2)
    assert place.log.recovery_point == 0
    place.append(3)
    assert place.log.recovery_point == 3


def test_roll_flushes_the_previous_segment(small: Place) -> None:
    small.append(1)
    assert small.log.recovery_point == 0
    small.append(2)
    assert small.log.recovery_point == 1


# Read


def test_a_read_ends_with_its_segment(small: Place) -> None:
    small.append(1)
    small.append(2)
    found = small.read(0)
    assert [batch.base_offset for batch in batches(content(found))] == [0]


@pytest.mark.parametrize("offset", [-1, 1, 5])
def test_reads_outside_of_log_start_and_end_are_out_of_range(place: Place, offset: int) -> None:
    place.append(1, 2, 3, 4)
    place.log.maybe_increment_log_start_offset(2)
    with pytest.raises(KafkaError) as refused:
        place.read(offset)
    assert refused.value.code is Code.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("isolation", list(Isolation))
def test_read_at_the_log_end_is_empty(place: Place, isolation: Isolation) -> None:
    place.append(1, 2)
    found = place.read(2, isolation)
    assert (found.records, found.position) == (b"", place.log.log_end_metadata())


def test_consumer_reads_up_to_the_high_watermark(place: Place) -> None:
    place.append(1, 2)
    size = place.log.size_bytes
    place.append(3, visible=False)
    assert len(place.read(0, Isolation.HIGH_WATERMARK).records) == size
    assert place.read(2, Isolation.HIGH_WATERMARK).records == b""
    assert place.read(3, Isolation.HIGH_WATERMARK).records == b""
    assert len(place.read(0).records) == place.log.size_bytes


def test_empty_read_above_the_high_watermark_has_the_position_of_the_offset(place: Place) -> None:
    place.append(1, 2)
    place.append(3, visible=False)
    size = place.log.size_bytes
    place.append(4, visible=False)
    assert place.read(3, Isolation.HIGH_WATERMARK).position == (3, 0, size)


def test_read_committed_reads_up_to_the_last_stable_offset(place: Place) -> None:
    place.append(1)
    size = place.log.size_bytes
    place.append(2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    assert len(place.read(0, Isolation.LAST_STABLE).records) == size
    assert place.read(1, Isolation.LAST_STABLE).records == b""


def test_only_read_committed_gets_aborted_transactions(place: Place) -> None:
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.end_transaction(7, commit=False)
    assert place.read(0, Isolation.LAST_STABLE).aborted == [(7, 0, 1, 2)]
    assert place.read(2, Isolation.LAST_STABLE).aborted == []
    assert place.read(0, Isolation.HIGH_WATERMARK).aborted is None
    assert place.read(0).aborted is None


def test_aborted_transactions_are_searched_in_later_segments(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(segment_bytes=170))
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    place.append(2)
    place.append(3)
    place.append(4)
    place.end_transaction(7, commit=False)
    place.append(5)
    assert len(bases(place.log)) > 2
    assert place.read(0, Isolation.LAST_STABLE).aborted == [(7, 0, 4, 5)]


def test_aborted_transactions_past_the_next_index_entry_are_not_returned(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(index_interval_bytes=0))
    size = len(produced(1))
    for producer_id in (7, 8):
        place.append(1, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        place.end_transaction(producer_id, commit=False)
    dense = place.read(0, Isolation.LAST_STABLE, max_bytes=size).aborted
    assert dense == [(7, 0, 1, 2)]
    sparse = Place(tmp_path / "sparse")
    for producer_id in (7, 8):
        sparse.append(1, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        sparse.end_transaction(producer_id, commit=False)
    assert sparse.read(0, Isolation.LAST_STABLE, max_bytes=size).aborted == [(7, 0, 1, 2), (8, 2, 3, 4)]


def test_read_in_a_gap_returns_the_next_entry_even_in_the_next_segment(small: Place) -> None:
    small.replicate(logged(0))
    small.replicate(logged(50))
    assert [batch.base_offset for batch in batches(content(small.read(20)))] == [50]
    assert small.read(20).position == (20, 50, 0)


def test_read_in_a_gap_at_the_end_is_empty(small: Place) -> None:
    small.replicate(logged(0))
    small.replicate(logged(50))
    small.log.local.update_end(70)
    assert small.read(60).records == b""


def test_entry_that_contains_the_log_start_is_read_completely(place: Place) -> None:
    place.append(1, 2, 3)
    place.log.maybe_increment_log_start_offset(2)
    assert [batch.base_offset for batch in batches(content(place.read(2)))] == [0]


def test_negative_max_bytes_is_refused_if_there_are_records(place: Place) -> None:
    place.append(1)
    assert place.log.read(1, -1, Isolation.LOG_END, True).records == b""
    with pytest.raises(KafkaError) as refused:
        place.log.read(0, -1, Isolation.LOG_END, True)
    assert refused.value.code is Code.UNKNOWN_SERVER_ERROR


def test_offset_outside_the_log_has_no_position(place: Place) -> None:
    place.append(1)
    assert place.log.offset_metadata(0) == (0, 0, 0)
    assert place.log.offset_metadata(9).offset_only


# Epochs


def test_the_end_of_the_latest_epoch_is_the_log_end(place: Place) -> None:
    place.log.assign_epoch_start_offset(0, 0)
    assert place.log.end_offset_for_epoch(0) == (0, 0)
    place.append(1, 2)
    assert place.log.end_offset_for_epoch(0) == (0, 2)
    assert place.log.end_offset_for_epoch(1) == (-1, -1)


def test_truncation_removes_later_epochs(place: Place) -> None:
    place.append(1, 2)
    place.log.append_as_leader(produced(3), 4)
    place.log.truncate_to(2)
    assert place.log.latest_epoch == 0


def test_truncation_at_the_end_removes_an_epoch_without_records(place: Place) -> None:
    place.append(1, 2)
    place.log.assign_epoch_start_offset(5, 2)
    assert not place.log.truncate_to(2)
    assert place.log.latest_epoch == 0


# Truncation


def test_a_truncation_drops_whole_entries(place: Place) -> None:
    place.append(1, 2, 3)
    place.append(4, 5, 6)
    assert place.log.truncate_to(4)
    assert place.offsets() == [0, 1, 2]
    assert place.log.log_end_offset == 4  # as asked: in Kafka too
    place.append(7)
    assert place.offsets() == [0, 1, 2, 4]


def test_a_truncation_drops_segments_and_their_snapshots(small: Place) -> None:
    for number in range(5):
        small.append(number)
    assert small.log.truncate_to(2)
    assert bases(small.log) == [0, 1, 2]
    assert small.offsets() == [0, 1]
    assert [name for name in small.names() if name.endswith(".snapshot")] == [
        "00000000000000000001.snapshot",
        "00000000000000000002.snapshot",
    ]
    small.append(9)
    assert small.offsets() == [0, 1, 2]


def test_truncated_log_appends_at_the_truncation_offset(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(index_interval_bytes=0))
    for number in range(5):
        place.append(number)
    place.log.truncate_to(3)
    for number in range(3):
        place.append(10 + number)
    place.log.flush()
    assert place.offsets() == [0, 1, 2, 3, 4, 5]
    entries = index_entries(place.file("00000000000000000000.index"))
    assert [offset for offset, _ in entries] == [1, 2, 4, 5]


def test_truncation_to_a_negative_offset_is_refused(place: Place) -> None:
    with pytest.raises(ValueError, match="cannot truncate"):
        place.log.truncate_to(-1)


def test_producers_are_restored_after_a_truncation(place: Place) -> None:
    for sequence in range(3):
        place.append(sequence, producer_id=7, producer_epoch=0, base_sequence=sequence)
    place.log.truncate_to(1)
    assert place.append(9, producer_id=7, producer_epoch=0, base_sequence=1).first_offset == 1


def test_truncation_above_the_high_watermark_keeps_the_last_stable_offset(place: Place) -> None:
    """An aborted transaction below the high watermark does not limit readers after a rebuild of the producers."""
    place.append(0, transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)
    place.end_transaction(7, commit=False)
    assert place.log.last_stable_offset == place.log.high_watermark == 2
    place.append(1, visible=False)
    place.append(2, visible=False)
    place.log.truncate_to(3)
    assert (place.log.last_stable_offset, place.log.high_watermark, place.log.log_end_offset) == (2, 2, 3)


def test_full_truncation_removes_everything(small: Place) -> None:
    for number in range(3):
        small.append(number, producer_id=7, producer_epoch=0, base_sequence=number)
    small.log.truncate_fully_and_start_at(100)
    assert bases(small.log) == [100]
    assert small.log.latest_epoch is None
    assert small.append(1, producer_id=7, producer_epoch=0, base_sequence=77).first_offset == 100


def test_full_truncation_may_continue_at_the_same_offset(place: Place) -> None:
    place.append(1, 2)
    place.log.truncate_fully_and_start_at(0)
    assert place.append(1).first_offset == 0
    assert place.offsets() == [0]


# Retention


def retained(place: Place) -> list[int]:
    place.log.apply_retention()
    return bases(place.log)


def test_segments_older_than_retention_ms_are_deleted(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_ms=1000))
    for number in range(3):
        place.append(number * 400)
    place.clock.advance(milliseconds=1000)
    assert retained(place) == [0, 1, 2]
    place.clock.advance(milliseconds=1)
    assert retained(place) == [1, 2]
    assert place.log.log_start_offset == 1


def test_retention_uses_record_timestamps(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_ms=1000))
    place.append(-2000)
    place.append(0)
    assert retained(place) == [1]


def test_newer_segment_keeps_older_ones_after_it(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_ms=1000))
    place.append(0)
    place.append(-5000)
    place.append(0)
    assert retained(place) == [0, 1, 2]


def test_active_segment_is_rolled_and_deleted_if_all_are_old(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_ms=1000))
    for number in range(3):
        place.append(number)
    place.clock.advance(milliseconds=DAY_MS)
    assert place.log.apply_retention() == 3
    assert bases(place.log) == [3]
    assert four(place.log) == (3, 3, 3, 3)
    assert place.log.apply_retention() == 0
    assert place.append(DAY_MS).first_offset == 3


def test_empty_active_segment_is_kept(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(retention_ms=1000, retention_bytes=0))
    place.clock.advance(milliseconds=DAY_MS)
    assert place.log.apply_retention() == 0
    assert bases(place.log) == [0]


def test_records_above_the_high_watermark_are_kept(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_ms=1000))
    for number in range(3):
        place.append(number, visible=False)
    place.clock.advance(milliseconds=DAY_MS)
    assert retained(place) == [0, 1, 2]
    place.log.maybe_increment_high_watermark(2)
    assert retained(place) == [2]


def test_segments_beyond_retention_bytes_are_deleted(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_bytes=2 * len(produced(1))))
    for number in range(5):
        place.append(number)
    assert retained(place) == [3, 4]


def test_segment_partly_beyond_retention_bytes_is_kept(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_bytes=2 * len(produced(1)) + 1))
    for number in range(5):
        place.append(number)
    assert retained(place) == [2, 3, 4]


def test_log_without_limits_keeps_everything(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(retention_ms=-1, retention_bytes=-1))
    for number in range(3):
        place.append(number)
    place.clock.advance(milliseconds=1000 * DAY_MS)
    assert retained(place) == [0, 1, 2]


def test_segments_below_the_log_start_are_deleted_with_any_policy(tmp_path: Path) -> None:
    policy = frozenset({"compact"})
    place = Place(tmp_path / "data", SMALL._replace(cleanup_policy=policy, retention_ms=0, retention_bytes=0))
    for number in range(4):
        place.append(record(key="k", ts=T0 + number))
    place.log.maybe_increment_log_start_offset(2)
    assert retained(place) == [2, 3]
    place.log.maybe_increment_log_start_offset(4)
    assert retained(place) == [3]


def test_inactive_producers_expire(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL)
    place.append(1, producer_id=7, producer_epoch=0, base_sequence=0)
    place.log.remove_expired_producers(DAY_MS)
    assert len(place.log.producers) == 1
    place.clock.advance(milliseconds=2 * DAY_MS)
    place.log.remove_expired_producers(DAY_MS)
    assert len(place.log.producers) == 0


def test_log_is_flushed_after_flush_ms(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", SMALL._replace(flush_ms=500))
    place.append(1)
    place.clock.advance(milliseconds=499)
    place.log.flush_if_due()
    assert place.log.recovery_point == 0
    place.clock.advance(milliseconds=1)
    place.log.flush_if_due()
    assert place.log.recovery_point == 1


def test_log_without_records_is_closed_without_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("kafkalet.storage.file_system.os.fsync", synced.append)
    place = Place(tmp_path / "data", SMALL, durable=True)
    place.log.assign_epoch_start_offset(0, 0)
    synced.clear()
    place.log.flush(also_empty=True)
    place.log.close()
    assert synced == []
    assert "leader-epoch-checkpoint" in place.names()


def test_log_with_records_is_synced_before_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path / "data", SMALL, durable=True)
    place.append(1)
    synced: list[int] = []
    monkeypatch.setattr("kafkalet.storage.file_system.os.fsync", synced.append)
    place.log.flush(also_empty=True)
    assert synced


# Files of deleted segments


def test_deleted_segments_are_renamed_and_removed_after_the_delay(small: Place) -> None:
    for number in range(3):
        small.append(number)
    small.log.maybe_increment_log_start_offset(2)
    found = small.read(2)
    before = small.log.local.read(0, 100, True, small.log.log_end_metadata(), False)
    small.log.apply_retention()
    assert "00000000000000000000.log.deleted" in small.names()
    small.clock.advance(milliseconds=59_999)
    assert "00000000000000000000.log.deleted" in small.names()
    small.clock.advance(milliseconds=1)
    assert not [name for name in small.names() if name.endswith(".deleted")]
    assert [batch.base_offset for batch in batches(content(before))] == [0]
    assert [batch.base_offset for batch in batches(content(found))] == [2]


def test_clean_shutdown_removes_deleted_segments(small: Place) -> None:
    for number in range(3):
        small.append(number)
    small.log.truncate_fully_and_start_at(0)
    small.reopen()
    assert not [name for name in small.names() if name.endswith(".deleted")]


# Configuration


def test_new_configuration_applies_to_the_next_append(place: Place) -> None:
    place.append(1)
    place.append(2)
    place.log.reconfigure(SMALL)
    place.append(3)
    assert bases(place.log) == [0, 2]
    assert place.log.config is SMALL


def test_change_to_an_old_format_clears_the_epochs(place: Place) -> None:
    place.append(1)
    place.log.reconfigure(CONFIG._replace(record_version=1))
    assert place.log.latest_epoch is None


def test_new_log_start_offset_is_written_with_the_epochs_at_once(tmp_path: Path) -> None:
    """Kafka 3.9 and 4.4 write leader-epoch-checkpoint within 0.2 s of DeleteRecords."""
    place = Place(tmp_path / "data", durable=True)
    place.append(1, 2, 3)
    place.log.maybe_increment_log_start_offset(2)
    assert (place.path / "t-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n0 2\n"
