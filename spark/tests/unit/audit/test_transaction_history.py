"""Transactions are reconstructed from batches and markers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.audit.findings import Findings
from kafkalet_spark.audit.producer_runs import ABORT, COMMIT, RUN, TRANSACTIONAL
from kafkalet_spark.audit.transaction_history import ABORTED, OPEN, last_stable_offset, transactions_of

from .audited import audited, complaints, marker, only, sent, write_log


def spans(directory: Path) -> list[tuple[int, int, int, int]]:
    rows = only(audited(directory)).transactions
    return [(int(r["producer_id"]), int(r["first_offset"]), int(r["last_offset"]), int(r["result"])) for r in rows]


def test_transaction_extends_from_its_first_batch_to_its_marker(tmp_path: Path) -> None:
    batches = [sent(0, 1, 0, open_=True), sent(2, 2, 0, open_=True), sent(4, 1, 2, open_=True)]
    directory = write_log(tmp_path, (0, [*batches, marker(6, 1, commit=True), sent(7, 1, 4, open_=True)]))
    assert spans(directory) == [(1, 0, 6, 2), (2, 2, -1, 0), (1, 7, -1, 0)]
    facts = only(audited(directory))
    assert facts.last_stable_offset == 2
    assert facts.undecided == 4
    assert facts.transactions["records"].tolist() == [4, 2, 2]


def test_transaction_may_span_segments(tmp_path: Path) -> None:
    directory = write_log(
        tmp_path, (0, [sent(0, 1, 0, open_=True)]), (2, [sent(2, 1, 2, open_=True), marker(4, 1, commit=True)])
    )
    assert spans(directory) == [(1, 0, 4, 2)]


def test_marker_without_data_is_not_a_transaction(tmp_path: Path) -> None:
    assert spans(write_log(tmp_path, (0, [marker(0, 1), marker(1, 2, commit=True)]))) == []


def test_non_transactional_batch_during_open_transaction_is_found(tmp_path: Path) -> None:
    directory = write_log(
        tmp_path, (0, [sent(0, 1, 0, open_=True), sent(2, 1, 2), marker(4, 1, commit=True), sent(5, 1, 4)])
    )
    assert complaints(directory) == [("transaction", 2)]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Generate (producer, kind) of batches with one record each, in order."""
    return draw(
        st.lists(
            st.tuples(st.integers(1, 4), st.sampled_from([TRANSACTIONAL, TRANSACTIONAL, ABORT, COMMIT])), max_size=40
        )
    )


@given(histories())
def test_open_transactions_and_last_stable_offsets_equal_those_of_a_replay(history: list[tuple[int, int]]) -> None:
    runs = np.zeros(len(history), RUN)
    open_since: dict[int, int] = {}
    aborted = []
    for offset, (producer, kind) in enumerate(history):
        runs[offset]["producer_id"], runs[offset]["kind"] = producer, kind
        runs[offset]["first_offset"] = runs[offset]["last_offset"] = offset
        if kind == TRANSACTIONAL:
            open_since.setdefault(producer, offset)
        elif (first := open_since.pop(producer, None)) is not None and kind == ABORT:
            aborted.append((producer, first, offset, min(open_since.values(), default=offset + 1)))
    ordered = runs[np.lexsort((runs["first_offset"], runs["producer_id"]))]
    made = transactions_of(ordered, 0, [""], Findings("t", 0))
    still = made[made["result"] == OPEN]
    assert dict(zip(still["producer_id"].tolist(), still["first_offset"].tolist(), strict=True)) == open_since
    ended = made[(made["result"] == ABORTED) & (made["first_offset"] != made["last_offset"])]
    names = ["producer_id", "first_offset", "last_offset", "last_stable_offset"]
    assert sorted(tuple(map(int, row)) for row in ended[names]) == sorted(aborted)
    assert last_stable_offset(made, len(history)) == min(open_since.values(), default=len(history))
