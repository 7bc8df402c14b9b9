"""Read and write .snapshot files as columns. A snapshot holds the producer state of a log at a certain offset.

    00000000000000000042.snapshot     the producer state after all records below offset 42

A snapshot is taken whenever a segment is rolled, and at a clean shutdown. If Kafka cannot read a snapshot, it uses the
previous one and replays more of the log. The format is in formats.py.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet import formats

from .files import CorruptFile, read_whole

_ENTRY = np.dtype(list(formats.PRODUCER_ENTRY.fields.items()))


class Producers(NamedTuple):
    """One row per producer id. `first_offset` is -1 if the producer has no open transaction; `last_offset` is -1 if no
    batch of the producer is known."""

    producer_id: NDArray[np.int64]
    producer_epoch: NDArray[np.int16]
    last_sequence: NDArray[np.int32]
    last_offset: NDArray[np.int64]
    offset_delta: NDArray[np.int32]
    timestamp: NDArray[np.int64]
    coordinator_epoch: NDArray[np.int32]
    first_offset: NDArray[np.int64]


def snapshot_offsets(directory: str) -> list[int]:
    """Return the offsets of the snapshots in a directory, in ascending order."""
    stems = (
        name.removesuffix(formats.SNAPSHOT_SUFFIX)
        for name in os.listdir(directory)
        if name.endswith(formats.SNAPSHOT_SUFFIX)
    )
    offsets = (int(stem) for stem in stems if stem.isascii() and stem.isdecimal())
    return sorted(offset for offset in offsets if offset < 1 << 63)


def read_snapshot(path: str) -> Producers:
    """Read a snapshot file. Raises CorruptFile or FileNotFoundError."""
    try:
        entries = np.frombuffer(formats.snapshot_entries(read_whole(path)), _ENTRY)
    except formats.Malformed as error:
        raise CorruptFile(path, error.position, error.reason) from None
    return Producers(*(entries[name].astype(_ENTRY[name].newbyteorder("=")) for name in Producers._fields))


def snapshot_bytes(producers: Producers) -> bytes:
    """Return the content of a snapshot file."""
    entries = np.empty(producers.producer_id.size, _ENTRY)
    for name, column in producers._asdict().items():
        entries[name] = column
    return formats.snapshot_bytes(entries.tobytes())
