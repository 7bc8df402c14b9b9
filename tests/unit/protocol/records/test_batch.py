import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import (
    HEADER_SIZE,
    Batch,
    TimestampType,
    assign,
    batches,
    increment_sequence,
    set_max_timestamp,
)
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.crc32c import PATCH_FROM
from kafkalet.protocol.records.record import Record

from .strategies import NOW, damaged, record_lists

THREE = numbered([(NOW, b"k", b"a", ()), (NOW + 9, None, b"b", (("h", None),)), (NOW + 2, b"", None, ())])


def test_batch_has_the_header_fields() -> None:
    data = build_batch(
        THREE,
        base_offset=0,
        codec=Codec.GZIP,
        leader_epoch=7,
        producer_id=1 << 40,
        producer_epoch=3,
        base_sequence=20,
        is_transactional=True,
    )
    batch = Batch(b"before" + data, 6)
    assert (batch.magic, batch.size, batch.position, batch.end) == (2, len(data), 6, 6 + len(data))
    assert (batch.base_offset, batch.last_offset, batch.next_offset, batch.last_offset_delta) == (0, 2, 3, 2)
    assert (batch.leader_epoch, batch.codec, batch.count) == (7, Codec.GZIP, 3)
    assert (batch.timestamp_type, batch.base_timestamp, batch.max_timestamp) == (0, NOW, NOW + 9)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (1 << 40, 3, 20, 22)
    assert (batch.is_transactional, batch.is_control, batch.has_producer_id) == (True, False, True)
    assert batch.to_bytes() == bytes(batch.view()) == data


def test_repr_of_batch_has_position_size_and_offsets() -> None:
    assert (
        repr(Batch(build_batch(THREE))) == f"<Batch of format 2 at 0, {len(build_batch(THREE))} bytes, offsets 0 to 2>"
    )


def test_batch_without_producer_has_no_sequence() -> None:
    batch = Batch(build_batch(THREE))
    assert (batch.has_producer_id, batch.producer_id, batch.producer_epoch) == (False, -1, -1)
    assert batch.last_sequence == -1


@pytest.mark.parametrize(("magic", "timestamp"), [(0, -1), (1, NOW + 9)])
def test_wrapper_has_its_own_offset_and_timestamp(magic: int, timestamp: int) -> None:
    plain = [record._replace(headers=(), offset=record.offset + 40) for record in THREE]
    batch = Batch(build_message_set(magic, plain, codec=Codec.GZIP, base_offset=40))
    assert (batch.magic, batch.base_offset, batch.last_offset, batch.next_offset) == (magic, 42, 42, 43)
    assert (batch.max_timestamp, batch.count, batch.codec) == (timestamp, -1, Codec.GZIP)
    assert (batch.producer_id, batch.leader_epoch, batch.last_sequence) == (-1, -1, -1)
    assert (batch.is_transactional, batch.is_control, batch.has_producer_id) == (False, False, False)


def test_format_0_has_no_timestamp_type() -> None:
    types = [Batch(build_message_set(magic, THREE[:1])).timestamp_type for magic in (0, 1)]
    assert types == [TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME]


def test_message_without_codec_has_count_1() -> None:
    assert Batch(build_message_set(1, THREE[:1])).count == 1


@given(record_lists(max_groups=3), st.sampled_from(list(Codec)))
def test_records_of_built_batch_are_decoded(records: list[Record], codec: Codec) -> None:
    batch = Batch(build_batch(records, codec=codec))
    batch.check_crc()
    assert batch.records() == records


@pytest.mark.parametrize("first", [NOW, (1 << 62) + 1, -(1 << 62) - 1])
@pytest.mark.parametrize("timestamp_type", list(TimestampType))
def test_records_one_by_one_are_those_of_the_batch(first: int, timestamp_type: TimestampType) -> None:
    made = numbered((first + number, b"k", b"v", ()) for number in range(3))
    batch = Batch(build_batch(made, timestamp_type=timestamp_type, max_timestamp=first + 2))
    assert list(batch.iterate()) == batch.records()
    if timestamp_type is TimestampType.CREATE_TIME:
        assert batch.records() == made


def test_records_have_append_time_with_log_append_time() -> None:
    batch = Batch(build_batch(THREE, timestamp_type=TimestampType.LOG_APPEND_TIME, append_time=5))
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in batch.records()] == [5, 5, 5]


def test_unknown_codec_is_unknown_server_error() -> None:
    data = bytearray(build_batch(THREE))
    data[22] |= 5
    with pytest.raises(KafkaError) as refusal:
        Batch(data).records()
    assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR


