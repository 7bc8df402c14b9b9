"""A log that a broker changes under our eyes is looked at again.

Appends do no harm, for they lie behind the high watermark that was told at first. But retention deletes segments, and
a cleaner puts others in their place: then what was read belongs to no one log. So after the reading all files must
still be those that were listed: the same inodes, and of segments that take no more appends the same sizes.

The files should be those of the broker that leads the partition. A follower's are the same records, in segments that
end elsewhere, compacted at other times, and may lack the last ones; so less can be asked of them.

Nor need the directory be the one in which the broker works:

    .kafka_cleanshutdown lies in it   a copy at rest: all of it is audited, as without a broker
    its .lock is held                 the broker's own: it has all that the broker has told before it was listed
    else                              its own or a copy: read as far as the broker has told or as the files go

Files that go beyond the high watermark are read to their end, unless the broker catches up within a moment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.clock import SystemClock
from kafkalet.formats import PARTITION_METADATA, uuid_text
from kafkalet.pipeline.live.broker import LiveBroker, Patience
from kafkalet.pipeline.live.metadata import TopicPartition
from kafkalet.pipeline.logs.directory import PartitionLog, open_partition
from kafkalet.pipeline.logs.ends import log_end
from kafkalet.protocol.errors import KafkaError

from .at_work import is_at_rest, is_locked
from .audit_options import AuditOptions
from .audit_tasks import begin, settled, tasks_of
from .comparing import Bounds, bounds_of
from .partition_audit import Begun, PartitionFacts, audit_partition
from .stretch_audit import HowToLook

TRIES = 4
CATCH_UP_MS = 3000
"""So long a broker has time to replicate what its files have already."""


class Listed(NamedTuple):
    """A log as it was listed, and what its files were then."""

    begun: Begun
    inodes: tuple[int, ...]
    told: Bounds | None = None
    """By the broker, before; None: it was not asked, or does not have the log."""
    is_in_place: bool = False
    """The broker is seen to work in this directory."""

    @property
    def is_live(self) -> bool:
        return self.begun.before_offset is not None

    @property
    def key(self) -> TopicPartition:
        return self.begun.log.topic, self.begun.log.partition

    @property
    def is_beyond_the_broker(self) -> bool:
        """The files of a live log go on behind the high watermark that was told."""
        end = self.begun.before_offset
        return self.told is not None and end is not None and self.told.high_watermark < end

    @property
    def is_compared(self) -> bool:
        """With the answers of a broker."""
        return self.told is not None

    @property
    def as_told(self) -> Begun:
        """The log with the start that the broker told."""
        if self.told is None:
            return self.begun
        return self.begun._replace(log=self.begun.log._replace(log_start_offset=self.told.log_start_offset))

    def has_changed(self) -> bool:
        """Whether files of a live log are other ones now."""
        if not self.is_live:
            return False
        segments = self.begun.log.segments
        for at, (segment, inode) in enumerate(zip(segments, self.inodes, strict=True)):
            if segment.fault is not None:
                continue
            try:
                now = os.stat(segment.path)
            except FileNotFoundError:
                return True
            grows = at == len(segments) - 1
            if now.st_ino != inode or now.st_size < segment.size or (now.st_size > segment.size and not grows):
                return True
        return False


def listed(log: PartitionLog, broker: LiveBroker | None) -> Listed:
    """Ask the broker for the ends of the log, then list its files: all below the high watermark is in them, if they
    are the broker's own.

    A log that the broker does not have is audited as one at rest, which is a finding. Raises FileNotFoundError where
    the log is not there any more.
    """
    if broker is None:
        return Listed(begin(log, None), ())
    key = log.topic, log.partition
    told = bounds_of(broker, [key])[key]
    log = open_partition(log.path, lenient=True, unreadable_too=True)
    if not isinstance(told, Bounds):
        begun = begin(log, None)
        message = f"the broker does not answer for it: {_reason(told)}"
        begun.findings.add("broker", message, fault="not-in-broker", file=log.path)
        return Listed(begun, ())
    inodes = tuple(segment.inode for segment in log.segments)
    directory = os.path.dirname(log.path)
    leader = broker.leaders([key]).get(key)
    owner = node_of(directory)
    is_followers = leader is not None and owner is not None and leader.node_id != owner
    if is_at_rest(directory):
        each = Listed(begin(log, None), (), told)
    else:
        end = _end_of(log)
        is_in_place = is_locked(directory)
        live = log._replace(log_start_offset=told.log_start_offset, is_closed=False)
        begun = begin(live, max(told.high_watermark, end))
        reaches = told.high_watermark if is_in_place and not is_followers else 0
        each = Listed(begun._replace(reaches_at_least=reaches), inodes, told, is_in_place)
    _compare_topic_ids(broker, each.begun)
    return each._replace(begun=each.begun._replace(is_followers=is_followers, is_compared=True))


def _end_of(log: PartitionLog) -> int:
    """Where the files end, as far as their headers tell; 0 where that cannot be read."""
    try:
        return log_end(log, lenient=True).offset
    except OSError:
        return 0


def caught_up(found: Sequence[Listed], broker: LiveBroker) -> list[Listed]:
    """The same, once the high watermarks have come to the ends of the files, or have had their time for that: appends
    are in the files first, and replicas need a moment."""
    found = list(found)
    waiting = Patience(broker.settings, SystemClock(), CATCH_UP_MS)
    while (behind := [at for at, each in enumerate(found) if each.is_beyond_the_broker]) and waiting.pause():
        now = bounds_of(broker, [found[at].key for at in behind])
        for at in behind:
            told = now[found[at].key]
            if isinstance(told, Bounds):
                found[at] = found[at]._replace(told=told)
    return found


def _compare_topic_ids(broker: LiveBroker, begun: Begun) -> None:
    log = begun.log
    told = broker.metadata.topic_id(log.topic)
    if log.topic_id is None or told in (bytes(16), log.topic_id):
        return
    mine, theirs = uuid_text(log.topic_id), uuid_text(told)
    message = f"the broker's topic {log.topic} has the id {theirs}, partition.metadata says {mine}: it was recreated"
    begun.findings.add("topic-id", message, fault="topic-made-anew", file=os.path.join(log.path, PARTITION_METADATA))


def node_of(directory: str) -> int | None:
    """Which broker the log directory belongs to, as meta.properties says; None where it does not."""
    try:
        with open(os.path.join(directory, "meta.properties"), encoding="utf-8", errors="replace") as file:
            found = re.search(r"^(?:node|broker)\.id=(\d+)\s*$", file.read(), re.MULTILINE)
    except FileNotFoundError:
        return None
    return int(found[1]) if found else None


def audit_here(each: Listed, options: AuditOptions, how: HowToLook) -> PartitionFacts:
    """The audit of one log, without Spark."""
    seen = [(task, task.look(how)) for task in tasks_of([each.begun], options.max_bytes_per_task)]
    return audit_partition(each.begun, settled(seen, how), options)


def steadied(
    each: Listed, facts: PartitionFacts, options: AuditOptions, how: HowToLook
) -> tuple[Listed, PartitionFacts]:
    """These, unless the log has changed while it was read: then it is listed and read again, a few times."""
    for _ in range(TRIES):
        if not each.has_changed():
            break
        with live_broker(options) as broker:
            (each,) = caught_up([listed(each.begun.log, broker)], broker)
        facts = audit_here(each, options, how)
    return each, facts


def live_broker(options: AuditOptions) -> LiveBroker:
    """The broker that is to be asked."""
    assert options.bootstrap is not None
    return LiveBroker(options.bootstrap, options.properties)


def _reason(error: KafkaError) -> str:
    return str(error.message or error)
