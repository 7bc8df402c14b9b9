"""The small text files of a log directory, whose formats are in formats.py.

log-start-offset-checkpoint names only logs that begin above the base offset of their first segment.
replication-offset-checkpoint holds high watermarks; it is written every five seconds
(`replica.high.watermark.checkpoint.interval.ms`) and at a clean stop, so that it lags behind a running broker.
recovery-point-offset-checkpoint says up to where all is on the disk.
"""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kafkalet import formats

from .files import CorruptFile, read_whole


def read_offsets(path: str) -> dict[tuple[str, int], int]:
    """Offsets by topic and partition; none where there is no file. Raises CorruptFile."""
    try:
        return formats.parse_offsets(_read_if_there(path))
    except formats.Malformed as error:
        raise _corrupt(path, error) from None


def read_epochs(path: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Leader epochs and their start offsets, both rising; none where there is no file. Raises CorruptFile."""
    try:
        starts = formats.parse_epochs(_read_if_there(path))
    except formats.Malformed as error:
        raise _corrupt(path, error) from None
    for (epoch, start, _), (next_epoch, next_start, at) in pairwise(starts):
        if next_epoch <= epoch or next_start < start:
            raise CorruptFile(path, at, f"epoch {next_epoch} from {next_start} on comes after {epoch} from {start} on")
    return (
        np.array([each.epoch for each in starts], np.int32),
        np.array([each.start_offset for each in starts], np.int64),
    )


def read_topic_id(directory: str) -> bytes | None:
    """The sixteen bytes in partition.metadata; None where there is no file. Raises CorruptFile."""
    path = os.path.join(directory, formats.PARTITION_METADATA)
    try:
        return formats.parse_topic_id(read_whole(path))
    except FileNotFoundError:
        return None
    except formats.Malformed as error:
        raise _corrupt(path, error) from None


def _read_if_there(path: str) -> bytes:
    """The content of a checkpoint; blank lines alone are none."""
    try:
        data = read_whole(path)
    except FileNotFoundError:
        return b""
    return data if data.strip() else b""


def _corrupt(path: str, error: formats.Malformed) -> CorruptFile:
    return CorruptFile(path, error.position, f"it {error.reason}")
