"""The states of a log's producers at some offset: .snapshot files, in columns.

    00000000000000000042.snapshot     the state that the records below offset 42 have made

One is taken whenever a segment begins, and at a clean stop. Kafka's ProducerSnapshot, version 1, big-endian:

    version int16 (1) | crc uint32 | number of entries int32 | entries

    entry   producer id int64 | producer epoch int16 | last sequence int32 | last offset int64 | offset delta int32
            | timestamp int64 | coordinator epoch int32 | first offset of the open transaction int64 (-1: none)

The checksum is CRC-32C over what follows it. A snapshot that can not be read is passed over by Kafka, which takes the
one before and reads more of the log.
"""

from __future__ import annotations

import os
from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.records.crc32c import crc32c

from .files import CorruptFile, read_whole

SUFFIX = ".snapshot"
VERSION = 1
_HEADER = Struct(">hIi")
_CRC_AT = 2
_CRC_COVERS_FROM = 6
_ENTRY = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("timestamp", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("first_offset", ">i8"),
    ]
)


class Producers(NamedTuple):
    """One row for each producer id; -1 in `first_offset`: no open transaction, in `last_offset`: no batch known."""

    producer_id: NDArray[np.int64]
    producer_epoch: NDArray[np.int16]
    last_sequence: NDArray[np.int32]
    last_offset: NDArray[np.int64]
    offset_delta: NDArray[np.int32]
    timestamp: NDArray[np.int64]
    coordinator_epoch: NDArray[np.int32]
    first_offset: NDArray[np.int64]


def snapshot_offsets(directory: str) -> list[int]:
    """The offsets of which there are snapshots, in ascending order."""
    stems = (name.removesuffix(SUFFIX) for name in os.listdir(directory) if name.endswith(SUFFIX))
    return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdecimal())


def read_snapshot(path: str) -> Producers:
    """Raises CorruptFile, and FileNotFoundError."""
    data = read_whole(path)
    if len(data) < _HEADER.size:
        raise CorruptFile(path, len(data), f"{len(data)} bytes are less than a header")
    version, crc, count = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptFile(path, 0, f"version {version} is not known")
    if crc != crc32c(data[_CRC_COVERS_FROM:]):
        raise CorruptFile(path, _CRC_AT, "the checksum is wrong")
    if count < 0 or len(data) < _HEADER.size + count * _ENTRY.itemsize:
        raise CorruptFile(path, _HEADER.size, f"{len(data) - _HEADER.size} bytes are not {count} entries")
    entries = np.frombuffer(data, _ENTRY, count, _HEADER.size)
    return Producers(*(entries[name].astype(_ENTRY[name].newbyteorder("=")) for name in Producers._fields))


def snapshot_bytes(producers: Producers) -> bytes:
    """The content of a snapshot file."""
    entries = np.empty(producers.producer_id.size, _ENTRY)
    for name, column in producers._asdict().items():
        entries[name] = column
    body = len(entries).to_bytes(4, "big") + entries.tobytes()
    return VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + body
