"""Check the producer protocol along a whole log (Kafka's ProducerAppendInfo).

    epoch         the epoch of a producer never decreases, because older epochs are fenced
    sequence      each batch continues the producer's last sequence in that epoch; a new epoch begins with 0
    transaction   from a producer's first transactional batch to the marker, all its batches are transactional
    marker        the coordinator epoch of markers never decreases

A repeated sequence means a duplicate, and a sequence that is too high means a loss. The sequence is not checked for a
producer's first batch in the log, after a producer was idle for longer than its expiration time, or where compaction
may have removed batches in between.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .findings import Findings
from .producer_runs import ABORT, MAX_SEQUENCE, TRANSACTIONAL, Runs, next_sequence

HALF = np.int64(1 << 30)


def check_producers(
    runs: Runs,
    paths: Sequence[str],
    compacted_up_to: int,
    lost: Sequence[tuple[int, int]],
    expiration_ms: int,
    findings: Findings,
) -> None:
    """Check the runs of a whole log, sorted by producer, then by offset. `paths` lists the file of each stretch.

    `lost` lists ranges of missing offsets (start, exclusive end) that have already been reported.
    """
    if runs.size == 0:
        return
    check = _ProducerCheck(runs, paths, findings)
    check.epochs(expiration_ms)
    check.sequences(compacted_up_to, lost, expiration_ms)
    check.coordinators()


class _ProducerCheck:
    def __init__(self, runs: Runs, paths: Sequence[str], findings: Findings) -> None:
        self.runs = runs
        self.paths = paths
        self.findings = findings
        self.begins = np.append(True, np.diff(runs["producer_id"]) != 0)
        """Whether each run is the first run of its producer."""
        self.group = np.cumsum(self.begins)

    def add(self, check: str, at: int, message: str) -> None:
        run = self.runs[at]
        self.findings.add(
            check,
            f"producer {run['producer_id']}, epoch {run['producer_epoch']}: {message}",
            file=self.paths[run["stretch"]],
            position=int(run["position"]),
            offset=int(run["first_offset"]),
        )

    def before(self, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, for each run, the index of the same producer's previous `wanted` run, or -1."""
        numbers = np.where(wanted, np.arange(wanted.size), -1)
        last = np.append(-1, np.maximum.accumulate(numbers)[:-1])
        first = np.maximum.accumulate(np.where(self.begins, np.arange(wanted.size), -1))
        return np.where(last >= first, last, -1)

    def epochs(self, expiration_ms: int) -> None:
        epoch = self.runs["producer_epoch"].astype(np.int64)
        span = int(epoch.max()) - int(epoch.min()) + 2
        highest = np.maximum.accumulate(epoch + self.group * span) - self.group * span
        before = np.append(0, highest[:-1])
        silent = np.append(0, np.diff(self.runs["first_timestamp"])) >= expiration_ms
        for at in np.flatnonzero((epoch < before) & ~self.begins & ~silent).tolist():
            self.add("epoch", at, f"follows epoch {before[at]}, which fenced it")

    def sequences(self, compacted_up_to: int, lost: Sequence[tuple[int, int]], expiration_ms: int) -> None:
        runs = self.runs
        is_data = runs["kind"] <= TRANSACTIONAL
        has_sequence = is_data & (runs["base_sequence"] >= 0)
        last = self.before(has_sequence)
        marker = self.before(~is_data)
        known = np.flatnonzero(has_sequence & (last >= 0))
        prior = last[known]
        epoch, prior_epoch = runs["producer_epoch"][known], runs["producer_epoch"][prior]
        marked = marker[known] > prior
        marker_epoch = np.where(marked, runs["producer_epoch"][marker[known]], prior_epoch)
        is_new = (epoch > prior_epoch) | ((epoch == marker_epoch) & (marker_epoch > prior_epoch))
        expected = np.where(is_new, 0, next_sequence(runs["last_sequence"][prior]))
        ahead = (runs["base_sequence"][known] - expected) & MAX_SEQUENCE
        silent = runs["first_timestamp"][known] - runs["timestamp"][prior] >= expiration_ms
        cleaned = runs["last_offset"][prior] < compacted_up_to
        starts = np.array([first for first, _ in lost], np.int64)
        last_offset, first_offset = runs["last_offset"][prior], runs["first_offset"][known]
        explained = np.searchsorted(starts, last_offset, "right") < np.searchsorted(starts, first_offset)
        wrong = (ahead != 0) & ~silent & ~cleaned & ~explained & (epoch >= prior_epoch)
        for row in np.flatnonzero(wrong).tolist():
            sequence = int(runs["base_sequence"][known[row]])
            if ahead[row] < HALF or is_new[row]:
                message = f"sequence {sequence} instead of {expected[row]}: {ahead[row]} sequences are missing"
                if is_new[row]:
                    message = f"the first sequence is {sequence} instead of 0"
            else:
                message = f"sequence {sequence} is repeated, after {int(runs['last_sequence'][prior[row]])}"
            self.add("sequence", int(known[row]), message)

    def coordinators(self) -> None:
        runs = self.runs
        marks = (runs["kind"] >= ABORT) & (runs["coordinator_epoch"] >= 0)
        before = self.before(marks)
        known = np.flatnonzero(marks & (before >= 0))
        falls = runs["coordinator_epoch"][known] < runs["coordinator_epoch"][before[known]]
        for at in known[falls].tolist():
            epochs = f"{runs['coordinator_epoch'][at]} after {runs['coordinator_epoch'][before[at]]}"
            self.add("transaction", at, f"a marker has coordinator epoch {epochs}")
