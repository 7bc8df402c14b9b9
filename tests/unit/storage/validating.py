"""Helpers for the tests of validation: have records accepted or refused."""

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.storage.acceptance import ValidatedBatches
from kafkalet.storage.config import LogConfig
from kafkalet.storage.refusals import AppendRefused, RecordsRefused
from kafkalet.storage.validation import validate
from kafkalet.storage.values import Origin

from .producing import T0

NOW = T0 + 10_000
DEFAULT = LogConfig()
APPEND_TIME = LogConfig(message_timestamp_type="LogAppendTime")
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))


def accept(
    data: bytes | bytearray | memoryview,
    config: LogConfig = DEFAULT,
    *,
    at: int = 100,
    origin: Origin = Origin.CLIENT,
) -> ValidatedBatches:
    return validate(data, config, next_offset=at, leader_epoch=3, origin=origin, now_ms=NOW, partition="t-0")


def refused(data: bytes | bytearray, config: LogConfig = DEFAULT, origin: Origin = Origin.CLIENT) -> AppendRefused:
    """Return the error for refused `data`, and check that the data is unchanged."""
    before = bytes(data)
    with pytest.raises(AppendRefused) as caught:
        accept(data, config, origin=origin)
    assert data == before
    return caught.value


def errors(data: bytes | bytearray, config: LogConfig) -> tuple[Code, list[int]]:
    """Return the record errors for refused `data`."""
    refusal = refused(data, config)
    assert isinstance(refusal, RecordsRefused)
    return refusal.code, [error.batch_index for error in refusal.record_errors]


def stored(accepted: ValidatedBatches) -> Batch:
    """Return the single batch to be written, and check its checksum."""
    (batch,) = batches(accepted.records)
    batch.check_crc()
    return batch
