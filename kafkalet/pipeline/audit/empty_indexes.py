"""Detect indexes that have lost all their entries.

An empty index is valid for a small segment, and Kafka's own sanity checks accept it. A loss of entries can be inferred
from the other index: .index and .timeindex entries are written together (LogSegment.append), and .timeindex gets one
more entry when the segment is closed.

    .index is empty, .timeindex has two or more entries                          .index has lost its entries
    .index is empty, .timeindex has one entry, the segment is active             .index has lost its entries
    .index has entries, .timeindex has none, batches have timestamps             .timeindex has lost its entries

The expected number of entries is unknown: it depends on index.interval.bytes, which is not stored in a log directory,
and a follower may fill a segment in a single append. Therefore, if both indexes of a segment were emptied, only the
loss of the .timeindex entries can be detected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby

from .findings import Findings
from .stretch_audit import StretchFacts


def check_empty_indexes(facts: Sequence[StretchFacts], findings: Findings) -> None:
    """Check all segments of a log. `facts` describe all its stretches, in order."""
    for parts in _segments(facts):
        last = parts[-1]
        stretch = last.stretch
        if any(part.is_damaged for part in parts) or stretch.before_offset is not None:
            continue
        takes_appends = stretch.next_base_offset is None and not stretch.is_closed
        index, time_index = stretch.beside(".index"), stretch.beside(".timeindex")
        least = 1 if takes_appends else 2
        if last.index_entries == 0 and last.time_index_entries >= least and is_file(index):
            message = f"the index is empty, but .timeindex has {last.time_index_entries} entries"
            findings.add("offset-index", message, fault="empty-index", file=index, offset=stretch.base_offset)
        has_times = max(part.largest_timestamp for part in parts) >= 0
        if takes_appends and has_times and last.time_index_entries == 0 < last.index_entries and is_file(time_index):
            message = f"the index is empty, but .index has {last.index_entries} entries"
            findings.add("time-index", message, fault="empty-timeindex", file=time_index, offset=stretch.base_offset)


def is_file(path: str) -> bool:
    """Return whether the index is a file. A missing or unreadable index is reported separately."""
    return os.path.isfile(path)


def _segments(facts: Sequence[StretchFacts]) -> Iterator[list[StretchFacts]]:
    for _, parts in groupby(facts, key=lambda part: part.stretch.path):
        yield list(parts)
