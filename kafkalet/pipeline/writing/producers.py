"""The producers of a log that something is appended to: the snapshots that its new segments need begin with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kafkalet.pipeline.logs.snapshots import Producers, snapshot_bytes


class ProducerState(NamedTuple):
    """What a log remembers of one producer, as snapshots have it; -1 where there is nothing to remember."""

    producer_id: int
    producer_epoch: int
    last_sequence: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    timestamp: int = -1
    coordinator_epoch: int = -1
    first_offset: int = -1
    """Of the open transaction."""

    def moved(self, offsets: int) -> ProducerState:
        """The same in a log where all lies so many offsets further."""
        return self._replace(
            last_offset=self.last_offset + offsets if self.last_offset >= 0 else -1,
            first_offset=self.first_offset + offsets if self.first_offset >= 0 else -1,
        )


def encode(states: Mapping[int, ProducerState]) -> bytes:
    """The content of a snapshot."""
    columns = zip(*states.values(), strict=True) if states else [()] * len(ProducerState._fields)
    return snapshot_bytes(Producers._make(np.array(column, np.int64) for column in columns))
