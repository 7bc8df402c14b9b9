"""The data directory of a broker: its logs, each in a directory of its own, and the files that speak of all of them.

One broker has a directory to itself: it holds `.lock`, as Apache Kafka does, and in a way that another broker of this
process is kept out as well. A directory of a log is called TOPIC-PARTITION; while it is being deleted
TOPIC-PARTITION.ID-delete, and one of a topic that was made anew in the meantime TOPIC-PARTITION.ID-stray.

Logs that lie there when the directory is opened are opened when they are asked for, with the configuration of their
topic. Whether they must be checked then says `.kafka_cleanshutdown`, which is written when all logs have been closed;
from where, the checkpoints, which are written from time to time and at the end.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkalet.clock import Clock

from . import checkpoints
from .checkpoints import TopicPartition
from .config import LogConfig
from .files import Files
from .ground import Ground

if TYPE_CHECKING:  # a broker starts before it has a log, and without what logs are made of
    from .log import Log

_log = logging.getLogger(__name__)

LOCK = ".lock"
DELETE = "-delete"
STRAY = "-stray"
FUTURE = "-future"
METADATA_TOPIC = "__cluster_metadata"
"""Where Apache Kafka's controllers keep their records; not a topic that a broker serves."""
MAX_NAME = 255


class DirectoryInUse(Exception):
    """Another broker has locked the data directory."""


