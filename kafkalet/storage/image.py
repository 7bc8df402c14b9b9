"""The image of a data directory: what its files would contain if all logs were closed now.

An image is taken while the broker runs. It changes nothing, neither in memory nor on disk: indexes and producer
snapshots are encoded from memory, and the records are read from the files. Written to an empty directory, the image is
a data directory after a clean shutdown, for kafkalet and for Apache Kafka.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from kafkalet import formats
from kafkalet.formats import FUTURE, STRAY, epochs_bytes, offsets_bytes, topic_id_bytes

from . import checkpoints
from .checkpoints import TopicPartition
from .directory import BEING_DELETED, LOG_NAME, LogDirectory
from .log import Log
from .producer_snapshot import encode, snapshot_name

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)


class StoredFile(NamedTuple):
    """The contents of a file. `modified_ms` is the time of its last modification; None if it does not matter."""

    data: bytes
    modified_ms: int | None = None


Image = Mapping[str, StoredFile]
"""Files, keyed by their paths relative to the directory, with "/" between the names."""


def image_of(directory: LogDirectory) -> Image:
    """Return the image of a directory in use. Raises OSError."""
    files: dict[str, StoredFile] = {}
    recovery_points: dict[TopicPartition, int] = {}
    high_watermarks: dict[TopicPartition, int] = {}
    log_start_offsets: dict[TopicPartition, int] = {}
    system = directory.environment.files.system
    for key, log in directory.logs.items():
        if not log.log_end_offset:
            continue  # a log without records has no state but its topic id, which is in the metadata
        recovery_points[key] = log.log_end_offset
        high_watermarks[key] = log.high_watermark
        if log.log_start_offset > log.segments.first.base_offset:
            log_start_offsets[key] = log.log_start_offset
        for name, stored in _files_of(log):
            files[f"{log.name}/{name}"] = stored
    for key, closed in directory.closed_logs().items():
        high_watermarks[key] = closed.high_watermark
        if closed.log_start_offset:
            log_start_offsets[key] = closed.log_start_offset
        for name in system.names(closed.path):
            path = os.path.join(closed.path, name)
            modified_ms = system.status(path).st_mtime_ns // 1_000_000 if name.endswith(".log") else None
            stored = StoredFile(directory.environment.files.read_all(path), modified_ms)
            files[f"{os.path.basename(closed.path)}/{name}"] = stored
    for name, offsets in (
        (formats.RECOVERY_POINTS, recovery_points),
        (formats.HIGH_WATERMARKS, high_watermarks),
        (formats.LOG_START_OFFSETS, log_start_offsets),
    ):
        files[name] = StoredFile(offsets_bytes(offsets))
    if cleaned := directory.environment.cleaning.offsets:
        files[formats.CLEANER_OFFSETS] = StoredFile(offsets_bytes(cleaned))
    files[formats.CLEAN_SHUTDOWN] = StoredFile(checkpoints.clean_shutdown_bytes())
    return files


def _files_of(log: Log) -> Iterator[tuple[str, StoredFile]]:
    for segment in log.segments:
        for name, data in segment.images():
            yield name, StoredFile(data, segment.modified_ms if name.endswith(".log") else None)
    if log.topic_id is not None:
        yield formats.PARTITION_METADATA, StoredFile(topic_id_bytes(log.topic_id))
    if log.epochs.entries:
        yield formats.LEADER_EPOCHS, StoredFile(epochs_bytes(log.epochs.entries))
    if producers := list(log.active_producers()):
        yield snapshot_name(log.log_end_offset), StoredFile(encode(producers))


def write_image(path: str, files: Image) -> None:
    """Write an image to a directory, which is created if it does not exist. Raises OSError."""
    os.makedirs(path, exist_ok=True)
    folders = {os.path.dirname(name) for name in files}
    for folder in sorted({parent for each in folders for parent in _with_parents(each)}):
        with suppress(FileExistsError):
            os.mkdir(os.path.join(path, folder))
    for name, (data, modified_ms) in files.items():
        target = f"{path}/{name}"
        fd = os.open(target, _WRITE, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)
        if modified_ms is not None:
            os.utime(target, ns=(modified_ms * 1_000_000,) * 2)


def _with_parents(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = os.path.dirname(folder)


def erase(path: str) -> None:
    """Remove all logs and checkpoints from a directory that is not in use. Other files stay. Raises OSError."""
    if not os.path.isdir(path):
        return
    for name in os.listdir(path):
        target = os.path.join(path, name)
        if name in CHECKPOINTS:
            os.unlink(target)
        elif os.path.isdir(target) and (
            LOG_NAME.fullmatch(name) or BEING_DELETED.fullmatch(name) or name.endswith((STRAY, FUTURE))
        ):
            shutil.rmtree(target)


CHECKPOINTS = (
    formats.RECOVERY_POINTS,
    formats.HIGH_WATERMARKS,
    formats.LOG_START_OFFSETS,
    formats.CLEANER_OFFSETS,
    formats.CLEAN_SHUTDOWN,
)
