import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.protocol.records.build import build_message_set
from kafkalet.protocol.records.codecs import Codec, compress
from kafkalet.protocol.records.legacy import decode_message, encode_message, set_offset, set_timestamp
from kafkalet.protocol.records.record import Record
from tests.profile import examples

from .strategies import NOW, record_lists

APPEND_TIME = 8
LIMIT = 1 << 20


def wrapper(
    inner: bytes,
    *,
    magic: int = 1,
    offset: int = 0,
    timestamp: int = NOW,
    attributes: int = 0,
    codec: Codec = Codec.GZIP,
) -> bytes:
    return encode_message(offset, magic, attributes | codec, timestamp, None, compress(codec, inner, magic=magic))


def messages(*offsets: int, magic: int = 1) -> bytes:
    return b"".join(encode_message(offset, magic, 0, NOW + offset, b"k", b"v") for offset in offsets)


def offsets_in(message: bytes) -> list[int]:
    return [record.offset for record in decode_message(message, LIMIT)]


def test_message_of_format_0_is_encoded() -> None:
    data = encode_message(1, 0, 0, -1, b"k", None)
    assert data.hex() == "0000000000000001" + "0000000f" + "908204f6" + "0000" + "00000001" + "6b" + "ffffffff"


def test_message_of_format_1_has_a_timestamp() -> None:
    data = encode_message(1, 1, 0, 5, None, b"v")
    assert data[16:].hex() == "0100" + "0000000000000005" + "ffffffff" + "00000001" + "76"


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@settings(max_examples=examples(0.3))
@given(records=record_lists(max_groups=2, with_headers=False), base_offset=st.integers(0, 1 << 50))
def test_decoded_records_have_absolute_offsets(
    magic: int, codec: Codec, records: list[Record], base_offset: int
) -> None:
    records = [record._replace(offset=base_offset + record.offset) for record in records]
    entries = list(batches(build_message_set(magic, records, codec=codec, base_offset=base_offset)))
    for entry in entries:
        entry.check_crc()
    decoded = [record for entry in entries for record in entry.records()]
    assert decoded == [record._replace(timestamp=record.timestamp if magic else -1) for record in records]


class TestWrappers:
    def test_format_1_offsets_are_relative_to_the_wrapper_offset(self) -> None:
        assert offsets_in(wrapper(messages(0, 1, 2), offset=50)) == [48, 49, 50]
        assert offsets_in(wrapper(messages(0, 3), offset=50)) == [47, 50]

    def test_format_1_offsets_of_wrapper_with_offset_0_are_absolute(self) -> None:
        assert offsets_in(wrapper(messages(0, 1, 2), offset=0)) == [0, 1, 2]

    def test_format_0_offsets_are_absolute(self) -> None:
        assert offsets_in(wrapper(messages(48, 50, magic=0), magic=0, offset=50)) == [48, 50]

    def test_wrapper_offset_below_last_inner_offset_is_invalid(self) -> None:
        with pytest.raises(KafkaError) as refusal:
            decode_message(wrapper(messages(0, 9), offset=5), LIMIT)
        assert refusal.value.code is Code.INVALID_RECORD

    def test_log_append_time_of_wrapper_applies_to_inner_messages(self) -> None:
        records = decode_message(wrapper(messages(0, 1), attributes=APPEND_TIME, timestamp=77), LIMIT)
        assert [record.timestamp for record in records] == [77, 77]

    def test_create_time_is_taken_from_each_inner_message(self) -> None:
        records = decode_message(wrapper(messages(0, 1), timestamp=77), LIMIT)
        assert [record.timestamp for record in records] == [NOW, NOW + 1]

    def test_incomplete_inner_message_at_the_end_is_ignored(self) -> None:
        assert offsets_in(wrapper(messages(0, 1, 2)[:-1])) == [0, 1]

    @pytest.mark.parametrize(
        "message",
        [
            pytest.param(wrapper(b""), id="no inner messages"),
            pytest.param(wrapper(wrapper(messages(0))), id="nested wrapper"),
            pytest.param(encode_message(0, 1, Codec.GZIP, NOW, None, None), id="null value"),
            pytest.param(encode_message(0, 1, Codec.ZSTD, NOW, None, b"x"), id="zstd"),
            pytest.param(wrapper(messages(0)[:16] + b"\2" + messages(0)[17:]), id="inner message of format 2"),
        ],
    )
    def test_malformed_wrapper_is_invalid(self, message: bytes) -> None:
        with pytest.raises(KafkaError) as refusal:
            decode_message(message, LIMIT)
        assert refusal.value.code is Code.INVALID_RECORD

    def test_inner_size_below_minimum_is_corrupt(self) -> None:
        with pytest.raises(KafkaError) as refusal:
            decode_message(wrapper(bytes(8) + (13).to_bytes(4, "big") + bytes(13)), LIMIT)
        assert refusal.value.code is Code.CORRUPT_MESSAGE

    def test_inner_checksums_are_verified_on_request(self) -> None:
        inner = bytearray(messages(0, 1))
        inner[-1] ^= 1
        assert len(decode_message(wrapper(bytes(inner)), LIMIT)) == 2
        with pytest.raises(KafkaError) as refusal:
            decode_message(wrapper(bytes(inner)), LIMIT, check_inner_crcs=True)
        assert refusal.value.code is Code.CORRUPT_MESSAGE
        decode_message(wrapper(messages(0, 1)), LIMIT, check_inner_crcs=True)

    def test_content_over_the_limit_is_refused(self) -> None:
        with pytest.raises(KafkaError) as refusal:
            decode_message(wrapper(messages(*range(100))), 1000)
        assert refusal.value.code is Code.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("position", [18, 23])
