"""The log directories of one broker: where new logs are created, and what happens if a directory fails.

A broker with several directories (`log.dirs`) stores each partition in one of them. A new partition goes to the
directory with the fewest partitions; an existing one is found where it is. Each directory has its own lock,
checkpoints, clean-shutdown marker and `meta.properties` (directory.py).

A directory that cannot be opened, or that fails later, is offline until the broker restarts. The others stay available.
While a directory is offline, a partition that is not found may be in it, and is not created again in another directory.
If the data is temporary, directories do not go offline; failures.py describes what happens instead.

Source: kafka.log.LogManager, org.apache.kafka.storage.internals.log.LogDirFailureChannel.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from kafkalet import formats
from kafkalet.clock import Clock

from .checkpoints import TopicPartition
from .config import LogConfig
from .directory import LogDirectory, is_log
from .failures import StorageFailed
from .file_system import DISK, FileSystem
from .files import explain

if TYPE_CHECKING:  # a broker starts faster without this module
    from .log import Log
    from .remote import Tier, TieredLog

_LOG = logging.getLogger(__name__)

MAX_OPEN_FILES = 256
MIN_OPEN_FILES = 16


class DirectoriesRefused(Exception):
    """The broker cannot start with these log directories."""


class LogDirectories:
    """The logs of one broker, in the directories `paths`. Directories that do not exist are created.

    A controller has no logs, and no directories.
    """

    def __init__(
        self,
        paths: Sequence[str],
        clock: Clock,
        *,
        durable: bool = True,
        cluster_id: str | None = None,
        node_id: int = 1,
        given_node_id: int | None = None,
        system: FileSystem = DISK,
        check_interrupted: Callable[[], None] = lambda: None,
        call_soon: Callable[[Callable[[], None]], object] = lambda function: None,
        tier_of: Callable[[TieredLog], Tier] | None = None,
    ) -> None:
        """Open the directories. The arguments are those of LogDirectory.

        A directory that cannot be opened because of an OSError is offline. If all of them are offline,
        DirectoriesRefused is raised, or the OSError itself if there is only one. DirectoriesRefused is also raised if a
        directory is given twice, or if two directories contain the same partition. Raises DirectoryInUse and
        IdentityRefused as well.
        """
        self.paths = [os.path.abspath(path) for path in paths]
        """The paths of all directories, including those that are offline, in the configured order."""
        self.durable = durable
        self._system = system
        self.online: list[LogDirectory] = []
        self.offline: dict[str, str] = {}
        """The paths of the directories that are offline, with the reasons."""
        self.on_failure: Callable[[LogDirectory], None] = lambda directory: None
        """Called when a directory has failed and is no longer in `online`, often in the middle of an operation."""
        self.cordoned: set[str] = set()
        """The paths of the directories that receive no new logs, unless all do not."""
        self.preferred: dict[TopicPartition, str] = {}
        """The directories that clients have chosen for partitions that do not exist yet."""
        self._open = partial(
            LogDirectory,
            clock=clock,
            durable=durable,
            node_id=node_id,
            given_node_id=given_node_id,
            max_open_files=max(MAX_OPEN_FILES // max(len(self.paths), 1), MIN_OPEN_FILES),
            system=system,
            check_interrupted=check_interrupted,
            on_failure=self._failed if durable else None,
            call_soon=call_soon,
            tier_of=tier_of,
        )
        _refuse_duplicates(self.paths)
        errors: list[OSError] = []
        try:
            for path in self.paths:
                try:
                    directory = self._open(path, cluster_id=cluster_id)
                except OSError as error:
                    errors.append(error)
                    self.offline[path] = f"{path} cannot be used: {explain(error)}"
                    continue
                self.online.append(directory)
                cluster_id = cluster_id or directory.cluster_id
            self._check()
            if errors and not self.online:
                if len(errors) == 1:
                    raise errors[0]
                raise DirectoriesRefused("none of the log directories can be used: " + "; ".join(map(explain, errors)))
        except BaseException:
            self.close(discard=True)
            raise
        self._cluster_id = cluster_id or ""
        for reason in self.offline.values():
            _LOG.error("%s; this log directory is offline, and its partitions are not served", reason)

    def _check(self) -> None:
        """Raise DirectoriesRefused if a directory is a copy of another, or if a partition is in two directories.

        Two logs with different topic ids belong to different topics of that name, one of which has been deleted.
        """
        places: dict[TopicPartition, LogDirectory] = {}
        for directory in self.online:
            for key, closed in directory.closed_logs().items():
                other = places.setdefault(key, directory)
                if other is directory:
                    continue
                ids_of_topic = {other.topic_id(*key), directory.topic_id(*key)}
                if len(ids_of_topic) == 2 and None not in ids_of_topic:
                    continue
                other_path = other.closed_logs()[key].path
                if is_log(other_path, self._system) and is_log(closed.path, self._system):
                    raise DirectoriesRefused(
                        f"partition {key[0]}-{key[1]} is in two log directories: {other_path} and {closed.path}. The "
                        "broker may have stopped while it moved the partition, or a directory was copied. Delete one "
                        "of the two; if a disk has failed recently, the one on that disk"
                    )
        ids: dict[str, str] = {}
        for directory in self.online:
            id_ = directory.directory_id
            if id_ is not None and (first := ids.setdefault(id_, directory.path)) != directory.path:
                raise DirectoriesRefused(
                    f"{first} and {directory.path} have the same directory.id {id_} in meta.properties; one is a copy "
                    "of the other. Use different directories"
                )

    @property
    def cluster_id(self) -> str:
        return self._cluster_id

    @property
    def have_all_failed(self) -> bool:
        return not self.online

    def __iter__(self) -> Iterator[LogDirectory]:
        """Iterate over the directories that are online."""
        return iter(list(self.online))

    # Logs

    def sync_deletions(self) -> None:
        """Flush the names of deleted logs to disk. Raises OSError."""
        for directory in self:
            directory.sync_deletions()

    def holder(self, topic: str, partition: int) -> LogDirectory | None:
        """Return the online directory that has the log of a partition, open or not; None if there is none."""
        return next((directory for directory in self.online if directory.has(topic, partition)), None)

    def place(self, topic: str, partition: int) -> LogDirectory | None:
        """Return the online directory that has the log of a partition, or in which it would be created."""
        return self.holder(topic, partition) or next(iter(self._candidates((topic, partition))), None)

    def at(self, path: str) -> LogDirectory | None:
        """Return the online directory at `path`, or None."""
        return next((directory for directory in self.online if directory.path == path), None)

    def found(self, known: Container[TopicPartition] = ()) -> list[tuple[str, int, bytes | None]]:
        """Return the topic, partition and topic id of every log that has not been opened yet, in order.

        Logs in `known` are left out; see LogDirectory.found.
        """
        logs = [found for directory in self.online for found in directory.found(known)]
        return sorted(logs, key=lambda found: found[:2])

    @property
    def were_clean(self) -> bool:
        """Whether all directories are online and were closed cleanly: all logs are known and need no recovery."""
        return not self.offline and all(directory.was_clean for directory in self.online)

    def size_bytes(self, topic: str, partition: int) -> int:
        """Return the size in bytes of a log that is not open; 0 if it cannot be read."""
        directory = self.holder(topic, partition)
        return 0 if directory is None else directory.size_bytes(topic, partition)

    def get_or_create(
        self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig, *, is_new: bool = True
    ) -> Log:
        """Return the log of a partition, opening or creating it if needed; see LogDirectory.get_or_create.

        A log that is not found is created in the preferred directory, if there is one. Otherwise, the directories are
        tried in turn, beginning with the one that has the fewest logs. If the partition is not new and a directory is
        offline, the log may be there, and StorageFailed is raised. It is also raised if no directory can create the
        log.
        """
        key = (topic, partition)
        holders = [directory for directory in self.online if directory.has(topic, partition)]
        for other in holders if len(holders) > 1 and topic_id is not None else ():
            if other.topic_id(topic, partition) not in (None, topic_id):
                other.set_aside(topic, partition)
        holder = self.holder(topic, partition)
        if holder is not None:
            return holder.get_or_create(topic, partition, topic_id, config)
        if self.offline and not is_new:
            raise StorageFailed(f"the log is not in a directory that is online; {'; '.join(self.offline.values())}")
        failure = StorageFailed("; ".join(self.offline.values()) or "no log directory is available")
        for directory in self._candidates(key):
            try:
                log = directory.get_or_create(topic, partition, topic_id, config)
            except StorageFailed as error:
                failure = error
                if directory.failure is None:  # the failure concerns only this log
                    break
            else:
                self.preferred.pop(key, None)
                return log
        raise failure

    def _candidates(self, key: TopicPartition) -> list[LogDirectory]:
        """Return the directories in which a log can be created, the best one first (LogManager.nextLogDirs)."""
        preferred = self.at(self.preferred.get(key, ""))
        if preferred is not None:
            return [preferred]
        if len(self.online) == 1:
            return self.online.copy()
        counts = {directory: directory.count for directory in self.online if directory.path not in self.cordoned}
        return sorted(counts, key=counts.__getitem__) or self.online[:1]

    def delete(self, topic: str, partition: int) -> None:
        """Delete a log; see LogDirectory.delete. A log in a directory that is offline stays. Raises StorageFailed."""
        self.preferred.pop((topic, partition), None)
        if (directory := self.holder(topic, partition)) is not None:
            directory.delete(topic, partition)

    def replace_by_future(self, topic: str, partition: int, to: LogDirectory) -> Log:
        """Replace a log by its copy in the directory `to`, and delete the old log (replaceCurrentWithFutureLog).

        Return the copy. Raises StorageFailed if the copy could not replace the log.
        """
        source = self.holder(topic, partition)
        assert source is not None, f"{topic}-{partition} is not open"
        old, log = source.logs[topic, partition], to.futures[topic, partition]
        source.environment.cleaning.abort((topic, partition))
        to.adopt_future(topic, partition)
        log.reconfigure(old.config)
        log.update_high_watermark(old.high_watermark)
        source.environment.cleaning.move((topic, partition), to.environment.cleaning)
        try:
            source.delete(topic, partition)
            source.checkpoint()
        except (StorageFailed, OSError) as error:  # the directory has failed; only its other logs are concerned
            _LOG.error("%s-%d was moved to %s, but the old log cannot be deleted: %s", topic, partition, to.path, error)
            old.release()
            source.logs.pop((topic, partition), None)
        return log

    def close_log(self, topic: str, partition: int) -> None:
        """Close a log as if the broker stopped. `get_or_create` opens it again. Raises StorageFailed."""
        directory = self.holder(topic, partition)
        assert directory is not None, f"{topic}-{partition} is not open"
        directory.close_log(topic, partition)

    # Failures

    def _failed(self, directory: LogDirectory) -> None:
        if directory in self.online:
            self.online.remove(directory)
            self.offline[directory.path] = directory.failure or ""
            self.on_failure(directory)

    def fail(self, path: str, reason: str) -> None:
        """Take a directory offline, as if its disk had failed. Raises ValueError if it is not online."""
        directory = self.at(path)
        if directory is None:
            known = "it is offline already" if path in self.offline else f"the directories are {', '.join(self.paths)}"
            raise ValueError(f"log directory {path} cannot fail: {known}")
        directory.take_offline(reason)
        self._failed(directory)

    def restore(self, path: str) -> LogDirectory:
        """Open an offline directory again, and return it. Raises ValueError if it is online, and OSError."""
        if path not in self.offline:
            known = "it is online" if path in self.paths else f"the directories are {', '.join(self.paths)}"
            raise ValueError(f"log directory {path} cannot be restored: {known}")
        directory = self._open(path, cluster_id=self._cluster_id)
        del self.offline[path]
        self.online.append(directory)
        self.online.sort(key=lambda each: self.paths.index(each.path))
        return directory

    def close(self, *, discard: bool = False) -> None:
        """Close all logs and directories that are online; see LogDirectory.close."""
        self.on_failure = lambda directory: None
        for directory in self:
            directory.close(discard=discard)
        self.online.clear()

    def forget_clean_shutdown(self) -> None:
        """Remove the marker files of a clean shutdown, as if the broker had crashed instead of closing."""
        for path in self.paths:
            with suppress(OSError):
                self._system.unlink(os.path.join(path, formats.CLEAN_SHUTDOWN))


def _refuse_duplicates(paths: Iterable[str]) -> None:
    for path, count in Counter(map(os.path.realpath, paths)).items():
        if count > 1:
            raise DirectoriesRefused(f"log directory {path} is given {count} times; name each directory once")
