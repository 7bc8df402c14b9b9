"""The records of Produce requests: correct ones cause no complaint, and each defect is named."""

from typing import Any

import pytest
from hypothesis import given, settings

from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.records import legacy
from kafkalet.protocol.records.batch import HEADER, HEADER_SIZE
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.protocol.records.record import Record
from kafkalet_conformance.clients.observing.finding import Severity
from kafkalet_conformance.clients.observing.strict import check_request
from tests.profile import examples
from tests.unit.protocol.records.strategies import NOW, record_lists

from .test_strict import encoded, found

TWO = numbered([(NOW, b"k", b"v", (("h", b"x"),)), (NOW + 5, None, None, ())])
NAMES = (
    *("base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta", "base_timestamp"),
    *("max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count"),
)


def produce(records: bytes | None, version: int = 9, **values: Any) -> bytes:
    partition = ProduceRequest.Topic.Partition(index=0, records=records)
    topic = ProduceRequest.Topic(name="t", topic_id=bytes(range(16)), partition_data=[partition])
    given: dict[str, Any] = {"acks": -1, "timeout_ms": 1, "topic_data": [topic]}
    return bytes(encoded(ProduceRequest(**given | values), version))


def rules(records: bytes | None, version: int = 9, **values: Any) -> list[str]:
    return [rule for rule, _, _ in found(produce(records, version, **values))]


def changed(batch: bytes, *, fixes_crc: bool = True, records: bytes | None = None, **values: int) -> bytes:
    """Return a batch with other header fields or records, and with a correct checksum and length."""
    body = batch[HEADER_SIZE:] if records is None else records
    header = (
        dict(zip(NAMES, HEADER.unpack_from(batch), strict=True)) | {"length": HEADER_SIZE - 12 + len(body)} | values
    )
    if fixes_crc:
        header["crc"] = 0
        header["crc"] = crc32c(HEADER.pack(*header.values())[21:] + body)
    return HEADER.pack(*header.values()) + body


@settings(max_examples=examples(0.4))
@given(record_lists())
def test_built_batches_have_no_defect(records: list[Record]) -> None:
    if records:
        for codec in Codec:
            assert rules(build_batch(records, codec=codec)) == []


@settings(max_examples=examples(0.4))
@given(record_lists(max_groups=2, with_headers=False))
def test_built_message_sets_have_no_defect(records: list[Record]) -> None:
    if records:
        for magic in (0, 1):
            for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
                assert rules(build_message_set(magic, records, codec=codec), magic + 1) == []


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (changed(build_batch(TWO)), []),
        (changed(build_batch(TWO), base_offset=3), ["base-offset"]),
        (changed(build_batch(TWO), fixes_crc=False, crc=1), ["crc"]),
        (changed(build_batch(TWO), attributes=0x80), ["batch-attributes"]),
        (changed(build_batch(TWO), attributes=0x08), ["batch-attributes"]),
        (changed(build_batch(TWO), attributes=0x20), ["batch-attributes"]),
        (changed(build_batch(TWO), attributes=0x40), ["batch-attributes"]),
        (changed(build_batch(TWO), attributes=6), ["codec"]),
        (changed(build_batch(TWO), attributes=1), ["compressed-data"]),
        (changed(build_batch(TWO), last_offset_delta=2), ["record-count"]),
        (changed(build_batch(TWO), count=1, last_offset_delta=0), ["record-count"]),
        (changed(build_batch(TWO), count=0), ["record-count"]),
        (changed(build_batch(TWO), max_timestamp=NOW), ["batch-timestamps"]),
        (changed(build_batch(TWO), producer_id=5), ["idempotence"]),
        (changed(build_batch(TWO), producer_id=5, producer_epoch=0, base_sequence=-1), ["idempotence"]),
        (changed(build_batch(TWO), producer_id=-2), ["idempotence"]),
        (changed(build_batch(TWO), producer_id=5, producer_epoch=0, base_sequence=0), []),
        (changed(build_batch(TWO), length=40), ["batch-size"]),
        (changed(build_batch(TWO), length=10_000), ["batch-size"]),
        (changed(build_batch(TWO), magic=3), ["record-format"]),
        (build_batch(TWO)[:10], ["batch-size"]),
        (build_batch(TWO) + build_batch(TWO), ["one-batch"]),
        (b"", ["one-batch"]),
        (None, ["no-records"]),
    ],
)
def test_defect_of_a_batch_is_named(batch: bytes | None, expected: list[str]) -> None:
    assert rules(batch) == expected


