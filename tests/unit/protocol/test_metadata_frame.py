"""The frame of metadata records."""

import pytest

from kafkalet.protocol.errors import DecodeError, EncodeError, UnsupportedVersion
from kafkalet.protocol.messages.metadata_records import RECORDS, NoOpRecord, PartitionChangeRecord, TopicRecord
from kafkalet.protocol.metadata_frame import UnknownRecord, decode_record, encode_record

TOPIC = TopicRecord(name="orders", topic_id=bytes(range(16)))


def test_record_is_framed_with_version_type_and_version_of_record() -> None:
    assert encode_record(TOPIC, 0) == b"\x01\x02\x00\x07orders" + bytes(range(16)) + b"\x00"
    assert decode_record(encode_record(TOPIC, 0)) == TOPIC


def test_every_declared_type_has_the_number_of_kafka() -> None:
    assert sorted(RECORDS) == [*range(6), *range(7, 13), 14, 15, *range(17, 30)]


def test_change_of_partition_encodes_only_what_changes() -> None:
    change = PartitionChangeRecord(partition_id=3, topic_id=bytes(16), leader=2, isr=[2])
    data = encode_record(change, 2)
    assert (
        data
        == b"\x01\x05\x02\x00\x00\x00\x03" + bytes(16) + b"\x02\x00\x05\x02\x00\x00\x00\x02\x01\x04\x00\x00\x00\x02"
    )
    assert decode_record(data) == change


@pytest.mark.parametrize("value", [b"\x01\x06\x00\x00", b"\x01\x64\x00", b"\x01\x80\x01\x00", b"\x01\x02\x05\x00"])
def test_unknown_type_or_version_is_returned_as_unknown(value: bytes) -> None:
    number, version = (128, 0) if value[1] == 0x80 else (value[1], value[2])
    assert decode_record(value) == UnknownRecord(number, version)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "ends after 0 bytes"),
        (b"\x01\x02", "ends after 2 bytes"),
        (b"\x00\x02\x00", "frame version 0 is not supported"),
        (b"\x01\xff\xff\xff\xff\xff\x01", "longer than 5 bytes"),
        (b"\x01\x02\x00\x07ord", "TopicRecord v0"),
    ],
)
def test_damaged_record_is_refused(value: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode_record(value)


def test_record_is_not_encoded_in_a_version_that_does_not_exist() -> None:
    with pytest.raises(UnsupportedVersion):
        encode_record(NoOpRecord(), 1)


def test_record_with_a_value_out_of_range_is_not_encoded() -> None:
    with pytest.raises(EncodeError):
        encode_record(TopicRecord(name="orders", topic_id=None), 0)  # type: ignore[arg-type]
