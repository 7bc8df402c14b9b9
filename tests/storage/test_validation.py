"""What a log accepts, with which code it refuses the rest, and what it writes."""

import os
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from producing import T0, marker, message_set, produced, record

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import Batch, TimestampType, batches
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage.acceptance import Accepted
from kafkalet.storage.config import LogConfig, LogRules
from kafkalet.storage.refusals import AppendRefused, RecordsRefused, ValidationFailed
from kafkalet.storage.validation import check_produced, is_transactional, validate
from kafkalet.storage.values import Origin

NOW = T0 + 10_000
DEFAULT = LogConfig()
UNBOUNDED = LogConfig(message_timestamp_after_max_ms=(1 << 63) - 1)
APPEND_TIME = LogConfig(message_timestamp_type="LogAppendTime")
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))


def accept(
    data: bytes | bytearray | memoryview,
    config: LogConfig = DEFAULT,
    *,
    at: int = 100,
    origin: Origin = Origin.CLIENT,
) -> Accepted:
    return validate(data, config, next_offset=at, leader_epoch=3, origin=origin, now_ms=NOW, partition="t-0")


def refused(data: bytes | bytearray, config: LogConfig = DEFAULT, origin: Origin = Origin.CLIENT) -> AppendRefused:
    before = bytes(data)
    with pytest.raises(AppendRefused) as caught:
        accept(data, config, origin=origin)
    assert data == before
    return caught.value


def stored(accepted: Accepted) -> Batch:
    (batch,) = batches(accepted.records)
    batch.check_crc()
    return batch


# What is accepted


def test_a_batch_gets_its_offset_and_the_leaders_epoch() -> None:
    accepted = accept(produced(0, 1, 2))
    batch = stored(accepted)
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (100, 102, 3)
    assert (accepted.first_offset, accepted.last_offset) == (100, 102)
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp) == (T0 + 2, 102)
    assert accepted.log_append_time_ms == -1
    assert [each.base_offset for each in accepted.batches] == [100]


def test_a_bytearray_is_patched_where_it_is() -> None:
    data = produced(0)
    assert accept(data).records is data


def test_a_view_of_a_frame_is_patched_where_it_is() -> None:
    frame = bytearray(b"head") + produced(0) + b"tail"
    accepted = accept(memoryview(frame)[4:-4])
    assert bytes(accepted.records) == bytes(frame[4:-4])
    assert Batch(frame, 4).base_offset == 100


@pytest.mark.parametrize("wrap", [bytes, lambda data: memoryview(bytes(data))])
def test_what_cannot_be_written_to_is_copied(wrap: Any) -> None:
    data = wrap(produced(0))
    before = bytes(data)
    assert stored(accept(data)).base_offset == 100
    assert data == before


def test_a_cut_off_rest_is_left_out() -> None:
    data = produced(0)
    accepted = accept(data + produced(0)[:-1])
    assert len(accepted.records) == len(data)
    assert stored(accepted).base_offset == 100


def test_nothing_sent_is_nothing_to_append() -> None:
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


def test_without_a_timestamp_there_is_no_largest_one() -> None:
    accepted = accept(produced(record(-1), record(-1)))
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp) == (-1, -1)


def test_timestamps_below_minus_1_are_taken_as_they_are() -> None:
    accepted = accept(produced(record(-5), record(-7)))
    assert stored(accepted).max_timestamp == -1
    assert [each.timestamp for each in stored(accepted).records()] == [-5, -7]


def test_an_uncompressed_batch_keeps_its_offset_deltas() -> None:
    data = produced(record(T0, offset_delta=3), record(T0, offset_delta=1), set={"last_offset_delta": 1})
    assert [each.offset for each in stored(accept(data)).records()] == [103, 101]


