import pytest

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.control import (
    ControlType,
    EndMarker,
    build_end_marker,
    control_type,
    read_end_marker,
)
from kafkalet.protocol.records.record import Record

# A commit marker from a log of Apache Kafka 3.9.
COMMIT = (
    "0000000000000004000000420000000002667f5af8003000000000000001a1fe873d6f000001a1fe873d6f00000000000000"
    "000000ffffffff000000012000000008000000010c00000000000000"
)


def control_record(key: str, value: str = "000000000000") -> Record:
    return Record(0, 0, bytes.fromhex(key), bytes.fromhex(value))


def test_marker_has_the_same_bytes_as_in_kafka() -> None:
    batch = Batch(bytes.fromhex(COMMIT))
    marker = read_end_marker(batch.records()[0])
    assert marker.type is ControlType.COMMIT
    rebuilt = build_end_marker(
        marker,
        timestamp=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
    )
    assert rebuilt.hex() == COMMIT


@pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
def test_marker_is_a_transactional_control_batch_without_sequence(kind: ControlType) -> None:
    batch = Batch(
        build_end_marker(
            EndMarker(kind, 7), timestamp=5, producer_id=9, producer_epoch=2, base_offset=30, leader_epoch=4
        )
    )
    batch.check_crc()
    assert (batch.is_control, batch.is_transactional, batch.base_sequence) == (True, True, -1)
    assert (batch.producer_id, batch.producer_epoch, batch.max_timestamp) == (9, 2, 5)
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (30, 30, 4)
    assert read_end_marker(batch.records()[0]) == EndMarker(kind, 7)


def test_additional_fields_of_later_versions_are_ignored() -> None:
    assert read_end_marker(control_record("0001000100ff", "00010000002aff")) == EndMarker(ControlType.COMMIT, 42)


def test_unknown_control_type_is_accepted_as_unknown() -> None:
    assert control_type(control_record("00000063")) is ControlType.UNKNOWN


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("000000", "000000000000", id="short key"),
        pytest.param("ffff0001", "000000000000", id="negative key version"),
        pytest.param("00000001", "0000000000", id="short value"),
        pytest.param("00000001", "ffff00000000", id="negative value version"),
    ],
)
def test_malformed_marker_is_invalid(key: str, value: str) -> None:
    with pytest.raises(KafkaError) as refusal:
        read_end_marker(control_record(key, value))
    assert refusal.value.code is Code.INVALID_RECORD


def test_null_fields_are_invalid() -> None:
    for record in (Record(0, 0, None, bytes(6)), Record(0, 0, b"\0\0\0\1", None)):
        with pytest.raises(KafkaError) as refusal:
            read_end_marker(record)
        assert refusal.value.code is Code.INVALID_RECORD


def test_other_control_record_is_not_a_marker() -> None:
    with pytest.raises(KafkaError) as refusal:
        read_end_marker(control_record("00000002"))
    assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR
