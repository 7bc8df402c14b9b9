"""The small text files beside the logs, whose formats are in formats.py.

recovery-point-offset-checkpoint, replication-offset-checkpoint and log-start-offset-checkpoint lie in the data
directory, leader-epoch-checkpoint in the directory of a log. All of them are replaced as a whole, so that a crash
leaves the old or the new.

partition.metadata names the topic's id in the directory of a log; .kafka_cleanshutdown says that the last broker closed
all logs before it left.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from kafkalet.formats import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    Malformed,
    epochs_bytes,
    offsets_bytes,
    parse_epochs,
    parse_offsets,
    parse_topic_id,
    topic_id_bytes,
    uuid_text,
)

from .files import Files, read_all

__all__ = [
    "CLEAN_SHUTDOWN",
    "HIGH_WATERMARKS",
    "LEADER_EPOCHS",
    "LOG_START_OFFSETS",
    "PARTITION_METADATA",
    "RECOVERY_POINTS",
    "CorruptCheckpoint",
    "TopicPartition",
    "mark_clean_shutdown",
    "read_epochs",
    "read_offsets",
    "read_topic_id",
    "take_clean_shutdown",
    "uuid_text",
    "write_epochs",
    "write_offsets",
    "write_topic_id",
]

TopicPartition = tuple[str, int]


class CorruptCheckpoint(Exception):
    """The file is not what its name promises."""


def read_offsets(path: str) -> dict[TopicPartition, int]:
    """Offsets by topic and partition; none where there is no file. Raises CorruptCheckpoint."""
    try:
        return parse_offsets(_read_if_there(path))
    except Malformed as error:
        raise CorruptCheckpoint(f"{path} {error}") from None


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    files.replace(path, offsets_bytes(offsets))


def read_epochs(path: str) -> list[tuple[int, int]]:
    """Leader epochs and their start offsets; none where there is no file. Raises CorruptCheckpoint."""
    try:
        return [(epoch, start_offset) for epoch, start_offset, _ in parse_epochs(_read_if_there(path))]
    except Malformed as error:
        raise CorruptCheckpoint(f"{path} {error}") from None


def write_epochs(files: Files, path: str, epochs: Iterable[tuple[int, int]], *, force: bool = True) -> None:
    files.replace(path, epochs_bytes(epochs), force=force)


def read_topic_id(directory: str) -> bytes | None:
    """The sixteen bytes in partition.metadata; None where there is no file. Raises CorruptCheckpoint."""
    path = os.path.join(directory, PARTITION_METADATA)
    try:
        topic_id = parse_topic_id(read_all(path))
    except FileNotFoundError:
        return None
    except Malformed as error:
        raise CorruptCheckpoint(f"{path} {error}") from None
    if not any(topic_id):
        raise CorruptCheckpoint(f"{path} has the id that stands for none")
    return topic_id


def write_topic_id(files: Files, directory: str, topic_id: bytes) -> None:
    """Write partition.metadata. It is forced to the disk together with the log."""
    files.replace(os.path.join(directory, PARTITION_METADATA), topic_id_bytes(topic_id), force=False)


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


def _read_if_there(path: str) -> bytes:
    try:
        return read_all(path)
    except FileNotFoundError:
        return b""
