"""List the partitions in log directories, and the segments of each.

A log directory (`log.dirs`) holds one directory per partition, named TOPIC-PARTITION; topic names may contain dashes
and dots. The following directories are ignored:

    TOPIC-PARTITION.ID-delete, -stray, -future    it is being deleted, its topic was deleted, or it is not complete yet
    __cluster_metadata-0                          the log of the KRaft controllers, which is not a topic

In the directory of a partition, these suffixes are special:

    .deleted    a segment that was deleted
    .cleaned    output of a compaction that did not finish
    .swap       output of a finished compaction, which replaces the segments that it covers. Such a file exists only
                briefly, or after a crash. It is used as soon as the first of the replaced segments has been renamed;
                until then, the replaced segments are used

A partition directory is listed repeatedly until two listings agree, so that a segment that is being renamed is not
missed. A running broker may still delete or replace a segment later; code that finds that a file is gone lists the log
again.

A topic may be spread over several log directories, but each of its partitions is in exactly one of them.

A segment may be unreadable: a dangling link, a file without read permission, or a directory with the name of a segment.
Its partition is never silently left out: `find` and `open_partition` raise UnreadableLog, which names the segment, and
`listing` returns the segment with the reason.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from kafkalet import formats

from . import checkpoints
from .files import CorruptFile, reason_of, why_unreadable
from .heads import heads
from .running_broker import is_locked

LEFT_ALONE = (formats.DELETE, formats.STRAY, formats.FUTURE)
ATTEMPTS = 5
"""How often a log is listed again at most, because a segment has disappeared."""
_SEGMENT = re.compile(r"(\d+)\.log(\.swap)?")
_LISTINGS = 20
MAX_OFFSET = (1 << 63) - 1
NO_EPOCH = -1
_CLEANED = re.compile(r"(\d+)\.\w+\.cleaned")


class Segment(NamedTuple):
    """A .log file with its size at the time of the listing, and the paths of its indexes, which may not exist."""

    base_offset: int
    path: str
    size: int
    """In bytes."""
    inode: int = 0
    """The inode of the file when it was listed; 0 if unknown."""
    fault: str | None = None
    """Why the file cannot be read, in which case its size is 0; None if it can."""

    @property
    def index_path(self) -> str:
        return beside(self.path, ".index")

    @property
    def time_index_path(self) -> str:
        return beside(self.path, ".timeindex")

    @property
    def txn_index_path(self) -> str:
        return beside(self.path, ".txnindex")

    @property
    def snapshot_path(self) -> str:
        """The path of the producer state snapshot at the base offset."""
        return snapshot_path(os.path.dirname(self.path), self.base_offset)

    @property
    def is_replaced(self) -> bool:
        """Whether a compaction has replaced the file since it was listed, so that positions in it are no longer valid.
        Raises FileNotFoundError if the file is gone."""
        return is_replaced(self.path, self.inode)

    def check_is_there(self) -> None:
        """Raise FileNotFoundError if the file is gone or was replaced, so that the log must be listed again."""
        if self.is_replaced:
            raise FileNotFoundError(errno.ENOENT, "a compaction has replaced it", self.path)


class PartitionLog(NamedTuple):
    """A listing of the log of one partition. It is small and can be pickled."""

    topic: str
    partition: int
    path: str
    segments: tuple[Segment, ...]
    """In the order of their base offsets; the last one is the active segment."""
    log_start_offset: int
    """The first offset that consumers can read."""
    high_watermark: int | None
    """The value from the checkpoint file, which a running broker updates every five seconds. None if the file has no
    entry for the partition."""
    topic_id: bytes | None
    is_closed: bool = False
    """Whether the broker was shut down cleanly, so that every index is complete."""

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    def is_last(self, segment: Segment) -> bool:
        """Return whether `segment` is the active segment."""
        return segment.base_offset == self.segments[-1].base_offset

    def next_base_offset(self, at: int) -> int | None:
        """Return the base offset of the segment that follows segment number `at`; None if that is the last one."""
        return self.segments[at + 1].base_offset if at + 1 < len(self.segments) else None


class UnlistedLog(NamedTuple):
    """A partition whose directory cannot be listed."""

    topic: str
    partition: int
    path: str
    reason: str

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


class Listing(NamedTuple):
    """The result of searching directories for partitions."""

    logs: tuple[PartitionLog, ...]
    """Sorted by topic and partition. They include segments that cannot be read."""
    unlisted: tuple[UnlistedLog, ...]
    directories: tuple[str, ...]
    """The log directories that were searched; paths that name a single partition are not included."""
    not_wanted: int = 0
    """How many partition directories were skipped because `wanted` rejected them."""


class UnreadableLog(Exception):
    """Some partitions cannot be read. The message names each of them, with its file and the reason."""


def file_name(offset: int, suffix: str) -> str:
    """Return Kafka's name for a segment file or snapshot: the offset as twenty digits, followed by the suffix."""
    return f"{offset:020d}{suffix}"