ONE = build_batch(numbered([(NOW, b"k", b"v", ())]))
"""A batch with the record 10 | 00 | 00 | 00 | 02 k | 02 v | 00."""


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (b"\x10\x00\x00\x00\x02k\x02v\x00", []),
        (b"\x10\x01\x00\x00\x02k\x02v\x00", ["record-attributes"]),
        (b"\x12\x00\x80\x00\x00\x02k\x02v\x00", ["minimal-varint"]),
        (b"\x10\x00\x00\x02\x02k\x02v\x00", ["record-offsets"]),
        (b"\x0e\x00\x00\x00\x03\x02v\x00", ["record-null"]),
        (b"\x0e\x00\x00\x00\x02k\x03\x00", ["record-null"]),
        (b"\x10\x00\x00\x00\x02k\x02v\x01", ["record"]),
        (b"\x14\x00\x00\x00\x02k\x02v\x00", ["record"]),
        (b"\x0e\x00\x00\x00\x02k\x02v\x00", ["record"]),
        (b"\x16\x00\x00\x00\x02k\x02v\x02\x02\xff\x01", ["header-key"]),
        (b"\x14\x00\x00\x00\x02k\x02v\x02\x01\x01", ["header-key"]),
        (b"\x10\x00\x00\x00\x02k\x7ev\x00", ["record"]),
        (b"\xff\xff\xff\xff\xff\xff", ["record"]),
    ],
)
def test_defect_of_a_record_is_named(record: bytes, expected: list[str]) -> None:
    assert rules(changed(ONE, records=record)) == expected


def test_defect_of_a_record_has_its_position_in_the_request() -> None:
    frame = produce(changed(ONE, records=b"\x10\x01\x00\x00\x02k\x02v\x00"))
    [(_, position, path)] = found(frame)
    assert position == frame.index(b"\x10\x01\x00\x00\x02k") + 1
    assert path == "topic_data[0].partition_data[0].records.record 0"


def test_sequence_without_a_producer_id_is_a_note() -> None:
    frame = produce(changed(build_batch(TWO), producer_epoch=0, base_sequence=0))
    [complaint] = check_request(frame).complaints
    assert (complaint.claim.rule, complaint.claim.severity) == ("idempotence", Severity.NOTE)


def test_zstd_needs_version_7() -> None:
    batch = build_batch(TWO, codec=Codec.ZSTD)
    assert rules(batch, 7) == []
    assert rules(batch, 6) == ["codec"]


@pytest.mark.parametrize(("magic", "version", "expected"), [(0, 0, []), (1, 2, []), (1, 1, ["record-format"])])
def test_format_of_messages_depends_on_the_version(magic: int, version: int, expected: list[str]) -> None:
    assert rules(legacy.encode_message(0, magic, 0, NOW, b"k", b"v"), version) == expected


def test_old_format_is_not_allowed_since_version_3() -> None:
    assert rules(legacy.encode_message(0, 1, 0, NOW, b"k", b"v"), 3) == ["record-format"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (legacy.encode_message(0, 1, 0x10, NOW, b"k", b"v"), ["batch-attributes"]),
        (legacy.encode_message(0, 1, 4, NOW, b"k", b"v"), ["codec"]),
        (legacy.encode_message(0, 1, 1, NOW, b"k", b"v"), ["compressed-data"]),
        (legacy.encode_message(0, 1, 1, NOW, b"k", None), ["compressed-data"]),
        (legacy.encode_message(0, 1, 0, NOW, b"k", b"v")[:-1] + b"w", ["crc"]),
    ],
)
def test_defect_of_a_message_is_named(message: bytes, expected: list[str]) -> None:
    assert rules(message, 2) == expected


def test_transactional_batch_needs_a_transactional_id() -> None:
    batch = build_batch(TWO, producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert rules(batch, transactional_id="t") == []
    assert rules(batch) == ["transactional-records"]


def test_request_with_a_transactional_id_needs_transactional_batches() -> None:
    assert rules(build_batch(TWO), transactional_id="t") == ["transactional-records"]


def test_acks_of_an_idempotent_producer_other_than_all_are_a_note() -> None:
    batch = build_batch(TWO, producer_id=1, producer_epoch=0, base_sequence=0)
    assert rules(batch, acks=1) == ["idempotent-acks"]