@given(st.data())
def test_changed_byte_fails_the_checksum(data: st.DataObject) -> None:
    original = build_batch(THREE)
    changed = bytearray(original)
    changed[data.draw(st.integers(21, len(original) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(KafkaError) as refusal:
        Batch(changed).check_crc()
    assert refusal.value.code is Code.CORRUPT_MESSAGE


class TestBatches:
    def test_complete_entries_are_returned_in_order(self) -> None:
        one, two = build_message_set(1, THREE), build_batch(THREE, base_offset=0)
        positions = [batch.position for batch in batches(one + two + two)]
        assert positions[-2:] == [len(one), len(one + two)]
        assert len(positions) == 5

    def test_only_entries_in_the_given_range_are_returned(self) -> None:
        data = build_batch(THREE)
        found = list(batches(b"xx" + data * 3, 2 + len(data), 2 + 2 * len(data)))
        assert [batch.position for batch in found] == [2 + len(data)]

    @pytest.mark.parametrize("have", [0, 1, 11, 12, 16, 17, 60, 61, 70])
    def test_incomplete_entry_at_the_end_is_ignored(self, have: int) -> None:
        data = build_batch(THREE)
        assert len(list(batches(data + data[:have]))) == 1

    def test_length_below_minimum_is_corrupt_even_at_the_end(self) -> None:
        with pytest.raises(KafkaError) as refusal:
            list(batches(bytes(8) + (13).to_bytes(4, "big")))
        assert refusal.value.code is Code.CORRUPT_MESSAGE

    def test_negative_length_is_corrupt(self) -> None:
        with pytest.raises(KafkaError):
            list(batches(bytes(8) + b"\xff\xff\xff\xff" + bytes(50)))

    @pytest.mark.parametrize("magic", [3, 127, 128, 255])
    def test_unknown_magic_is_corrupt(self, magic: int) -> None:
        data = bytearray(build_batch(THREE))
        data[16] = magic
        with pytest.raises(KafkaError) as refusal:
            list(batches(data))
        assert refusal.value.code is Code.CORRUPT_MESSAGE

    def test_batch_shorter_than_its_header_is_corrupt(self) -> None:
        data = bytearray(build_batch(THREE))[:60]
        data[8:12] = (48).to_bytes(4, "big")
        with pytest.raises(KafkaError) as refusal:
            list(batches(data))
        assert refusal.value.code is Code.CORRUPT_MESSAGE

    @given(st.data())
    def test_damaged_entries_are_returned_or_corrupt(self, data: st.DataObject) -> None:
        good = build_message_set(1, THREE) + build_batch(THREE) + build_message_set(0, THREE, codec=Codec.GZIP)
        try:
            for batch in batches(data.draw(damaged(good))):
                batch.records()
        except KafkaError:
            pass


class TestPatching:
    def test_assigned_offset_does_not_change_the_checksum(self) -> None:
        data = bytearray(b"xxx" + build_batch(THREE))
        assign(data, 3, 1 << 50, 12)
        batch = Batch(data, 3)
        batch.check_crc()
        assert (batch.base_offset, batch.leader_epoch, batch.records()[2].offset) == ((1 << 50), 12, (1 << 50) + 2)

    @pytest.mark.parametrize("size", [10, PATCH_FROM + 10])
    def test_setting_timestamp_updates_checksum_for_any_size(self, size: int) -> None:
        data = bytearray(b"xxx" + build_batch([Record(0, NOW, None, bytes(size))]))
        set_max_timestamp(memoryview(data), 3, TimestampType.LOG_APPEND_TIME, 99)
        batch = Batch(data, 3)
        batch.check_crc()
        assert (batch.timestamp_type, batch.max_timestamp, batch.base_timestamp) == (1, 99, NOW)

    def test_timestamp_type_can_be_changed_back(self) -> None:
        data = bytearray(build_batch(THREE, timestamp_type=TimestampType.LOG_APPEND_TIME, append_time=5))
        set_max_timestamp(data, 0, TimestampType.CREATE_TIME, NOW + 9)
        assert bytes(data) == build_batch(THREE)

    def test_setting_equal_timestamp_leaves_the_buffer_unchanged(self) -> None:
        data = bytearray(build_batch(THREE))
        data[22] |= 0x80  # an unused attribute bit
        before = bytes(data)
        set_max_timestamp(data, 0, TimestampType.CREATE_TIME, NOW + 9)
        assert bytes(data) == before

    def test_setting_timestamp_clears_unused_attribute_bits(self) -> None:
        data = bytearray(build_batch(THREE, is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0))
        data[21:23] = b"\xff\x90"
        set_max_timestamp(data, 0, TimestampType.CREATE_TIME, NOW)
        assert data[21:23] == b"\x00\x10"


def test_sequence_wraps_to_zero_after_maximum() -> None:
    largest = (1 << 31) - 1
    assert [increment_sequence(largest - 1, 1), increment_sequence(largest, 1), increment_sequence(largest, 5)] == [
        largest,
        0,
        4,
    ]


def test_delete_horizon_is_stored_in_the_base_timestamp() -> None:
    batch = Batch(build_batch(THREE, delete_horizon_ms=NOW - 5))
    assert (batch.delete_horizon_ms, Batch(build_batch(THREE)).delete_horizon_ms) == (NOW - 5, None)
    assert batch.records() == THREE


def test_empty_batch_keeps_its_offsets() -> None:
    batch = Batch(build_batch([], base_offset=10, last_offset=14, max_timestamp=NOW))
    batch.check_crc()
    assert (batch.size, batch.count, batch.base_offset, batch.last_offset) == (HEADER_SIZE, 0, 10, 14)
    assert (batch.base_timestamp, batch.max_timestamp, batch.records()) == (-1, NOW, [])


def test_an_empty_batch_has_no_records_one_by_one() -> None:
    batch = Batch(build_batch([], base_offset=5, last_offset=8))
    assert (list(batch.iterate()), batch.records()) == ([], [])
