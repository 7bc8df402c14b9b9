"""Tests of the validation of appends: accepted records, error codes, and the written batches."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import Batch, TimestampType, batches
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage.config import LogConfig
from kafkalet.storage.refusals import AppendRefused
from kafkalet.storage.values import Origin
from kafkalet_conformance.notation import codecs

from .producing import T0, marker, message_set, produced, record
from .validating import APPEND_TIME, COMPACTED, NOW, accept, refused, stored

OLD = [LogConfig(record_version=0), LogConfig(record_version=1)]


# Accepted records


def test_a_batch_gets_its_offset_and_the_leaders_epoch() -> None:
    accepted = accept(produced(0, 1, 2))
    batch = stored(accepted)
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (100, 102, 3)
    assert (accepted.first_offset, accepted.last_offset) == (100, 102)
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp) == (T0 + 2, 102)
    assert accepted.log_append_time_ms == -1
    assert [each.base_offset for each in accepted.batches] == [100]


def test_bytearray_is_patched_in_place() -> None:
    data = produced(0)
    assert accept(data).records is data


def test_view_of_a_frame_is_patched_in_place() -> None:
    frame = bytearray(b"head") + produced(0) + b"tail"
    accepted = accept(memoryview(frame)[4:-4])
    assert bytes(accepted.records) == bytes(frame[4:-4])
    assert Batch(frame, 4).base_offset == 100


@pytest.mark.parametrize("wrap", [bytes, lambda data: memoryview(bytes(data))])
def test_read_only_memory_is_copied(wrap: Any) -> None:
    data = wrap(produced(0))
    before = bytes(data)
    assert stored(accept(data)).base_offset == 100
    assert data == before


def test_incomplete_last_batch_is_dropped() -> None:
    data = produced(0)
    accepted = accept(data + produced(0)[:-1])
    assert len(accepted.records) == len(data)
    assert stored(accepted).base_offset == 100


def test_empty_records_are_accepted() -> None:
    for data in (b"", bytes(11), produced(0)[:-1]):
        accepted = accept(data)
        assert (accepted.first_offset, accepted.last_offset, accepted.batches, len(accepted.records)) == (-1, -1, (), 0)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_a_compressed_batch_keeps_its_bytes(codec: str) -> None:
    data = produced(0, 5, 2, codec=codec)
    payload = bytes(data[61:])
    accepted = accept(data)
    assert accepted.records is data
    assert data[61:] == payload
    assert [each.timestamp for each in stored(accepted).records()] == [T0, T0 + 5, T0 + 2]
    assert accepted.max_timestamp == T0 + 5


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_the_largest_timestamp_is_computed(codec: str) -> None:
    accepted = accept(produced(0, 5, 2, codec=codec, set={"max_ts": 99}))
    assert stored(accepted).max_timestamp == accepted.max_timestamp == T0 + 5


def test_the_base_timestamp_stays() -> None:
    batch = stored(accept(produced(0, 5, set={"base_ts": T0 + 100})))
    assert (batch.base_timestamp, batch.max_timestamp) == (T0 + 100, T0 + 105)


def test_records_without_timestamps_have_no_largest_one() -> None:
    accepted = accept(produced(record(-1), record(-1)))
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp) == (-1, -1)


def test_timestamps_below_minus_1_are_unchanged() -> None:
    accepted = accept(produced(record(-5), record(-7)))
    assert stored(accepted).max_timestamp == -1
    assert [each.timestamp for each in stored(accepted).records()] == [-5, -7]


def test_an_uncompressed_batch_keeps_its_offset_deltas() -> None:
    data = produced(record(T0, offset_delta=3), record(T0, offset_delta=1), set={"last_offset_delta": 1})
    assert [each.offset for each in stored(accept(data)).records()] == [103, 101]


def test_unknown_attributes_are_kept_unless_the_header_is_written() -> None:
    assert stored(accept(produced(0, set={"attributes": 0x7FC0}))).attributes == 0x7FC0
    assert stored(accept(produced(0, set={"attributes": 0x7FC0, "max_ts": 5}))).attributes == 0x40


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_append_time_replaces_the_producers_timestamps(codec: str) -> None:
    accepted = accept(produced(0, 5, codec=codec), APPEND_TIME)
    batch = stored(accepted)
    assert (batch.timestamp_type, batch.max_timestamp, batch.base_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW, T0)
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp, accepted.log_append_time_ms) == (NOW, 101, NOW)


def test_claimed_append_time_is_refused() -> None:
    batch = stored(accept(produced(0, 1, ts_type="append")))
    assert (batch.timestamp_type, batch.max_timestamp) == (TimestampType.CREATE_TIME, T0 + 1)


def test_a_claimed_append_time_counts_for_all_records() -> None:
    batch = stored(accept(produced(0, 1, ts_type="append", set={"max_ts": T0 + 7})))
    assert batch.max_timestamp == T0 + 7


def test_record_lengths_in_a_compressed_batch_are_not_checked() -> None:
    data = produced(0)
    payload = codecs.compress("gzip", b"\x02" + bytes(data[62:]))
    assert stored(accept(with_payload(data, payload, Codec.GZIP))).count == 1


def with_payload(data: bytes | bytearray, payload: bytes, codec: Codec = Codec.NONE) -> bytearray:
    """Return the batch with other records, and with the correct length and checksum."""
    made = bytearray(data[:61]) + payload
    struct.pack_into(">i", made, 8, len(made) - 12)
    struct.pack_into(">h", made, 21, codec)
    struct.pack_into(">I", made, 17, Batch(made).computed_crc())
    return made


# Refused records


def test_max_message_bytes_counts_compressed_bytes() -> None:
    accept(produced(record(value="x" * 3000), codec="gzip"), LogConfig(max_message_bytes=200))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_invalid_compressed_payload_is_refused(codec: Codec) -> None:
    data = with_payload(produced(0), b"\x01\x02\x03", codec)
    assert refused(data).code == Code.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "payload", [b"\x01\x02\x03", b"", b"\x02" + bytes(produced(0)[62:]), bytes(produced(0)[61:]) * 2]
)
def test_malformed_records_are_refused(payload: bytes) -> None:
    assert refused(with_payload(produced(0), payload)).code == Code.INVALID_RECORD


def test_compressed_batch_with_unordered_offsets_is_refused() -> None:
    wrong = record(T0, offset_delta=3), record(T0, offset_delta=1)
    code = refused(produced(*wrong, set={"last_offset_delta": 1}, codec="gzip")).code
    assert code == Code.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("wanted", ["producer", "uncompressed", "lz4"])
def test_record_too_large_after_decompression_is_refused(wanted: str) -> None:
    config = LogConfig(max_decompressed_message_bytes=300, compression_type=wanted)
    good, bad = record(value="x" * 293), record(value="x" * 294)
    accept(produced(good, good, codec="gzip"), config)
    assert refused(produced(good, bad, codec="gzip"), config).code == Code.INVALID_RECORD
    accept(produced(bad), config)


def test_invalid_record_size_is_reported_by_the_walk() -> None:
    data = with_payload(produced(0), codecs.compress("gzip", b"\xff" * 40), Codec.GZIP)
    assert refused(data, LogConfig(max_decompressed_message_bytes=10)).code == Code.INVALID_RECORD


# Coordinators


def test_coordinators_may_append_markers() -> None:
    accepted = accept(marker(0, 7, commit=True).buffer, origin=Origin.COORDINATOR)
    assert stored(accepted).is_control


def test_markers_are_not_compressed() -> None:
    data = marker(0, 7, commit=True).buffer
    batch = stored(accept(data, LogConfig(compression_type="gzip"), origin=Origin.COORDINATOR))
    assert (batch.codec, batch.is_control) == (Codec.NONE, True)


def test_negative_count_from_a_coordinator_is_refused() -> None:
    data = produced(0, set={"count": -1})
    assert refused(data, origin=Origin.COORDINATOR).code == Code.INVALID_RECORD


def test_batches_of_coordinators_get_the_codec_of_the_topic() -> None:
    data = produced(record(key="k"), codec="gzip")
    assert stored(accept(data, LogConfig(compression_type="lz4"), origin=Origin.COORDINATOR)).codec is Codec.LZ4


def test_coordinators_need_no_sequence() -> None:
    data = produced(record(key="k"), producer_id=7, producer_epoch=0, base_sequence=-1)
    assert stored(accept(data, COMPACTED, origin=Origin.COORDINATOR)).producer_id == 7


# Arbitrary input


RECORDS = st.lists(
    st.builds(
        record,
        st.integers(-1, NOW + 1000),
        st.none() | st.binary(max_size=10),
        st.none() | st.binary(max_size=200),
        headers=st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=5)), max_size=2),
    ),
    min_size=1,
    max_size=80,
)


@given(
    appends=st.lists(
        st.tuples(RECORDS, st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]), st.sampled_from([0, 1, 2])),
        max_size=4,
    ),
    config=st.sampled_from([LogConfig(), APPEND_TIME, LogConfig(compression_type="gzip"), *OLD]),
)
def test_accepted_offsets_are_consecutive_and_records_unchanged(
    appends: list[tuple[list[dict[str, Any]], str, int]], config: LogConfig
) -> None:
    next_offset = 7
    for records, codec, magic in appends:
        if magic < 2 or config.record_version < 2:
            records = [each | {"headers": []} for each in records]
            codec = "none" if codec == "zstd" else codec
        data = produced(*records, codec=codec) if magic == 2 else message_set(magic, *records, codec=codec)
        accepted = accept(data, config, at=next_offset)
        assert accepted.first_offset == next_offset
        found = [each for batch in batches(accepted.records) for each in batch.records()]
        assert [each.offset for each in found] == list(range(next_offset, next_offset + len(records)))
        assert [(each.key, each.value) for each in found] == [(each["key"], each["value"]) for each in records]
        for batch in batches(accepted.records):
            batch.check_crc()
            if batch.magic and batch.count != 0:
                assert batch.max_timestamp == max(-1, *(each.timestamp for each in batch.records()))
        next_offset += len(records)
        assert accepted.last_offset == next_offset - 1


@given(data=st.data())
def test_refused_append_leaves_its_bytes_unchanged(data: st.DataObject) -> None:
    records = data.draw(RECORDS)
    codec = data.draw(st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]))
    sent = produced(*records, codec=codec)
    for _ in range(data.draw(st.integers(1, 3))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        struct.pack_into(">I", sent, 17, Batch(sent).computed_crc() if sent[16] == 2 else 0)
    before = bytes(sent)
    try:
        accept(sent)
    except AppendRefused:
        assert sent == before


# Transactions in old formats: the errors of Apache Kafka 2.8


@pytest.mark.parametrize("config", OLD, ids=["format 0", "format 1"])
@pytest.mark.parametrize("producer", [{}, {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}])
def test_transactional_batch_for_an_old_format_returns_unknown_server_error(
    config: LogConfig, producer: dict[str, int]
) -> None:
    assert refused(produced(0, 1, transactional=True, **producer), config).code == Code.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("config", OLD, ids=["format 0", "format 1"])
def test_compressed_transactional_batch_for_an_old_format_returns_unsupported_format(config: LogConfig) -> None:
    data = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    assert refused(produced(0, 1, codec="gzip", **data), config).code == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    compressed = config._replace(compression_type="gzip")
    assert refused(produced(0, 1, **data), compressed).code == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT


@pytest.mark.parametrize("config", OLD, ids=["format 0", "format 1"])
def test_idempotent_batch_for_an_old_format_returns_unsupported_format(config: LogConfig) -> None:
    data = produced(0, 1, producer_id=5, producer_epoch=0, base_sequence=0)
    assert refused(data, config).code == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
