"""Count entries, records and bytes by codec and format, and the sizes of batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.records.codecs import Codec

from .entries import Entries

CODECS = {int(codec): codec.name.lower() for codec in Codec}
CLASSES = 32
"""The number of size classes: entries with up to 1, 2, 4, ... records."""


class Sizes(NamedTuple):
    """Counts by codec and format. Rows are codec IDs (0 to 7) or formats; columns are entries, records and bytes."""

    by_codec: NDArray[np.int64] = np.zeros((8, 3), np.int64)
    by_format: NDArray[np.int64] = np.zeros((3, 3), np.int64)
    entries_by_records: NDArray[np.int64] = np.zeros(CLASSES, np.int64)
    """The number of entries with up to 2**n records, but more than 2**(n - 1)."""
    smallest_entry_bytes: int = 0
    largest_entry_bytes: int = 0

    def with_entries(self, entries: Entries, records: NDArray[np.int64]) -> Sizes:
        """Add entries. `records` is the number of records of each entry."""
        batches = entries.batches
        if batches.size.size == 0:
            return self
        counted = (np.ones(records.size, np.int64), records, batches.size)

        def by(group: NDArray[np.integer], groups: int) -> NDArray[np.int64]:
            columns = [np.bincount(group, weights, groups).astype(np.int64) for weights in counted]
            return np.stack(columns, axis=1)

        classes = np.ceil(np.log2(np.maximum(records, 1))).astype(np.int64)
        return self.merged_with(
            Sizes(
                by(batches.codec.astype(np.int64), 8),
                by(batches.magic.astype(np.int64), 3),
                np.bincount(classes, minlength=CLASSES)[:CLASSES],
                int(batches.size.min()),
                int(batches.size.max()),
            )
        )

    def merged_with(self, other: Sizes) -> Sizes:
        """Add the counts of another object."""
        known = [size for size in (self.smallest_entry_bytes, other.smallest_entry_bytes) if size]
        return Sizes(
            self.by_codec + other.by_codec,
            self.by_format + other.by_format,
            self.entries_by_records + other.entries_by_records,
            min(known, default=0),
            max(self.largest_entry_bytes, other.largest_entry_bytes),
        )

    @property
    def entries(self) -> int:
        return int(self.by_codec[:, 0].sum())

    @property
    def records(self) -> int:
        return int(self.by_codec[:, 1].sum())

    @property
    def bytes(self) -> int:
        return int(self.by_codec[:, 2].sum())

    def codecs(self) -> dict[str, tuple[int, int, int]]:
        """Return the numbers of entries, records and bytes for each codec that is used."""
        return {
            CODECS.get(number, f"codec {number}"): (int(row[0]), int(row[1]), int(row[2]))
            for number, row in enumerate(self.by_codec)
            if row.any()
        }
