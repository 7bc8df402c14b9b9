"""Producer snapshots, compared with those of kafkalet's storage."""

import struct
from pathlib import Path

import numpy as np
import pytest

from kafkalet.storage.producer_entry import BatchMetadata, ProducerEntry
from kafkalet.storage.producer_snapshot import decode, encode
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.snapshots import read_snapshot, snapshot_bytes, snapshot_offsets

ENTRIES = [
    ProducerEntry(7, 2, 5, 1_600_000_000_000, 40, (BatchMetadata(9, 44, 3, 1_600_000_000_000),)),
    ProducerEntry(1 << 40, 0, -1, -1, None, ()),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "00000000000000000042.snapshot"


def test_snapshot_is_read_as_columns(path: Path) -> None:
    path.write_bytes(encode(ENTRIES))
    found = read_snapshot(str(path))
    assert {name: each.tolist() for name, each in found._asdict().items()} == {
        "producer_id": [7, 1 << 40],
        "producer_epoch": [2, 0],
        "last_sequence": [9, -1],
        "last_offset": [44, -1],
        "offset_delta": [3, 0],
        "timestamp": [1_600_000_000_000, -1],
        "coordinator_epoch": [5, -1],
        "first_offset": [40, -1],
    }
    assert found.producer_epoch.dtype == np.int16


@pytest.mark.parametrize("count", [0, 1, 2])
def test_snapshot_is_written_as_storage_writes_it(path: Path, count: int) -> None:
    path.write_bytes(encode(ENTRIES[:count]))
    data = snapshot_bytes(read_snapshot(str(path)))
    assert data == path.read_bytes()
    assert len(decode(data)) == count


def test_snapshots_are_found_by_name(tmp_path: Path) -> None:
    for name in ("00000000000000000042.snapshot", "00000000000000000007.snapshot", "1.snapshot.deleted", "x.snapshot"):
        (tmp_path / name).write_bytes(b"")
    assert snapshot_offsets(str(tmp_path)) == [7, 42]


WHOLE = encode(ENTRIES)


@pytest.mark.parametrize(
    ("data", "position", "reason"),
    [
        (b"", 0, "0 bytes, less than a header"),
        (b"\0\2" + WHOLE[2:], 0, "version 2 is unknown"),
        (WHOLE[:-1] + b"x", 2, "the checksum is wrong"),
        (WHOLE[:-1], 2, "the checksum is wrong"),
    ],
)
def test_invalid_snapshot_is_rejected_with_position(path: Path, data: bytes, position: int, reason: str) -> None:
    path.write_bytes(data)
    with pytest.raises(CorruptFile) as caught:
        read_snapshot(str(path))
    assert (caught.value.path, caught.value.position, caught.value.reason) == (str(path), position, reason)


def test_snapshot_with_missing_entries_is_rejected(path: Path) -> None:
    from kafkalet.protocol.records.crc32c import crc32c

    body = struct.pack(">i", 3)
    path.write_bytes(struct.pack(">hI", 1, crc32c(body)) + body)
    with pytest.raises(CorruptFile, match="byte 10: 0 bytes, too few for 3 entries"):
        read_snapshot(str(path))
