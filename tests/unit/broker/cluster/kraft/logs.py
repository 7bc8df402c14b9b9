"""Metadata logs for tests."""

from collections.abc import Iterable
from pathlib import Path
from struct import pack

from kafkalet.protocol.messages import metadata_records as records
from kafkalet.protocol.messages.metadata_records import MetadataRecord
from kafkalet.protocol.messages.raft_control_records import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
)
from kafkalet.protocol.metadata_frame import encode_record
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.control import ControlType
from kafkalet.protocol.records.record import Record
from kafkalet.protocol.schema import Message

TOPIC_ID = bytes(range(16))
TOPIC = records.TopicRecord(name="orders", topic_id=TOPIC_ID)


def partition(index: int = 0, replicas: Iterable[int] = (1,), **values: object) -> records.PartitionRecord:
    nodes = list(replicas)
    fields = {"isr": nodes, "leader": nodes[0], "removing_replicas": [], "adding_replicas": [], **values}
    return records.PartitionRecord(
        partition_id=index,
        topic_id=TOPIC_ID,
        replicas=nodes,
        **{"leader_epoch": 0, "partition_epoch": 0, **fields},  # type: ignore[arg-type]
    )


def batch(offset: int, *contents: MetadataRecord) -> bytes:
    """Return a batch of the metadata log that starts at `offset`."""
    numbered = enumerate(contents, offset)
    return build_batch(
        [Record(at, 1000, None, encode_record(each, each.VERSIONS.high)) for at, each in numbered],
        base_offset=offset,
    )


def control(offset: int, kind: ControlType, value: Message) -> bytes:
    record = Record(offset, 1000, pack(">hh", 0, kind), value.encode(0))
    return build_batch([record], base_offset=offset, is_control=True)


def snapshot(*contents: MetadataRecord) -> bytes:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=1000)
    head = control(0, ControlType.SNAPSHOT_HEADER, header)
    version = control(1, ControlType.KRAFT_VERSION, KRaftVersionRecord(version=0, kraft_version=1))
    foot = control(2 + len(contents), ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0))
    return head + version + batch(2, *contents) + foot


def write_log(data_dir: Path, *batches: bytes, base_offset: int = 0) -> Path:
    """Write a segment of the metadata log in a data directory, and return the directory of the log."""
    directory = data_dir / "__cluster_metadata-0"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{base_offset:020d}.log").write_bytes(b"".join(batches))
    return directory
