"""The data directory of a broker: its logs, each in a directory of its own, and the files that speak of all of them.

One broker has a directory to itself: it holds `.lock`, as Apache Kafka does, and in a way that another broker of this
process is kept out as well. A directory of a log is called TOPIC-PARTITION; while it is being deleted
TOPIC-PARTITION.ID-delete, and one of a topic that was made anew in the meantime TOPIC-PARTITION.ID-stray. Any other
directory is left alone.

Logs that lie there when the directory is opened are opened when they are asked for, with the configuration of their
topic. Whether they must be checked then says `.kafka_cleanshutdown`, which is written when all logs have been closed;
from where, the checkpoints, which are written from time to time and at the end. A log that cannot be opened does not
keep the others from being served.
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkalet.clock import Clock

from . import checkpoints
from .checkpoints import TopicPartition
from .config import LogConfig
from .failures import StorageFailed
from .files import Files, explain
from .ground import Ground
from .identity import check_identity, read_identity, write_identity

if TYPE_CHECKING:  # a broker starts before it has a log, and without what logs are made of
    from .log import Log

_log = logging.getLogger(__name__)

LOCK = ".lock"
DELETE = "-delete"
STRAY = "-stray"
METADATA_TOPIC = "__cluster_metadata"
"""Where Apache Kafka's controllers keep their records; not a topic that a broker serves."""
MAX_NAME = 255
MAX_PARTITION = (1 << 31) - 1

