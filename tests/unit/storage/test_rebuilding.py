"""Tests of appends whose batches must be rebuilt for another codec or format."""

import os
from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import TimestampType, batches
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage.config import LogConfig
from kafkalet_conformance.notation import codecs, message_sets

from .producing import T0, message_set, produced, record
from .validating import APPEND_TIME, COMPACTED, NOW, accept, errors, refused, stored

# Other codecs


@pytest.mark.parametrize("sent", ["none", "gzip", "lz4", "zstd"])
@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_topic_codec_replaces_the_producers(sent: str, wanted: str) -> None:
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


def test_rebuilt_batch_has_consecutive_offsets() -> None:
    wrong = record(T0, offset_delta=3), record(T0, offset_delta=1)
    data = produced(*wrong, set={"last_offset_delta": 1}, codec="gzip")
    batch = stored(accept(data, LogConfig(compression_type="lz4")))
    assert [each.offset for each in batch.records()] == [100, 101]


def test_rebuilt_batch_has_the_actual_count() -> None:
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
def test_rebuilt_batch_has_a_valid_producer(fields: dict[str, Any]) -> None:
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


def test_wrappers_of_librdkafka_with_offsets_of_0_are_accepted() -> None:
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
def test_invalid_message_sets_are_refused(data: bytearray, code: Code) -> None:
    assert refused(data).code == code


def test_message_sets_are_checked_like_batches() -> None:
    assert errors(message_set(1, record(key="k"), record()), COMPACTED) == (Code.INVALID_RECORD, [0])
    late = LogConfig(message_timestamp_before_max_ms=1000)
    assert errors(message_set(1, record(NOW), 0, codec="gzip"), late) == (Code.INVALID_TIMESTAMP, [1])
    accept(message_set(0, 0), late)


def test_a_message_inside_a_wrapper_has_its_own_checksum() -> None:
    inner = bytearray(message_set(1, 0))
    inner[-1] ^= 1
    wrapper = message_sets.message(0, 1, Codec.GZIP, T0, None, codecs.compress("gzip", bytes(inner)), {})
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
def test_batch_is_converted_to_messages_of_an_old_format(config: LogConfig) -> None:
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
def test_wrapper_with_other_offsets_is_rebuilt(magic: int) -> None:
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
def test_old_formats_cannot_store_producers_and_headers(config: LogConfig) -> None:
    idempotent = produced(0, producer_id=7, producer_epoch=0, base_sequence=0)
    assert refused(idempotent, config).code == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert refused(produced(0, transactional=True), config).code == Code.UNKNOWN_SERVER_ERROR
    compressed = produced(0, transactional=True, codec="gzip")
    assert refused(compressed, config).code == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert refused(produced(record(headers=[["h", b"v"]])), config).code == Code.UNKNOWN_SERVER_ERROR