def test_meaningless_attributes_stay_unless_the_header_is_written() -> None:
    assert stored(accept(produced(0, set={"attributes": 0x7FC0}))).attributes == 0x7FC0
    assert stored(accept(produced(0, set={"attributes": 0x7FC0, "max_ts": 5}))).attributes == 0x40


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_append_time_replaces_the_producers(codec: str) -> None:
    accepted = accept(produced(0, 5, codec=codec), APPEND_TIME)
    batch = stored(accepted)
    assert (batch.timestamp_type, batch.max_timestamp, batch.base_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW, T0)
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp, accepted.log_append_time_ms) == (NOW, 101, NOW)


def test_a_producer_that_claims_append_time_is_not_believed() -> None:
    batch = stored(accept(produced(0, 1, ts_type="append")))
    assert (batch.timestamp_type, batch.max_timestamp) == (TimestampType.CREATE_TIME, T0 + 1)


def test_a_claimed_append_time_counts_for_all_records() -> None:
    batch = stored(accept(produced(0, 1, ts_type="append", set={"max_ts": T0 + 7})))
    assert batch.max_timestamp == T0 + 7


def test_inside_a_compressed_batch_lengths_of_records_do_not_count() -> None:
    data = produced(0)
    from tests.golden import codecs

    payload = codecs.compress("gzip", b"\x02" + bytes(data[62:]))
    assert stored(accept(with_payload(data, payload, Codec.GZIP))).count == 1


def with_payload(data: bytes | bytearray, payload: bytes, codec: Codec = Codec.NONE) -> bytearray:
    """The batch with other records in it, and with the right length and checksum."""
    made = bytearray(data[:61]) + payload
    struct.pack_into(">i", made, 8, len(made) - 12)
    struct.pack_into(">h", made, 21, codec)
    struct.pack_into(">I", made, 17, Batch(made).computed_crc())
    return made


# What is refused


def test_refusals_before_validation_are_told_from_those_after_it() -> None:
    for data in (produced(0, set={"crc": 1}), produced(record(value="x" * 2_000_000))):
        assert not isinstance(refused(data), ValidationFailed)
    assert isinstance(refused(produced(0, set={"base_offset": 5})), ValidationFailed)


def test_the_answer_has_a_text_only_where_records_are_named() -> None:
    assert refused(produced(0, control=True)).message is None
    assert refused(produced(0), COMPACTED).message is not None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"set": {"crc": 12345}}, Code.CORRUPT_MESSAGE),
        ({"set": {"magic": 3}}, Code.CORRUPT_MESSAGE),
        ({"set": {"magic": -1}}, Code.CORRUPT_MESSAGE),
        ({"set": {"length": 10}}, Code.CORRUPT_MESSAGE),
        ({"set": {"length": -5}}, Code.CORRUPT_MESSAGE),
        ({"set": {"base_offset": 5}}, Code.INVALID_RECORD),
        ({"set": {"base_offset": 5, "crc": 1}}, Code.INVALID_RECORD),
        ({"set": {"attributes": 5}}, Code.UNKNOWN_SERVER_ERROR),
        ({"set": {"attributes": 7, "crc": 1}}, Code.CORRUPT_MESSAGE),
        ({"set": {"count": 0, "last_offset_delta": -1}}, Code.INVALID_RECORD),
        ({"set": {"count": -1}}, Code.INVALID_RECORD),
        ({"set": {"last_offset_delta": -1}}, Code.INVALID_RECORD),
        ({"set": {"last_offset_delta": 5}}, Code.INVALID_RECORD),
        ({"set": {"count": 2, "last_offset_delta": 1}}, Code.INVALID_RECORD),
        ({"control": True}, Code.INVALID_RECORD),
        ({"producer_id": 7, "producer_epoch": 0, "base_sequence": -1}, Code.INVALID_RECORD),
        ({"producer_id": 7, "producer_epoch": 0, "base_sequence": -5}, Code.INVALID_RECORD),
    ],
    ids=str,
)
def test_a_header_that_cannot_be(fields: dict[str, Any], code: Code) -> None:
    assert refused(produced(0, **fields)).code == code


def test_a_negative_producer_id_is_none() -> None:
    assert stored(accept(produced(0, producer_id=-2, producer_epoch=0, base_sequence=-5))).producer_id == -2