# Kafka's Topic.validate and UnifiedLog.DeleteDirPattern. A number with leading zeros would name a partition twice.
_LOG_NAME = re.compile(r"(?!\.{1,2}-)([a-zA-Z0-9._-]{1,249})-(0|[1-9][0-9]{0,9})", re.ASCII)
_BEING_DELETED = re.compile(r"\S+-[0-9]+\.\S+-delete", re.ASCII)


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
        given_node_id: int | None = None,
        max_open_files: int = 256,
        check_interrupted: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the directory. With `durable` what is written is forced to the disk where Kafka does so.

        Where the directory says nothing of a cluster, it gets `cluster_id` or a new one, and `node_id`. A directory of
        another cluster, or of another broker than `given_node_id`, is refused. `check_interrupted` is called while logs
        are checked, and raises StartInterrupted if the broker is to stop. Raises DirectoryInUse, IdentityRefused, and
        OSError with the name of a file.
        """
        self.path = path
        self.clock = clock
        files = Files(durable=durable, max_open=max_open_files)
        self.ground = Ground(files, clock, self._distrust_checkpoints, check_interrupted)
        self.logs: dict[TopicPartition, Log] = {}
        """The logs that are open."""
        self._closed: dict[TopicPartition, str] = {}
        """Directories of logs that lie here and have not been opened."""
        self._empty: dict[TopicPartition, str] = {}
        """Directories that have the name of a log and nothing of a log in them."""
        self._checkpointed: dict[str, dict[TopicPartition, int]] = {}
        """What this broker has written into each checkpoint file last."""
        os.makedirs(path, exist_ok=True)
        self._lock = _lock(os.path.join(path, LOCK))
        try:
            self._recovery_points = self._read_offsets(checkpoints.RECOVERY_POINTS)
            self._log_start_offsets = self._read_offsets(checkpoints.LOG_START_OFFSETS)
            self._high_watermarks = self._read_offsets(checkpoints.HIGH_WATERMARKS)
            self._written = self._recovery_points.keys() | self._log_start_offsets.keys() | self._high_watermarks.keys()
            """Of which logs the checkpoints on disk speak."""
            self.cluster_id = self._identify(cluster_id, node_id, given_node_id)
            self._look_around()
            self._was_clean = checkpoints.take_clean_shutdown(path)
        except BaseException:
            os.close(self._lock)
            raise

    # -- what lies here

    def _look_around(self) -> None:
        for name in os.listdir(self.path):
            directory = os.path.join(self.path, name)
            if not os.path.isdir(directory):
                continue
            if _BEING_DELETED.fullmatch(name):
                _log.info("Deleting %s, which the last broker left", directory)
                _remove(directory)
                continue
            named = _LOG_NAME.fullmatch(name)
            if named is None or int(named[2]) > MAX_PARTITION:
                _log.warning("%s is no log and is left alone", directory)
            elif named[1] != METADATA_TOPIC:
                place = self._closed if _is_log(directory) else self._empty
                place[named[1], int(named[2])] = directory

    def _identify(self, cluster_id: str | None, node_id: int, given_node_id: int | None) -> str:
        """The cluster of this directory, which is written down if it is not yet."""
        found = read_identity(self.path)
        if found is not None:
            check_identity(self.path, found, cluster_id, given_node_id)
            if found.cluster_id is not None:
                return found.cluster_id
        cluster_id = cluster_id or checkpoints.uuid_text(os.urandom(16))
        if self.ground.files.durable and found is None:
            properties = {
                "node.id": str(node_id),
                "directory.id": checkpoints.uuid_text(os.urandom(16)),
                "version": "1",
                "cluster.id": cluster_id,
            }
            write_identity(self.ground.files, self.path, properties)
        return cluster_id

    def found(self) -> list[tuple[str, int, bytes | None]]:
        """Topic, partition and topic id of every log that lies here and has not been opened, in order.

        A directory that only has the name of a log, such as backup-20240101, is not one.
        """
        return [(*key, _topic_id(directory)) for key, directory in sorted(self._closed.items())]

    # -- logs

    def get_or_create(self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig) -> Log:
        """The log of a partition: open, or opened now, or made.

        What lies here under another topic id is of a topic that is no more. It is put aside. Raises StorageFailed if
        the log cannot be opened, which then stays as it is, or cannot be made, of which then nothing stays.
        """
        key = (topic, partition)
        if key in self.logs:
            return self.logs[key]
        directory = self._closed.get(key) or self._empty.get(key)
        try:
            if directory is not None and topic_id is not None and _topic_id(directory) not in (None, topic_id):
                self._put_aside(topic, partition, directory)
                directory = None
            if directory is None:
                log = self._create(key, topic_id, config)
            else:
                log = self._open(key, directory, topic_id, config)
        except OSError as error:
            raise StorageFailed(explain(error), explain(error)) from error
        self.logs[key] = log
        self._closed.pop(key, None)
        self._empty.pop(key, None)
        return log

    def _create(self, key: TopicPartition, topic_id: bytes | None, config: LogConfig) -> Log:
        from .recovery import create_log

        if key in self._written:  # a log of that name was here before
            self._distrust_checkpoints()
        return create_log(os.path.join(self.path, "{}-{}".format(*key)), *key, topic_id, config, self.ground)

    def _open(self, key: TopicPartition, directory: str, topic_id: bytes | None, config: LogConfig) -> Log:
        """Open a log. One that was closed in order and is damaged all the same is checked like after a crash: so would
        Apache Kafka with its next start, after the one that fails."""
        from .recovery import LogDamaged, open_log

        for clean in (True, False) if self._was_clean else (False,):
            try:
                log = open_log(
                    directory,
                    *key,
                    topic_id,
                    config,
                    self.ground,
                    clean=clean,
                    log_start_offset=max(self._log_start_offsets.get(key, 0), 0),
                    recovery_point=self._recovery_points.get(key, 0),
                )
                break
            except LogDamaged as error:
                if not clean:
                    raise StorageFailed(str(error), str(error)) from error
                _log.error("%s was closed in order, but is damaged: %s", directory, error)
        log.update_high_watermark(self._high_watermarks.get(key, 0))
        _log.info("Opened %r", log)
        return log

    def _put_aside(self, topic: str, partition: int, directory: str) -> None:
        aside = self._name_aside(topic, partition, STRAY)
        _log.warning("%s is of another topic of that name and is renamed to %s", directory, aside)
        os.replace(directory, aside)
        self._forget((topic, partition))

    def delete(self, topic: str, partition: int) -> None:
        """Take a log out. Its directory is renamed at once and deleted after `file.delete.delay.ms`; that of a log that
        could not be opened is deleted at once. Raises StorageFailed, and the log stays."""
        key = (topic, partition)
        log = self.logs.get(key)
        directory = self._closed.get(key) if log is None else log.directory
        if directory is None:
            return
        aside = self._name_aside(topic, partition, DELETE)
        try:
            if log is not None:
                self.ground.deletions.hurry(log.directory)
                log.release()
            with suppress(FileNotFoundError):  # nothing was ever written to it
                os.replace(directory, aside)
        except OSError as error:
            raise StorageFailed(explain(error), explain(error)) from error
        self._forget(key)
        if log is None:
            _remove(aside)
            return
        del self.logs[key]
        log.moved(aside)
        self.ground.deletions.later(aside, log.config.file_delete_delay_ms, lambda: _delete(log))

    def _forget(self, key: TopicPartition) -> None:
        """Forget the directory of a log that was closed, and what the checkpoints say of the log."""
        self._closed.pop(key, None)
        for offsets in (self._recovery_points, self._log_start_offsets, self._high_watermarks):
            offsets.pop(key, None)

    def _name_aside(self, topic: str, partition: int, suffix: str) -> str:
        ending = f"-{partition}.{os.urandom(16).hex()}{suffix}"
        return os.path.join(self.path, topic[: MAX_NAME - len(ending)] + ending)

    # -- from time to time

    def checkpoint(self) -> None:
        """Write down from where each log would have to be checked, where it starts, and its high watermark. OSError."""
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
        seen below the start of one that began later. If they cannot be written they are deleted: all logs are checked
        whole then.
        """
        if not self.ground.files.durable:
            return
        try:
            self.checkpoint()
        except OSError as error:
            _log.error("%s; the checkpoints are deleted", explain(error))
            for name in (checkpoints.RECOVERY_POINTS, checkpoints.LOG_START_OFFSETS):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.path, name))

    def _read_offsets(self, name: str) -> dict[TopicPartition, int]:
        try:
            return checkpoints.read_offsets(os.path.join(self.path, name))
        except checkpoints.CorruptCheckpoint as error:
            _log.error("%s; it is taken as empty", error)
            return {}

    def _write_offsets(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        if self._checkpointed.get(name) != offsets:  # an idle broker forces nothing to the disk
            checkpoints.write_offsets(self.ground.files, os.path.join(self.path, name), offsets)
            self._checkpointed[name] = dict(offsets)

    # -- the end

    def close(self, *, discard: bool = False) -> None:
        """Close all logs, and the directory. With `discard` nothing is written: the directory goes away with its
        broker.

        What cannot be written is logged, and the directory is not marked as cleanly stopped then.
        """
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
        failed = [log.name for log in self.logs.values() if not _close(log)]
        try:
            self.checkpoint()
            # A log that was never opened has not been checked either.
            if not failed and (self._was_clean or not self._closed):
                checkpoints.mark_clean_shutdown(self.ground.files, self.path)
        except OSError as error:
            _log.error("%s; all logs are checked with the next start", explain(error))
        else:
            if failed:
                _log.error("%s: all logs are checked with the next start, because of %s", self.path, ", ".join(failed))


def _close(log: Log) -> bool:
    """Close a log. Says whether everything was written."""
    try:
        log.flush(also_empty=True)
        log.close()
        return True
    except StorageFailed as error:
        _log.error("%s is not closed in order: %s", log.name, error.reason)
        log.release()
        return False


def _is_log(directory: str) -> bool:
    """Whether a broker has kept a log there: there is a file that only a log has."""
    try:
        names = os.listdir(directory)
    except OSError:
        return True  # as far as one can see; the reason is told when it is opened
    return any(name.endswith(".log") or name == checkpoints.PARTITION_METADATA for name in names)


def _topic_id(directory: str) -> bytes | None:
    try:
        return checkpoints.read_topic_id(directory)
    except checkpoints.CorruptCheckpoint as error:
        _log.warning("%s", error)
    except OSError as error:
        _log.warning("%s", explain(error))
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
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise DirectoryInUse(f"{os.path.dirname(path)} is used by another broker") from error
            error.filename = path
            raise
    return fd


def _remove(directory: str) -> None:
    """Delete a directory and all in it."""
    import shutil

    shutil.rmtree(directory, ignore_errors=True)