def is_replaced(path: str, inode: int) -> bool:
    """Return whether `path` is now a different file from the one with this inode. An inode of 0 means "unknown" and
    matches any file."""
    return os.stat(path).st_ino != inode != 0


def beside(path: str, suffix: str) -> str:
    """Return the path of the file with `suffix` that belongs to the .log file at `path`. A trailing `.swap` is kept."""
    stem, _, swap = path.rpartition(".log")
    return f"{stem}{suffix}{swap}"


def snapshot_path(directory: str, offset: int) -> str:
    return os.path.join(directory, file_name(offset, ".snapshot"))


def topic_partition(name: str) -> tuple[str, int] | None:
    """Parse the name of a partition directory into topic and partition; None if it is not such a name."""
    topic, _, partition = name.rpartition("-")
    if not topic or not partition.isascii() or not partition.isdecimal() or name.endswith(LEFT_ALONE):
        return None
    return topic, int(partition)


def find(
    paths: Sequence[str], *, lenient: bool = False, wanted: Callable[[str, int], bool] | None = None
) -> list[PartitionLog]:
    """Return the logs found in `paths`, sorted by topic and partition. Each path is a log directory or a partition
    directory.

    Only partitions accepted by `wanted` are opened. Raises FileNotFoundError or NotADirectoryError for a bad path,
    UnreadableLog if a partition cannot be read completely, ValueError if a partition is in two places, and CorruptFile
    for a corrupt checkpoint. If `lenient`, corrupt checkpoints are treated as missing.
    """
    found = listing(paths, lenient=lenient, wanted=wanted)
    _check_readable(found.logs, found.unlisted)
    for log, other in twice(found.logs):
        raise ValueError(f"{log.name} lies both in {log.path} and in {other.path}")
    return list(found.logs)


def listing(
    paths: Sequence[str],
    *,
    lenient: bool = False,
    wanted: Callable[[str, int], bool] | None = None,
    with_metadata: bool = False,
) -> Listing:
    """Like `find`, but do not fail because of individual partitions: the result includes partitions that cannot be
    read, and both copies of a partition that is in two places. If `with_metadata`, it also includes the log of the
    KRaft controllers."""
    logs: list[PartitionLog] = []
    unlisted: list[UnlistedLog] = []
    directories: list[str] = []
    not_wanted = 0

    def choose(topic: str, partition: int) -> bool:
        nonlocal not_wanted
        if topic == formats.METADATA_TOPIC and not with_metadata:
            return False
        is_wanted = (wanted or _any)(topic, partition)
        not_wanted += not is_wanted
        return is_wanted

    for path in dict.fromkeys(map(os.path.realpath, paths)):
        if not is_partition(path):
            directories.append(path)
            found = _logs_in(path, lenient, choose)
        else:
            found = _logs_in(os.path.dirname(path), lenient, wanted or _any, only=os.path.basename(path))
        for each in found:
            if isinstance(each, PartitionLog):
                logs.append(each)
            else:
                unlisted.append(each)
    unique = {log.path: log for log in logs}
    ordered = sorted(unique.values(), key=lambda log: (log.topic, log.partition, log.path))
    return Listing(tuple(ordered), tuple(sorted(set(unlisted))), tuple(directories), not_wanted)


