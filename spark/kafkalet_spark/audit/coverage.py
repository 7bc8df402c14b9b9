"""The coverage of an audit: what was checked, what could not be checked and what was excluded.

    partitions, segments, bytes     how many exist, and how many were read
    checked                         how much was compared, by kind of check
    not checked                     what could not be checked, with the reason
    excluded                        what is intentionally not read: directories that a broker is about to delete, and
                                    topics that were not selected

If anything could not be checked, the verdict is not "everything agrees".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kafkalet.units import counted

from .findings import NotChecked

KINDS: Mapping[str, tuple[str, ...]] = {
    "checksum, order, range, missing, zeros": (
        *("batches", "bytes", "bytes allocated ahead", "bytes appended meanwhile"),
    ),
    "records": ("records",),
    "key": ("compacted keys",),
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
"""The counters in `Findings.checked` that belong to each group of checks."""


class Coverage(NamedTuple):
    """The coverage of a whole audit."""

    partitions: int
    """The number of existing partitions of the selected topics."""
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
        """Describe the coverage as text."""
        yield (
            f"read: {self.partitions_read:,} of {counted(self.partitions, 'partition')}, {self.segments_read:,} of "
            f"{counted(self.segments, 'segment')}, {self.bytes_read:,} of {counted(self.size_bytes, 'byte')}"
        )
        for checks, counters in KINDS.items():
            counts = [f"{self.checked[name]:,} {name}" for name in counters if self.checked[name]]
            if counts:
                yield f"checked: {checks}: {', '.join(counts)}"
        for what in self.left_aside:
            yield f"excluded: {what}"
        for skipped in self.not_checked:
            yield f"not checked: {skipped}"

    def as_dict(self) -> dict[str, Any]:
        """Return the coverage for verdict.json."""
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