def test_two_batches_are_one_too_many() -> None:
    assert refused(produced(0) + produced(1)).code == Code.INVALID_RECORD


@pytest.mark.parametrize(("size", "code"), [(500, None), (501, Code.MESSAGE_TOO_LARGE)])
def test_max_message_bytes_counts_the_whole_batch(size: int, code: Code | None) -> None:
    data = produced(record(value="x" * (size - 70)))
    assert len(data) == size
    config = LogConfig(max_message_bytes=500)
    if code is None:
        accept(data, config)
    else:
        assert refused(data, config).code == code


def test_max_message_bytes_counts_compressed_bytes() -> None:
    accept(produced(record(value="x" * 3000), codec="gzip"), LogConfig(max_message_bytes=200))


def test_a_batch_fits_into_a_segment() -> None:
    data = produced(record(value="x" * 100))
    accept(data, LogConfig(segment_bytes=len(data)))
    code = refused(produced(record(value="x" * 101)), LogConfig(segment_bytes=len(data))).code
    assert code == Code.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_payload_that_is_none_of_its_codec(codec: Codec) -> None:
    data = with_payload(produced(0), b"\x01\x02\x03", codec)
    assert refused(data).code == Code.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "payload", [b"\x01\x02\x03", b"", b"\x02" + bytes(produced(0)[62:]), bytes(produced(0)[61:]) * 2]
)
def test_records_that_are_none(payload: bytes) -> None:
    assert refused(with_payload(produced(0), payload)).code == Code.INVALID_RECORD


def test_a_compressed_batch_has_its_offsets_in_order() -> None:
    wrong = record(T0, offset_delta=3), record(T0, offset_delta=1)
    code = refused(produced(*wrong, set={"last_offset_delta": 1}, codec="gzip")).code
    assert code == Code.UNKNOWN_SERVER_ERROR


def test_a_record_that_is_too_large_once_decompressed() -> None:
    data = produced(record(value="x" * 300), record(value="x" * 100), codec="gzip")
    assert refused(data, LogConfig(max_decompressed_message_bytes=300)).code == Code.INVALID_RECORD
    accept(data, LogConfig(max_decompressed_message_bytes=320))


# Records that are refused one by one


def errors(data: bytes | bytearray, config: LogConfig) -> tuple[Code, list[int]]:
    refusal = refused(data, config)
    assert isinstance(refusal, RecordsRefused)
    return refusal.code, [error.batch_index for error in refusal.record_errors]


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_compacted_topic_needs_keys(codec: str) -> None:
    data = produced(record(key="k"), record(), record(key=""), record(), codec=codec)
    assert errors(data, COMPACTED) == (Code.INVALID_RECORD, [1, 3])


def test_the_first_errors_are_repeated_in_the_text() -> None:
    refusal = refused(produced(*[record()] * 5), COMPACTED)
    text = "Compacted topic cannot accept message without key in topic partition t-0"
    assert isinstance(refusal, RecordsRefused)
    assert [error.message for error in refusal.record_errors] == [text] * 5
    shown = ", ".join(f"RecordError(batchIndex={index}, message='{text}')" for index in range(3))
    assert refusal.message == (
        "One or more records have been rejected due to 5 record errors in total,"
        f" and only showing the first three errors at most: [{shown}]"
    )


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_timestamps_too_far_from_now(codec: str) -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000)
    good = [record(NOW), record(NOW - 1000), record(NOW + 1000), record(-1)]
    accept(produced(*good, codec=codec), config)
    bad = [record(NOW - 1001), record(NOW + 1001)]
    assert errors(produced(*good, *bad, codec=codec), config) == (Code.INVALID_TIMESTAMP, [4, 5])


def test_the_text_names_timestamp_offset_and_bounds() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000)
    refusal = refused(produced(record(NOW), 0), config)
    assert isinstance(refusal, RecordsRefused)
    assert refusal.message == "One or more records have been rejected due to invalid timestamp"
    assert refusal.record_errors[0].message == (
        f"Timestamp {T0} of message with offset 1 is out of range."
        f" The timestamp should be within [{NOW - 1000}, {NOW + 3_600_000}]"
    )


