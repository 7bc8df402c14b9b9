"""Read the checkpoint files of log directories and partitions. Their formats are described in formats.py.

log-start-offset-checkpoint lists only the logs whose start offset is above the base offset of their first segment.
replication-offset-checkpoint holds high watermarks; a broker writes it every five seconds
(`replica.high.watermark.checkpoint.interval.ms`) and at a clean shutdown, so the file of a running broker is slightly
out of date. recovery-point-offset-checkpoint holds the offsets up to which the logs have been flushed to disk.
"""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kafkalet import formats

from .files import CorruptFile, read_whole


def read_offsets(path: str) -> dict[tuple[str, int], int]:
    """Return offsets, keyed by topic and partition; empty if the file does not exist. Raises CorruptFile."""
    try:
        return formats.parse_offsets(_read_if_there(path))
    except formats.Malformed as error:
        raise _corrupt(path, error) from None


def read_epochs(path: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return leader epochs and their start offsets, both ascending; empty if the file does not exist. Raises
    CorruptFile."""
    try:
        starts = formats.parse_epochs(_read_if_there(path))
    except formats.Malformed as error:
        raise _corrupt(path, error) from None
    for (epoch, start, _), (next_epoch, next_start, at) in pairwise(starts):
        if next_epoch <= epoch or next_start < start:
            raise CorruptFile(path, at, f"epoch {next_epoch} at {next_start} does not follow epoch {epoch} at {start}")
    return (
        np.array([each.epoch for each in starts], np.int32),
        np.array([each.start_offset for each in starts], np.int64),
    )


def read_topic_id(directory: str) -> bytes | None:
    """Return the 16-byte topic id from partition.metadata; None if the file does not exist. Raises CorruptFile."""
    path = os.path.join(directory, formats.PARTITION_METADATA)
    try:
        return formats.parse_topic_id(read_whole(path))
    except FileNotFoundError:
        return None
    except formats.Malformed as error:
        raise _corrupt(path, error) from None


def _read_if_there(path: str) -> bytes:
    """Return the content of a checkpoint; empty if the file is missing or holds only blank lines."""
    try:
        data = read_whole(path)
    except FileNotFoundError:
        return b""
    return data if data.strip() else b""


def _corrupt(path: str, error: formats.Malformed) -> CorruptFile:
    return CorruptFile(path, error.position, f"it {error.reason}")
