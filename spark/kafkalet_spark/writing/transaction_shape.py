"""Turn plain batches into difficult test logs: assign producers, transactions and markers, reproducibly from a seed.

    producers              number of producers that take turns, batch by batch; each has its own id and sequence numbers
    transactionalShare     share of the batches that belong to transactions; the other batches have no producer. If it
                           is 0, all batches are written by idempotent producers
    transactionSize        number of records after which a transaction ends, at the end of the batch
    abortedShare           share of the transactions that end with an abort marker; the others are committed
    openTransactions       number of transactions in each partition that never end. They consist of the last batches,
                           one batch each, and belong to additional producers. Transactions that were open before these
                           batches end after them, so that committed, aborted and open transactions overlap
    openShare              of the transactions that are open at the end of a partition, the share that stay open; these
                           are longer and begin earlier
    producerId             id of the first producer; by default far above the ids that a broker assigns, and above those
                           in the log
    seed                   determines which producer writes a batch, and which transactions are aborted

All this applies to one partition in one task; a load with these options writes each partition in a single task.

For each aborted transaction, an entry is added to the transaction index of the segment that holds the marker: producer
id, first offset, offset of the marker, and last stable offset after the marker (ProducerStateManager.lastStableOffset).
The latter is the first offset of the oldest transaction that is still open or, if there is none, the offset after the
marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from kafkalet.protocol.records.batch import increment_sequence
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker

from .log_producers import ProducerState

FIRST_PRODUCER_ID = 1_000_000_000
DEFAULT_PRODUCERS = 3


class TransactionShape(NamedTuple):
    """The options for producers and transactions, as described in the module docstring."""

    transactional_share: float = 0.0
    aborted_share: float = 0.0
    open_transactions: int = 0
    open_share: float = 0.0
    transaction_records: int = 100
    producers: int = 0
    first_producer_id: int | None = None
    seed: int = 0

    @property
    def lanes(self) -> int:
        """The number of producers that take turns."""
        return self.producers or DEFAULT_PRODUCERS


class Aborted(NamedTuple):
    """An entry of the transaction index."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Stamp(NamedTuple):
    """The offsets and the producer assigned to a batch."""

    base_offset: int
    last_offset: int
    state: ProducerState | None
    """The state of the producer after the batch; None if the batch has no producer."""
    base_sequence: int = -1
    is_transactional: bool = False


class Marker(NamedTuple):
    """A transaction marker, as a batch."""

    offset: int
    timestamp: int
    data: bytes
    state: ProducerState
    aborted: Aborted | None


class _Lane:
    """One of the producers that take turns, and its open transaction."""

    __slots__ = ("is_doomed", "records", "sequence", "state")

    def __init__(self, producer_id: int) -> None:
        self.state = ProducerState(producer_id, 0)
        self.sequence = 0
        self.records = 0
        self.is_doomed = False


class Shaping:
    """Shapes one partition, batch by batch. `highest_known` is the highest producer id in the existing log."""

    def __init__(
        self,
        shape: TransactionShape,
        topic: str,
        partition: int,
        task: int,
        *,
        leader_epoch: int,
        highest_known: int = -1,
    ) -> None:
        self._shape = shape
        self._leader_epoch = leader_epoch
        first = FIRST_PRODUCER_ID if shape.first_producer_id is None else shape.first_producer_id
        first = max(first + task * (shape.lanes + shape.open_transactions), highest_known + 1)
        self._lanes = [_Lane(first + number) for number in range(shape.lanes)]
        self._next_id = first + shape.lanes
        self._open: dict[int, int] = {}
        """The first offsets of open transactions, oldest first, keyed by producer id."""
        self._chance = np.random.default_rng([shape.seed, crc32(topic.encode()), partition, task])
        self._latest = -1

    def shape(
        self, next_offset: int, batches: Sequence[tuple[int, int]], *, left_open: int = 0
    ) -> list[Stamp | Marker]:
        """Assign offsets, starting at `next_offset`, and producers to batches, and insert markers between them.

        Each batch is given as (number of records, largest timestamp). Each of the last `left_open` batches becomes a
        transaction that stays open.
        """
        done: list[Stamp | Marker] = []
        chances = self._chance.random((len(batches) - left_open, 3)).tolist()
        for (count, timestamp), (kind, whose, fate) in zip(batches, chances, strict=False):
            self._latest = max(self._latest, timestamp)
            lane = self._lanes[int(whose * len(self._lanes))]
            if self._shape.transactional_share == 0:
                is_plain = self._shape.producers == 0
            else:
                is_plain = kind >= self._shape.transactional_share
            if is_plain:
                done.append(Stamp(next_offset, next_offset + count - 1, None))
            else:
                done.append(self._data(lane, next_offset, count, timestamp, fate))
            next_offset += count
            if lane.records >= self._shape.transaction_records:
                done.append(self._end(lane, next_offset))
                next_offset += 1
        for count, timestamp in batches[len(batches) - left_open :]:
            self._latest = max(self._latest, timestamp)
            lane = _Lane(self._next_id)
            self._next_id += 1
            done.append(self._data(lane, next_offset, count, timestamp, 1.0, transactional=True))
            next_offset += count
        return done

    def end_all(self, next_offset: int) -> list[Marker]:
        """Return the markers of all open transactions, except those that should stay open."""
        begun = [lane for lane in self._lanes if lane.records]
        left = round(len(begun) * self._shape.open_share)
        ended = sorted(self._chance.permutation(len(begun))[left:].tolist())
        return [self._end(begun[which], next_offset + number) for number, which in enumerate(ended)]

    def _data(
        self, lane: _Lane, offset: int, count: int, timestamp: int, fate: float, *, transactional: bool | None = None
    ) -> Stamp:
        if transactional is None:
            transactional = self._shape.transactional_share > 0
        if transactional:
            if not lane.records:
                lane.is_doomed = fate < self._shape.aborted_share
                self._open[lane.state.producer_id] = offset
            lane.records += count
        sequence = lane.sequence
        lane.sequence = increment_sequence(sequence, count)
        lane.state = lane.state._replace(
            last_sequence=increment_sequence(sequence, count - 1),
            last_offset=offset + count - 1,
            offset_delta=count - 1,
            timestamp=timestamp,
            first_offset=self._open.get(lane.state.producer_id, -1),
        )
        return Stamp(offset, offset + count - 1, lane.state, sequence, transactional)

    def _end(self, lane: _Lane, offset: int) -> Marker:
        state = lane.state
        first_offset = self._open.pop(state.producer_id)
        aborted = None
        if lane.is_doomed:
            stable = next(iter(self._open.values()), offset + 1)
            aborted = Aborted(state.producer_id, first_offset, offset, stable)
        data = build_end_marker(
            EndMarker(ControlType.ABORT if lane.is_doomed else ControlType.COMMIT, 0),
            timestamp=self._latest,
            producer_id=state.producer_id,
            producer_epoch=state.producer_epoch,
            base_offset=offset,
            leader_epoch=self._leader_epoch,
        )
        lane.records = 0
        lane.state = state._replace(timestamp=self._latest, coordinator_epoch=0, first_offset=-1)
        return Marker(offset, self._latest, data, lane.state, aborted)
