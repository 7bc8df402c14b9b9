"""Generated producers and transactions."""

from collections import Counter
from pathlib import Path

import pytest

from kafkalet.protocol.records.control import ControlType, control_type
from kafkalet_spark.logs.ends import log_end_offset
from kafkalet_spark.logs.transactions import (
    aborted_transactions,
    last_stable_offset,
    open_transactions,
    verify_transactions,
)
from kafkalet_spark.writing.transaction_shape import (
    FIRST_PRODUCER_ID,
    Aborted,
    Marker,
    Shaping,
    Stamp,
    TransactionShape,
)

from .making import T0, entries, load, log, numbered, records

HALF = {"transactionalShare": "0.5", "abortedShare": "0.4", "transactionSize": 10, "seed": 7}


def shaping(**fields: object) -> Shaping:
    return Shaping(TransactionShape(**fields), "t", 0, 0, leader_epoch=0)  # type: ignore[arg-type]


def test_transaction_ends_with_marker_at_its_size() -> None:
    steps = shaping(transactional_share=1.0, producers=1, transaction_records=10).shape(5, [(6, T0), (6, T0 + 1)])
    first, second, marker = steps
    assert isinstance(first, Stamp)
    assert isinstance(second, Stamp)
    assert isinstance(marker, Marker)
    assert [(step.base_offset, step.last_offset, step.base_sequence) for step in (first, second)] == [
        (5, 10, 0),
        (11, 16, 6),
    ]
    assert (marker.offset, marker.timestamp, marker.aborted) == (17, T0 + 1, None)
    assert marker.state.first_offset == -1


def test_index_entry_of_abort_has_last_stable_offset() -> None:
    both = shaping(transactional_share=1.0, aborted_share=1.0, producers=2, transaction_records=2, seed=1)
    steps = both.shape(0, [(1, T0)] * 12)
    open_since: dict[int, int] = {}
    for step in steps:
        if isinstance(step, Stamp):
            assert step.state is not None
            open_since.setdefault(step.state.producer_id, step.base_offset)
        else:
            first = open_since.pop(step.state.producer_id)
            stable = min(open_since.values(), default=step.offset + 1)
            assert step.aborted == Aborted(step.state.producer_id, first, step.offset, stable)
    assert any(not isinstance(step, Stamp) for step in steps)


def test_producers_without_transactions_are_idempotent(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 500)], producers=3, batchRecords=10)
    sequences: Counter[int] = Counter()
    for batch in entries(tmp_path):
        assert batch.base_sequence == sequences[batch.producer_id]
        assert not batch.is_transactional
        sequences[batch.producer_id] += batch.count
    assert set(sequences) == {FIRST_PRODUCER_ID, FIRST_PRODUCER_ID + 1, FIRST_PRODUCER_ID + 2}


def test_records_keep_their_order(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 1000)], **HALF)
    assert [int(record.value.strip(b".")) for record in records(tmp_path)] == list(range(1000))  # type: ignore[union-attr]


def test_share_of_transactional_batches_is_approximate(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 4000)], **HALF)
    data = [batch for batch in entries(tmp_path) if not batch.is_control]
    assert 0.4 < sum(batch.is_transactional for batch in data) / len(data) < 0.6


def test_share_of_aborted_transactions_is_approximate(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 4000)], **HALF)
    ends = Counter(control_type(batch.records()[0]) for batch in entries(tmp_path) if batch.is_control)
    assert 0.3 < ends[ControlType.ABORT] / ends.total() < 0.5
    assert len(aborted_transactions(log(tmp_path), 0, 1 << 40).producer_id) == ends[ControlType.ABORT]
    verify_transactions(log(tmp_path))


@pytest.mark.parametrize("count", [1, 5])
def test_requested_transactions_stay_open(tmp_path: Path, count: int) -> None:
    load(tmp_path, [numbered(0, 1000)], **HALF, openTransactions=count)
    found = open_transactions(log(tmp_path))
    assert len(found.first_offset) == count
    assert last_stable_offset(log(tmp_path)) == found.first_offset[0]
    *_, last = (batch for batch in entries(tmp_path) if not batch.is_control)
    assert last.base_offset == found.first_offset[-1]


@pytest.mark.parametrize(("share", "expected"), [(0, 0), (0.5, 4), (1, 8)])
def test_open_share_of_transactions_never_ends(tmp_path: Path, share: float, expected: int) -> None:
    shape = {"transactionalShare": 1, "producers": 8, "transactionSize": 1000, "batchRecords": 10}
    load(tmp_path, [numbered(0, 1000)], **shape, openShare=share)
    assert len(open_transactions(log(tmp_path)).first_offset) == expected
    verify_transactions(log(tmp_path))


def test_open_transactions_never_outnumber_records(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 3)], openTransactions=5)
    assert open_transactions(log(tmp_path)).first_offset.tolist() == [0, 1, 2]
    assert last_stable_offset(log(tmp_path)) == 0


def test_last_stable_offset_is_log_end_without_open_transactions(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 1000)], **HALF)
    assert last_stable_offset(log(tmp_path)) == log_end_offset(log(tmp_path))


def test_log_is_determined_by_the_seed(tmp_path: Path) -> None:
    logs = []
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        load(tmp_path / name, [numbered(0, 500)], **{**HALF, "seed": seed})
        logs.append([batch.to_bytes() for batch in entries(tmp_path / name)])
    assert logs[0] == logs[1] != logs[2]


def test_second_load_uses_new_producer_ids(tmp_path: Path) -> None:
    load(tmp_path, [numbered(0, 100)], **HALF)
    first = {batch.producer_id for batch in entries(tmp_path)} - {-1}
    load(tmp_path, [numbered(0, 100)], **HALF)
    second = {batch.producer_id for batch in entries(tmp_path)} - {-1} - first
    assert min(second) > max(first)


def test_tasks_use_different_producer_ids(tmp_path: Path) -> None:
    one, two = load(tmp_path, [numbered(0, 100)], [numbered(100, 100)], **HALF, openTransactions=1)
    ids = [{state.producer_id for state in task.fragments[0].producers} for task in (one, two)]
    assert not ids[0] & ids[1]
    assert len(open_transactions(log(tmp_path)).first_offset) == 2
