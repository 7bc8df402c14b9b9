"""What an audit looked at, what it could not look at, and what it left aside.

    partitions, segments, bytes     that are there, and of which so many were read
    checked                         by kind of check, how much was compared
    not checked                     what was to be checked and could not be, each with the reason
    left aside                      what is rightly not read: directories that a broker is about to delete, topics that
                                    were not chosen

As long as something was not checked, nobody may say that all agrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .findings import NotChecked

KINDS: Mapping[str, tuple[str, ...]] = {
    "checksum, order, range, missing, zeros": (
        *("batches", "bytes", "bytes allocated ahead", "bytes appended meanwhile"),
    ),
    "records": ("records",),
    "leader-epoch": ("leader epochs",),
    "offset-index": ("offset index entries", "offset index files"),
    "time-index": ("time index entries", "time index files"),
    "txn-index": ("transaction index entries", "transaction index files"),
    "sequence, epoch": ("producers",),
    "transaction": ("transactions",),
    "snapshot": ("snapshots", "snapshots beyond lost offsets", "snapshots below the log"),
    "checkpoint": ("checkpoint offsets", "checkpoint entries"),
    "file, directory": ("names",),
    "ends": ("ends",),
    "topic-id, identity": ("topic ids", "identities"),
    "broker, list-offsets": ("lookups",),
}
"""The counters of `Findings.checked`, by the checks that they belong to."""


class Coverage(NamedTuple):
    """Of a whole audit."""

    partitions: int
    """That are there, of the topics that were chosen."""
    partitions_read: int
    segments: int
    segments_read: int
    size_bytes: int
    checked: Counter[str]
    not_checked: tuple[NotChecked, ...]
    left_aside: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        return not self.not_checked

    @property
    def bytes_read(self) -> int:
        return self.checked["bytes"] + self.checked["bytes allocated ahead"]

    def lines(self) -> Iterator[str]:
        """For people."""
        yield (
            f"read: {self.partitions_read:,} of {self.partitions:,} partitions, {self.segments_read:,} of "
            f"{self.segments:,} segments, {self.bytes_read:,} of {self.size_bytes:,} bytes"
        )
        for checks, counters in KINDS.items():
            counts = [f"{self.checked[name]:,} {name}" for name in counters if self.checked[name]]
            if counts:
                yield f"checked: {checks}: {', '.join(counts)}"
        for what in self.left_aside:
            yield f"left aside: {what}"
        for skipped in self.not_checked:
            yield f"not checked: {skipped}"

    def as_dict(self) -> dict[str, Any]:
        """For verdict.json."""
        return {
            "partitions": self.partitions,
            "partitions_read": self.partitions_read,
            "segments": self.segments,
            "segments_read": self.segments_read,
            "bytes": self.size_bytes,
            "bytes_read": self.bytes_read,
            "checked": {checks: {name: self.checked[name] for name in names} for checks, names in KINDS.items()},
            "not_checked": [skipped._asdict() for skipped in self.not_checked],
            "left_aside": list(self.left_aside),
        }
