"""A log that a broker changes under our eyes is looked at again.

Appends do no harm, for they lie behind the high watermark that was told at first. But retention deletes segments, and
a cleaner puts others in their place: then what was read belongs to no one log. So after the reading all files must
still be those that were listed: the same inodes, and of segments that take no more appends the same sizes.

The files should be those of the broker that leads the partition. A follower's are the same records, in segments that
end elsewhere, compacted at other times, and may lack the last ones; so less can be asked of them.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from kafkalet.pipeline.live.broker import LiveBroker
from kafkalet.pipeline.logs.directory import PartitionLog, open_partition
from kafkalet.protocol.errors import KafkaError

from .comparing import Bounds, bounds_of
from .options import AuditOptions
from .partition_audit import Begun, PartitionFacts, audit_partition
from .stretch_audit import HowToLook
from .tasks import begin, settled, tasks_of

TRIES = 4


class Listed(NamedTuple):
    """A log as it was listed, and what its files were then."""

    begun: Begun
    inodes: tuple[int, ...]

    @property
    def is_live(self) -> bool:
        return self.begun.before_offset is not None

    def has_changed(self) -> bool:
        """Whether files of a live log are other ones now."""
        if not self.is_live:
            return False
        segments = self.begun.log.segments
        for at, (segment, inode) in enumerate(zip(segments, self.inodes, strict=True)):
            try:
                now = os.stat(segment.path)
            except FileNotFoundError:
                return True
            grows = at == len(segments) - 1
            if now.st_ino != inode or now.st_size < segment.size or (now.st_size > segment.size and not grows):
                return True
        return False


def listed(log: PartitionLog, broker: LiveBroker | None) -> Listed:
    """Ask the broker for the ends of the log, then list its files: all below the high watermark is in them.

    A log that the broker does not have is audited as one at rest, which is a finding. Raises FileNotFoundError where
    the log is not there any more.
    """
    if broker is None:
        return Listed(begin(log, None), ())
    key = log.topic, log.partition
    told = bounds_of(broker, [key])[key]
    log = open_partition(log.path, lenient=True)
    if not isinstance(told, Bounds):
        begun = begin(log, None)
        begun.findings.add("list-offsets", f"the broker does not answer for it: {_reason(told)}", file=log.path)
        return Listed(begun, ())
    try:
        inodes = tuple(os.stat(segment.path).st_ino for segment in log.segments)
    except FileNotFoundError:  # deleted since: list once more
        return listed(log, broker)
    log = log._replace(log_start_offset=told.log_start_offset, is_closed=False)
    leader = broker.leaders([key]).get(key)
    owner = node_of(os.path.dirname(log.path))
    is_followers = leader is not None and owner is not None and leader.node_id != owner
    return Listed(begin(log, told.high_watermark)._replace(is_followers=is_followers), inodes)


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
            each = listed(each.begun.log, broker)
        facts = audit_here(each, options, how)
    return each, facts


def live_broker(options: AuditOptions) -> LiveBroker:
    """The broker that is to be asked."""
    assert options.bootstrap is not None
    return LiveBroker(options.bootstrap, options.properties)


def _reason(error: KafkaError) -> str:
    return str(error.message or error)
