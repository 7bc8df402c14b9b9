"""A log directory of a broker: a directory for each log, and the checkpoint files for all of them.

A broker has one or several of them (directories.py).

Only one broker may use a directory. It locks `.lock` as Apache Kafka does, in a way that also excludes other brokers in
the same process. The directory of a log is named TOPIC-PARTITION. It is renamed to TOPIC-PARTITION.ID-delete when the
log is deleted, and to TOPIC-PARTITION.ID-stray if the topic has been deleted and created again. While a log is moved
here from another log directory, its copy is in TOPIC-PARTITION.ID-future. Other directories are ignored.

Existing logs are opened on first use, with the configuration of their topic. `.kafka_cleanshutdown` is written when all
logs have been closed; without it, they need recovery. The checkpoints, which are written periodically and at shutdown,
tell at which offset recovery starts. If a log cannot be opened, the others are still available.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
from collections.abc import Callable, Container
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkalet import formats
from kafkalet.clock import Clock
from kafkalet.formats import DELETE, FUTURE, METADATA_TOPIC, STRAY

from . import checkpoints
from .checkpoints import TopicPartition
from .config import LogConfig
from .environment import LogEnvironment
from .failures import StorageFailed
from .file_system import DISK, FileSystem
from .files import Files, explain, make_directories
from .identity import check_identity, read_identity, write_identity

if TYPE_CHECKING:  # a broker starts faster without these modules
    from .log import Log
    from .remote import Tier, TieredLog

_LOG = logging.getLogger(__name__)

LOCK = ".lock"
MAX_NAME = 255
MAX_PARTITION = (1 << 31) - 1

# Kafka's Topic.validate and UnifiedLog.DeleteDirPattern. Leading zeros would give a partition two names.
LOG_NAME = re.compile(r"(?!\.{1,2}-)([a-zA-Z0-9._-]{1,249})-(0|[1-9][0-9]{0,9})", re.ASCII)
BEING_MOVED = re.compile(rf"{LOG_NAME.pattern}\.\S+-future", re.ASCII)
BEING_DELETED = re.compile(r"\S+-[0-9]+\.\S+-delete", re.ASCII)


class ClosedLog(NamedTuple):
    """A log that is not open, with the offsets that are used when it is opened."""

    path: str
    log_start_offset: int
    high_watermark: int


class DirectoryInUse(Exception):
    """Another broker has locked the data directory."""


class LogDirectory:
    """The logs of one broker. `path` is created if it does not exist; `close` releases the lock."""

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
        system: FileSystem = DISK,
        check_interrupted: Callable[[], None] = lambda: None,
        on_failure: Callable[[LogDirectory], None] | None = None,
        call_soon: Callable[[Callable[[], None]], object] = lambda function: None,
        tier_of: Callable[[TieredLog], Tier] | None = None,
    ) -> None:
        """Lock the directory. With `durable`, writes are synced to disk wherever Kafka does so.

        If there is no `meta.properties`, it is created with `node_id` and with `cluster_id` or a new cluster id. A
        directory that belongs to another cluster, or to a broker other than `given_node_id`, is refused.
        `check_interrupted` is called during recovery; it raises StartInterrupted if the broker has been asked to stop.
        With `on_failure`, the first failure of a file takes all logs of the directory offline, and `on_failure` is then
        called. Without it, failures.py decides for each log. `call_soon` runs a function in the thread that uses the
        logs; other threads call it after a failure. `tier_of` returns the remote segments of a log.
        Raises DirectoryInUse, IdentityRefused, and OSError with a file name.
        """
        self.path = path
        self.clock = clock
        self.failure: str | None = None
        """Why the directory is offline; None while it is online."""
        self._on_failure = on_failure
        self._call_soon = call_soon
        self._thread_id = threading.get_ident()
        """The thread that uses the logs."""
        self._is_opening = False
        """Whether an existing log is being opened."""
        files = Files(durable=durable, max_open=max_open_files, system=system, on_failure=self._fail)
        self.environment = LogEnvironment(files, clock, self._rewrite_checkpoints, check_interrupted, path, call_soon)
        self.environment.tier_of = tier_of
        self.logs: dict[TopicPartition, Log] = {}
        """The open logs."""
        self._closed: dict[TopicPartition, str] = {}
        """Directories of existing logs that are not open: not opened yet, or closed by `close_log`."""
        self.futures: dict[TopicPartition, Log] = {}
        """The open copies of logs that are being moved to this directory."""
        self._closed_futures: dict[TopicPartition, str] = {}
        self._closed_cleanly: set[TopicPartition] = set()
        """The logs that `close_log` has closed."""
        self._empty: dict[TopicPartition, str] = {}
        """Directories that are named like a log but contain no log files."""
        self._checkpointed: dict[str, dict[TopicPartition, int]] = {}
        """The offsets in each checkpoint file."""
        self.directory_id: str | None = None
        """The id in `meta.properties`; None for a temporary directory, or one of Apache Kafka before 3.7."""
        self._has_deleted = False
        """Whether logs were deleted since the directory was synced."""
        make_directories(path, system)
        self._lock = _lock(os.path.join(path, LOCK), system)
        self._is_locked = True
        try:
            self._recovery_points = self._read_offsets(formats.RECOVERY_POINTS)
            self._log_start_offsets = self._read_offsets(formats.LOG_START_OFFSETS)
            self._high_watermarks = self._read_offsets(formats.HIGH_WATERMARKS)
            self.cluster_id = self._identify(cluster_id, node_id, given_node_id)
            self._find_logs()
            self.was_clean = checkpoints.take_clean_shutdown(files, path)
            """Whether the directory was closed cleanly, so that its logs need no recovery."""
            if not self.was_clean and self._closed:
                from .progress import RecoveryProgress

                points = {path: self._recovery_points.get(key, 0) for key, path in self._closed.items()}
                self.environment.progress = RecoveryProgress(path, points, system)
        except BaseException:
            self._unlock()
            raise

    def _unlock(self) -> None:
        if self._is_locked:
            self._is_locked = False
            self.environment.files.system.close(self._lock)

    # Failures

    def _fail(self, error: OSError) -> None:
        """Take the directory offline because a file operation has failed, unless its logs handle failures.

        An existing log that cannot be opened may be damaged, which does not concern the other logs.
        """
        if self._on_failure is None or self._is_opening:
            return
        if threading.get_ident() == self._thread_id:
            self.take_offline(explain(error))
        else:
            with suppress(RuntimeError):  # the event loop has been closed
                self._call_soon(lambda: self.take_offline(explain(error)))

    def _check_online(self) -> None:
        if self.failure is not None:
            raise StorageFailed(self.failure)

    def take_offline(self, reason: str) -> None:
        """Take all logs of the directory offline for `reason`. Requests for them get KAFKA_STORAGE_ERROR."""
        if self.failure is not None:
            return
        self.failure = f"{reason}; log directory {self.path} is offline until the broker restarts"
        _LOG.error("%s", self.failure)
        for log in (*self.logs.values(), *self.futures.values()):
            log.failures.offline = self.failure
        if self._on_failure is not None:
            self._on_failure(self)

    def abandon(self) -> None:
        """Release everything after a failure, without writing anything. Another broker can lock the directory."""
        self.environment.cleaning.abort_all()
        self.environment.deletions.cancel_all()
        self.environment.flusher.abandon()
        for log in (*self.logs.values(), *self.futures.values()):
            log.release()
        for logs in (self.logs, self.futures, self._closed, self._closed_futures, self._empty):
            logs.clear()
        self.environment.files.close()
        self._unlock()

    # Existing logs

    def _find_logs(self) -> None:
        system = self.environment.files.system
        for name in system.names(self.path):
            directory = os.path.join(self.path, name)
            if not system.is_directory(directory):
                continue
            if BEING_DELETED.fullmatch(name):
                _LOG.info("deleting %s, left by the last broker", directory)
                system.remove_tree(directory)
                continue
            if (moved := BEING_MOVED.fullmatch(name)) is not None and int(moved[2]) <= MAX_PARTITION:
                self._closed_futures[moved[1], int(moved[2])] = directory
                continue
            named = LOG_NAME.fullmatch(name)
            if named is None or int(named[2]) > MAX_PARTITION:
                _LOG.warning("ignoring %s, which is not the directory of a log", directory)
            elif named[1] != METADATA_TOPIC:
                self._closed[named[1], int(named[2])] = directory

    def _identify(self, cluster_id: str | None, node_id: int, given_node_id: int | None) -> str:
        """Return the cluster id of this directory; `meta.properties` is written if it does not exist."""
        found = read_identity(self.environment.files, self.path)
        if found is not None:
            check_identity(self.path, found, cluster_id, given_node_id)
            self.directory_id = found.directory_id
            if found.cluster_id is not None:
                return found.cluster_id
        cluster_id = cluster_id or formats.uuid_text(os.urandom(16))
        if self.environment.files.durable and found is None:
            self.directory_id = formats.uuid_text(os.urandom(16))
            properties = {
                "node.id": str(node_id),
                "directory.id": self.directory_id,
                "version": "1",
                "cluster.id": cluster_id,
            }
            write_identity(self.environment.files, self.path, properties)
        return cluster_id

    def found(self, known: Container[TopicPartition] = ()) -> list[tuple[str, int, bytes | None]]:
        """Return the topic, partition and topic id of every log that has not been opened yet, in order.

        A directory that is named like a log but contains no log files, such as backup-20240101, is not a log. Logs in
        `known` are left out, and their directories are not read.
        """
        system = self.environment.files.system
        unknown = sorted((key, directory) for key, directory in self._closed.items() if key not in known)
        for key, directory in unknown:
            if not is_log(directory, system):
                self._empty[key] = self._closed.pop(key)
        return [(*key, self._topic_id(directory)) for key, directory in unknown if key in self._closed]

    def closed_logs(self) -> dict[TopicPartition, ClosedLog]:
        """Return the logs that are not open."""
        return {
            key: ClosedLog(path, self._log_start_offsets.get(key, 0), self._high_watermarks.get(key, 0))
            for key, path in self._closed.items()
        }

    def size_bytes(self, topic: str, partition: int) -> int:
        """Return the size in bytes of the segments of a log that is not open; 0 if it cannot be read."""
        system = self.environment.files.system
        directory = self._closed.get((topic, partition))
        if directory is None:
            return 0
        try:
            names = [name for name in system.names(directory) if name.endswith(".log")]
            return sum(system.status(os.path.join(directory, name)).st_size for name in names)
        except OSError as error:
            _LOG.warning("%s", explain(error))
            return 0

    def _topic_id(self, directory: str) -> bytes | None:
        """Return the topic id of a log that is not open, or None if it is missing or cannot be read."""
        try:
            return checkpoints.read_topic_id(self.environment.files, directory)
        except checkpoints.CorruptCheckpoint as error:
            _LOG.warning("%s", error)
        except OSError as error:
            _LOG.warning("%s", explain(error))
        return None

    # Logs

    @property
    def count(self) -> int:
        """The number of logs, open or not."""
        return len(self.logs) + len(self._closed)

    def has(self, topic: str, partition: int) -> bool:
        """Return whether the log of a partition is in this directory, open or not."""
        key = (topic, partition)
        return key in self.logs or key in self._closed or key in self._empty

    def topic_id(self, topic: str, partition: int) -> bytes | None:
        """Return the topic id of a log, or None if it is unknown."""
        log = self.logs.get((topic, partition))
        if log is not None:
            return log.topic_id
        path = self._closed.get((topic, partition))
        return None if path is None else self._topic_id(path)

    def set_aside(self, topic: str, partition: int) -> None:
        """Rename the directory of a log that is not open to -stray. Raises StorageFailed."""
        path = self._closed.get((topic, partition))
        if path is not None:
            try:
                self.rename_to_stray(topic, partition, "it belongs to a deleted topic of the same name")
            except OSError as error:
                self._fail(error)
                raise StorageFailed(explain(error), explain(error)) from error

    def get_or_create(self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig) -> Log:
        """Return the log of a partition, opening or creating it if needed.

        An existing log with a different topic id belongs to a deleted topic of the same name; its directory is renamed
        to -stray. Raises StorageFailed if the log cannot be opened or created: an existing log is then unchanged, and a
        new one leaves nothing behind.
        """
        key = (topic, partition)
        if key in self.logs:
            return self.logs[key]
        self._check_online()
        directory = self._closed.get(key) or self._empty.get(key)
        try:
            if directory is not None and topic_id is not None and self._topic_id(directory) not in (None, topic_id):
                self._rename_to_stray(topic, partition, directory, "it belongs to a deleted topic of the same name")
                directory = None
            if directory is None:
                log = self._create(key, topic_id, config)
            else:
                self._is_opening = True
                log = self._open(key, directory, topic_id, config)
        except OSError as error:
            self._fail(error)
            raise StorageFailed(explain(error), explain(error)) from error
        finally:
            self._is_opening = False
        self.logs[key] = log
        self._closed.pop(key, None)
        self._empty.pop(key, None)
        return log

    def _create(self, key: TopicPartition, topic_id: bytes | None, config: LogConfig) -> Log:
        from .recovery import create_log

        if any(
            key in offsets for offsets in self._checkpointed.values()
        ):  # the checkpoints contain an earlier log of this name
            self._rewrite_checkpoints()
        return create_log(os.path.join(self.path, "{}-{}".format(*key)), *key, topic_id, config, self.environment)

    def _open(self, key: TopicPartition, directory: str, topic_id: bytes | None, config: LogConfig) -> Log:
        """Open a log. If it was cleanly closed but is damaged, recover it as after a crash.

        Apache Kafka fails to start in that case, and recovers the log at the next start.
        """
        from .recovery import LogDamaged, open_log

        was_clean = self.was_clean or key in self._closed_cleanly
        self._closed_cleanly.discard(key)
        for clean in (True, False) if was_clean else (False,):
            try:
                log = open_log(
                    directory,
                    *key,
                    topic_id,
                    config,
                    self.environment,
                    clean=clean,
                    log_start_offset=max(self._log_start_offsets.get(key, 0), 0),
                    recovery_point=self._recovery_points.get(key, 0),
                )
                break
            except LogDamaged as error:
                if not clean:
                    raise StorageFailed(str(error), str(error)) from error
                _LOG.error("%s was cleanly closed, but is damaged: %s", directory, error)
        log.update_high_watermark(self._high_watermarks.get(key, 0))
        if self.environment.progress is not None and self.environment.progress.log_is_done():
            self.environment.progress = None
        _LOG.log(logging.DEBUG if was_clean else logging.INFO, "opened %r", log)
        return log

    def rename_to_stray(self, topic: str, partition: int, reason: str) -> None:
        """Rename the directory of a log that is not open to -stray. It is not found any more. Raises OSError."""
        self._rename_to_stray(topic, partition, self._closed[topic, partition], reason)

    def _rename_to_stray(self, topic: str, partition: int, directory: str, reason: str) -> None:
        aside = self._new_name(topic, partition, STRAY)
        _LOG.warning("renaming %s to %s: %s", directory, aside, reason)
        self.environment.files.system.rename(directory, aside)
        self.environment.files.sync_directory(self.path)
        self._forget((topic, partition))

    def delete(self, topic: str, partition: int) -> None:
        """Delete a log. Its directory is renamed immediately and removed after `file.delete.delay.ms`.

        The directory of a log that could not be opened is removed immediately. On failure, the log stays and
        StorageFailed is raised.
        """
        key = (topic, partition)
        log = self.logs.get(key)
        directory = self._closed.get(key) if log is None else log.directory
        if directory is None:
            return
        aside = self._new_name(topic, partition, DELETE)
        self.environment.cleaning.abort(key)
        self._has_deleted = True
        try:
            if log is not None:
                self.environment.deletions.hurry(log.directory)
                log.release()
            with suppress(FileNotFoundError):  # the directory is not created before the first write
                self.environment.files.system.rename(directory, aside)
        except OSError as error:
            self._fail(error)
            raise StorageFailed(explain(error), explain(error)) from error
        self._forget(key)
        if log is None:
            self.environment.files.system.remove_tree(aside)
            return
        del self.logs[key]
        log.moved(aside)
        self.environment.deletions.later(aside, log.config.file_delete_delay_ms, lambda: _delete(log))

    def sync_deletions(self) -> None:
        """Flush the names of deleted logs to disk, so that these logs do not come back. Raises OSError."""
        if self._has_deleted:
            self.environment.files.sync_directory(self.path)
            self._has_deleted = False

    # Logs that are being moved to this directory

    def futures_found(self) -> list[TopicPartition]:
        """Return the logs that were being moved to this directory when the broker last stopped."""
        return list(self._closed_futures)

    def get_or_create_future(self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig) -> Log:
        """Return the copy of a log that is being moved to this directory, opening or creating it if needed.

        A copy with a different topic id is deleted first. Raises StorageFailed.
        """
        from .recovery import LogDamaged, create_log, open_log

        key = (topic, partition)
        if key in self.futures:
            return self.futures[key]
        self._check_online()
        path = self._closed_futures.pop(key, None)
        system = self.environment.files.system
        try:
            if path is not None and topic_id is not None and self._topic_id(path) not in (None, topic_id):
                system.remove_tree(path)
                path = None
            if path is not None:
                try:
                    log = open_log(
                        path,
                        *key,
                        topic_id,
                        config,
                        self.environment,
                        clean=self.was_clean,
                        log_start_offset=0,
                        recovery_point=0,
                    )
                except LogDamaged as error:
                    _LOG.error("%s: %s; the log is copied again", path, error)
                    system.remove_tree(path)
                    path = None
            if path is None:
                path = self._new_name(topic, partition, FUTURE)
                log = create_log(path, *key, topic_id, config, self.environment)
        except OSError as error:
            self._fail(error)
            raise StorageFailed(explain(error), explain(error)) from error
        self.futures[key] = log
        return log

    def delete_future(self, topic: str, partition: int) -> None:
        """Delete the copy of a log, because it will not be moved to this directory."""
        key = (topic, partition)
        log = self.futures.pop(key, None)
        path = self._closed_futures.pop(key, None) if log is None else log.directory
        if log is not None:
            self.environment.deletions.hurry(log.directory)
            log.release()
        if path is not None:
            self.environment.files.system.remove_tree(path)

    def adopt_future(self, topic: str, partition: int) -> Log:
        """Make the copy of a log the log of the partition. The caller has to delete the old log in its directory.

        If the broker crashes in between, the partition is in two directories. Raises StorageFailed.
        """
        key = (topic, partition)
        log = self.futures[key]
        files, path = self.environment.files, os.path.join(self.path, f"{topic}-{partition}")
        self.environment.deletions.hurry(log.directory)
        try:
            log.write_topic_id()
            files.system.rename(log.directory, path)
            log.moved(path)
            if files.durable:
                files.sync_directory(self.path)
            self.logs[key] = self.futures.pop(key)
            self.checkpoint()  # without it, the log start offset would be unknown after a crash
        except OSError as error:
            self._fail(error)
            raise StorageFailed(explain(error), explain(error)) from error
        return log

    # Closing logs

    def close_log(self, topic: str, partition: int) -> None:
        """Close a log as if the broker stopped. `get_or_create` opens it again. Raises StorageFailed."""
        key = (topic, partition)
        log = self.logs[key]
        self.environment.cleaning.abort(key)
        self.environment.deletions.hurry(log.directory)
        self.environment.flusher.wait()
        log.flush(also_empty=True)
        log.close()
        self._keep_offsets(key, log)
        del self.logs[key]
        self._closed[key] = log.directory
        self._closed_cleanly.add(key)

    def _forget(self, key: TopicPartition) -> None:
        """Remove a log from the closed logs and from the checkpoints."""
        self.environment.cleaning.remove(key)
        self._closed.pop(key, None)
        for offsets in (self._recovery_points, self._log_start_offsets, self._high_watermarks):
            offsets.pop(key, None)

    def _new_name(self, topic: str, partition: int, suffix: str) -> str:
        ending = f"-{partition}.{os.urandom(16).hex()}{suffix}"
        return os.path.join(self.path, topic[: MAX_NAME - len(ending)] + ending)

    # Checkpoints

    def checkpoint(self) -> None:
        """Write recovery points, log start offsets and high watermarks to the checkpoint files. Raises OSError."""
        self.write_log_start_offsets()
        self.write_recovery_points()
        self.write_high_watermarks()

    def write_recovery_points(self) -> None:
        """Write recovery-point-offset-checkpoint. Raises OSError.

        Recovery points are at or above the log start offsets although deleted records need not be on disk. A log start
        offset that has changed must be saved first: after a crash, it hides those records.
        """
        self.environment.flusher.collect()
        self._keep_all_offsets()
        saved_starts = self._checkpointed.get(formats.LOG_START_OFFSETS, {})
        saved_points = self._checkpointed.get(formats.RECOVERY_POINTS, {})
        points = dict(self._recovery_points)
        for key, start in self._log_start_offsets.items():
            if start > saved_starts.get(key, 0) and key in points:
                points[key] = min(points[key], saved_points.get(key, 0))
        self._write_offsets(formats.RECOVERY_POINTS, points)

    def write_log_start_offsets(self) -> None:
        """Write log-start-offset-checkpoint. Raises OSError."""
        self._keep_all_offsets()
        self._write_offsets(formats.LOG_START_OFFSETS, self._log_start_offsets)

    def write_high_watermarks(self) -> None:
        """Write replication-offset-checkpoint. Raises OSError."""
        self._keep_all_offsets()
        self._write_offsets(formats.HIGH_WATERMARKS, self._high_watermarks)

    def _keep_all_offsets(self) -> None:
        for key, log in self.logs.items():
            self._keep_offsets(key, log)

    def _keep_offsets(self, key: TopicPartition, log: Log) -> None:
        self._recovery_points[key] = log.recovery_point
        self._high_watermarks[key] = log.high_watermark
        if log.log_start_offset > log.segments.first.base_offset or log.local.tier is not None:
            self._log_start_offsets[key] = log.log_start_offset
        else:
            self._log_start_offsets.pop(key, None)

    def _rewrite_checkpoints(self) -> None:
        """Rewrite the checkpoints because the entry for a log is no longer correct.

        After a crash, the old entries would be wrong: a truncated log would not be recovered below its old recovery
        point, and a log that was created again would get the start offset of the deleted one. If the checkpoints cannot
        be written, they are deleted, so that all logs are recovered completely.
        """
        if not self.environment.files.durable:
            return
        try:
            self.checkpoint()
        except OSError as error:
            _LOG.error("%s; deleting the checkpoints", explain(error))
            for name in (formats.RECOVERY_POINTS, formats.LOG_START_OFFSETS):
                self._checkpointed.pop(name, None)  # so that the next checkpoint writes the file
                with suppress(OSError):
                    self.environment.files.system.unlink(os.path.join(self.path, name))

    def _read_offsets(self, name: str) -> dict[TopicPartition, int]:
        try:
            found = checkpoints.read_offsets(self.environment.files, os.path.join(self.path, name))
        except checkpoints.CorruptCheckpoint as error:
            _LOG.error("%s; treating it as empty", error)
            return {}
        if found:
            self._checkpointed[name] = dict(found)
        return found

    def _write_offsets(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        if self._checkpointed.get(name) != offsets:  # avoids fsync while the broker is idle
            try:
                checkpoints.write_offsets(self.environment.files, os.path.join(self.path, name), offsets)
            except OSError as error:
                self._fail(error)
                raise
            self._checkpointed[name] = dict(offsets)

    # Closing

    def close(self, *, discard: bool = False) -> None:
        """Close all logs and the directory. With `discard` nothing is written, because the directory will be removed.

        Failed writes are logged, and the directory is then not marked as cleanly shut down.
        """
        self.environment.cleaning.abort_all()
        try:
            if discard:
                self.environment.deletions.cancel_all()
                for log in (*self.logs.values(), *self.futures.values()):
                    log.release()
            else:
                self._close_logs()
        finally:
            self.logs.clear()
            self.futures.clear()
            self.environment.flusher.close()
            self.environment.files.close()
            self._unlock()

    def _close_logs(self) -> None:
        self.environment.deletions.hurry_all()
        self.environment.flusher.wait()
        failed = [log.name for log in (*self.logs.values(), *self.futures.values()) if not _close(log)]
        try:
            self.checkpoint()
            # A log that was never opened may still need recovery.
            if not failed and self.failure is None and (self.was_clean or not self._closed):
                checkpoints.mark_clean_shutdown(self.environment.files, self.path)
        except OSError as error:
            _LOG.error("%s; all logs will be recovered at the next start", explain(error))
        else:
            if failed:
                _LOG.error(
                    "%s: could not close %s; all logs will be recovered at the next start", self.path, ", ".join(failed)
                )


def _close(log: Log) -> bool:
    """Close a log. Return whether everything was written."""
    try:
        log.flush(also_empty=True)
        log.close()
        return True
    except StorageFailed as error:
        _LOG.error("%s could not be closed: %s", log.name, error.reason)
        log.release()
        return False


def is_log(directory: str, system: FileSystem) -> bool:
    """Return whether the directory contains a file that must belong to a log."""
    try:
        names = system.names(directory)
    except OSError:
        return True  # cannot tell; opening the log will report the error
    return any(name.endswith(".log") or name == formats.PARTITION_METADATA for name in names)


def _delete(log: Log) -> None:
    """Delete a log with its directory. File ranges that have not been sent yet stay readable."""
    log.failures.offline = f"{log.name} was deleted"  # for lookups in progress
    for segment in log.segments:
        segment.remove()
    log.local.environment.files.system.remove_tree(log.directory)


def lock_directory(path: str, system: FileSystem = DISK) -> int:
    """Lock a directory that exists and return the descriptor of `.lock`. Raises DirectoryInUse, OSError."""
    return _lock(os.path.join(path, LOCK), system)


def _lock(path: str, system: FileSystem) -> int:
    """Lock a file and return its descriptor; closing it releases the lock. Raises DirectoryInUse."""
    try:
        return system.lock(path)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN) and not error.filename:
            raise DirectoryInUse(f"{os.path.dirname(path)} is in use by another broker") from None
        error.filename = path
        raise
