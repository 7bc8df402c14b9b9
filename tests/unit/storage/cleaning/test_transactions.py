"""Tests of the transactions that the cleaner tracks."""

from kafkalet.storage.cleaning.transactions import CleanedTransactions
from kafkalet.storage.values import AbortedTransaction
from tests.unit.storage.producing import logged, marker

ABORTED = AbortedTransaction(7, 10, 20, 21)


def test_batch_of_an_aborted_transaction_is_recognized() -> None:
    transactions = CleanedTransactions()
    transactions.add([ABORTED])
    data = {"transactional": True, "producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    assert not transactions.read_batch(logged(9, **data))
    assert transactions.read_batch(logged(10, **data))
    assert not transactions.read_batch(logged(11, **{**data, "producer_id": 8}))
    assert not transactions.read_batch(logged(12))


def test_abort_marker_stays_while_records_are_left() -> None:
    kept: list[AbortedTransaction] = []
    transactions = CleanedTransactions(kept.append)
    transactions.add([ABORTED])
    transactions.read_batch(logged(10, transactional=True, producer_id=7, producer_epoch=0, base_sequence=0))
    assert not transactions.read_control_batch(marker(20, 7, commit=False))
    assert kept == [ABORTED]
    assert not transactions.read_batch(logged(21, transactional=True, producer_id=7, producer_epoch=0, base_sequence=1))


def test_abort_marker_without_records_may_be_removed() -> None:
    kept: list[AbortedTransaction] = []
    transactions = CleanedTransactions(kept.append)
    transactions.add([ABORTED, ABORTED])
    assert transactions.read_control_batch(marker(20, 7, commit=False))
    assert not kept


def test_commit_marker_stays_while_records_are_left() -> None:
    transactions = CleanedTransactions()
    transactions.read_batch(logged(10, transactional=True, producer_id=7, producer_epoch=0, base_sequence=0))
    assert not transactions.read_control_batch(marker(11, 7, commit=True))
    assert transactions.read_control_batch(marker(12, 7, commit=True))
