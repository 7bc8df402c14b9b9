"""Check that leader epochs never decrease along a log and match leader-epoch-checkpoint.

Entries of formats 0 and 1 have no epoch. The checkpoint omits epochs below the log start offset, except the epoch in
effect at the log start offset, whose start is then set to the log start offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .entries import Entries
from .findings import Findings

EPOCH_RUN = np.dtype(
    [
        ("epoch", "i4"),
        ("has_epoch", "?"),
        ("first_offset", "i8"),
        ("last_offset", "i8"),
        ("position", "i8"),
        ("stretch", "i4"),
    ]
)
"""A run of consecutive entries with the same epoch. Positions are byte positions in the stretch's file."""
EpochRuns = NDArray[np.void]
NO_EPOCH_RUNS: EpochRuns = np.empty(0, EPOCH_RUN)


class EpochsOfStretch:
    """Collects the runs of one stretch. A run also ends where the checkpoint says that an epoch starts."""

    def __init__(self, number: int, starts: Sequence[int]) -> None:
        self._number = number
        self._starts = np.array(sorted(starts), np.int64)
        self._runs: list[EpochRuns] = []

    def take(self, entries: Entries) -> None:
        batches = entries.batches
        if batches.size.size == 0:
            return
        section = np.searchsorted(self._starts, batches.last_offset, "right")
        has_epoch = batches.magic > 1
        changes = (np.diff(batches.leader_epoch) != 0) | np.diff(has_epoch) | (np.diff(section) != 0)
        starts = np.flatnonzero(np.append(True, changes))
        ends = np.append(starts[1:], batches.size.size) - 1
        runs = np.empty(starts.size, EPOCH_RUN)
        runs["epoch"] = batches.leader_epoch[starts]
        runs["has_epoch"] = has_epoch[starts]
        runs["first_offset"] = batches.base_offset[starts]
        runs["last_offset"] = batches.last_offset[ends]
        runs["position"] = entries.position[starts]
        runs["stretch"] = self._number
        self._runs.append(runs)

    @property
    def runs(self) -> EpochRuns:
        return np.concatenate(self._runs) if self._runs else NO_EPOCH_RUNS


def check_epochs(
    runs: EpochRuns, paths: Sequence[str], checkpoint: Sequence[tuple[int, int]] | None, findings: Findings
) -> None:
    """Check the runs of a whole log, given in order. `paths` lists the file of each stretch.

    Each wrong epoch is reported once, at its own position; later entries with the right epoch are not reported.
    """
    runs = runs[runs["has_epoch"]]
    epoch = runs["epoch"].astype(np.int64)
    saved = np.full(runs.size, -1, np.int64)
    if checkpoint:
        epochs = np.array([entry[0] for entry in checkpoint], np.int64)
        starts = np.array([entry[1] for entry in checkpoint], np.int64)
        slot = np.searchsorted(starts, runs["last_offset"], "right") - 1
        saved = np.where(slot >= 0, epochs[slot], -1)
    messages = dict(_falls(epoch, saved))
    for at in np.flatnonzero((saved >= 0) & (saved != epoch)).tolist():
        messages[at] = f"the leader epoch is {epoch[at]}, but {saved[at]} in leader-epoch-checkpoint"
    for at, message in sorted(messages.items()):
        run = runs[at]
        findings.add(
            "leader-epoch",
            message,
            file=paths[run["stretch"]],
            position=int(run["position"]),
            offset=int(run["first_offset"]),
            end_offset=int(run["last_offset"]) + 1,
        )


def _falls(epoch: NDArray[np.int64], saved: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
    """Yield the runs that break the order but are not covered by the checkpoint.

    The epoch of such a run is either lower than the previous epoch, or higher than the epochs on both sides.
    """
    rising: list[tuple[int, int]] = []
    for at in np.flatnonzero(saved < 0).tolist():
        mine = int(epoch[at])
        if not rising or mine >= rising[-1][1]:
            rising.append((at, mine))
        elif len(rising) > 1 and rising[-2][1] <= mine:
            other, high = rising.pop()
            rising.append((at, mine))
            yield other, f"leader epoch {high} precedes {mine}"
        else:
            yield at, f"leader epoch {mine} follows {rising[-1][1]}"
