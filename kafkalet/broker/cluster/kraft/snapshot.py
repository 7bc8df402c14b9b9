"""A snapshot of a metadata log: a file from which a KRaft cluster can start.

    00000000000000000001-0000000000.checkpoint      end offset - epoch
    control batch   SnapshotHeader
    batches         the records of the metadata; the offsets in the file count from 0
    control batch   SnapshotFooter

A directory `__cluster_metadata-0` that contains only a snapshot is a complete metadata log: Kafka reads the snapshot
and continues the log at its end offset.

Source: org.apache.kafka.snapshot.RecordsSnapshotWriter, Snapshots; kafka.raft.KafkaMetadataLog.
"""

from collections.abc import Sequence
from struct import Struct

from kafkalet.protocol.messages.raft_control_records import SnapshotFooterRecord, SnapshotHeaderRecord
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.control import ControlType
from kafkalet.protocol.records.record import Record

END_OFFSET = 1
"""The snapshot must not end at offset 0: otherwise, Kafka would assume that it belongs to a new cluster."""
EPOCH = 0
NAME = f"{END_OFFSET:020d}-{EPOCH:010d}.checkpoint"
"""The name of the file. The metadata has no history, so end offset and epoch are the lowest that are allowed."""
RECORDS_IN_BATCH = 1000
MOST_BATCH_BYTES = 1 << 20

_KEY = Struct(">hh")


def snapshot_bytes(values: Sequence[bytes], now_ms: int) -> bytes:
    """Return the contents of a snapshot with these encoded records."""
    batches = [_control(ControlType.SNAPSHOT_HEADER, _header(now_ms), 0, now_ms)]
    offset = 1
    for part in _parts(values):
        records = [Record(offset + step, now_ms, None, value, ()) for step, value in enumerate(part)]
        batches.append(build_batch(records, base_offset=offset, leader_epoch=EPOCH))
        offset += len(part)
    batches.append(_control(ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0).encode(0), offset, now_ms))
    return b"".join(batches)


def _header(now_ms: int) -> bytes:
    return SnapshotHeaderRecord(version=0, last_contained_log_timestamp=now_ms).encode(0)


def _parts(values: Sequence[bytes]) -> list[list[bytes]]:
    """Divide the records into batches. Kafka reads batches of at most 8 MiB."""
    parts: list[list[bytes]] = []
    size = MOST_BATCH_BYTES
    for value in values:
        if size >= MOST_BATCH_BYTES or len(parts[-1]) >= RECORDS_IN_BATCH:
            parts.append([])
            size = 0
        parts[-1].append(value)
        size += len(value)
    return parts


def _control(kind: ControlType, value: bytes, offset: int, now_ms: int) -> bytes:
    record = Record(offset, now_ms, _KEY.pack(0, kind), value, ())
    return build_batch([record], base_offset=offset, leader_epoch=EPOCH, is_control=True)