def _any(topic: str, partition: int) -> bool:
    return True


def twice(logs: Sequence[PartitionLog]) -> Iterator[tuple[PartitionLog, PartitionLog]]:
    """Yield each pair of logs that belong to the same partition. `logs` must be sorted."""
    for log, other in pairwise(logs):
        if (log.topic, log.partition) == (other.topic, other.partition):
            yield log, other


def _check_readable(logs: Iterable[PartitionLog], unlisted: Iterable[UnlistedLog] = ()) -> None:
    faults = [f"{each.name} ({each.path}: {each.reason})" for each in unlisted]
    for log in logs:
        faults += [f"{log.name} ({segment.path}: {segment.fault})" for segment in log.segments if segment.fault]
    if faults:
        raise UnreadableLog(f"cannot be read: {', '.join(faults)}; restore the files, or leave the partitions out")


def is_partition(path: str) -> bool:
    """Return whether `path` is the directory of one partition, judging by its name and content."""
    if topic_partition(os.path.basename(path)) is None or os.path.isfile(path):
        return False
    names = os.listdir(path)
    return formats.PARTITION_METADATA in names or any(_SEGMENT.fullmatch(name) for name in names)


def open_partition(path: str, *, lenient: bool = False, unreadable_too: bool = False) -> PartitionLog:
    """Return the log in the partition directory `path`, taking the checkpoints of its log directory into account.

    Raises the same exceptions as `find`, and ValueError if `path` is not named TOPIC-PARTITION. If `unreadable_too`,
    segments that cannot be read are included instead of raising UnreadableLog.
    """
    path = os.path.realpath(path)
    log = _open(path, _LogDirFiles(os.path.dirname(path), lenient))
    if not unreadable_too:
        _check_readable([log])
    return log


def _logs_in(
    path: str, lenient: bool, wanted: Callable[[str, int], bool], *, only: str | None = None
) -> Iterator[PartitionLog | UnlistedLog]:
    around = _LogDirFiles(path, lenient)
    for name in [only] if only is not None else sorted(os.listdir(path)):
        named = topic_partition(name)
        if named is None or not wanted(*named):
            continue
        place = os.path.join(path, name)
        try:
            if is_partition(place):
                yield _open(place, around)
        except OSError as error:
            if os.path.islink(place) and not os.path.exists(place):
                yield UnlistedLog(*named, place, f"a link to {os.readlink(place)}, which does not exist")
            elif os.path.lexists(place):  # otherwise it has just been deleted
                yield UnlistedLog(*named, place, reason_of(error))


class _LogDirFiles:
    """The files at the top of a log directory: two checkpoints and the clean shutdown marker."""

    def __init__(self, path: str, lenient: bool) -> None:
        self.lenient = lenient
        self.log_start_offsets = self._read(os.path.join(path, formats.LOG_START_OFFSETS))
        self.high_watermarks = self._read(os.path.join(path, formats.HIGH_WATERMARKS))
        self.is_closed = os.path.exists(os.path.join(path, formats.CLEAN_SHUTDOWN))

    def _read(self, path: str) -> Mapping[tuple[str, int], int]:
        try:
            return checkpoints.read_offsets(path)
        except CorruptFile:
            if not self.lenient:
                raise
            return {}


def _open(path: str, around: _LogDirFiles) -> PartitionLog:
    named = topic_partition(os.path.basename(path))
    if named is None:
        raise ValueError(f"{path} is not called TOPIC-PARTITION")
    segments, start = _segments_and_start(path, around.log_start_offsets.get(named, 0))
    try:
        topic_id = checkpoints.read_topic_id(path)
    except CorruptFile:
        if not around.lenient:
            raise
        topic_id = None
    return PartitionLog(
        *named,
        path,
        segments,
        start,
        around.high_watermarks.get(named),
        topic_id,
        around.is_closed,
    )


