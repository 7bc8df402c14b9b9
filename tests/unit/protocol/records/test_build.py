import warnings
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatch, LegacyRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.records.batch import Batch, TimestampType, batches
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record
from tests.profile import examples

from .recorded import recorded
from .strategies import NOW, record_lists

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses deprecated features of Python
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

OLD_FORMATS = [(0, Codec.NONE), (0, Codec.GZIP), (0, Codec.SNAPPY), *((1, codec) for codec in list(Codec)[:4])]


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _rows(batch: dict[str, Any]) -> list[Record]:
    return numbered(
        (
            record["ts"],
            _bytes(record["key"]),
            _bytes(record["value"]),
            tuple((key, _bytes(value)) for key, value in record.get("headers", ())),
        )
        for record in batch["records"]
    )


def _built(batch: dict[str, Any]) -> bytes:
    codec = Codec[batch.get("codec", "none").upper()]
    if batch["magic"] < 2:
        return build_message_set(batch["magic"], _rows(batch), codec=codec)
    return build_batch(
        _rows(batch),
        codec=codec,
        producer_id=batch.get("producer_id", -1),
        producer_epoch=batch.get("producer_epoch", -1),
        base_sequence=batch.get("base_sequence", -1),
    )


@pytest.mark.parametrize("case", recorded("produced"), ids=lambda case: case["records_hex"][:24] + "...")
def test_batches_of_a_client_are_built_and_decoded(case: dict[str, Any]) -> None:
    sent = bytes.fromhex(case["records_hex"])
    assert [record for batch in batches(sent) for record in batch.records()] == [
        record._replace(timestamp=record.timestamp if batch["magic"] else -1)
        for batch in case["batches"]
        for record in _rows(batch)
    ]
    if all(batch.get("codec", "none") == "none" for batch in case["batches"]):
        assert b"".join(map(_built, case["batches"])) == sent


def _theirs(batch: Any) -> list[tuple[Any, ...]]:
    assert batch.validate_crc()
    return [(r.offset, _no_timestamp(r.timestamp), r.key, r.value, tuple(r.headers)) for r in batch]


def _no_timestamp(timestamp: int | None) -> int:
    """Return -1 for None, which other readers use for a missing timestamp."""
    return -1 if timestamp is None else timestamp


@settings(max_examples=examples(0.5))
@given(record_lists(max_groups=2), st.sampled_from(list(Codec)))
def test_built_batches_are_decoded_by_other_libraries(records: list[Record], codec: Codec) -> None:
    records = records or [Record(0, -1, None, None)]
    data = build_batch(records, codec=codec)
    expected = [tuple(record) for record in records]
    assert _theirs(DefaultRecordBatch(bytearray(data))) == expected
    if codec in (Codec.NONE, Codec.GZIP):
        assert _theirs(KafkaPythonBatch(bytearray(data))) == expected


@settings(max_examples=examples(0.5))
@given(record_lists(max_groups=2), st.sampled_from([Codec.NONE, Codec.GZIP]), st.booleans())
def test_other_libraries_build_the_same_batches(records: list[Record], codec: Codec, is_idempotent: bool) -> None:
    # As in Kafka, the max timestamp is passed in, and the first timestamp of the batch is its base timestamp.
    if not records or records[0].timestamp == -1:
        return
    producer = (5, 1, 9) if is_idempotent else (-1, -1, -1)
    ours = Batch(
        build_batch(
            records, codec=codec, producer_id=producer[0], producer_epoch=producer[1], base_sequence=producer[2]
        )
    )
    for builder in (DefaultRecordBatchBuilder, KafkaPythonBuilder):
        theirs_builder = builder(2, int(codec), 0, *producer, 1 << 24)
        for offset, timestamp, key, value, headers in records:
            theirs_builder.append(offset, timestamp, key, value, list(headers))
        theirs = Batch(bytes(theirs_builder.build()))
        if codec is Codec.NONE:
            assert theirs.to_bytes()[16:] == ours.to_bytes()[16:]  # their leader epoch is 0
        assert theirs.records() == ours.records()
        assert (theirs.max_timestamp, theirs.base_timestamp) == (ours.max_timestamp, ours.base_timestamp)


@pytest.mark.parametrize(("magic", "codec"), OLD_FORMATS)
@settings(max_examples=examples(0.2))
@given(records=record_lists(max_groups=2, with_headers=False))
def test_built_message_sets_are_decoded_by_other_libraries(magic: int, codec: Codec, records: list[Record]) -> None:
    data = build_message_set(magic, records, codec=codec)
    theirs = [
        (record.offset, _no_timestamp(record.timestamp), record.key, record.value)
        for entry in batches(data)
        for record in LegacyRecordBatch(bytearray(entry.to_bytes()), magic)
    ]
    assert theirs == [
        (record.offset, record.timestamp if magic else -1, record.key, record.value) for record in records
    ]


@pytest.mark.parametrize("magic", [0, 1])
@settings(max_examples=examples(0.2))
@given(records=record_lists(max_groups=2, with_headers=False))
def test_other_libraries_build_the_same_messages(magic: int, records: list[Record]) -> None:
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 24)
    for offset, timestamp, key, value, _ in records:
        builder.append(offset, timestamp, key, value)
    assert build_message_set(magic, records) == bytes(builder.build())


class TestTimestamps:
    THREE = numbered([(NOW + 5, None, b"a", ()), (NOW, None, b"b", ()), (NOW + 9, None, b"c", ())])

    def test_base_timestamp_is_the_first_and_max_timestamp_the_largest(self) -> None:
        batch = Batch(build_batch(self.THREE))
        assert (batch.base_timestamp, batch.max_timestamp) == (NOW + 5, NOW + 9)

    def test_records_of_batch_keep_their_timestamps_with_log_append_time(self) -> None:
        batch = Batch(build_batch(self.THREE, timestamp_type=TimestampType.LOG_APPEND_TIME, append_time=7))
        assert (batch.base_timestamp, batch.max_timestamp) == (NOW + 5, 7)
        assert batch.to_bytes()[61:] == build_batch(self.THREE)[61:]

    def test_legacy_messages_have_append_time_with_log_append_time(self) -> None:
        data = build_message_set(1, self.THREE, timestamp_type=TimestampType.LOG_APPEND_TIME, append_time=7)
        assert [(batch.timestamp_type, batch.max_timestamp) for batch in batches(data)] == [(1, 7)] * 3

    def test_given_timestamps_override_those_of_the_records(self) -> None:
        batch = Batch(build_batch(self.THREE, base_timestamp=NOW - 9, max_timestamp=NOW + 99))
        assert (batch.base_timestamp, batch.max_timestamp) == (NOW - 9, NOW + 99)
        assert batch.records() == self.THREE

    def test_max_timestamp_without_timestamps_is_minus_1(self) -> None:
        batch = Batch(build_batch([Record(0, -1, None, b"")]))
        assert (batch.base_timestamp, batch.max_timestamp) == (-1, -1)


def test_message_set_without_records_is_empty() -> None:
    assert build_message_set(1, [], codec=Codec.GZIP) == build_message_set(0, []) == b""


def test_inner_offsets_are_relative_in_format_1_and_absolute_in_format_0() -> None:
    records = [Record(100, NOW, None, b"a"), Record(103, NOW, None, b"b")]
    for magic in (0, 1):
        batch = Batch(build_message_set(magic, records, codec=Codec.GZIP, base_offset=100))
        assert batch.last_offset == 103
        assert [record.offset for record in batch.records()] == [100, 103]
