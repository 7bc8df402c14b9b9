"""The small text files of a log directory.

A checkpoint is a version, a count, and so many lines. In the log directory three of them name topic, partition and
offset; in the directory of a log, leader-epoch-checkpoint names epoch and start offset:

    0                       0
    2                       2
    orders 0 1200           0 0
    orders 1 1187           3 950

log-start-offset-checkpoint names only logs that begin above the base offset of their first segment.
replication-offset-checkpoint holds high watermarks; it is written every five seconds
(`replica.high.watermark.checkpoint.interval.ms`) and at a clean stop, so that it lags behind a running broker.
recovery-point-offset-checkpoint says up to where all is on the disk.

partition.metadata holds the topic's id, since Kafka 2.8.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .files import CorruptFile, read_whole

LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
"""There from a clean stop until the next start."""

_VERSION = "0"


def read_offsets(path: str) -> dict[tuple[str, int], int]:
    """Offsets by topic and partition; none where there is no file. Raises CorruptFile."""
    offsets = {}
    for at, (topic, partition, offset) in _read_lines(path, 3):
        offsets[topic, _number(path, at, partition)] = _number(path, at, offset)
    return offsets


def offsets_text(offsets: Mapping[tuple[str, int], int]) -> bytes:
    """The content of a checkpoint of offsets."""
    return _text([f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


def read_epochs(path: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Leader epochs and their start offsets, both rising; none where there is no file. Raises CorruptFile."""
    lines = _read_lines(path, 2)
    entries = [(at, _number(path, at, epoch), _number(path, at, start)) for at, (epoch, start) in lines]
    for (_, epoch, start), (at, next_epoch, next_start) in pairwise(entries):
        if next_epoch <= epoch or next_start < start:
            raise CorruptFile(path, at, f"epoch {next_epoch} from {next_start} on comes after {epoch} from {start} on")
    return (
        np.array([epoch for _, epoch, _ in entries], np.int32),
        np.array([start for _, _, start in entries], np.int64),
    )


def epochs_text(epochs: Iterable[tuple[int, int]]) -> bytes:
    """The content of leader-epoch-checkpoint: epochs with the offsets they start at."""
    return _text([f"{epoch} {start_offset}" for epoch, start_offset in epochs])


def read_topic_id(directory: str) -> bytes | None:
    """The sixteen bytes in partition.metadata; None where there is no file. Raises CorruptFile."""
    path = os.path.join(directory, PARTITION_METADATA)
    try:
        text = read_whole(path).decode(errors="replace")
    except FileNotFoundError:
        return None
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if fields.get("version") != _VERSION or "topic_id" not in fields:
        raise CorruptFile(path, 0, f"{text[:100]!r} has no version {_VERSION} and topic_id")
    name = fields["topic_id"].strip()
    try:
        topic_id = base64.b64decode(name + "==", altchars="-_", validate=True)
    except ValueError:
        topic_id = b""
    if len(topic_id) != 16:
        raise CorruptFile(path, text.index("topic_id"), f"{name!r} is no id")
    return topic_id


def topic_id_text(topic_id: bytes) -> bytes:
    """The content of partition.metadata."""
    return b"version: %s\ntopic_id: %s" % (_VERSION.encode(), id_text(topic_id).encode())


def id_text(topic_id: bytes) -> str:
    """An id as Kafka writes it."""
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (_VERSION, len(lines), *lines)).encode()


def _read_lines(path: str, fields: int) -> list[tuple[int, list[str]]]:
    """The entries of a checkpoint, split into their fields, with the positions of their lines."""
    try:
        data = read_whole(path)
    except FileNotFoundError:
        return []
    lines = []
    at = 0
    for line in data.split(b"\n"):
        if line.strip():
            lines.append((at, line.decode(errors="replace").split()))
        at += len(line) + 1
    if not lines:
        return []
    if lines[0][1] != [_VERSION]:
        raise CorruptFile(path, 0, f"version {' '.join(lines[0][1])!r} is not {_VERSION}")
    if len(lines) < 2:
        raise CorruptFile(path, len(data), "it ends after its version")
    at, (count, *_) = lines[1]
    if _number(path, at, count) != len(lines) - 2:
        raise CorruptFile(path, at, f"it promises {count} entries and has {len(lines) - 2}")
    for at, words in lines[2:]:
        if len(words) != fields:
            raise CorruptFile(path, at, f"a line has {len(words)} fields instead of {fields}")
    return lines[2:]


def _number(path: str, position: int, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CorruptFile(path, position, f"{text!r} is no number") from None
