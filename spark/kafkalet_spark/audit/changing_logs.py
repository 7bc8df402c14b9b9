"""Audit logs that a broker is changing, and repeat the audit if necessary.

Appends are harmless because later offsets are ignored. But retention deletes segments and compaction replaces them, so
the audit may have read an inconsistent mixture of old and new files. Therefore all files must be unchanged after the
audit: they must have the same inodes and, except for the active segment, the same sizes. Otherwise, the log is listed
and audited again. Without a connection to the broker, its lock shows that it may change the files.

The files should be those of the partition's leader. A follower has the same records, but its segment boundaries and
compaction differ, and it may lack the last records, so fewer checks apply.

The directory need not belong to the running broker:

    .kafka_cleanshutdown exists   a copy: it is audited completely, as without a broker
    the lock on .lock is held     the broker's own directory: it contains all records that the broker has reported
    otherwise                     possibly either: it is audited up to the high watermark or the end of the files

Files that extend past the high watermark are read to their end; the broker is given a few seconds to catch up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NamedTuple

from kafkalet.clock import SystemClock
from kafkalet.formats import PARTITION_METADATA, SWAP, uuid_text
from kafkalet.protocol.errors import KafkaError
from kafkalet_spark.live.broker import LiveBroker, Patience
from kafkalet_spark.live.metadata import TopicPartition
from kafkalet_spark.logs.directory import PartitionLog, open_partition
from kafkalet_spark.logs.ends import log_end
from kafkalet_spark.logs.running_broker import is_at_rest, is_locked

from .audit_options import AuditOptions
from .audit_tasks import begin, settled, tasks_of
from .cluster_metadata import UNKNOWN, TopicSettings
from .comparing import Bounds, bounds_of
from .findings import Findings
from .partition_audit import PartitionFacts, PreparedLog, audit_partition
from .stretch_audit import ScanSettings

TRIES = 4
KEPT_CHANGING = "the log kept changing"
CATCH_UP_MS = 3000
"""How long to wait for the high watermark to reach the end of the files."""


class Listed(NamedTuple):
    """A log and its files at the time they were listed."""

    prepared: PreparedLog
    inodes: tuple[int, ...]
    """Those of the segments, if a broker may change them; otherwise empty."""
    bounds: Bounds | None = None
    """The bounds that the broker reported before the files were listed; None if there is no broker or it does not have
    the log."""
    is_in_place: bool = False
    """Whether the broker is known to run in this directory."""

    @property
    def is_live(self) -> bool:
        return self.prepared.before_offset is not None

    @property
    def key(self) -> TopicPartition:
        return self.prepared.log.topic, self.prepared.log.partition

    @property
    def is_beyond_the_broker(self) -> bool:
        """Whether the files of a live log extend past the broker's high watermark."""
        end = self.prepared.before_offset
        return self.bounds is not None and end is not None and self.bounds.high_watermark < end

    @property
    def is_compared(self) -> bool:
        """Whether the log is compared with a broker."""
        return self.bounds is not None

    @property
    def reported(self) -> PreparedLog:
        """The log with the log start offset that the broker reported."""
        if self.bounds is None:
            return self.prepared
        return self.prepared._replace(log=self.prepared.log._replace(log_start_offset=self.bounds.log_start_offset))

    def is_being_replaced(self) -> bool:
        """Return whether a broker is replacing segments of the log by a compacted one.

        It reads the new segment as soon as its name ends with .swap, but renames the old ones only afterwards
        (LocalLog.replaceSegments).
        """
        return bool(self.inodes) and any(os.path.exists(segment.path + SWAP) for segment in self.prepared.log.segments)

    def has_changed(self) -> bool:
        """Return whether files of a log that a broker may change were deleted, replaced or truncated."""
        if not self.inodes:
            return False
        segments = self.prepared.log.segments
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


