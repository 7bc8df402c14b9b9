"""The log directory that is written to: what lies there already, and whether a broker uses it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kafkalet import formats
from kafkalet.pipeline.logs import checkpoints
from kafkalet.pipeline.logs.directory import PartitionLog, open_partition, topic_partition
from kafkalet.pipeline.logs.ends import log_end

LOCK = ".lock"


class DirectoryInUse(Exception):
    """A broker, or another load, has locked the directory."""


class NotAppendable(Exception):
    """A log that nothing can be appended to as it lies there. The text names the file."""


class Start(NamedTuple):
    """Where a log goes on, and in which leader epoch."""

    offset: int
    leader_epoch: int


class Ground:
    """The log directory `path`, which need not exist yet."""

    def __init__(self, path: str) -> None:
        self.path = path

    def partitions(self) -> dict[str, list[int]]:
        """The partitions of each topic, ascending."""
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
        """The log that lies there; None if there is none."""
        directory = self.directory(topic, partition)
        return open_partition(directory) if os.path.isdir(directory) else None

    @property
    def is_closed(self) -> bool:
        """Whether the last broker stopped cleanly, or there was none: no log needs to be recovered."""
        return os.path.exists(os.path.join(self.path, formats.CLEAN_SHUTDOWN)) or not self.partitions()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes here meanwhile. The directory is made. Raises DirectoryInUse."""
        os.makedirs(self.path, exist_ok=True)
        descriptor = os.open(os.path.join(self.path, LOCK), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if os.name != "nt":
                import fcntl

                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # against kafkalet: the descriptor's lock
                    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # against Apache Kafka: the process's
                except OSError as error:
                    raise DirectoryInUse(f"{self.path} is used by a broker; stop it first") from error
            yield
        finally:
            os.close(descriptor)


def start_of(log: PartitionLog | None, leader_epoch: int | None) -> Start:
    """Where a log goes on that is `log`, or new, in `leader_epoch` or the one it has come to.

    Raises NotAppendable; CorruptFile for a file of the log that is damaged.
    """
    if log is None:
        return Start(0, leader_epoch or 0)
    end = log_end(log)
    if log.segments and (end.fault or end.position < log.segments[-1].size):
        raise NotAppendable(
            f"{end.path} has no batch at byte {end.position}, before its end ({end.fault or 'only zeros'}); "
            "let a broker recover it first"
        )
    latest = latest_epoch(log)
    if leader_epoch is not None and leader_epoch < latest:
        raise NotAppendable(f"{log.path} has come to leader epoch {latest}, past leaderEpoch {leader_epoch}")
    return Start(end.offset, latest if leader_epoch is None else leader_epoch)


def latest_epoch(log: PartitionLog) -> int:
    """The leader epoch the log has come to; 0 for one that has none."""
    epochs, _ = checkpoints.read_epochs(os.path.join(log.path, formats.LEADER_EPOCHS))
    return int(epochs[-1]) if len(epochs) else 0
