"""Read the small files of a log: checkpoints, leader epochs and the list of snapshots.

All of them are optional. An unreadable file is reported and then treated as missing.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from kafkalet import formats
from kafkalet.formats import METADATA_TOPIC
from kafkalet_spark.logs import checkpoints
from kafkalet_spark.logs.directory import MAX_OFFSET, PartitionLog
from kafkalet_spark.logs.files import CorruptFile, UnreadableFile
from kafkalet_spark.logs.snapshots import snapshot_offsets

from .cluster_metadata import UNKNOWN, TopicSettings
from .findings import Findings

CLEANED_UP_TO = formats.CLEANER_OFFSETS
"""The file in which Kafka's log cleaner stores the offset up to which it has compacted each log."""
_KNOWN = re.compile(r"\d{20}\.(log|index|timeindex|txnindex|snapshot)(\.swap)?")
_PASSING = re.compile(r".*\.(deleted|cleaned|tmp|swap)|\.lock")
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
_BESIDE = {formats.LEADER_EPOCHS, formats.PARTITION_METADATA}
_OF_CONTROLLERS = re.compile(r"quorum-state|\d{20}-\d{10}\.checkpoint(\.part)?")
"""Additional files in the metadata log of a KRaft quorum."""


class CompanionFiles(NamedTuple):
    """The contents of the small files. A value is None if its file has no entry for the log."""

    directory: str
    """The log directory."""
    log_start_offset: int | None
    high_watermark: int | None
    recovery_point: int | None
    cleaned_up_to: int | None
    epochs: tuple[tuple[int, int], ...] | None
    """Leader epochs with their start offsets; None if the file is missing."""
    snapshot_offsets: tuple[int, ...]
    is_closed: bool
    settings: TopicSettings

    @property
    def is_compacted(self) -> bool:
        """Whether the log cleaner compacts the log. Without metadata, only the cleaner's checkpoint shows this."""
        policy = self.settings.cleanup_policy
        return "compact" in policy if policy is not None else self.cleaned_up_to is not None


def read_companion_files(log: PartitionLog, findings: Findings, settings: TopicSettings = UNKNOWN) -> CompanionFiles:
    """Read the small files of `log`, in its own directory and in the log directory."""
    directory = os.path.dirname(log.path)
    key = log.topic, log.partition

    def offset(name: str) -> int | None:
        path = os.path.join(directory, name)
        try:
            found = checkpoints.read_offsets(path).get(key)
        except UnreadableFile as error:
            findings.skip(path, error.reason)
        except CorruptFile as error:
            findings.add("checkpoint", error.reason, fault=f"corrupt-{name}", file=path, position=error.position)
        else:
            findings.checked["checkpoint offsets"] += found is not None
            if found is not None and found < 0:
                findings.add("checkpoint", f"offset {found} is negative", fault=f"negative-{name}", file=path)
            return None if found is not None and found < 0 else found
        return None

    _check_names(log, findings)
    return CompanionFiles(
        directory,
        offset(formats.LOG_START_OFFSETS),
        offset(formats.HIGH_WATERMARKS),
        offset(formats.RECOVERY_POINTS),
        offset(CLEANED_UP_TO),
        _epochs(log, findings),
        tuple(snapshot_offsets(log.path)),
        log.is_closed,
        settings,
    )


def _epochs(log: PartitionLog, findings: Findings) -> tuple[tuple[int, int], ...] | None:
    path = os.path.join(log.path, formats.LEADER_EPOCHS)
    if not os.path.lexists(path):
        return None
    try:
        epoch, start_offset = checkpoints.read_epochs(path)
    except UnreadableFile as error:
        findings.skip(path, error.reason)
        return ()
    except CorruptFile as error:
        findings.add("leader-epoch", error.reason, fault="corrupt-epochs", file=path, position=error.position)
        return ()
    findings.checked["leader epochs"] += len(epoch)
    return tuple(zip(epoch.tolist(), start_offset.tolist(), strict=True))


def _logs_of(name: str) -> set[str]:
    """Return the possible names of the .log that a file belongs to. Compaction renames index files before the .log."""
    stem = name.split(".")[0]
    return {f"{stem}.log", f"{stem}.log.swap"}


def _check_names(log: PartitionLog, findings: Findings) -> None:
    """Check for files that brokers do not write, and indexes without a log."""
    names = set(os.listdir(log.path))
    for name in sorted(names):
        path = os.path.join(log.path, name)
        findings.checked["names"] += 1
        if name in _BESIDE or _PASSING.fullmatch(name):
            continue
        if log.topic == METADATA_TOPIC and _OF_CONTROLLERS.fullmatch(name):
            continue
        if not _KNOWN.fullmatch(name) or int(name[:20]) > MAX_OFFSET:
            what = "directory" if os.path.isdir(path) else "log" if name.endswith(SUFFIXES) else "file"
            kind = "directory" if what == "directory" else "file"
            findings.add("file", f"unexpected {kind} in a log", fault=f"foreign-{what}-in-log", file=path)
        elif not name.endswith((".log", ".log.swap", ".snapshot")) and not names & _logs_of(name):
            offset = int(name.split(".")[0])
            findings.add("file", "the .log of this file is missing", fault="no-log", file=path, offset=offset)
    try:
        checkpoints.read_topic_id(log.path)
    except UnreadableFile as error:
        findings.skip(error.path, error.reason)
    except CorruptFile as error:
        findings.add("file", error.reason, fault="corrupt-topic-id", file=error.path, position=error.position)