def listed(log: PartitionLog, broker: LiveBroker | None, settings: TopicSettings = UNKNOWN) -> Listed:
    """Fetch the bounds of the log from the broker, then list its files.

    This order ensures that the broker's own directory has all records below the high watermark. A log that the broker
    does not have is reported as a finding and audited without a broker. Raises FileNotFoundError if the log was
    deleted.
    """
    if broker is None:
        if not is_locked(os.path.dirname(log.path)):
            return Listed(begin(log, None, settings), ())
        log = open_partition(log.path, lenient=True, unreadable_too=True)
        return Listed(begin(log, _end_of(log), settings), tuple(segment.inode for segment in log.segments))
    key = log.topic, log.partition
    bounds = bounds_of(broker, [key])[key]
    log = open_partition(log.path, lenient=True, unreadable_too=True)
    if not isinstance(bounds, Bounds):
        prepared = begin(log, None, settings)
        message = f"the broker returned an error: {_reason(bounds)}"
        prepared.findings.add("broker", message, fault="not-in-broker", file=log.path)
        return Listed(prepared, ())
    inodes = tuple(segment.inode for segment in log.segments)
    directory = os.path.dirname(log.path)
    leader = broker.leaders([key]).get(key)
    owner = node_of(directory)
    is_followers = leader is not None and owner is not None and leader.node_id != owner
    if is_at_rest(directory):
        each = Listed(begin(log, None, settings), (), bounds)
    else:
        end = _end_of(log)
        is_in_place = is_locked(directory)
        live = log._replace(log_start_offset=bounds.log_start_offset, is_closed=False)
        prepared = begin(live, max(bounds.high_watermark, end), settings)
        reaches = bounds.high_watermark if is_in_place and not is_followers else 0
        each = Listed(prepared._replace(reaches_at_least=reaches), inodes, bounds, is_in_place)
    _compare_topic_ids(broker, each.prepared)
    return each._replace(prepared=each.prepared._replace(is_followers=is_followers, is_compared=True))


def listed_again(each: Listed, broker: LiveBroker | None) -> Listed:
    """List a log that has changed. Raises FileNotFoundError if it was deleted."""
    found = listed(each.prepared.log, broker, each.prepared.companions.settings)
    return found if broker is None else caught_up([found], broker)[0]


def _end_of(log: PartitionLog) -> int:
    """Return the log end offset according to the batch headers; 0 if the files are unreadable."""
    try:
        return log_end(log, lenient=True).offset
    except OSError:
        return 0


def caught_up(found: Sequence[Listed], broker: LiveBroker) -> list[Listed]:
    """Wait, up to a time limit, for the high watermarks to reach the ends of the files. Return logs with updated
    bounds.

    Records are appended to the files first; the high watermark advances once they are replicated.
    """
    found = list(found)
    waiting = Patience(broker.settings, SystemClock(), CATCH_UP_MS)
    while (behind := [at for at, each in enumerate(found) if each.is_beyond_the_broker]) and waiting.pause():
        now = bounds_of(broker, [found[at].key for at in behind])
        for at in behind:
            bounds = now[found[at].key]
            if isinstance(bounds, Bounds):
                found[at] = found[at]._replace(bounds=bounds)
    return found


def _compare_topic_ids(broker: LiveBroker, prepared: PreparedLog) -> None:
    log = prepared.log
    known = broker.metadata.topic_id(log.topic)
    if log.topic_id is None or known in (bytes(16), log.topic_id):
        return
    mine, theirs = uuid_text(log.topic_id), uuid_text(known)
    message = f"topic {log.topic} has the ID {theirs}, but {mine} in partition.metadata: it was recreated"
    prepared.findings.add("topic-id", message, fault="topic-made-anew", file=os.path.join(log.path, PARTITION_METADATA))


def node_of(directory: str) -> int | None:
    """Return the node ID in the meta.properties of a log directory, or None."""
    try:
        with open(os.path.join(directory, "meta.properties"), encoding="utf-8", errors="replace") as file:
            found = re.search(r"^(?:node|broker)\.id=(\d+)\s*$", file.read(), re.MULTILINE)
    except FileNotFoundError:
        return None
    return int(found[1]) if found else None


def audit_here(each: Listed, options: AuditOptions, scan: ScanSettings) -> PartitionFacts:
    """Audit one log without Spark."""
    seen = [(task, task.audit(scan)) for task in tasks_of([each.prepared], options.max_bytes_per_task)]
    return audit_partition(each.prepared, settled(seen, scan), options)


def steadied(
    each: Listed, facts: PartitionFacts, options: AuditOptions, scan: ScanSettings
) -> tuple[Listed, PartitionFacts]:
    """Return the listing and the facts. If the log changed while it was being read, retry a few times.

    The findings about a log that keeps changing are discarded, because they may be about a mixture of files.
    """
    for _ in range(TRIES):
        if not each.has_changed():
            return each, facts
        with live_broker(options) if each.bounds is not None else nullcontext() as broker:
            each = listed_again(each, broker)
        facts = audit_here(each, options, scan)
    if each.has_changed():
        findings = Findings(*each.key)
        findings.skip(each.prepared.log.path, KEPT_CHANGING)
        facts = facts._replace(findings=findings)
    return each, facts


def live_broker(options: AuditOptions) -> LiveBroker:
    """Return a client for the broker named in the options."""
    assert options.bootstrap is not None
    return LiveBroker(options.bootstrap, options.properties)


def _reason(error: KafkaError) -> str:
    return str(error.message or error)
