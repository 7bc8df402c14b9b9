import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.record import Record, decode_records, encode_records, read_record
from kafkalet.protocol.records.varint import encode

from .strategies import NOW, damaged, record_lists


def read_one_by_one(payload: bytes, count: int, base_offset: int, base_timestamp: int) -> list[Record]:
    """Decode with the exact reader only."""
    records, position = [], 0
    for _ in range(count):
        record, position = read_record(payload, position, base_offset, base_timestamp)
        records.append(record)
    if position != len(payload):
        raise KafkaError(Code.INVALID_RECORD)
    return records


def record_bytes(fields: bytes, size: int | None = None) -> bytes:
    return encode(len(fields) if size is None else size) + fields


@given(record_lists())
def test_encoded_records_are_decoded(records: list[Record]) -> None:
    payload = encode_records(records, 0, NOW)
    assert decode_records(payload, len(records), 0, NOW) == records


@given(record_lists(), st.integers(0, 1 << 60))
def test_offsets_are_relative_to_the_base_offset(records: list[Record], base_offset: int) -> None:
    payload = encode_records(records, 0, NOW)
    decoded = decode_records(payload, len(records), base_offset, NOW)
    assert [record.offset for record in decoded] == [base_offset + record.offset for record in records]


@given(record_lists(), st.lists(st.integers(0, 10_000), unique=True, max_size=100))
def test_batches_with_gaps_are_decoded(records: list[Record], kept: list[int]) -> None:
    """Compaction leaves such batches."""
    records = [record for record in records if record.offset in kept]
    assert decode_records(encode_records(records, 0, NOW), len(records), 0, NOW) == records


@given(st.data(), record_lists(max_groups=3))
def test_the_fast_reader_agrees_with_the_exact_one_about_damaged_records(
    data: st.DataObject, records: list[Record]
) -> None:
    payload = data.draw(damaged(encode_records(records, 0, NOW)))
    count = len(records) + data.draw(st.sampled_from([0, 0, 0, 1, -1]))
    try:
        expected: object = read_one_by_one(payload, count, 5, NOW)
    except KafkaError as error:
        expected = error.code
    try:
        decoded: object = decode_records(payload, count, 5, NOW)
    except KafkaError as error:
        decoded = error.code
    assert decoded == expected


def test_all_records_have_append_time_with_log_append_time() -> None:
    payload = encode_records([Record(0, 7, None, b"a"), Record(1, 9, None, b"b")], 0, 7)
    assert [record.timestamp for record in decode_records(payload, 2, 0, 7, append_time=1234)] == [1234, 1234]


def test_timestamps_overflow_at_64_bits() -> None:
    largest = (1 << 63) - 1
    payload = encode_records([Record(0, largest + 5, None, b"")], 0, largest)
    assert decode_records(payload, 1, 0, largest)[0].timestamp == -(1 << 63) + 4


def test_overlong_varints_of_lengths_are_accepted() -> None:
    payload = record_bytes(b"\0" + b"\x80\0" + b"\x80\0" + b"\x81\0" + b"\x82\x80\0" + b"v" + b"\x80\0")
    assert decode_records(payload, 1, 3, 9) == [Record(3, 9, None, b"v")]


def test_any_negative_length_is_null() -> None:
    assert decode_records(record_bytes(b"\0\0\0\x03\x05\0"), 1, 0, 0) == [Record(0, 0, None, None)]


def test_negative_offset_delta_is_decoded() -> None:
    assert decode_records(record_bytes(b"\0\0\x03\1\1\0"), 1, 10, 0)[0].offset == 8


def test_header_keys_with_invalid_utf_8_are_kept() -> None:
    record = decode_records(record_bytes(b"\0\0\0\1\1\2" + b"\4\xff\xfe" + b"\1"), 1, 0, 0)[0]
    assert encode_records([record], 0, 0) == record_bytes(b"\0\0\0\1\1\2" + b"\4\xff\xfe" + b"\1")


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"", id="empty"),
        pytest.param(record_bytes(b"\0\0\0\1\1\0", 7), id="shorter than its length"),
        pytest.param(record_bytes(b"\0\0\0\1\1\0") + b"\0", id="data after the record"),
        pytest.param(record_bytes(b"\0\0\0\1\1\0\0"), id="data after the headers"),
        pytest.param(record_bytes(b"\0\0\0\1\1\0", 5) + b"\0", id="longer than its length"),
        pytest.param(record_bytes(b"\0\0\0\1\1\0", -1), id="negative length"),
        pytest.param(record_bytes(b"\0\0\0\x08k\1\0"), id="key beyond the end"),
        pytest.param(record_bytes(b"\0\0\0\1\x08v\0"), id="value beyond the end"),
        pytest.param(record_bytes(b"\0\0\0\1\1"), id="no header count"),
        pytest.param(record_bytes(b"\0\0\0\1\1\1"), id="negative header count"),
        pytest.param(record_bytes(b"\0\0\0\1\1\x10"), id="more headers than bytes"),
        pytest.param(record_bytes(b"\0\0\0\1\1\2\1\1"), id="null header key"),
        pytest.param(record_bytes(b"\0\0\0\1\1\2\2k\x10"), id="header value beyond the end"),
        pytest.param(record_bytes(b"\0" + b"\x80" * 10 + b"\0\0\1\1\0"), id="timestamp too long"),
        pytest.param(record_bytes(b"\0\0" + b"\x80" * 5 + b"\0\1\1\0"), id="offset too long"),
    ],
)
def test_malformed_records_are_refused(payload: bytes) -> None:
    with pytest.raises(KafkaError) as refusal:
        decode_records(payload, 1, 0, 0)
    assert refusal.value.code is Code.INVALID_RECORD


def test_record_length_with_invalid_varint_is_unknown_server_error() -> None:
    """Kafka does not catch the exception."""
    with pytest.raises(KafkaError) as refusal:
        decode_records(b"\xff\xff\xff\xff\xff\0" + bytes(20), 1, 0, 0)
    assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR
