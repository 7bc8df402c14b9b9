"""Producers, transactions and their markers in what would be plain batches: hard fixtures, the same for the same seed.

    producers              so many producers take turns, batch by batch, each with its id and its sequence
    transactionalShare     this share of the batches belongs to transactions, the others have no producer (or, where it
                           is 0, all are of idempotent producers)
    transactionSize        records after which a transaction ends, at the end of the batch
    abortedShare           this share of the transactions ends with an abort marker, the others with a commit marker
    openTransactions       so many transactions have no end: in each partition the last batches, one each, belong to
                           producers of their own that never said how it ended. Transactions that were under way
                           before them are ended behind them, so that committed, aborted and open ones cross
    openShare              of the transactions under way at the end of a partition, this share has no end either;
                           they are longer, and reach further back
    producerId             of the first producer; by default far above those that a broker gives away, and above those
                           that the log knows
    seed                   which batch is whose, and which transaction is aborted

What belongs together is one partition in one task; a load puts a partition into one task for that.

An aborted transaction leaves an entry in the transaction index of the segment with its marker: its producer, its first
offset, that of the marker, and the last stable offset the log had with it (ProducerStateManager.lastStableOffset): the
first offset of the oldest other transaction that is open, else the one behind the marker.
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
    """How many producers do what; the module says it."""

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
        """How many producers take turns."""
        return self.producers or DEFAULT_PRODUCERS


class Aborted(NamedTuple):
    """An entry of the transaction index."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Stamp(NamedTuple):
    """Whose a batch is, and where it lies."""

    base_offset: int
    last_offset: int
    state: ProducerState | None
    """Of its producer afterwards."""
    base_sequence: int = -1
    is_transactional: bool = False


class Marker(NamedTuple):
    """The end of a transaction, as a batch."""

    offset: int
    timestamp: int
    data: bytes
    state: ProducerState
    aborted: Aborted | None


class _Lane:
    """A producer, and the transaction it is in."""

    __slots__ = ("is_doomed", "records", "sequence", "state")

    def __init__(self, producer_id: int) -> None:
        self.state = ProducerState(producer_id, 0)
        self.sequence = 0
        self.records = 0
        self.is_doomed = False


class Shaping:
    """Shapes one partition, batch by batch. `highest_known` is the highest producer id that its log knows."""

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
        """First offsets by producer id, in the order in which they began."""
        self._chance = np.random.default_rng([shape.seed, crc32(topic.encode()), partition, task])
        self._latest = -1

    def shape(
        self, next_offset: int, batches: Sequence[tuple[int, int]], *, left_open: int = 0
    ) -> list[Stamp | Marker]:
        """Batches, given as (records, largest timestamp), from `next_offset` on, with the markers between them.

        The last `left_open` of them are transactions that stay open.
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
        """The markers of the transactions that are under way, but for those that are to stay open."""
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
