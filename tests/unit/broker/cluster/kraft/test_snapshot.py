"""The snapshot of a metadata log."""

import base64
from typing import Any

from kafkalet.broker.cluster.kraft.snapshot import MOST_BATCH_BYTES, RECORDS_IN_BATCH, snapshot_bytes
from kafkalet.protocol.messages.raft_control_records import SnapshotHeaderRecord
from kafkalet.protocol.records.batch import batches

# bootstrap.checkpoint as the storage tool of Kafka 3.9.2 writes it: a snapshot with the record metadata.version=21.
OF_KAFKA = base64.b64decode(
    "AAAAAAAAAAAAAABHAAAAAAI9r2pHACAAAAAAAAABogWCf3EAAAGiBYJ/cf//////////////////AAAAASoAAAAIAAAAAxYAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAQAAAE8AAAAAAnbjB7oAAAAAAAAAAAGiBYJ/lgAAAaIFgn+W//////////////////8AAAABOgAAAAEuAQwAEW1ldGFkYXRh"
    "LnZlcnNpb24AFQAAAAAAAAAAAAIAAAA/AAAAAALjcmGAACAAAAAAAAABogWCf5cAAAGiBYJ/l///////////////////AAAAARoAAAAIAAAA"
    "BAYAAAAA"
)


def shown(data: bytes) -> list[Any]:
    """Return the batches without their times, which are the only difference between two snapshots of one state."""
    return [
        (
            batch.base_offset,
            batch.leader_epoch,
            batch.attributes,
            [(each.offset, each.key, each.value) for each in records],
        )
        for batch in batches(data)
        for records in [batch.records()]
        if batch.check_crc() is None
    ]


def test_snapshot_is_built_as_kafka_builds_it() -> None:
    (_, record, _) = batches(OF_KAFKA)
    (value,) = [each.value for each in record.records()]
    assert value is not None
    assert shown(snapshot_bytes([value], 0)) == shown(OF_KAFKA)


def test_header_has_the_time_of_the_last_record() -> None:
    header, *_ = batches(snapshot_bytes([], 1234))
    (record,) = header.records()
    assert SnapshotHeaderRecord.decode(record.value or b"", 0) == SnapshotHeaderRecord(
        version=0, last_contained_log_timestamp=1234
    )
    assert record.timestamp == 1234


def test_records_are_divided_into_batches_with_consecutive_offsets() -> None:
    big = b"x" * (MOST_BATCH_BYTES // 2)
    values = [b"small"] * (RECORDS_IN_BATCH + 1) + [big] * 3
    header, *parts, footer = batches(snapshot_bytes(values, 0))
    assert [part.count for part in parts] == [RECORDS_IN_BATCH, 3, 1]
    assert [record.value for part in parts for record in part.records()] == values
    offsets = [record.offset for part in (header, *parts, footer) for record in part.records()]
    assert offsets == list(range(len(values) + 2))
