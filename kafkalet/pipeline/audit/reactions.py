"""What Apache Kafka does about each fault on its next start.

Observed with Apache Kafka 3.9.2 in KRaft mode, started on damaged copies of its own directory; docs/pipeline.md has the
table. The answer may depend on how the directory was left:

    after a clean stop     Kafka takes segments as they are
    after an unclean stop  Kafka reads every segment from the one with the recovery point on: it rebuilds their indexes
                           and truncates the log at the first invalid batch

A replica with other replicas gets back from the leader what the leader still has; this is not repeated below.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from kafkalet.pipeline.logs.directory import PartitionLog

from .findings import Finding
from .surroundings import Surroundings

REFUSES = "refuses to start"
OFFLINE = f"takes the log directory offline, and {REFUSES} if it has no other"
IGNORES = "ignores it"
SERVES = "does not notice"
STRAY = "renames the directory to -stray and recreates the partition empty"
EMPTY = "recreates the partition empty, if its metadata names it"
TRUNCATES = "truncates the log at this batch and deletes all later segments"
REBUILDS = "rebuilds it"
END = (
    "looks for the log end behind the last entry of the .index; if no whole batch is left there, the log ends at the "
    "base offset of the segment, and its offsets are reused"
)
BY_FILE_TIME = (
    "uses the file's modification time as the segment's largest timestamp: lookups by time may skip its last records, "
    "and retention may come too late or too early"
)
OR_NO_NUMBERS = "a number that cannot be parsed makes it ignore the file"


class Reaction(NamedTuple):
    """What Kafka does after a clean stop, and where that differs, with a segment that it reads after an unclean one."""

    clean: str
    unclean: str | None = None
    active: str | None = None
    """After a clean stop, for the segment that takes appends, where that differs."""


class State(NamedTuple):
    """How the broker left the segment of a finding."""

    is_recovered: bool = False
    """Kafka will read it on its next start."""
    is_active: bool = False
    """It takes appends."""

    @classmethod
    def of(cls, log: PartitionLog, around: Surroundings, finding: Finding) -> State:
        stem = os.path.basename(finding.file or "").partition(".")[0]
        offset = int(stem) if stem.isdecimal() else finding.offset
        if offset is None or not log.segments:
            return cls(not log.is_closed)
        place = sum(segment.base_offset <= offset for segment in log.segments) - 1
        next_base = log.next_base_offset(max(place, 0))
        is_active = next_base is None
        is_recovered = not log.is_closed and (next_base is None or next_base > (around.recovery_point or 0))
        return cls(is_recovered, is_active)


def reaction(finding: Finding, state: State) -> str:
    """A predicate of "Kafka"."""
    found = REACTIONS[finding.fault]
    if state.is_recovered:
        return found.unclean or found.clean
    return found.active if state.is_active and found.active else found.clean


REACTIONS: Mapping[str, Reaction] = {
    # Batches
    "checksum": Reaction("serves the batch; consumers, followers and the cleaner fail at it", TRUNCATES),
    "unreadable": Reaction(
        "serves the bytes; consumers fail there or skip the rest of the segment without an error",
        TRUNCATES,
        f"{REFUSES} if they lie behind the last entry of the .index (CorruptRecordException)",
    ),
    "truncated": Reaction(
        "serves the bytes; consumers skip the rest of the segment without an error",
        "truncates the log behind the last whole batch and deletes all later segments",
        END,
    ),
    "zeros": Reaction(
        "serves the zeros; consumers fail at the end of the segment",
        "cuts the zeros off and deletes all later segments",
        f"{REFUSES} (CorruptRecordException: record size 0)",
    ),
    "records": Reaction("does not notice; consumers get the records as they are, or fail at the batch"),
    "order": Reaction(
        "does not notice; consumers get records twice or skip some",
        "empties the segment and deletes all later ones, if its rebuilt .index would not rise",
    ),
    "range": Reaction("does not notice; consumers may skip the records"),
    "missing": Reaction("does not notice; consumers skip the offsets"),
    "begin-lost": Reaction("starts the log at its first segment"),
    "end-lost": Reaction(END, "ends the log behind the last whole batch and reuses the offsets after it"),
    "log-is-no-file": Reaction("skips it; consumers skip its offsets"),
    "gone": Reaction("starts with the files that are there"),
    # Leader epochs
    "leader-epoch": Reaction(SERVES, "ignores a lower epoch; a higher one replaces the history of epochs"),
    "no-epochs": Reaction(
        "forgets the earlier epochs: it cannot tell followers and consumers where those ended",
        "recovers the epochs of the segments that it reads, and forgets earlier ones",
    ),
    "corrupt-epochs": Reaction(OFFLINE),
    "epoch-ahead": Reaction("drops the epochs that start behind the log end"),
    # Indexes
    "no.index": Reaction("rebuilds .index and .timeindex"),
    "no.timeindex": Reaction(f"creates an empty one and {BY_FILE_TIME}"),
    "empty-index": Reaction("uses it: fetches read the segment from its start", REBUILDS),
    "empty-timeindex": Reaction(BY_FILE_TIME, REBUILDS),
    "torn-index": Reaction("cuts the torn entry off", REBUILDS),
    "torn-timeindex": Reaction("cuts the torn entry off once it uses the index", REBUILDS),
    "offset-index": Reaction("uses it: fetches may start at a wrong position", REBUILDS),
    "time-index": Reaction("uses it: lookups by time may return wrong offsets", REBUILDS),
    "txn-index": Reaction(
        "uses it: read_committed may show aborted records or hide committed ones; an entry below the base offset makes "
        "it rebuild the indexes",
        REBUILDS,
    ),
    "no-txn-entry": Reaction("uses the index: read_committed shows aborted records", REBUILDS),
    "no-txnindex": Reaction("does not notice: read_committed shows aborted records", REBUILDS),
    "torn-txnindex": Reaction("ignores the torn entry: read_committed shows aborted records", REBUILDS),
    # Producers
    "sequence": Reaction(SERVES),
    "no-producer": Reaction(SERVES),
    "epoch": Reaction(SERVES),
    "transaction": Reaction(SERVES),
    "snapshot": Reaction(
        "trusts the last one: it may accept duplicates, refuse retries, or misjudge open transactions",
        "starts from the one before the segments that it reads, and rewrites later ones",
    ),
    "corrupt-snapshot": Reaction("deletes it and reads the log from the previous one on"),
    "snapshot-ahead": Reaction("deletes it"),
    "no-last-snapshot": Reaction("reads the log from the previous one on and writes it again"),
    "no-snapshots": Reaction(
        "forgets all producers: it accepts duplicates, and open transactions no longer hold read_committed back"
    ),
    # Small files
    "corrupt-log-start-offset-checkpoint": Reaction(f"{OFFLINE}; {OR_NO_NUMBERS}"),
    "corrupt-recovery-point-offset-checkpoint": Reaction(f"{OFFLINE}; {OR_NO_NUMBERS}"),
    "corrupt-replication-offset-checkpoint": Reaction(OFFLINE),
    "corrupt-cleaner-offset-checkpoint": Reaction(OFFLINE),
    "negative-log-start-offset-checkpoint": Reaction("starts the log at its first segment"),
    "negative-recovery-point-offset-checkpoint": Reaction("treats it as 0"),
    "negative-replication-offset-checkpoint": Reaction("treats it as the log start offset"),
    "negative-cleaner-offset-checkpoint": Reaction("compacts from the log start again"),
    "ahead-log-start-offset-checkpoint": Reaction("deletes all segments and starts an empty log at that offset"),
    "ahead-replication-offset-checkpoint": Reaction("uses the log end instead"),
    "ahead-recovery-point-offset-checkpoint": Reaction(
        "uses the log end instead; after an unclean stop it reads only the last segment"
    ),
    "ahead-cleaner-offset-checkpoint": Reaction("compacts from the log start again"),
    "behind-recovery-point-offset-checkpoint": Reaction(IGNORES),
    "no-recovery-points": Reaction(IGNORES),
    "log-start-lost": Reaction("starts the log at its first segment: deleted records can be read again"),
    "foreign-file-in-log": Reaction(IGNORES),
    "foreign-log-in-log": Reaction(f"{REFUSES} (NumberFormatException)"),
    "foreign-directory-in-log": Reaction(IGNORES),
    "no-log": Reaction("deletes it"),
    "ends": Reaction("takes the ends that these files give"),
    # Directories
    "foreign-file": Reaction(IGNORES),
    "foreign-directory": Reaction(f"{REFUSES} (not in the form of topic-partition)"),
    "half-a-load": Reaction(f"{REFUSES} (not in the form of topic-partition)"),
    "odd-name": Reaction("loads it as that partition"),
    "empty-partition": Reaction(STRAY),
    "partition-is-file": Reaction(f"cannot create the partition's directory: it {OFFLINE}"),
    "partition-gone": Reaction(EMPTY),
    "partition-is-future": Reaction("makes the future replica the partition"),
    "future-beside": Reaction(f"cannot rename it: it {OFFLINE}"),
    "partition-unknown": Reaction("renames the directory to -stray, unless its metadata names the partition"),
    "partition-twice": Reaction(f"{REFUSES} (duplicate log directories)"),
    "stray": Reaction(f"leaves it aside and {EMPTY}"),
    "topic-ids-differ": Reaction(f"{STRAY}, unless the id is the one in its metadata"),
    "topic-id-shared": Reaction("loads it under this name, and recreates the partition that has the id empty"),
    "no-topic-id": Reaction(STRAY),
    "corrupt-topic-id": Reaction(f"{REFUSES} (IllegalArgumentException)"),
    "no-meta-properties": Reaction(REFUSES),
    "cluster.id-differs": Reaction(REFUSES),
    "node.id-differs": Reaction(REFUSES),
    "directory.id-repeated": Reaction(REFUSES),
    # A live broker
    "other-cluster": Reaction("would be a member of another cluster"),
    "not-in-broker": Reaction("does not have the partition"),
    "broker-has-less": Reaction("does not have these records"),
    "broker-start-beyond-end": Reaction("has no records"),
    "directory-begins-late": Reaction("has records that are not in the directory"),
    "topic-made-anew": Reaction(STRAY),
    "list-offsets": Reaction("keeps answering like this"),
}
"""By `Finding.fault`."""
