"""Tests of the checks of a whole batch, before its records are read."""

from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.storage.config import LogConfig

from .producing import produced, record
from .validating import accept, refused, stored


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
def test_invalid_header_is_refused(fields: dict[str, Any], code: Code) -> None:
    assert refused(produced(0, **fields)).code == code


def test_negative_producer_id_counts_as_none() -> None:
    assert stored(accept(produced(0, producer_id=-2, producer_epoch=0, base_sequence=-5))).producer_id == -2


def test_second_batch_is_refused() -> None:
    assert refused(produced(0) + produced(1)).code == Code.INVALID_RECORD


@pytest.mark.parametrize(("size", "code"), [(500, None), (501, Code.MESSAGE_TOO_LARGE)])
def test_max_message_bytes_includes_the_batch_header(size: int, code: Code | None) -> None:
    data = produced(record(value="x" * (size - 70)))
    assert len(data) == size
    config = LogConfig(max_message_bytes=500)
    if code is None:
        accept(data, config)
    else:
        assert refused(data, config).code == code


def test_batch_larger_than_a_segment_is_refused() -> None:
    data = produced(record(value="x" * 100))
    accept(data, LogConfig(segment_bytes=len(data)))
    code = refused(produced(record(value="x" * 101)), LogConfig(segment_bytes=len(data))).code
    assert code == Code.RECORD_LIST_TOO_LARGE
