"""How Apache Kafka reacts to each fault on its next start.

The reactions were observed by starting Apache Kafka 3.9.2 in KRaft mode on damaged copies of its own log directory;
docs/damaged-directories.md has a table of them. They may depend on how the broker was last shut down:

    after a clean shutdown     Kafka trusts all segments
    after an unclean shutdown  Kafka recovers the segment that contains the recovery point, and all later ones: it
                               rebuilds their indexes and truncates the log at the first invalid batch

If a partition has other replicas, lost records are copied from the leader again; the texts below do not repeat this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from kafkalet_spark.logs.directory import PartitionLog

from .companion_files import CompanionFiles
from .findings import Finding

REFUSES = "refuses to start"
OFFLINE = f"takes the log directory offline, and {REFUSES} if it has no other"
IGNORES = "ignores it"
SERVES = "does not notice"
STRAY = "renames the directory to -stray and recreates the partition empty"
EMPTY = "recreates the partition empty, if it is in the cluster metadata"
TRUNCATES = "truncates the log at this batch and deletes all later segments"
REBUILDS = "rebuilds it"
END = (
    "searches for the log end after the last entry of the .index; if no complete batch follows it, the log ends at the "
    "base offset of the segment, and its offsets are reused"
)
BY_FILE_TIME = (
    "uses the file's modification time as the segment's largest timestamp: timestamp lookups may skip its last "
    "records, and retention may delete it too early or too late"
)
USES_LAST = "uses the last entry of the partition"
OR_NO_NUMBERS = "if a number cannot be parsed, it ignores the file"


class Reaction(NamedTuple):
    """How Kafka reacts after a clean shutdown and, where that differs, to segments that it recovers."""

    clean: str
    unclean: str | None = None
    active: str | None = None
    """What Kafka does with the active segment after a clean shutdown, if that is different."""


class State(NamedTuple):
    """The state of the segment that a finding refers to."""

    is_recovered: bool = False
    """Whether Kafka will recover the segment on its next start."""
    is_active: bool = False
    """Whether it is the segment to which Kafka appends."""

    @classmethod
    def of(cls, log: PartitionLog, companions: CompanionFiles, finding: Finding) -> State:
        stem = os.path.basename(finding.file or "").partition(".")[0]
        offset = int(stem) if stem.isdecimal() else finding.offset
        if offset is None or not log.segments:
            return cls(not log.is_closed)
        place = sum(segment.base_offset <= offset for segment in log.segments) - 1
        next_base = log.next_base_offset(max(place, 0))
        is_active = next_base is None
        is_recovered = not log.is_closed and (next_base is None or next_base > (companions.recovery_point or 0))
        return cls(is_recovered, is_active)


def reaction(finding: Finding, state: State) -> str:
    """Return what Kafka does, as a phrase that continues "Kafka ..."."""
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
        f"{REFUSES} if they are after the last entry of the .index (CorruptRecordException)",
    ),
    "truncated": Reaction(
        "serves the bytes; consumers skip the rest of the segment without an error",
        "truncates the log after the last complete batch and deletes all later segments",
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
        "empties the segment and deletes all later ones, if offsets in its rebuilt .index would not increase",
    ),
    "range": Reaction("does not notice; consumers may skip the records"),
    "missing": Reaction("does not notice; consumers skip the offsets"),
    "removed": Reaction("does not notice; consumers get the records that are left"),
    "repeated-key": Reaction("does not notice; consumers get both records until the key is written again"),
    "null-key": Reaction("does not notice; consumers get the record until the segment is compacted again"),
    "begin-lost": Reaction("starts the log at its first segment"),
    "end-lost": Reaction(END, "ends the log after the last complete batch and reuses the following offsets"),
    "log-is-no-file": Reaction("skips it; consumers skip its offsets"),
    "gone": Reaction("starts with the remaining files"),
    # Leader epochs
    "leader-epoch": Reaction(SERVES, "ignores a lower epoch; a higher one replaces the epoch history"),
    "no-epochs": Reaction(
        "loses the earlier epochs: it cannot report their end offsets to followers and consumers",
        "recovers the epochs of the segments that it reads, and loses earlier ones",
    ),
    "corrupt-epochs": Reaction(OFFLINE),
    "epoch-ahead": Reaction("drops the epochs that start after the log end"),
    # Indexes
    "no.index": Reaction("rebuilds .index and .timeindex"),
    "no.timeindex": Reaction(f"creates an empty one and {BY_FILE_TIME}"),
    "empty-index": Reaction("uses it: fetches read the segment from its start", REBUILDS),
    "empty-timeindex": Reaction(BY_FILE_TIME, REBUILDS),
    "torn-index": Reaction("cuts the torn entry off", REBUILDS),
    "torn-timeindex": Reaction("cuts the torn entry off once it uses the index", REBUILDS),
    "padded-index": Reaction("uses it; consumers get all records", REBUILDS),
    "padded-timeindex": Reaction("uses it; consumers get all records", REBUILDS),
    "offset-index": Reaction("uses it: fetches may start at a wrong position", REBUILDS),
    "time-index": Reaction("uses it: timestamp lookups may return wrong offsets", REBUILDS),
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
    "no-producer-epoch": Reaction(SERVES),
    "transaction": Reaction(SERVES),
    "snapshot": Reaction(
        "trusts the last one: it may accept duplicates, refuse retries, or misjudge open transactions",
        "starts from the last one before the recovered segments, and rewrites later ones",
    ),
    "corrupt-snapshot": Reaction("deletes it and replays the log from the previous one"),
    "snapshot-ahead": Reaction("deletes it"),
    "no-last-snapshot": Reaction("replays the log from the previous one and writes it again"),
    "no-snapshots": Reaction(
        "forgets all producers: it accepts duplicates, and open transactions no longer hold back read_committed"
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
    "repeated-log-start-offset-checkpoint": Reaction(USES_LAST),
    "repeated-recovery-point-offset-checkpoint": Reaction(USES_LAST),
    "repeated-replication-offset-checkpoint": Reaction(USES_LAST),
    "repeated-cleaner-offset-checkpoint": Reaction(USES_LAST),
    "ahead-log-start-offset-checkpoint": Reaction("deletes all segments and starts an empty log at that offset"),
    "ahead-replication-offset-checkpoint": Reaction("uses the log end instead"),
    "ahead-recovery-point-offset-checkpoint": Reaction(
        "uses the log end instead; after an unclean shutdown, it recovers only the last segment"
    ),
    "ahead-cleaner-offset-checkpoint": Reaction("compacts from the log start again"),
    "behind-recovery-point-offset-checkpoint": Reaction(IGNORES),
    "no-recovery-points": Reaction(IGNORES),
    "log-start-lost": Reaction("starts the log at its first segment: deleted records can be read again"),
    "foreign-file-in-log": Reaction(IGNORES),
    "foreign-log-in-log": Reaction(f"{REFUSES} (NumberFormatException)"),
    "foreign-directory-in-log": Reaction(IGNORES),
    "no-log": Reaction("deletes it"),
    "ends": Reaction("uses the offsets from these files"),
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
    "partition-unknown": Reaction("renames the directory to -stray, unless the partition is in the cluster metadata"),
    "partition-twice": Reaction(f"{REFUSES} (duplicate log directories)"),
    "stray": Reaction(f"ignores it and {EMPTY}"),
    "no-metadata-log": Reaction("starts without topics and renames the directories of all partitions to -stray"),
    "no-quorum-state": Reaction("writes it again"),
    "node.id-unknown": Reaction(REFUSES),
    "topic-ids-differ": Reaction(f"{STRAY}, unless the topic ID is the one in the cluster metadata"),
    "topic-id-shared": Reaction("loads it under this name, and recreates the partition with this topic ID empty"),
    "no-topic-id": Reaction(STRAY),
    "corrupt-topic-id": Reaction(f"{REFUSES} (IllegalArgumentException)"),
    "no-meta-properties": Reaction(REFUSES),
    "cluster.id-differs": Reaction(REFUSES),
    "node.id-differs": Reaction(REFUSES),
    "directory.id-repeated": Reaction(REFUSES),
    # A live broker
    "other-cluster": Reaction("belongs to another cluster"),
    "not-in-broker": Reaction("does not have the partition"),
    "broker-has-less": Reaction("does not have these records"),
    "broker-start-beyond-end": Reaction("has no records"),
    "directory-begins-late": Reaction("has records that are not in the directory"),
    "topic-made-anew": Reaction(STRAY),
    "list-offsets": Reaction("keeps returning these results"),
}
"""The reactions by `Finding.fault`."""