class LogDirectory:
    """The logs of one broker. `path` is made if it is not there; `close` gives the lock back."""

    def __init__(
        self,
        path: str,
        clock: Clock,
        *,
        durable: bool = True,
        cluster_id: str | None = None,
        node_id: int = 1,
        max_open_files: int = 256,
    ) -> None:
        """Take the directory. With `durable` what is written is forced to the disk where Kafka does so.

        Where the directory says nothing of a cluster, it gets `cluster_id` or a new one. Raises DirectoryInUse.
        """
        self.path = path
        self.clock = clock
        files = Files(durable=durable, max_open=max_open_files)
        self.ground = Ground(files, clock, self._distrust_checkpoints)
        self.logs: dict[TopicPartition, Log] = {}
        """The logs that are open."""
        os.makedirs(path, exist_ok=True)
        self._lock = _lock(os.path.join(path, LOCK))
        self._was_clean = checkpoints.take_clean_shutdown(path)
        self._recovery_points = self._read_offsets(checkpoints.RECOVERY_POINTS)
        self._log_start_offsets = self._read_offsets(checkpoints.LOG_START_OFFSETS)
        self._high_watermarks = self._read_offsets(checkpoints.HIGH_WATERMARKS)
        self._written = self._recovery_points.keys() | self._log_start_offsets.keys() | self._high_watermarks.keys()
        """Of which logs the checkpoints on disk speak."""
        self._closed: dict[TopicPartition, str] = {}
        """Directories of logs that lie here and have not been opened."""
        self._look_around()
        self.cluster_id = self._identify(cluster_id, node_id)

    # -- what lies here

    def _look_around(self) -> None:
        for name in os.listdir(self.path):
            directory = os.path.join(self.path, name)
            if not os.path.isdir(directory):
                continue
            if name.endswith(DELETE):
                _log.info("Deleting %s, which the last broker left", directory)
                _remove(directory)
                continue
            topic, _, partition = name.rpartition("-")
            if not topic or not partition.isdecimal() or name.endswith((STRAY, FUTURE)):
                _log.warning("%s is no log and is left alone", directory)
            elif topic != METADATA_TOPIC:
                self._closed[topic, int(partition)] = directory

    def _identify(self, cluster_id: str | None, node_id: int) -> str:
        """The cluster of this directory, which is written down if it is not yet."""
        properties = checkpoints.read_meta_properties(self.path)
        if found := properties.get("cluster.id"):
            return found
        cluster_id = cluster_id or checkpoints.uuid_text(os.urandom(16))
        if self.ground.files.durable:
            properties = {
                "node.id": str(node_id),
                "directory.id": checkpoints.uuid_text(os.urandom(16)),
                "version": "1",
                "cluster.id": cluster_id,
            }
            checkpoints.write_meta_properties(self.ground.files, self.path, properties)
        return cluster_id

    def found(self) -> list[tuple[str, int, bytes | None]]:
        """Topic, partition and topic id of every log that lies here and has not been opened, in order."""
        return [(*key, _topic_id(directory)) for key, directory in sorted(self._closed.items())]

    # -- logs

    def get_or_create(self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig) -> Log:
        """The log of a partition: open, or opened now, or made.

        What lies here under another topic id is of a topic that is no more. It is put aside.
        """
        key = (topic, partition)
        if key in self.logs:
            return self.logs[key]
        directory = self._closed.pop(key, None)
        if directory is not None and topic_id is not None and _topic_id(directory) not in (None, topic_id):
            self._put_aside(topic, partition, directory)
            directory = None
        if directory is None:
            if key in self._written:  # a log of that name was here before
                self._distrust_checkpoints()
            directory = os.path.join(self.path, f"{topic}-{partition}")
            from .recovery import create_log

            log = create_log(directory, topic, partition, topic_id, config, self.ground)
        else:
            log = self._open(key, directory, topic_id, config)
        self.logs[key] = log
        return log

    def _open(self, key: TopicPartition, directory: str, topic_id: bytes | None, config: LogConfig) -> Log:
        from .recovery import open_log

        log = open_log(
            directory,
            *key,
            topic_id,
            config,
            self.ground,
            clean=self._was_clean,
            log_start_offset=self._log_start_offsets.get(key, 0),
            recovery_point=self._recovery_points.get(key, 0),
        )
        log.update_high_watermark(self._high_watermarks.get(key, 0))
        _log.info("Opened %r", log)
        return log

    def _put_aside(self, topic: str, partition: int, directory: str) -> None:
        aside = self._name_aside(topic, partition, STRAY)
        _log.warning("%s is of another topic of that name and is renamed to %s", directory, aside)
        os.replace(directory, aside)
        self._forget_offsets((topic, partition))

    def delete(self, topic: str, partition: int) -> None:
        """Take a log out. Its directory is renamed at once and deleted after `file.delete.delay.ms`."""
        key = (topic, partition)
        log = self.logs.pop(key)
        self.ground.deletions.hurry(log.directory)
        aside = self._name_aside(topic, partition, DELETE)
        log.release()
        with suppress(FileNotFoundError):  # nothing was ever written to it
            os.replace(log.directory, aside)
        log.moved(aside)
        self._forget_offsets(key)
        self.ground.deletions.later(aside, log.config.file_delete_delay_ms, lambda: _delete(log))

    def _forget_offsets(self, key: TopicPartition) -> None:
        for offsets in (self._recovery_points, self._log_start_offsets, self._high_watermarks):
            offsets.pop(key, None)

    def _name_aside(self, topic: str, partition: int, suffix: str) -> str:
        ending = f"-{partition}.{os.urandom(16).hex()}{suffix}"
        return os.path.join(self.path, topic[: MAX_NAME - len(ending)] + ending)

    # -- from time to time

    def checkpoint(self) -> None:
        """Write down from where each log would have to be checked, where it starts, and its high watermark."""
        self.ground.flusher.collect()
        for key, log in self.logs.items():
            self._recovery_points[key] = log.recovery_point
            self._high_watermarks[key] = log.high_watermark
            if log.log_start_offset > log.segments.first.base_offset:
                self._log_start_offsets[key] = log.log_start_offset
            else:
                self._log_start_offsets.pop(key, None)
        self._write_offsets(checkpoints.RECOVERY_POINTS, self._recovery_points)
        self._write_offsets(checkpoints.LOG_START_OFFSETS, self._log_start_offsets)
        self._write_offsets(checkpoints.HIGH_WATERMARKS, self._high_watermarks)
        self._written = self._recovery_points.keys() | self._high_watermarks.keys()

    def _distrust_checkpoints(self) -> None:
        """What the checkpoints say of some log is wrong, so they are written anew.

        After a crash, nothing would be checked below the recovery point of a log that was longer once, and nothing be
        seen below the start of one that began later.
        """
        if self.ground.files.durable:
            self.checkpoint()

    def _read_offsets(self, name: str) -> dict[TopicPartition, int]:
        try:
            return checkpoints.read_offsets(os.path.join(self.path, name))
        except checkpoints.CorruptCheckpoint as error:
            _log.warning("%s; it is taken as empty", error)
            return {}

    def _write_offsets(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        checkpoints.write_offsets(self.ground.files, os.path.join(self.path, name), offsets)

    # -- the end

    def close(self, *, discard: bool = False) -> None:
        """Close all logs, and the directory. With `discard` nothing is written: the directory goes away with its
        broker."""
        try:
            if discard:
                self.ground.deletions.cancel_all()
                for log in self.logs.values():
                    log.release()
            else:
                self._close_logs()
        finally:
            self.logs.clear()
            self.ground.flusher.close()
            self.ground.files.close()
            os.close(self._lock)

    def _close_logs(self) -> None:
        self.ground.deletions.hurry_all()
        self.ground.flusher.wait()
        for log in self.logs.values():
            log.flush(also_empty=True)
            log.close()
        self.checkpoint()
        # A log that was never opened has not been checked either.
        if self._was_clean or not self._closed:
            checkpoints.mark_clean_shutdown(self.ground.files, self.path)


def _topic_id(directory: str) -> bytes | None:
    try:
        return checkpoints.read_topic_id(directory)
    except checkpoints.CorruptCheckpoint as error:
        _log.warning("%s", error)
        return None


def _delete(log: Log) -> None:
    """Delete a log with its directory. Ranges of it that are still to be sent stay readable."""
    for segment in log.segments:
        segment.remove()
    _remove(log.directory)


def _lock(path: str) -> int:
    """A descriptor that holds the lock until it is closed. Raises DirectoryInUse."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    if os.name != "nt":
        import fcntl

        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # against us: the lock is the descriptor's
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # against Java: the lock is the process's
        except OSError as error:
            os.close(fd)
            raise DirectoryInUse(f"{os.path.dirname(path)} is used by another broker") from error
    return fd


def _remove(directory: str) -> None:
    """Delete a directory and all in it."""
    import shutil

    shutil.rmtree(directory, ignore_errors=True)
