"""Compare each .snapshot with the producer state derived from the batches below its offset.

For each producer, a snapshot contains its epoch, the last batch of that epoch (last sequence, last offset, offset
delta, and either its largest timestamp or that of a later marker), the coordinator epoch of the last marker, and the
first offset of the open transaction. A marker with a new epoch discards the batches of the old epoch.

An idle producer may be missing from the snapshot if it had expired by then, unless it had an open transaction. A
producer may be present even if none of its batches are left in the log. Compacted batches are not compared.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet_spark.logs.files import CorruptFile, UnreadableFile
from kafkalet_spark.logs.snapshots import Producers, read_snapshot

from .findings import Findings
from .offset_chain import OffsetChain
from .producer_runs import ABORT, EMPTY_MARKER, TRANSACTIONAL, Runs
from .transaction_history import OPEN, Transactions, has_data

UNKNOWN = -1
FIELDS = ("producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp")


class LogFacts(NamedTuple):
    """The facts about a log against which snapshots are checked."""

    runs: Runs
    transactions: Transactions
    chain: OffsetChain
    expiration_ms: int


def check_snapshot(path: str, offset: int, known: LogFacts, findings: Findings) -> int:
    """Compare one file, and return the number of producers in it."""
    try:
        listed = read_snapshot(path)
        written_ms = os.stat(path).st_mtime_ns // 1_000_000
    except UnreadableFile as error:
        findings.skip(path, error.reason)
        return 0
    except CorruptFile as error:
        findings.add(
            "snapshot", error.reason, fault="corrupt-snapshot", file=path, position=error.position, offset=offset
        )
        return 0
    except FileNotFoundError:  # deleted in the meantime
        return 0
    if offset > known.chain.log_end_offset:
        message = f"the snapshot is at offset {offset}, but the log ends at {known.chain.log_end_offset}"
        findings.add("snapshot", message, fault="snapshot-ahead", file=path, offset=offset)
    elif offset >= known.chain.log_begins_at:
        findings.checked["snapshots"] += 1
        _Comparison(path, offset, known, findings).run(listed, written_ms)
    else:
        findings.checked["snapshots below the log"] += 1
    return int(listed.producer_id.size)


class _Comparison:
    def __init__(self, path: str, offset: int, known: LogFacts, findings: Findings) -> None:
        self.path = path
        self.offset = offset
        self.known = known
        self.findings = findings

    def run(self, listed: Producers, written_ms: int) -> None:
        made = producers_at(self.known.runs, self.known.transactions, self.offset)
        row_of = {int(producer): row for row, producer in enumerate(made.producer_id)}
        listed_ids = set(map(int, listed.producer_id))
        if len(listed_ids) < listed.producer_id.size:
            self._add(f"{listed.producer_id.size - len(listed_ids)} producers are listed more than once")
        for row, producer in enumerate(listed.producer_id.tolist()):
            if producer in row_of:
                self._compare(listed, row, made, row_of[producer])
            elif not self._may_be_gone(int(listed.last_offset[row])):
                self._add(f"producer {producer} is listed, but wrote nothing before offset {self.offset}")
        for producer, row in row_of.items():
            is_open = made.first_offset[row] != UNKNOWN
            is_young = written_ms - int(made.timestamp[row]) < self.known.expiration_ms
            if producer not in listed_ids and (is_open or is_young):
                self._add(f"producer {producer} is missing; its last offset is {made.last_offset[row]}")

    def _may_be_gone(self, last_offset: int) -> bool:
        known = self.known
        return last_offset < max(known.chain.log_begins_at, known.chain.compacted_up_to)

    def _compare(self, listed: Producers, row: int, made: Producers, mine: int) -> None:
        compacted_up_to = self.known.chain.compacted_up_to
        if made.producer_epoch[mine] == UNKNOWN or (compacted_up_to and listed.last_offset[row] < compacted_up_to):
            return
        wrong = [name for name in FIELDS if getattr(listed, name)[row] != getattr(made, name)[mine]]
        coordinator = int(made.coordinator_epoch[mine])
        if coordinator != UNKNOWN and listed.coordinator_epoch[row] != coordinator:
            wrong.append("coordinator_epoch")
        first, first_made = int(listed.first_offset[row]), int(made.first_offset[mine])
        reaches_back = UNKNOWN < first < self.known.chain.log_begins_at
        if first != first_made and not reaches_back:
            wrong.append("first_offset")
        if wrong:
            says = ", ".join(f"{name} {getattr(listed, name)[row]} ({getattr(made, name)[mine]})" for name in wrong)
            self._add(f"producer {listed.producer_id[row]} has {says}; the log has the values in parentheses")

    def _add(self, message: str) -> None:
        self.findings.add("snapshot", message, file=self.path, offset=self.offset)


def producers_at(runs: Runs, transactions: Transactions, offset: int) -> Producers:
    """Return the producer state derived from the batches below `offset`. No run may extend across `offset`.

    The epoch of a producer is -1 (unknown) if compaction has removed the record of its last marker.
    """
    runs = runs[runs["first_offset"] < offset]
    if runs.size == 0:
        return Producers(*(np.empty(0, np.int64) for _ in Producers._fields))  # type: ignore[arg-type]
    begins = np.append(True, np.diff(runs["producer_id"]) != 0)
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], runs.size) - 1

    def last(wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the index of the last `wanted` run of each producer, or -1."""
        numbers = np.where(wanted, np.arange(runs.size), -1)
        return np.asarray(np.maximum.reduceat(numbers, starts))

    final = runs[ends]
    data = last(runs["kind"] <= TRANSACTIONAL)
    of_this_epoch = (data >= 0) & (runs["producer_epoch"][data] == final["producer_epoch"])
    marker = last((runs["kind"] >= ABORT) & (runs["coordinator_epoch"] >= 0))

    def of_data(values: NDArray[np.int64], otherwise: int) -> NDArray[np.int64]:
        return np.where(of_this_epoch, values[data], otherwise)

    still = has_data(transactions) & (transactions["first_offset"] < offset)
    still &= (transactions["result"] == OPEN) | (transactions["last_offset"] >= offset)
    first_offsets = dict(
        zip(transactions["producer_id"][still].tolist(), transactions["first_offset"][still].tolist(), strict=True)
    )
    producer_id = final["producer_id"]
    return Producers(
        producer_id,
        np.where(final["kind"] == EMPTY_MARKER, UNKNOWN, final["producer_epoch"]).astype(np.int16),
        of_data(runs["last_sequence"], UNKNOWN).astype(np.int32),
        of_data(runs["last_offset"], UNKNOWN),
        of_data(runs["last_offset"] - runs["last_base_offset"], 0).astype(np.int32),
        final["timestamp"],
        np.where(marker >= 0, runs["coordinator_epoch"][marker], UNKNOWN).astype(np.int32),
        np.array([first_offsets.get(producer, UNKNOWN) for producer in producer_id.tolist()], np.int64),
    )