def test_a_bound_of_all_time_is_shown_as_java_counts() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=(1 << 63) - 1)
    refusal = refused(produced(0), config)
    assert f"[{NOW - 1000}, {NOW - (1 << 63) - 1}]" in str(refusal)
    accept(produced(record((1 << 63) - 1)), UNBOUNDED)


def test_a_key_is_missed_before_a_timestamp() -> None:
    config = COMPACTED._replace(message_timestamp_before_max_ms=1000)
    assert errors(produced(0), config) == (Code.INVALID_RECORD, [0])
    assert errors(produced(record(NOW), record(T0, key="k")), config) == (Code.INVALID_TIMESTAMP, [0, 1])


def test_append_time_topics_do_not_look_at_timestamps() -> None:
    accept(produced(record(5)), APPEND_TIME._replace(message_timestamp_before_max_ms=1000))


@pytest.mark.parametrize(
    ("codec", "kind", "null"), [("none", "DefaultRecord", 0), ("gzip", "PartialDefaultRecord", -1)]
)
def test_append_time_is_not_for_the_producer_to_claim(codec: str, kind: str, null: int) -> None:
    refusal = refused(produced(0, 1, ts_type="append", codec=codec), APPEND_TIME)
    assert isinstance(refusal, RecordsRefused)
    assert (refusal.code, len(refusal.record_errors)) == (Code.INVALID_TIMESTAMP, 2)
    assert refusal.record_errors[1].message == (
        f"Invalid timestamp type in message {kind}(offset=1, timestamp={T0 + 1}, key={null} bytes, value=1 bytes)."
        " Producer should not set timestamp type to LogAppendTime."
    )


def test_a_claimed_append_time_needs_a_time() -> None:
    data = produced(0, ts_type="append", set={"max_ts": -1})
    assert errors(data, LogConfig()) == (Code.INVALID_TIMESTAMP, [0])


def test_before_3_6_no_topic_believes_a_claimed_append_time() -> None:
    config = LogConfig.of({}, LogRules((3, 5), refuses_claimed_append_time=True))
    data = produced(0, 1, ts_type="append")
    assert errors(data, config) == (Code.INVALID_TIMESTAMP, [0, 1])
    assert errors(data, config._replace(compression_type="gzip")) == (Code.INVALID_TIMESTAMP, [0, 1])


# Coordinators


def test_coordinators_write_markers() -> None:
    accepted = accept(marker(0, 7, commit=True).buffer, origin=Origin.COORDINATOR)
    assert stored(accepted).is_control


def test_markers_are_not_compressed() -> None:
    data = marker(0, 7, commit=True).buffer
    batch = stored(accept(data, LogConfig(compression_type="gzip"), origin=Origin.COORDINATOR))
    assert (batch.codec, batch.is_control) == (Codec.NONE, True)


def test_coordinators_need_no_sequence() -> None:
    data = produced(record(key="k"), producer_id=7, producer_epoch=0, base_sequence=-1)
    assert stored(accept(data, COMPACTED, origin=Origin.COORDINATOR)).producer_id == 7


# Other codecs


@pytest.mark.parametrize("sent", ["none", "gzip", "lz4", "zstd"])
@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_has_its_own_codec(sent: str, wanted: str) -> None:
    records = record(T0 + 5, "k", "a", headers=[["h", b"v"]]), record(T0 + 1, None, None)
    data = produced(*records, codec=sent, producer_id=7, producer_epoch=1, base_sequence=4, transactional=True)
    accepted = accept(data, LogConfig(compression_type=wanted))
    batch = stored(accepted)
    assert batch.codec is {"uncompressed": Codec.NONE}.get(wanted) or batch.codec.name == wanted.upper()
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (100, 101, 3)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 1, 4)
    assert batch.is_transactional
    assert (batch.base_timestamp, batch.max_timestamp) == (T0 + 5, T0 + 5)
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp) == (T0 + 5, 101)
    assert [(each.offset, each.timestamp, each.key, each.value) for each in batch.records()] == [
        (100, T0 + 5, b"k", b"a"),
        (101, T0 + 1, None, None),
    ]
    assert batch.records()[0].headers == (("h", b"v"),)


