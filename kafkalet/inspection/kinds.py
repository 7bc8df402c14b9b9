"""Determines what a file or directory in a data directory is from its name.

00000000000000000042.log            also .index, .timeindex, .txnindex, .snapshot
00000000000000000042.log.deleted    also .cleaned and .swap; before Kafka 3.x, .snapshot.deleted
00000000000000000042-0000000003.checkpoint       a snapshot of the metadata of a KRaft cluster
"""

import os
import re
from enum import Enum
from typing import NamedTuple

from kafkalet import formats

_SEGMENT_FILE = re.compile(
    r"([0-9]{20})(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)(\.deleted|\.cleaned|\.swap)?", re.ASCII
)
_METADATA_SNAPSHOT = re.compile(r"(?:([0-9]{20})-[0-9]{10}|bootstrap)\.checkpoint(\.deleted|\.part)?", re.ASCII)
_LOG_DIRECTORY = re.compile(r"(\S+)-([0-9]{1,10})(?:\.\S+(-delete|-stray|-future))?", re.ASCII)

KAFKALET_JSON = "kafkalet.json"
OFFSET_CHECKPOINTS = (formats.RECOVERY_POINTS, formats.HIGH_WATERMARKS, formats.LOG_START_OFFSETS)


class Kind(Enum):
    """The kinds of files."""

    LOG = ".log"
    OFFSET_INDEX = ".index"
    TIME_INDEX = ".timeindex"
    TXN_INDEX = ".txnindex"
    SNAPSHOT = ".snapshot"
    METADATA_SNAPSHOT = "metadata snapshot"
    OFFSETS = "offset checkpoint"
    LEADER_EPOCHS = formats.LEADER_EPOCHS
    PARTITION_METADATA = formats.PARTITION_METADATA
    META_PROPERTIES = formats.META_PROPERTIES
    CLEAN_SHUTDOWN = formats.CLEAN_SHUTDOWN
    KAFKALET_JSON = KAFKALET_JSON
    QUORUM_STATE = "quorum-state"


class FileKind(NamedTuple):
    """The kind of a file. `base_offset` is the offset in its name, `suffix` is `.deleted`, `.cleaned`, `.swap` or
    empty."""

    kind: Kind
    base_offset: int = 0
    suffix: str = ""


class LogFolder(NamedTuple):
    """The name of the directory of a partition. `suffix` is `-delete`, `-stray`, `-future` or empty."""

    topic: str
    partition: int
    suffix: str


_BY_NAME = {
    **dict.fromkeys((*OFFSET_CHECKPOINTS, formats.CLEANER_OFFSETS), Kind.OFFSETS),
    **{
        kind.value: kind
        for kind in (
            Kind.LEADER_EPOCHS,
            Kind.PARTITION_METADATA,
            Kind.META_PROPERTIES,
            Kind.CLEAN_SHUTDOWN,
            Kind.KAFKALET_JSON,
            Kind.QUORUM_STATE,
        )
    },
}


def kind_of(path: str) -> FileKind | None:
    """Return the kind of a file; None if it does not have the name of a file in a data directory."""
    name = os.path.basename(path)
    if found := _SEGMENT_FILE.fullmatch(name):
        return FileKind(Kind(found[2]), int(found[1]), found[3] or "")
    if found := _METADATA_SNAPSHOT.fullmatch(name):
        return FileKind(Kind.METADATA_SNAPSHOT, int(found[1] or 0), found[2] or "")
    kind = _BY_NAME.get(name)
    return None if kind is None else FileKind(kind)


def folder_of(path: str) -> LogFolder | None:
    """Return the topic and partition in the name of a directory; None if it is not a partition's directory."""
    found = _LOG_DIRECTORY.fullmatch(os.path.basename(os.path.abspath(path)))
    return None if found is None else LogFolder(found[1], int(found[2]), found[3] or "")


def is_partition(directory: str) -> bool:
    """Return whether a directory contains the files of one partition."""
    return any(
        kind is not None and (kind.kind in (Kind.LOG, Kind.PARTITION_METADATA, Kind.LEADER_EPOCHS))
        for kind in map(kind_of, os.listdir(directory))
    )
