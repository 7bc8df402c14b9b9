"""Check the keys of compacted logs.

Below the offset that the log cleaner has reached (cleaner-offset-checkpoint), each key occurs at most once, because the
cleaner keeps only the last record of each key, and all records have a key, because it drops those without. Records
below the log start offset are exempt: the cleaner does not look at their keys.

From that offset on, a segment in which a key occurs twice has not been cleaned, so that compaction does not explain its
gaps; see offset_chain.py.

Keys are compared by 64-bit hashes. Of a large log, only the keys whose hash is divisible by `KeyCheck.share` are
compared, so that memory stays bounded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kafkalet.units import counted
from kafkalet_spark.decoding.records import Records

from .audit_ranges import AuditRange
from .entries import Entries
from .findings import Findings
from .key_hashes import hashes

KEY = np.dtype([("hash", "u8"), ("offset", "i8"), ("stretch", "i4")])
MOST_BYTES_PER_SHARE = 4 << 30
"""The bytes of log for which all keys are compared."""


class KeysOfStretch:
    """Collects the keys of one stretch of a compacted log."""

    def __init__(self, findings: Findings, number: int, stretch: AuditRange) -> None:
        self._findings = findings
        self._number = number
        self._stretch = stretch
        self._share = np.uint64(1 + stretch.log_size // MOST_BYTES_PER_SHARE)
        self._below: list[NDArray[np.void]] = []
        self._above: list[NDArray[np.uint64]] = []
        self._without_key = 0

    def take(self, entries: Entries, records: Records) -> None:
        stretch = self._stretch
        if not stretch.is_compacted or records.row.size == 0:
            return
        is_data = ~entries.batches.is_control[records.row] & (records.offset >= stretch.log_start_offset)
        has_key = np.asarray(records.key.is_valid())
        is_cleaned = records.offset < stretch.cleaned_up_to
        for at in np.flatnonzero(is_data & ~has_key & is_cleaned)[:1].tolist():
            message = f"record {records.offset[at]} has no key, but is below the cleaner offset {stretch.cleaned_up_to}"
            self._findings.add("key", message, fault="null-key", file=stretch.path, offset=int(records.offset[at]))
        self._without_key += int((is_data & ~has_key & ~is_cleaned).sum())
        rows = np.flatnonzero(is_data & has_key)
        hashed = hashes(records.key.take(rows))
        chosen = hashed % self._share == 0
        rows, hashed = rows[chosen], hashed[chosen]
        self._above.append(hashed[~is_cleaned[rows]])
        below = is_cleaned[rows]
        found = np.empty(int(below.sum()), KEY)
        found["hash"], found["offset"], found["stretch"] = hashed[below], records.offset[rows][below], self._number
        self._below.append(found)

    def finish(self) -> None:
        """Report records without a key that the cleaner has not reached."""
        if self._without_key:
            directory = os.path.dirname(self._stretch.path)
            what = f"undecided: {counted(self._without_key, 'record')} without a key, not compacted yet"
            self._findings.skip(directory, f"{what}; Kafka refuses them, unless the topic was not compacted then")

    @property
    def below(self) -> NDArray[np.void]:
        """Rows of KEY: the keys below the offset that the cleaner has reached."""
        return np.concatenate([np.empty(0, KEY), *self._below])

    @property
    def repeats(self) -> bool:
        """Whether a key occurs twice from that offset on."""
        above = np.concatenate([np.empty(0, np.uint64), *self._above])
        return bool(np.unique(above).size < above.size)


def check_unique_keys(parts: Sequence[NDArray[np.void]], paths: Sequence[str], findings: Findings) -> None:
    """Check the keys of a whole log below the offset that the cleaner has reached. `paths` lists the file of each
    stretch."""
    keys = np.concatenate([np.empty(0, KEY), *parts])
    findings.checked["compacted keys"] += keys.size
    keys = keys[np.lexsort((keys["offset"], keys["hash"]))]
    for at in np.flatnonzero(keys["hash"][1:] == keys["hash"][:-1]).tolist():
        earlier, later = int(keys["offset"][at]), int(keys["offset"][at + 1])
        message = f"the key of record {later} also occurs at offset {earlier}, although the log is compacted there"
        findings.add("key", message, fault="repeated-key", file=paths[keys["stretch"][at]], offset=earlier)
