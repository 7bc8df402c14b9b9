import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.record import Record, encode_records
from kafkalet.protocol.records.varint import encode
from kafkalet.protocol.records.walk import WalkResult, walk_records
from tests.profile import examples

from .strategies import NOW, damaged, record_lists
from .test_record import read_one_by_one, record_bytes


def walk(payload: bytes, count: int, *, lengths_count: bool = True) -> WalkResult:
    return walk_records(payload, 0, len(payload), count, NOW, lengths_count=lengths_count)


def expected_of(records: list[Record]) -> WalkResult:
    """Compute the expected result from decoded records."""
    timestamps = [record.timestamp for record in records]
    largest = max([-1, *timestamps])
    in_order = [record.offset for record in records] == list(range(len(records)))
    return WalkResult(largest, timestamps.index(largest) if largest > -1 else -1, in_order, [], [])


@given(record_lists())
def test_walk_finds_the_max_timestamp_and_its_first_record(records: list[Record]) -> None:
    assert walk(encode_records(records, 0, NOW), len(records)) == expected_of(records)


@given(record_lists(), st.lists(st.integers(0, 10_000), unique=True, max_size=100))
def test_walk_detects_missing_offsets(records: list[Record], kept: list[int]) -> None:
    records = [record for record in records if record.offset in kept]
    assert walk(encode_records(records, 0, NOW), len(records)) == expected_of(records)


@given(st.data(), record_lists(max_groups=3))
def test_walk_accepts_exactly_the_records_that_can_be_decoded(data: st.DataObject, records: list[Record]) -> None:
    payload = data.draw(damaged(encode_records(records, 0, NOW)))
    count = len(records) + data.draw(st.sampled_from([0, 0, 0, 1, -1]))
    try:
        expected: object = expected_of(read_one_by_one(payload, count, 0, NOW))
    except KafkaError as error:
        expected = error.code
    try:
        walked: object = walk(payload, count)
    except KafkaError as error:
        walked = error.code
    assert walked == expected


@settings(max_examples=examples(0.6))
@given(st.data(), record_lists(max_groups=3))
def test_ignoring_lengths_makes_no_difference_for_valid_records(data: st.DataObject, records: list[Record]) -> None:
    payload = data.draw(damaged(encode_records(records, 0, NOW)))
    try:
        expected = walk(payload, len(records))
    except KafkaError:
        return
    assert walk(payload, len(records), lengths_count=False) == expected


@given(record_lists(), st.sampled_from([None, NOW - 50, NOW, NOW + 3]), st.sampled_from([None, NOW, NOW + 50]))
def test_records_without_key_or_with_bad_timestamp_are_reported(
    records: list[Record], earliest: int | None, latest: int | None
) -> None:
    payload = encode_records(records, 0, NOW)
    walked = walk_records(
        payload, 0, len(payload), len(records), NOW, report_null_keys=True, earliest=earliest, latest=latest
    )
    assert walked.null_keys == [index for index, record in enumerate(records) if record.key is None]
    assert walked.bad_timestamps == [
        (index, record.offset, record.timestamp)
        for index, record in enumerate(records)
        if record.timestamp != -1
        and (
            (earliest is not None and record.timestamp < earliest) or (latest is not None and record.timestamp > latest)
        )
    ]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_only_the_given_range_is_walked(kind: type) -> None:
    payload = encode_records([Record(index, NOW + index, b"k", b"value") for index in range(40)], 0, NOW)
    buffer = kind(b"before" + payload + b"behind")
    walked = walk_records(buffer, 6, 6 + len(payload), 40, NOW)
    assert walked == WalkResult(NOW + 39, 39, True, [], [])


def test_incomplete_record_is_not_completed_by_data_after_the_range() -> None:
    payload = encode_records([Record(0, NOW, b"k", b"value")], 0, NOW)
    with pytest.raises(KafkaError) as refusal:
        walk_records(payload, 0, len(payload) - 1, 1, NOW)
    assert refusal.value.code is Code.INVALID_RECORD


def test_batch_without_records_has_no_timestamp() -> None:
    assert walk(b"", 0) == WalkResult(-1, -1, True, [], [])


def test_records_without_timestamps_have_no_max_timestamp() -> None:
    payload = encode_records([Record(0, -1, None, b"a"), Record(1, -1, None, b"b")], 0, -1)
    assert walk_records(payload, 0, len(payload), 2, -1)[:2] == (-1, -1)


def test_first_record_has_the_max_timestamp_with_log_append_time() -> None:
    payload = encode_records([Record(0, 5, None, b"a"), Record(1, 6, None, b"b")], 0, 5)
    walked = walk_records(payload, 0, len(payload), 2, 5, append_time=77, latest=50)
    assert walked == WalkResult(77, 0, True, [], [(0, 0, 77), (1, 1, 77)])


def test_batch_with_offsets_of_three_bytes_is_walked() -> None:
    records = [Record(index, NOW + index % 100, b"key", b"value") for index in range(10_000)]
    assert walk(encode_records(records, 0, NOW), 10_000) == WalkResult(NOW + 99, 99, True, [], [])


def test_wrong_length_is_ignored_only_in_compressed_batches() -> None:
    payload = record_bytes(b"\0\0\0\1\1\0", 40)
    with pytest.raises(KafkaError):
        walk(payload, 1)
    assert walk(payload, 1, lengths_count=False) == WalkResult(NOW, 0, True, [], [])


def test_timestamps_overflow_at_64_bits() -> None:
    largest = (1 << 63) - 1
    payload = encode_records([Record(0, largest + 5, None, b""), Record(1, largest, None, b"")], 0, largest)
    assert walk_records(payload, 0, len(payload), 2, largest) == WalkResult(largest, 1, True, [], [])


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(encode(8) + b"\0\0\0\1\1\2\0\x10", id="header value beyond the end"),
        pytest.param(b"\xff\xff\xff\xff\xff\0" + bytes(20), id="length is not a varint"),
        pytest.param(encode(6) + b"\0\0\0\1\x08v", id="value beyond the end"),
        pytest.param(encode(6) + b"\0\0\0\1\1\1", id="negative header count"),
        pytest.param(encode(6) + b"\0\0\0\1\1\2\1\1", id="null header key"),
        pytest.param(encode(6) + b"\0\0\0\1\1\0\0", id="data after the record"),
    ],
)
def test_malformed_records_in_compressed_batches_are_refused(payload: bytes) -> None:
    with pytest.raises(KafkaError) as refusal:
        walk(payload, 1, lengths_count=False)
    assert refusal.value.code is Code.INVALID_RECORD