def test_a_rebuilt_batch_has_append_time() -> None:
    accepted = accept(produced(5, 1), APPEND_TIME._replace(compression_type="snappy"))
    batch = stored(accepted)
    assert (batch.timestamp_type, batch.max_timestamp, batch.base_timestamp) == (
        TimestampType.LOG_APPEND_TIME,
        NOW,
        T0 + 5,
    )
    assert (accepted.max_timestamp, accepted.log_append_time_ms) == (NOW, NOW)


def test_a_rebuilt_batch_is_numbered_anew() -> None:
    wrong = record(T0, offset_delta=3), record(T0, offset_delta=1)
    data = produced(*wrong, set={"last_offset_delta": 1}, codec="gzip")
    batch = stored(accept(data, LogConfig(compression_type="lz4")))
    assert [each.offset for each in batch.records()] == [100, 101]


def test_a_rebuilt_batch_counts_again() -> None:
    data = produced(record(value=os.urandom(400)))
    config = LogConfig(compression_type="zstd", max_message_bytes=len(data))
    assert refused(data, config).code == Code.MESSAGE_TOO_LARGE
    assert refused(data, config._replace(max_message_bytes=1 << 20, segment_bytes=len(data))).code == (
        Code.RECORD_LIST_TOO_LARGE
    )


def test_a_rebuilt_batch_has_no_negative_timestamps() -> None:
    config = LogConfig(compression_type="gzip")
    assert refused(produced(record(-5)), config).code == Code.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "fields",
    [
        {"producer_id": 7, "producer_epoch": -1, "base_sequence": 0},
        {"producer_id": -5, "producer_epoch": 0, "base_sequence": -1},
        {"transactional": True},
    ],
    ids=str,
)
def test_a_rebuilt_batch_has_a_producer_that_makes_sense(fields: dict[str, Any]) -> None:
    data = produced(0, **fields)
    assert refused(data, LogConfig(compression_type="gzip")).code == Code.UNKNOWN_SERVER_ERROR
    accept(data)


def test_a_rebuilt_batch_is_checked_like_any_other() -> None:
    config = COMPACTED._replace(compression_type="gzip")
    assert errors(produced(record(key="k"), record()), config) == (Code.INVALID_RECORD, [1])
    late = LogConfig(compression_type="gzip", message_timestamp_before_max_ms=1000)
    assert errors(produced(record(NOW), 0), late) == (Code.INVALID_TIMESTAMP, [1])
    assert refused(produced(0, control=True), config).code == Code.INVALID_RECORD


# Old formats


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_old_formats_become_one_batch(magic: int, codec: str) -> None:
    data = message_set(magic, record(T0 + 5, "k", "a"), record(T0 + 1, None, None), codec=codec)
    accepted = accept(data)
    batch = stored(accepted)
    assert (batch.magic, batch.codec.name, batch.leader_epoch) == (2, codec.upper(), 3)
    times = [T0 + 5, T0 + 1] if magic else [-1, -1]
    assert [(each.offset, each.timestamp, each.key, each.value) for each in batch.records()] == [
        (100, times[0], b"k", b"a"),
        (101, times[1], None, None),
    ]
    assert (accepted.first_offset, accepted.last_offset) == (100, 101)
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp) == ((T0 + 5, 101) if magic else (-1, -1))


