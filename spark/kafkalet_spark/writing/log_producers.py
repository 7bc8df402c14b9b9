"""Track the producer state of a log, which is written to snapshots at the base of each segment and at the log end.

For an existing log, the state is that of its newest snapshot, updated with the batches after the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from kafkalet.protocol.records.batch import increment_sequence
from kafkalet_spark.logs.directory import PartitionLog, snapshot_path
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.heads import Head, heads
from kafkalet_spark.logs.snapshots import Producers, read_snapshot, snapshot_bytes, snapshot_offsets
from kafkalet_spark.logs.transactions import end_marker


class ProducerState(NamedTuple):
    """The state of one producer, with the same fields as a snapshot entry. A value of -1 means "unset"."""

    producer_id: int
    producer_epoch: int
    last_sequence: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    timestamp: int = -1
    coordinator_epoch: int = -1
    first_offset: int = -1
    """The first offset of the open transaction."""

    def moved(self, offsets: int) -> ProducerState:
        """Return the state with all offsets shifted by `offsets`."""
        return self._replace(
            last_offset=self.last_offset + offsets if self.last_offset >= 0 else -1,
            first_offset=self.first_offset + offsets if self.first_offset >= 0 else -1,
        )


States = Mapping[int, ProducerState]
"""States, keyed by producer id."""


def encode(states: States) -> bytes:
    """Return the content of a snapshot."""
    columns = zip(*states.values(), strict=True) if states else [()] * len(ProducerState._fields)
    return snapshot_bytes(Producers._make(np.array(column, np.int64) for column in columns))


def read(path: str) -> dict[int, ProducerState]:
    """Read a snapshot; empty if the file does not exist. Raises CorruptFile."""
    try:
        columns = read_snapshot(path)
    except FileNotFoundError:
        return {}
    rows = map(ProducerState._make, zip(*(column.tolist() for column in columns), strict=True))
    return {state.producer_id: state for state in rows}


def moved(states: Iterable[ProducerState], offsets: int) -> dict[int, ProducerState]:
    """Return the states with all offsets shifted by `offsets`, keyed by producer id."""
    return {state.producer_id: state.moved(offsets) for state in states}


def at_end(log: PartitionLog) -> dict[int, ProducerState]:
    """Return the producer state at the end of a log. Raises CorruptFile if a marker cannot be read."""
    start, states = _latest(log)
    for at, segment in enumerate(log.segments):
        next_base = log.next_base_offset(at)
        if next_base is not None and next_base <= start:
            continue
        for head in heads(segment.path, 0, segment.size):
            if head.base_offset >= start and head.producer_id >= 0:
                states[head.producer_id] = _after(states.get(head.producer_id), segment.path, head)
    return states


def _latest(log: PartitionLog) -> tuple[int, dict[int, ProducerState]]:
    """Return the offset and content of the newest readable snapshot."""
    for offset in reversed(snapshot_offsets(log.path)):
        try:
            return offset, read(snapshot_path(log.path, offset))
        except CorruptFile:
            continue  # use the previous snapshot and replay more of the log, as Kafka does
    return log.log_start_offset, {}


def _after(known: ProducerState | None, path: str, head: Head) -> ProducerState:
    """Return the state of a producer after another batch (ProducerAppendInfo)."""
    state = known or ProducerState(head.producer_id, head.producer_epoch)
    if state.producer_epoch != head.producer_epoch:
        state = ProducerState(
            head.producer_id,
            head.producer_epoch,
            coordinator_epoch=state.coordinator_epoch,
            first_offset=state.first_offset,
        )
    if head.is_control:
        marker = end_marker(path, head)
        if marker is None:
            return state
        return state._replace(timestamp=head.max_timestamp, coordinator_epoch=marker.coordinator_epoch, first_offset=-1)
    first_offset = head.base_offset if head.is_transactional and state.first_offset < 0 else state.first_offset
    delta = head.last_offset - head.base_offset
    return state._replace(
        last_sequence=increment_sequence(head.base_sequence, delta),
        last_offset=head.last_offset,
        offset_delta=delta,
        timestamp=head.max_timestamp,
        first_offset=first_offset,
    )
