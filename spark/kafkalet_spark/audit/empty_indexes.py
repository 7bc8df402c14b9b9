"""Detect offset indexes that have lost all their entries.

An empty .index is valid for a small segment, and Kafka's own sanity checks accept it. An entry is written by an append
that follows more than `index.interval.bytes` since the last entry or since the broker was started. This interval may be
set for the topic, and is less than the position of the first entry of any index of the log; otherwise, it is assumed to
be Kafka's default. A follower may append MOST_BYTES_TOGETHER at once, and the broker may have been started several
times, so that only the index of a large segment is known to have lost its entries.

An empty .timeindex is detected by its missing last entry. A segment to which a broker appends, or appended when it was
killed, may have no index entries yet: kafkalet writes them when the segment is closed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby

from .findings import Findings
from .stretch_audit import StretchFacts

DEFAULT_INTERVAL_BYTES = 4096
MOST_STARTS = 64
"""How often a broker is assumed to have been started while it appended to the same segment."""
MOST_BYTES_TOGETHER = 1 << 20
"""Kafka's default for replica.fetch.max.bytes."""


def check_empty_indexes(
    facts: Sequence[StretchFacts], interval_bytes: int | None, compacted_up_to: int, findings: Findings
) -> None:
    """Check all segments of a log. `facts` describe all its stretches, in order. `interval_bytes` is the topic's
    index.interval.bytes, if it is known; compacted segments have fewer entries, and are not checked."""
    positions = [part.first_indexed_position for part in facts if part.index_entries]
    interval = interval_bytes or min(positions, default=DEFAULT_INTERVAL_BYTES)
    least_bytes = MOST_STARTS * interval + MOST_BYTES_TOGETHER
    for parts in _segments(facts):
        stretch = parts[-1].stretch
        size, index = parts[-1].extent.end_position, stretch.beside(".index")
        if any(part.is_damaged for part in parts) or stretch.takes_appends or stretch.base_offset < compacted_up_to:
            continue
        if parts[-1].index_entries == 0 and size > least_bytes and is_file(index):
            message = f"the index is empty, but the segment has {size:,} bytes"
            findings.add("offset-index", message, fault="empty-index", file=index, offset=stretch.base_offset)


def is_file(path: str) -> bool:
    """Return whether the index is a file. A missing or unreadable index is reported separately."""
    return os.path.isfile(path)


def _segments(facts: Sequence[StretchFacts]) -> Iterator[list[StretchFacts]]:
    for _, parts in groupby(facts, key=lambda part: part.stretch.path):
        yield list(parts)
