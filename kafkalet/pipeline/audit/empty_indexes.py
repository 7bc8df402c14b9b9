"""Has an index lost all its entries?

An empty index is legal in a small segment, and Kafka's own checks accept it. What gives it away is the other index:
entries of .index and .timeindex are written together (LogSegment.append), and when a segment is closed, .timeindex
gets one more.

    .index empty, .timeindex has at least two entries            .index has lost its entries
    .index empty, .timeindex has one, appends still come         .index has lost its entries
    .index has entries, .timeindex none, batches have times      .timeindex has lost its entries

How far entries lie apart says the topic's index.interval.bytes, which a directory does not tell, and one append of a
follower may fill a segment. So of a segment whose two indexes were emptied together only .timeindex is certain.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby

from .findings import Findings
from .stretch_audit import StretchFacts


def check_empty_indexes(facts: Sequence[StretchFacts], findings: Findings) -> None:
    """The stretches of a whole log, in order."""
    for parts in _segments(facts):
        last = parts[-1]
        stretch = last.stretch
        if any(part.is_damaged for part in parts) or stretch.before_offset is not None:
            continue
        takes_appends = stretch.next_base_offset is None and not stretch.is_closed
        index, time_index = stretch.beside(".index"), stretch.beside(".timeindex")
        least = 1 if takes_appends else 2
        if last.index_entries == 0 and last.time_index_entries >= least and is_file(index):
            message = f"it is empty, and .timeindex has {last.time_index_entries} entries"
            findings.add("offset-index", message, fault="empty-index", file=index, offset=stretch.base_offset)
        has_times = max(part.largest_timestamp for part in parts) >= 0
        if takes_appends and has_times and last.time_index_entries == 0 < last.index_entries and is_file(time_index):
            message = f"it is empty, and .index has {last.index_entries} entries"
            findings.add("time-index", message, fault="empty-timeindex", file=time_index, offset=stretch.base_offset)


def is_file(path: str) -> bool:
    """Whether there is a file to speak of: one that is missing, or cannot be read, is another finding."""
    return os.path.isfile(path)


def _segments(facts: Sequence[StretchFacts]) -> Iterator[list[StretchFacts]]:
    for _, parts in groupby(facts, key=lambda part: part.stretch.path):
        yield list(parts)
