"""Which logs lie in a directory, and of which segments they are made.

A log directory (`log.dirs`) holds a directory for each partition, called TOPIC-PARTITION; a topic may have dashes and
dots itself. Left alone are

    TOPIC-PARTITION.ID-delete, -stray, -future    on their way out, of a topic that is no more, or not complete yet
    __cluster_metadata-0                          what Apache Kafka's controllers tell each other: no topic's log

and in the directory of a log

    .deleted    a segment that is gone
    .cleaned    a compaction that was not finished
    .swap       a finished compaction that replaces the segments whose offsets it covers: there for a moment, or after
                a crash. It counts from when the first of those has lost its name; until then they do

A directory is listed until two listings agree, so that no segment is missed because it gets its name just now. A
running broker may delete or replace a segment after that: who finds that out while it looks into files lists anew.

A topic may lie in several log directories, a partition only in one of them.

A segment that cannot be read (a dangling link, no permission, a directory of that name) never makes its partition
disappear: `find` and `open_partition` raise UnreadableLog, which names it, and `listing` returns it with the reason.
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

METADATA_TOPIC = "__cluster_metadata"
LEFT_ALONE = ("-delete", "-stray", "-future")
ATTEMPTS = 5
"""So often a log is listed anew because a segment went away."""
_SEGMENT = re.compile(r"(\d+)\.log(\.swap)?")
_LISTINGS = 20
_CLEANED = re.compile(r"(\d+)\.\w+\.cleaned")


class Segment(NamedTuple):
    """A .log file as long as it was when it was listed, and the names of what belongs to it, if that is there."""

    base_offset: int
    path: str
    size: int
    """In bytes."""
    inode: int = 0
    """Which file it was that had the name."""
    fault: str | None = None
    """Why the file cannot be read; its size is 0 then."""

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
        """Of the producers' state at the base offset."""
        return snapshot_path(os.path.dirname(self.path), self.base_offset)

    @property
    def is_replaced(self) -> bool:
        """The file has the name of another one now: a compaction has put a new segment in its place, and positions no
        longer count. Raises FileNotFoundError where it is gone."""
        return is_replaced(self.path, self.inode)

    def check_is_there(self) -> None:
        """Raises FileNotFoundError where the file is gone, or replaced: the log has to be listed again."""
        if self.is_replaced:
            raise FileNotFoundError(errno.ENOENT, "a compaction has replaced it", self.path)


class PartitionLog(NamedTuple):
    """The log of one partition: what was seen when it was listed. Small, and can be pickled."""

    topic: str
    partition: int
    path: str
    segments: tuple[Segment, ...]
    """In the order of their base offsets; the last one takes appends."""
    log_start_offset: int
    """The first offset that a reader may ask for."""
    high_watermark: int | None
    """As it was last written down, which a running broker does every five seconds. None: never."""
    topic_id: bytes | None
    is_closed: bool = False
    """Its broker has stopped cleanly: every index is complete."""

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    def is_last(self, segment: Segment) -> bool:
        """Whether `segment` is the one that takes appends."""
        return segment.base_offset == self.segments[-1].base_offset

    def next_base_offset(self, at: int) -> int | None:
        """Where the segment behind number `at` begins; None behind the last one."""
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
    """What lies in some directories."""

    logs: tuple[PartitionLog, ...]
    """By topic and partition. Segments that cannot be read are among theirs."""
    unlisted: tuple[UnlistedLog, ...]
    directories: tuple[str, ...]
    """The log directories that were looked through; of a single partition that was named, none."""
    not_wanted: int = 0
    """How many directories have the name of a partition that was not wanted."""


class UnreadableLog(Exception):
    """Partitions that cannot be read. The text names each with its file and the reason."""


def file_name(offset: int, suffix: str) -> str:
    """How Kafka names a file of a segment, or a snapshot: the offset in twenty digits."""
    return f"{offset:020d}{suffix}"


def is_replaced(path: str, inode: int) -> bool:
    """Whether another file than this one has the name now; 0: it is not known which one had it."""
    return os.stat(path).st_ino != inode != 0


def beside(path: str, suffix: str) -> str:
    """Path of the file with `suffix` that belongs to the .log at `path`; a trailing `.swap` is kept."""
    stem, _, swap = path.rpartition(".log")
    return f"{stem}{suffix}{swap}"


