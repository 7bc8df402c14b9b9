"""Tests of errors of single records, and of their error messages."""

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.storage.config import LogConfig, LogRules
from kafkalet.storage.refusals import RecordsRefused

from .producing import T0, produced, record
from .validating import APPEND_TIME, COMPACTED, NOW, accept, errors, refused


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_compacted_topic_needs_keys(codec: str) -> None:
    data = produced(record(key="k"), record(), record(key=""), record(), codec=codec)
    assert errors(data, COMPACTED) == (Code.INVALID_RECORD, [1, 3])


def test_error_message_lists_the_first_errors() -> None:
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
def test_timestamps_out_of_range_are_refused(codec: str) -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000)
    good = [record(NOW), record(NOW - 1000), record(NOW + 1000), record(-1)]
    accept(produced(*good, codec=codec), config)
    bad = [record(NOW - 1001), record(NOW + 1001)]
    assert errors(produced(*good, *bad, codec=codec), config) == (Code.INVALID_TIMESTAMP, [4, 5])


def test_error_message_has_timestamp_offset_and_bounds() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000)
    refusal = refused(produced(record(NOW), 0), config)
    assert isinstance(refusal, RecordsRefused)
    assert refusal.message == "One or more records have been rejected due to invalid timestamp"
    assert refusal.record_errors[0].message == (
        f"Timestamp {T0} of message with offset 1 is out of range."
        f" The timestamp should be within [{NOW - 1000}, {NOW + 3_600_000}]"
    )


def test_overflowed_bound_is_shown_as_in_java() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=(1 << 63) - 1)
    refusal = refused(produced(0), config)
    assert f"[{NOW - 1000}, {NOW - (1 << 63) - 1}]" in str(refusal)
    accept(produced(record((1 << 63) - 1)), LogConfig(message_timestamp_after_max_ms=(1 << 63) - 1))


def test_missing_key_is_reported_before_a_timestamp() -> None:
    config = COMPACTED._replace(message_timestamp_before_max_ms=1000)
    assert errors(produced(0), config) == (Code.INVALID_RECORD, [0])
    assert errors(produced(record(NOW), record(T0, key="k")), config) == (Code.INVALID_TIMESTAMP, [0, 1])


def test_log_append_time_topics_do_not_check_timestamps() -> None:
    accept(produced(record(5)), APPEND_TIME._replace(message_timestamp_before_max_ms=1000))


@pytest.mark.parametrize(
    ("codec", "kind", "null"), [("none", "DefaultRecord", 0), ("gzip", "PartialDefaultRecord", -1)]
)
def test_claimed_append_time_is_refused(codec: str, kind: str, null: int) -> None:
    refusal = refused(produced(0, 1, ts_type="append", codec=codec), APPEND_TIME)
    assert isinstance(refusal, RecordsRefused)
    assert (refusal.code, len(refusal.record_errors)) == (Code.INVALID_TIMESTAMP, 2)
    assert refusal.record_errors[1].message == (
        f"Invalid timestamp type in message {kind}(offset=1, timestamp={T0 + 1}, key={null} bytes, value=1 bytes)."
        " Producer should not set timestamp type to LogAppendTime."
    )


def test_claimed_append_time_without_timestamp_is_refused() -> None:
    data = produced(0, ts_type="append", set={"max_ts": -1})
    assert errors(data, LogConfig()) == (Code.INVALID_TIMESTAMP, [0])


def test_claimed_append_time_is_refused_by_all_topics_before_3_6() -> None:
    config = LogConfig.of({}, LogRules((3, 5), refuses_claimed_append_time=True))
    data = produced(0, 1, ts_type="append")
    assert errors(data, config) == (Code.INVALID_TIMESTAMP, [0, 1])
    assert errors(data, config._replace(compression_type="gzip")) == (Code.INVALID_TIMESTAMP, [0, 1])
