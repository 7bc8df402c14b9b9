"""The plan of a job as text, printed by --dry-run.

    topic    partition  offsets        splits  files  bytes
    flights  0          0 to 112,258   3       2      12.3 MB
    total    1          112,258        3       2      12.3 MB

Each task reads one split. Files and bytes are what its task will read, estimated from the indexes without reading the
logs. A broker does not report sizes in bytes, so its plan has only offsets and splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .logs.splits import Split
from .origin import AnySplit, PartitionRange
from .progress import ExpectedWork

UNKNOWN = "-"


class Reading(NamedTuple):
    """The part of a partition that will be read. `files` and `size_bytes` are None for a broker."""

    range: PartitionRange
    splits: int
    files: int | None
    size_bytes: int | None


def readings(ranges: Iterable[PartitionRange], splits: Iterable[AnySplit]) -> list[Reading]:
    """Group the splits by the range that they belong to."""
    by_partition: dict[tuple[str, int], list[AnySplit]] = {}
    for split in splits:
        by_partition.setdefault((split.topic, split.partition), []).append(split)
    return [_reading(each, by_partition.get((each.topic, each.partition), [])) for each in ranges]


def _reading(of: PartitionRange, splits: Sequence[AnySplit]) -> Reading:
    on_disk = [split for split in splits if isinstance(split, Split)]
    if len(on_disk) < len(splits):
        return Reading(of, len(splits), None, None)
    files = {piece.path for split in on_disk for piece in split.pieces}
    return Reading(of, len(splits), len(files), sum(split.size_bytes for split in on_disk))


def expected(found: Iterable[Reading]) -> ExpectedWork:
    """Return the totals of a job that reads these partitions. Records are estimated from offsets, ignoring gaps."""
    found = list(found)
    return ExpectedWork(
        sum(each.range.end - each.range.start for each in found),
        sum(each.size_bytes or 0 for each in found),
        sum(each.splits for each in found),
    )


def reading_text(found: Sequence[Reading]) -> str:
    """Format a table of the partitions to read, with a total."""
    rows = [
        [
            each.range.topic,
            str(each.range.partition),
            f"{each.range.start:,} to {each.range.end:,}",
            f"{each.splits:,}",
            UNKNOWN if each.files is None else f"{each.files:,}",
            UNKNOWN if each.size_bytes is None else megabytes(each.size_bytes),
        ]
        for each in found
    ]
    sizes = [each.size_bytes for each in found]
    files = [each.files for each in found]
    total = [
        "total",
        f"{len(found):,}",
        f"{sum(each.range.end - each.range.start for each in found):,}",
        f"{sum(each.splits for each in found):,}",
        UNKNOWN if None in files else f"{sum(filter(None, files)):,}",
        UNKNOWN if None in sizes else megabytes(sum(filter(None, sizes))),
    ]
    return table(["topic", "partition", "offsets", "splits", "files", "bytes"], [*rows, total])


def settings_text(settings: Mapping[str, object]) -> str:
    """Format one line per setting, omitting settings that are None."""
    shown = {name: value for name, value in settings.items() if value is not None}
    width = max(map(len, shown), default=0)
    return "".join(f"{name:{width}}  {value}\n" for name, value in shown.items())


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table with columns as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = (
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in [headings, *rows]
    )
    return "".join(lines)


def megabytes(size_bytes: int) -> str:
    """Format a size in decimal units, such as "123 B", "12.3 MB" or "5.0 GB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:,.1f} {name}"
    return f"{size_bytes} B"