def test_wrappers_of_librdkafka_with_offsets_of_0_are_understood() -> None:
    data = message_set(1, 0, 1, 2, codec="gzip", inner_offsets="zero")
    assert [each.offset for each in stored(accept(data)).records()] == [100, 101, 102]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (message_set(1, 0, codec="gzip") * 2, Code.INVALID_RECORD),
        (message_set(1, 0) + message_set(1, 0, codec="gzip"), Code.INVALID_RECORD),
        (message_set(1, 0) + message_set(0, 0), Code.INVALID_RECORD),
        (message_set(1, 0) + produced(0), Code.INVALID_RECORD),
        (produced(0) + message_set(1, 0), Code.INVALID_RECORD),
        (message_set(1, 0, set={"crc": 1}), Code.CORRUPT_MESSAGE),
        (message_set(0, 0, set={"crc": 1}), Code.CORRUPT_MESSAGE),
    ],
)
def test_message_sets_that_cannot_be(data: bytearray, code: Code) -> None:
    assert refused(data).code == code


def test_message_sets_are_checked_like_batches() -> None:
    assert errors(message_set(1, record(key="k"), record()), COMPACTED) == (Code.INVALID_RECORD, [0])
    late = LogConfig(message_timestamp_before_max_ms=1000)
    assert errors(message_set(1, record(NOW), 0, codec="gzip"), late) == (Code.INVALID_TIMESTAMP, [1])
    accept(message_set(0, 0), late)


def test_a_message_inside_a_wrapper_has_its_own_checksum() -> None:
    from tests.golden import codecs, message_sets

    inner = bytearray(message_set(1, 0))
    inner[-1] ^= 1
    wrapper = message_sets._message(0, 1, Codec.GZIP, T0, None, codecs.compress("gzip", bytes(inner)), {})
    assert refused(wrapper).code == Code.CORRUPT_MESSAGE


# A log of an old format (Kafka up to 2.8 with message.format.version)

OLD = [LogConfig(record_version=0), LogConfig(record_version=1)]


@pytest.mark.parametrize("config", OLD)
def test_a_log_of_an_old_format_keeps_messages_of_it(config: LogConfig) -> None:
    data = message_set(config.record_version, 5, 1)
    accepted = accept(data, config)
    found = list(batches(accepted.records))
    assert [(each.magic, each.base_offset) for each in found] == [
        (config.record_version, 100),
        (config.record_version, 101),
    ]
    for each in found:
        each.check_crc()
    assert (accepted.max_timestamp, accepted.offset_of_max_timestamp) == ((-1, -1), (T0 + 5, 100))[
        config.record_version
    ]


@pytest.mark.parametrize("config", OLD)
def test_a_log_of_an_old_format_takes_batches_apart(config: LogConfig) -> None:
    accepted = accept(produced(5, 1), config)
    found = list(batches(accepted.records))
    assert [(each.magic, each.base_offset) for each in found] == [
        (config.record_version, 100),
        (config.record_version, 101),
    ]
    assert found[0].max_timestamp == (T0 + 5 if config.record_version else -1)


def test_a_wrapper_with_good_offsets_is_kept() -> None:
    data = message_set(1, 5, 1, codec="gzip")
    value = bytes(data[34:])
    accepted = accept(data, OLD[1])
    wrapper = stored(accepted)
    assert (wrapper.base_offset, wrapper.max_timestamp) == (101, T0 + 5)
    assert bytes(accepted.records)[34:] == value
    assert [(each.offset, each.timestamp) for each in wrapper.records()] == [(100, T0 + 5), (101, T0 + 1)]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_with_other_offsets_is_written_anew(magic: int) -> None:
    data = message_set(magic, 5, 1, codec="gzip", inner_offsets="zero")
    wrapper = stored(accept(data, OLD[magic]))
    assert [each.offset for each in wrapper.records()] == [100, 101]


def test_messages_of_format_1_get_append_time() -> None:
    config = OLD[1]._replace(message_timestamp_type="LogAppendTime")
    for data in (message_set(1, 5, 1), message_set(1, 5, 1, codec="gzip")):
        accepted = accept(data, config)
        times = [each.timestamp for batch in batches(accepted.records) for each in batch.records()]
        assert (times, accepted.max_timestamp, accepted.log_append_time_ms) == ([NOW, NOW], NOW, NOW)