def snapshot_path(directory: str, offset: int) -> str:
    return os.path.join(directory, file_name(offset, ".snapshot"))


def topic_partition(name: str) -> tuple[str, int] | None:
    """Topic and partition of a directory of that name; None where it is no log's."""
    topic, _, partition = name.rpartition("-")
    if not topic or not partition.isascii() or not partition.isdecimal() or name.endswith(LEFT_ALONE):
        return None
    return topic, int(partition)


def find(
    paths: Sequence[str], *, lenient: bool = False, wanted: Callable[[str, int], bool] | None = None
) -> list[PartitionLog]:
    """The logs in `paths`, by topic and partition. Each path is a log directory, or the directory of one log.

    Only partitions that are `wanted` are looked at. Raises FileNotFoundError or NotADirectoryError; UnreadableLog for
    a partition that cannot be read as a whole; ValueError for one that lies in two places; CorruptFile for a
    checkpoint, unless `lenient`, which takes it as not there.
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
    """As `find`, without passing over anything: partitions that cannot be read are in it, and those that lie in two
    places twice. `with_metadata`: the log of Apache Kafka's controllers as well."""
    logs: list[PartitionLog] = []
    unlisted: list[UnlistedLog] = []
    directories: list[str] = []
    not_wanted = 0

    def choose(topic: str, partition: int) -> bool:
        nonlocal not_wanted
        if topic == METADATA_TOPIC and not with_metadata:
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
    """The partitions that lie in two places, out of logs in order."""
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
    """Whether this is the directory of one log, by its name and by what it holds."""
    if topic_partition(os.path.basename(path)) is None or os.path.isfile(path):
        return False
    names = os.listdir(path)
    return formats.PARTITION_METADATA in names or any(_SEGMENT.fullmatch(name) for name in names)


def open_partition(path: str, *, lenient: bool = False, unreadable_too: bool = False) -> PartitionLog:
    """The log in the directory `path`; what the log directory around it says of it counts. Raises as `find`, and
    ValueError where the name is no log's. `unreadable_too`: segments that cannot be read are in it."""
    path = os.path.realpath(path)
    log = _open(path, _Surroundings(os.path.dirname(path), lenient))
    if not unreadable_too:
        _check_readable([log])
    return log


def _logs_in(
    path: str, lenient: bool, wanted: Callable[[str, int], bool], *, only: str | None = None
) -> Iterator[PartitionLog | UnlistedLog]:
    around = _Surroundings(path, lenient)
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
            elif os.path.lexists(place):  # else it was deleted in this moment
                yield UnlistedLog(*named, place, reason_of(error))


class _Surroundings:
    """What a log directory says of the logs in it."""

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


def _open(path: str, around: _Surroundings) -> PartitionLog:
    named = topic_partition(os.path.basename(path))
    if named is None:
        raise ValueError(f"{path} is not called TOPIC-PARTITION")
    segments = _segments(path)
    first = segments[0].base_offset if segments else 0
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
        max(around.log_start_offsets.get(named, 0), first),
        around.high_watermarks.get(named),
        topic_id,
        around.is_closed,
    )


def _segments(directory: str) -> tuple[Segment, ...]:
    """The segments that lie there; FileNotFoundError where they change too fast to be listed."""
    names = _names(directory)
    for _ in range(_LISTINGS):
        with suppress(FileNotFoundError):
            segments = _listed(directory, names)
            if names == _names(directory):
                return segments
        names = _names(directory)
    return _listed(directory, names)


def _names(directory: str) -> set[str]:
    return {name for name in os.listdir(directory) if _SEGMENT.fullmatch(name) or _CLEANED.fullmatch(name)}


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
    """Raises FileNotFoundError where the name does not exist any more."""
    if (fault := why_unreadable(path)) is not None:
        return Segment(base_offset, path, 0, 0, fault)
    status = os.stat(path)
    return Segment(base_offset, path, status.st_size, status.st_ino)


def _end_of(segment: Segment) -> int:
    """The offset behind the last entry of a compacted segment."""
    end = segment.base_offset
    for head in heads(segment.path, 0, segment.size):
        end = head.last_offset + 1
    return end