def _segments_and_start(path: str, checkpointed: int) -> tuple[tuple[Segment, ...], int]:
    """Return the segments in a directory, and the log start offset. Raises FileNotFoundError as `_segments` does."""
    for _ in range(ATTEMPTS):
        segments = _segments(path)
        start = max(checkpointed, segments[0].base_offset if segments else 0)
        with suppress(FileNotFoundError):  # a segment has just been deleted
            return segments, _live_start_offset(path, segments, start)
    raise FileNotFoundError(errno.ENOENT, "its segments keep disappearing", path)


def _live_start_offset(path: str, segments: Sequence[Segment], start: int) -> int:
    """Return the log start offset of a running broker, if leader-epoch-checkpoint shows that it is above `start`.

    A broker writes log-start-offset-checkpoint once a minute (`log.flush.start.offset.checkpoint.interval.ms`). When it
    raises the log start offset, it also raises the start of the first leader epoch, and writes that at once
    (LeaderEpochFileCache.truncateFromStart). After a crash, only the former counts. The first epoch may also begin
    after batches of old formats, which have no epoch and end all epochs before them; nothing is deleted then.
    """
    try:
        _, starts = checkpoints.read_epochs(os.path.join(path, formats.LEADER_EPOCHS))
    except CorruptFile:
        return start
    if not starts.size or starts[0] <= start or not is_locked(os.path.dirname(path)):
        return start
    before = next((each for each in reversed(segments) if each.base_offset < starts[0]), None)
    if before is None or before.fault is not None:
        return start
    epoch = NO_EPOCH
    for head in heads(before.path, 0, before.size):
        if head.base_offset >= starts[0]:
            break
        epoch = head.leader_epoch
    return start if epoch == NO_EPOCH else int(starts[0])


def _segments(directory: str) -> tuple[Segment, ...]:
    """Return the segments in a directory. Raises FileNotFoundError if files keep disappearing while they are listed."""
    names = _names(directory)
    for _ in range(_LISTINGS):
        with suppress(FileNotFoundError):
            segments = _listed(directory, names)
            if names == _names(directory):
                return segments
        names = _names(directory)
    return _listed(directory, names)


def _names(directory: str) -> set[str]:
    """Return the names of segments, except those that are not a 64-bit offset."""
    found = ((name, _SEGMENT.fullmatch(name) or _CLEANED.fullmatch(name)) for name in os.listdir(directory))
    return {name for name, match in found if match and int(match[1]) <= MAX_OFFSET}


def _listed(directory: str, names: Iterable[str]) -> tuple[Segment, ...]:
    plain: dict[int, Segment] = {}
    swapped: dict[int, Segment] = {}
    for name in names:
        if match := _SEGMENT.fullmatch(name):
            base_offset = int(match[1])
            (swapped if match[2] else plain)[base_offset] = _segment(base_offset, os.path.join(directory, name))
    unfinished = [int(match[1]) for name in names if (match := _CLEANED.fullmatch(name))]
    replacing = [segment for base, segment in swapped.items() if not unfinished or base < min(unfinished)]
    if replacing and (first := min(replacing).base_offset) not in plain:
        end = max(_end_of(segment) for segment in replacing)
        plain = {base: segment for base, segment in plain.items() if not first <= base < end}
        plain |= {segment.base_offset: segment for segment in replacing}
    return tuple(plain[base] for base in sorted(plain))


def _segment(base_offset: int, path: str) -> Segment:
    """Return the segment at `path`. Raises FileNotFoundError if it no longer exists."""
    if (fault := why_unreadable(path)) is not None:
        return Segment(base_offset, path, 0, 0, fault)
    status = os.stat(path)
    return Segment(base_offset, path, status.st_size, status.st_ino)


def _end_of(segment: Segment) -> int:
    """Return the offset that follows the last batch of a compacted segment."""
    end = segment.base_offset
    for head in heads(segment.path, 0, segment.size):
        end = head.last_offset + 1
    return end
