"""What a log must contain: computed from its batches alone, with none of the code in `kafkalet.storage`."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kafkalet.protocol.records.batch import Batch

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
ABORTED_ENTRY = struct.Struct(">hqqqq")
LOG_OVERHEAD_BYTES = 12
HEADER_BYTES = 61


class Entry(NamedTuple):
    """A batch in a log."""

    base: int
    last: int
    data: bytes

    @property
    def batch(self) -> Batch:
        return Batch(self.data)


def entries_in(data: bytes) -> list[Entry]:
    """Cut the contents of a .log file into batches. Raises ValueError if they are not complete batches."""
    found = []
    position = 0
    while position < len(data):
        if position + LOG_OVERHEAD_BYTES > len(data):
            raise ValueError(f"{len(data) - position} bytes at position {position} are not a batch")
        size = LOG_OVERHEAD_BYTES + int.from_bytes(data[position + 8 : position + LOG_OVERHEAD_BYTES], "big")
        if position + size > len(data):
            raise ValueError(f"the batch at position {position} has {size} bytes, but {len(data) - position} exist")
        if size < HEADER_BYTES:
            raise ValueError(f"the batch at position {position} has {size} bytes")
        batch = Batch(data[position : position + size])
        batch.check_crc()
        found.append(Entry(batch.base_offset, batch.last_offset, data[position : position + size]))
        position += size
    return found


class Aborted(NamedTuple):
    producer_id: int
    first: int
    last: int
    stable: int


class Producer(NamedTuple):
    epoch: int
    last_sequence: int
    last_offset: int
    """The last data record; -1 if there is none in this epoch."""
    open_since: int | None
    touched: int
    """The last offset that the producer, or a marker of it, has written."""


class State:
    """Producers and transactions after a sequence of batches."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.producers: dict[int, Producer] = {}
        self.aborted: list[Aborted] = []
        for entry in entries:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        batch = entry.batch
        if batch.producer_id < 0:
            return
        known = self.producers.get(batch.producer_id)
        open_since = None if known is None else known.open_since
        if batch.is_control:
            self._mark(entry, batch, known, open_since)
            return
        if batch.is_transactional and open_since is None:
            open_since = entry.base
        self.producers[batch.producer_id] = Producer(
            batch.producer_epoch, batch.last_sequence, entry.last, open_since, entry.last
        )

    def _mark(self, entry: Entry, batch: Batch, known: Producer | None, open_since: int | None) -> None:
        if open_since is not None and not is_commit(batch):
            others = [
                each.open_since
                for number, each in self.producers.items()
                if each.open_since is not None and number != batch.producer_id
            ]
            self.aborted.append(Aborted(batch.producer_id, open_since, entry.last, min([*others, entry.last + 1])))
        same = known is not None and known.epoch == batch.producer_epoch
        self.producers[batch.producer_id] = Producer(
            batch.producer_epoch,
            known.last_sequence if known is not None and same else -1,
            known.last_offset if known is not None and same else -1,
            None,
            entry.last,
        )

    @property
    def first_open(self) -> int | None:
        return min((each.open_since for each in self.producers.values() if each.open_since is not None), default=None)


def is_commit(marker: Batch) -> bool:
    """Return whether a control batch commits."""
    [record] = marker.records()
    assert record.key is not None
    return struct.unpack_from(">hh", record.key)[1] == 1


def epochs_of(entries: Iterable[Entry]) -> list[tuple[int, int]]:
    """Return the leader epochs with their first offsets."""
    epochs: list[tuple[int, int]] = []
    for entry in entries:
        epoch = entry.batch.leader_epoch
        if epoch >= 0 and (not epochs or epoch > epochs[-1][0]):
            epochs.append((epoch, entry.base))
    return epochs


def offset_index_faults(index: bytes, base: int, entries: Sequence[Entry]) -> Iterator[str]:
    """Compare the contents of an .index with the batches of its segment."""
    starts, lasts, position = {}, set(), 0
    for entry in entries:
        starts[position] = entry
        lasts.add(entry.last)
        position += len(entry.data)
    if len(index) % OFFSET_ENTRY.size:
        yield f"the offset index has {len(index)} bytes"
        return
    before = (-1, -1)
    for relative, at in OFFSET_ENTRY.iter_unpack(index):
        named = starts.get(at)
        if named is None or named.last > base + relative or base + relative not in lasts:
            yield f"the offset index has offset {base + relative} at {at}, where the log has {named and named[:2]}"
        if relative <= before[0] or at <= before[1]:
            yield f"the offset index has ({relative}, {at}) after {before}"
        before = (relative, at)


def time_index_faults(index: bytes, base: int, entries: Sequence[Entry]) -> Iterator[str]:
    """Compare the contents of a .timeindex, as it is after closing, with the batches of its segment."""
    largest: dict[int, int] = {}
    top = -1
    for entry in entries:
        top = max(top, entry.batch.max_timestamp)
        largest[entry.last] = top
    if len(index) % TIME_ENTRY.size:
        yield f"the time index has {len(index)} bytes"
        return
    before = (-1, -1)
    for timestamp, relative in TIME_ENTRY.iter_unpack(index):
        if largest.get(base + relative) != timestamp:
            yield f"the time index has {timestamp} at {base + relative}, where it is {largest.get(base + relative)}"
        if timestamp <= before[0] or relative <= before[1]:
            yield f"the time index has ({timestamp}, {relative}) after {before}"
        before = (timestamp, relative)
    if before[0] != top:
        yield f"the time index ends with {before[0]}, the largest timestamp is {top}"


def aborted_in(index: bytes) -> list[Aborted]:
    """Return the entries of a .txnindex."""
    return [Aborted(*fields[1:]) for fields in ABORTED_ENTRY.iter_unpack(index)]