def test_field_beyond_the_end_is_unknown_server_error(position: int) -> None:
    message = bytearray(encode_message(0, 0, 0, -1, b"k", b"v"))
    message[position + 3] = 50
    with pytest.raises(KafkaError) as refusal:
        decode_message(message, LIMIT)
    assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR


def test_key_without_room_for_the_value_is_unknown_server_error() -> None:
    message = bytearray(encode_message(0, 0, 0, -1, None, None))
    message[18:22] = (4).to_bytes(4, "big")
    with pytest.raises(KafkaError) as refusal:
        decode_message(message, LIMIT)
    assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR


def test_format_1_without_room_for_its_timestamp_is_corrupt() -> None:
    message = bytearray(encode_message(0, 0, 0, -1, None, None))
    message[16] = 1
    with pytest.raises(KafkaError) as refusal:
        Batch(message)
    assert refusal.value.code is Code.CORRUPT_MESSAGE


def test_setting_offset_does_not_change_the_checksum() -> None:
    data = bytearray(b"xx" + messages(3))
    set_offset(data, 2, 1 << 40)
    batch = Batch(data, 2)
    batch.check_crc()
    assert batch.base_offset == 1 << 40


@pytest.mark.parametrize("is_append_time", [False, True])
def test_setting_timestamp_updates_the_checksum(is_append_time: bool) -> None:
    data = bytearray(b"xx" + wrapper(messages(0, 1)))
    set_timestamp(data, 2, is_append_time, 99)
    batch = Batch(data, 2)
    batch.check_crc()
    assert (batch.timestamp_type, batch.max_timestamp, batch.codec) == (int(is_append_time), 99, Codec.GZIP)


def test_setting_equal_timestamp_leaves_the_buffer_unchanged() -> None:
    data = bytearray(messages(0))
    data[17] |= 0x80  # an unused attribute bit
    before = bytes(data)
    set_timestamp(data, 0, False, NOW)
    assert bytes(data) == before


@given(st.integers(0, 1 << 32))
def test_changed_byte_fails_the_checksum(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(messages(0))
    data[chance.randrange(17, len(data))] ^= chance.randrange(1, 256)
    with pytest.raises(KafkaError) as refusal:
        next(batches(data)).check_crc()
    assert refusal.value.code is Code.CORRUPT_MESSAGE
