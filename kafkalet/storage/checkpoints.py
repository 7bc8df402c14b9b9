"""The small text files beside the logs.

A checkpoint (Kafka's CheckpointFile) is a version, a count, and one entry a line:

    0                       0
    2                       2
    orders 0 1200           0 0
    orders 1 1187           3 950

with topic, partition and offset on the left (recovery-point-offset-checkpoint, replication-offset-checkpoint and
log-start-offset-checkpoint in the data directory), leader epoch and start offset on the right (leader-epoch-checkpoint
in the directory of a log). All of them are replaced as a whole, so that a crash leaves the old or the new.

partition.metadata names the topic's id in the directory of a log; .kafka_cleanshutdown says that the last broker closed
all logs before it left.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping

from .files import Files, read_all

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

_VERSION = "0"
_NUMBER = re.compile(r"-?[0-9]{1,19}", re.ASCII)

TopicPartition = tuple[str, int]


class CorruptCheckpoint(Exception):
    """The file is not what its name promises."""


def read_offsets(path: str) -> dict[TopicPartition, int]:
    """Offsets by topic and partition; none where there is no file. Raises CorruptCheckpoint."""
    offsets = {}
    for line in _read_lines(path, 3):
        topic, partition, offset = line
        offsets[topic, _number(partition, path)] = _number(offset, path)
    return offsets


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    _write_lines(files, path, [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


def read_epochs(path: str) -> list[tuple[int, int]]:
    """Leader epochs and their start offsets; none where there is no file. Raises CorruptCheckpoint."""
    return [(_number(epoch, path), _number(offset, path)) for epoch, offset in _read_lines(path, 2)]


def write_epochs(files: Files, path: str, epochs: Iterable[tuple[int, int]], *, force: bool = True) -> None:
    _write_lines(files, path, [f"{epoch} {offset}" for epoch, offset in epochs], force=force)


def read_topic_id(directory: str) -> bytes | None:
    """The sixteen bytes in partition.metadata; None where there is no file. Raises CorruptCheckpoint."""
    path = os.path.join(directory, PARTITION_METADATA)
    try:
        text = read_all(path).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(f"{path} is no text: {error}") from error
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if fields.get("version") != _VERSION or "topic_id" not in fields:
        raise CorruptCheckpoint(f"{path} holds {text[:100]!r}")
    try:
        topic_id = uuid_from(fields["topic_id"].strip())
    except CorruptCheckpoint as error:
        raise CorruptCheckpoint(f"{path}: {error}") from error
    if not any(topic_id):
        raise CorruptCheckpoint(f"{path} has the id that stands for none")
    return topic_id


def write_topic_id(files: Files, directory: str, topic_id: bytes) -> None:
    """Write partition.metadata. It is forced to the disk together with the log."""
    text = f"version: {_VERSION}\ntopic_id: {uuid_text(topic_id)}"
    files.replace(os.path.join(directory, PARTITION_METADATA), text.encode(), force=False)


def uuid_text(uuid: bytes) -> str:
    """How Kafka writes sixteen bytes of id: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode()


def uuid_from(text: str) -> bytes:
    """The id that `uuid_text` writes. Raises CorruptCheckpoint."""
    try:
        uuid = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as error:
        raise CorruptCheckpoint(f"{text!r} is no id") from error
    if len(uuid) != 16:
        raise CorruptCheckpoint(f"{text!r} is no id")
    return uuid


def take_clean_shutdown(directory: str) -> bool:
    """Was the last stop clean? Asking uses the mark up: should we crash while loading, the next start must not trust
    it."""
    try:
        os.unlink(os.path.join(directory, CLEAN_SHUTDOWN))
    except FileNotFoundError:
        return False
    return True


def mark_clean_shutdown(files: Files, directory: str, broker_epoch: int = -1) -> None:
    text = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
    files.replace(os.path.join(directory, CLEAN_SHUTDOWN), text.encode())


def _read_lines(path: str, fields: int) -> list[list[str]]:
    try:
        lines = read_all(path).decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    if not lines:
        return []
    if lines[0].strip() != _VERSION:
        raise CorruptCheckpoint(f"{path} has version {lines[0][:100]!r}")
    if len(lines) < 2:
        raise CorruptCheckpoint(f"{path} ends after its version")
    entries = [line.split() for line in lines[2:] if line.strip()]
    if len(entries) != _number(lines[1], path):
        raise CorruptCheckpoint(f"{path} promises {lines[1][:20]} entries and has {len(entries)}")
    for entry in entries:
        if len(entry) != fields:
            raise CorruptCheckpoint(f"{path} has a line of {len(entry)} fields instead of {fields}")
    return entries


def _write_lines(files: Files, path: str, lines: list[str], *, force: bool = True) -> None:
    text = "".join(f"{line}\n" for line in (_VERSION, str(len(lines)), *lines))
    files.replace(path, text.encode(), force=force)


def _number(text: str, path: str) -> int:
    if not _NUMBER.fullmatch(text) or abs(int(text)) >= 1 << 63:
        raise CorruptCheckpoint(f"{path} has {text[:100]!r} where a number should be")
    return int(text)
