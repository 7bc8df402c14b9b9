"""The states of a log's producers at some offset: .snapshot files, in columns.

    00000000000000000042.snapshot     the state that the records below offset 42 have made

One is taken whenever a segment begins, and at a clean stop. A snapshot that can not be read is passed over by Kafka,
which takes the one before and reads more of the log. The format is in formats.py.
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
    stems = (
        name.removesuffix(formats.SNAPSHOT_SUFFIX)
        for name in os.listdir(directory)
        if name.endswith(formats.SNAPSHOT_SUFFIX)
    )
    return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdecimal())


def read_snapshot(path: str) -> Producers:
    """Raises CorruptFile, and FileNotFoundError."""
    try:
        entries = np.frombuffer(formats.snapshot_entries(read_whole(path)), _ENTRY)
    except formats.Malformed as error:
        raise CorruptFile(path, error.position, error.reason) from None
    return Producers(*(entries[name].astype(_ENTRY[name].newbyteorder("=")) for name in Producers._fields))


def snapshot_bytes(producers: Producers) -> bytes:
    """The content of a snapshot file."""
    entries = np.empty(producers.producer_id.size, _ENTRY)
    for name, column in producers._asdict().items():
        entries[name] = column
    return formats.snapshot_bytes(entries.tobytes())
