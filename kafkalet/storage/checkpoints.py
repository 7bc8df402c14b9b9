"""The small text files of a data directory. Their formats are in formats.py.

recovery-point-offset-checkpoint, replication-offset-checkpoint, log-start-offset-checkpoint and
cleaner-offset-checkpoint are in the data directory, leader-epoch-checkpoint is in the directory of each log. They are
replaced atomically, so that a crash leaves either the old or the new content.

partition.metadata, in the directory of a log, contains the topic id. If .kafka_cleanshutdown exists, the previous
broker closed all logs before it stopped.
"""

import os
from collections.abc import Iterable, Mapping

from kafkalet import formats

from .files import Files

TopicPartition = tuple[str, int]


class CorruptCheckpoint(Exception):
    """The contents of the file are invalid."""


def read_offsets(files: Files, path: str) -> dict[TopicPartition, int]:
    """Return offsets, keyed by topic and partition; none if the file does not exist. Raises CorruptCheckpoint."""
    try:
        return formats.parse_offsets(_read_if_there(files, path))
    except formats.Malformed as error:
        raise CorruptCheckpoint(f"{path} {error}") from None


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    files.replace(path, formats.offsets_bytes(offsets))


def read_epochs(files: Files, path: str) -> list[tuple[int, int]]:
    """Return the leader epochs with their start offsets; none if the file does not exist. Raises CorruptCheckpoint."""
    try:
        return [(epoch, start_offset) for epoch, start_offset, _ in formats.parse_epochs(_read_if_there(files, path))]
    except formats.Malformed as error:
        raise CorruptCheckpoint(f"{path} {error}") from None


def write_epochs(files: Files, path: str, epochs: Iterable[tuple[int, int]], *, force: bool = True) -> None:
    files.replace(path, formats.epochs_bytes(epochs), force=force)


def read_topic_id(files: Files, directory: str) -> bytes | None:
    """Return the topic id (16 bytes) in partition.metadata; None if there is no file. Raises CorruptCheckpoint."""
    path = os.path.join(directory, formats.PARTITION_METADATA)
    try:
        topic_id = formats.parse_topic_id(files.read_all(path))
    except FileNotFoundError:
        return None
    except formats.Malformed as error:
        raise CorruptCheckpoint(f"{path} {error}") from None
    if not any(topic_id):
        raise CorruptCheckpoint(f"{path} contains the all-zero topic id")
    return topic_id


def write_topic_id(files: Files, directory: str, topic_id: bytes) -> None:
    """Write partition.metadata. It is synced to disk together with the log."""
    files.replace(os.path.join(directory, formats.PARTITION_METADATA), formats.topic_id_bytes(topic_id), force=False)


def take_clean_shutdown(files: Files, directory: str) -> bool:
    """Return whether the last shutdown was clean, and remove the marker file.

    If the broker crashes while loading, the next start must not find the marker.
    """
    try:
        files.system.unlink(os.path.join(directory, formats.CLEAN_SHUTDOWN))
    except FileNotFoundError:
        return False
    files.sync_directory(directory)  # not even after a power failure
    return True


def mark_clean_shutdown(files: Files, directory: str, broker_epoch: int = -1) -> None:
    files.replace(os.path.join(directory, formats.CLEAN_SHUTDOWN), clean_shutdown_bytes(broker_epoch))


def clean_shutdown_bytes(broker_epoch: int = -1) -> bytes:
    """Return the contents of the marker file."""
    return f'{{"version":0,"brokerEpoch":{broker_epoch}}}'.encode()


def _read_if_there(files: Files, path: str) -> bytes:
    try:
        return files.read_all(path)
    except FileNotFoundError:
        return b""
