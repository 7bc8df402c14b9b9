"""Batches of producers are merged into runs."""

from __future__ import annotations

import numpy as np

from kafkalet_spark.audit.entries import entries_of
from kafkalet_spark.audit.findings import Findings
from kafkalet_spark.audit.producer_runs import ABORT, COMMIT, DATA, TRANSACTIONAL, RunsOfStretch, next_sequence
from kafkalet_spark.decoding.batches import walk

from .audited import marker, sent


def runs_of(*batches: bytes, snapshots: tuple[int, ...] = (), apart: bool = False) -> np.ndarray:
    collected = RunsOfStretch(Findings("t", 0), 0, snapshots)
    for data in batches if apart else [b"".join(batches)]:
        collected.take(entries_of("", 0, data, walk(data)[0]))
    return collected.runs


def test_consecutive_batches_are_one_run() -> None:
    for apart in (False, True):
        runs = runs_of(sent(0, 1, 0), sent(2, 2, 9), sent(4, 1, 2), sent(6, 1, 4, 3), apart=apart)
        assert runs["producer_id"].tolist() == [1, 2]
        assert runs[["first_offset", "last_offset", "base_sequence", "last_sequence"]].tolist() == [
            (0, 8, 0, 6),
            (2, 3, 9, 10),
        ]
        assert runs["records"].tolist() == [7, 2]
        assert runs["last_base_offset"].tolist() == [6, 2]


def test_run_ends_where_the_sequence_is_interrupted() -> None:
    runs = runs_of(sent(0, 1, 0), sent(2, 1, 3), sent(4, 1, 5), sent(6, 1, 0, epoch=1))
    assert runs["first_offset"].tolist() == [0, 2, 6]


def test_run_ends_at_snapshot_offsets() -> None:
    runs = runs_of(sent(0, 1, 0), sent(2, 1, 2), sent(4, 1, 4), snapshots=(4,))
    assert runs["first_offset"].tolist() == [0, 4]


def test_markers_are_separate_runs() -> None:
    batches = [sent(0, 1, 0, open_=True), marker(2, 1, coordinator_epoch=9), sent(3, 1, 2, open_=True)]
    runs = runs_of(*batches, marker(5, 1, commit=True), sent(6, 1, 4))
    assert runs["kind"].tolist() == [TRANSACTIONAL, ABORT, TRANSACTIONAL, COMMIT, DATA]
    assert runs["coordinator_epoch"].tolist() == [-1, 9, -1, 0, -1]


def test_many_producers_stay_sorted() -> None:
    batches = [sent(2 * at, at % 7, 2 * (at // 7)) for at in range(200)]
    runs = runs_of(*batches, apart=True)
    assert runs["producer_id"].tolist() == list(range(7))


def test_largest_sequence_is_followed_by_0() -> None:
    assert next_sequence(np.array([0, 5, (1 << 31) - 1, -1])).tolist() == [1, 6, 0, 0]
