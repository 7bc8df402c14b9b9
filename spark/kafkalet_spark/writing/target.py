"""Access the log directory to write to: its existing partitions, and its lock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kafkalet import formats
from kafkalet.locking import lock
from kafkalet_spark.logs import checkpoints
from kafkalet_spark.logs.directory import PartitionLog, open_partition, topic_partition
from kafkalet_spark.logs.ends import log_end

LOCK = ".lock"


class DirectoryInUse(Exception):
    """The directory is locked by a broker or another load."""


class NotAppendable(Exception):
    """The files of a log are in a state that does not allow appending. The message names the file."""


class Start(NamedTuple):
    """The next offset of a log, and the leader epoch for new batches."""

    offset: int
    leader_epoch: int


class TargetDirectory:
    """The log directory at `path`, which may not exist yet."""

    def __init__(self, path: str) -> None:
        self.path = path

    def partitions(self) -> dict[str, list[int]]:
        """Return the partitions of each topic, in ascending order."""
        found: dict[str, list[int]] = {}
        if os.path.isdir(self.path):
            for name in os.listdir(self.path):
                named = None if name.startswith(".") else topic_partition(name)
                if named is not None and os.path.isdir(os.path.join(self.path, name)):
                    found.setdefault(named[0], []).append(named[1])
        return {topic: sorted(numbers) for topic, numbers in found.items()}

    def directory(self, topic: str, partition: int) -> str:
        return os.path.join(self.path, f"{topic}-{partition}")

    def log(self, topic: str, partition: int) -> PartitionLog | None:
        """Return the log of a partition; None if it does not exist."""
        directory = self.directory(topic, partition)
        return open_partition(directory) if os.path.isdir(directory) else None

    @property
    def is_closed(self) -> bool:
        """Whether no log needs recovery, because the last broker shut down cleanly or because there are no
        partitions."""
        return os.path.exists(os.path.join(self.path, formats.CLEAN_SHUTDOWN)) or not self.partitions()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the directory if necessary and hold its lock. Raises DirectoryInUse."""
        os.makedirs(self.path, exist_ok=True)
        descriptor = os.open(os.path.join(self.path, LOCK), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                lock(descriptor)
            except OSError as error:
                raise DirectoryInUse(f"{self.path} is in use by a broker; stop it first") from error
            yield
        finally:
            os.close(descriptor)


def start_of(log: PartitionLog | None, leader_epoch: int | None) -> Start:
    """Return the position for appending to `log` (None: a new log). The leader epoch is `leader_epoch` if given,
    otherwise the latest one of the log.

    Raises NotAppendable, or CorruptFile if a file of the log is corrupt.
    """
    if log is None:
        return Start(0, leader_epoch or 0)
    end = log_end(log)
    if log.segments and (end.fault or end.position < log.segments[-1].size):
        raise NotAppendable(
            f"{end.path} has no valid batch at byte {end.position}, before its end ({end.fault or 'only zeros'}); "
            "let a broker recover it first"
        )
    latest = latest_epoch(log)
    if leader_epoch is not None and leader_epoch < latest:
        raise NotAppendable(f"{log.path} is at leader epoch {latest}, above leaderEpoch {leader_epoch}")
    return Start(end.offset, latest if leader_epoch is None else leader_epoch)


def latest_epoch(log: PartitionLog) -> int:
    """Return the latest leader epoch of a log; 0 if it has none."""
    epochs, _ = checkpoints.read_epochs(os.path.join(log.path, formats.LEADER_EPOCHS))
    return int(epochs[-1]) if len(epochs) else 0