@pytest.mark.parametrize("config", OLD)
def test_old_formats_have_no_room_for_producers_and_headers(config: LogConfig) -> None:
    idempotent = produced(0, producer_id=7, producer_epoch=0, base_sequence=0)
    assert refused(idempotent, config).code == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert refused(produced(0, transactional=True), config).code == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert refused(produced(record(headers=[["h", b"v"]])), config).code == Code.UNKNOWN_SERVER_ERROR


# The request


@pytest.mark.parametrize(
    ("data", "version", "code"),
    [
        (produced(0), 3, None),
        (produced(0), 2, None),
        (b"", 2, None),
        (b"", 3, Code.INVALID_RECORD),
        (b"12345", 9, Code.INVALID_RECORD),
        (produced(0)[:-5], 9, Code.INVALID_RECORD),
        (message_set(1, 0), 9, Code.INVALID_RECORD),
        (message_set(0, 0), 9, Code.INVALID_RECORD),
        (message_set(1, 0), 2, None),
        (produced(0) * 2, 9, Code.INVALID_RECORD),
        (produced(0) + message_set(1, 0), 9, Code.INVALID_RECORD),
        (produced(0) + produced(0)[:-5], 9, None),
        (produced(0) + produced(0, set={"length": 5}), 9, Code.CORRUPT_MESSAGE),
        (produced(0) + b"\xff" * 20, 9, Code.CORRUPT_MESSAGE),
        (produced(0, set={"magic": 3}), 9, Code.CORRUPT_MESSAGE),
        (produced(0, codec="zstd"), 6, Code.UNSUPPORTED_COMPRESSION_TYPE),
        (produced(0, codec="zstd"), 7, None),
        (produced(0, set={"attributes": 5}), 6, Code.UNKNOWN_SERVER_ERROR),
        (produced(0, set={"attributes": 5}), 7, None),
        (produced(0, set={"crc": 1}), 9, None),
    ],
)
def test_what_a_request_may_carry(data: bytes, version: int, code: Code | None) -> None:
    if code is None:
        check_produced(data, version)
    else:
        with pytest.raises(KafkaError) as caught:
            check_produced(data, version)
        assert (caught.value.code, caught.value.message) == (code, None)


@pytest.mark.parametrize(
    ("data", "code", "has_text"),
    [
        (produced(0, set={"magic": 3}), Code.CORRUPT_MESSAGE, True),
        (produced(0, set={"magic": -1}), Code.CORRUPT_MESSAGE, True),
        (produced(0, set={"length": 13}), Code.CORRUPT_MESSAGE, True),
        (produced(0, set={"length": -5}), Code.CORRUPT_MESSAGE, True),
        (produced(0, set={"length": 14}), Code.UNKNOWN_SERVER_ERROR, False),
        (produced(0, set={"length": 38}), Code.UNKNOWN_SERVER_ERROR, False),
    ],
)
def test_a_first_batch_that_spoils_the_whole_request(data: bytes, code: Code, has_text: bool) -> None:
    with pytest.raises(KafkaError) as caught:
        is_transactional(data)
    assert (caught.value.code, caught.value.message is not None) == (code, has_text)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", False),
        (produced(0)[:-1], False),
        (produced(0), False),
        (produced(0, transactional=True), True),
        (produced(0) + produced(0, transactional=True), False),
        (produced(0) + b"\xff" * 20, False),
        (message_set(1, 0), False),
        (produced(0, set={"length": 39}), False),
        (produced(0, set={"length": 48}, transactional=True), True),
    ],
)
def test_the_first_batch_says_whether_a_request_is_transactional(data: bytes, expected: bool) -> None:
    assert is_transactional(data) is expected


# Whatever is sent


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
def test_accepted_offsets_are_consecutive_and_records_stay_what_they_are(
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
def test_a_refused_append_leaves_its_bytes_as_they_were(data: st.DataObject) -> None:
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
