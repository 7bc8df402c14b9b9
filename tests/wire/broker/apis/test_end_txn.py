"""EndTxn: commits and aborts, their markers and the epochs that follow."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import Tx, producing


@pytest.fixture
def tx() -> Iterator[Tx]:
    with producing() as opened:
        yield opened


def stable(tx: Tx) -> int:
    return tx.wire.cluster.topic("t").log().last_stable_offset


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("committed", [True, False])
def test_marker_follows_the_records(tx: Tx, version: int, committed: bool) -> None:
    assert tx.add() == Code.NONE
    assert tx.send(b"a", b"b")["error_code"] == Code.NONE
    assert stable(tx) == 0
    assert tx.end(committed, version=version) == Code.NONE
    assert stable(tx) == 3
    [_, marker] = tx.wire.cluster.topic("t").log().batches
    assert (marker.is_control, marker.is_transactional, marker.producer_id) == (True, True, tx.producer_id)


@pytest.mark.parametrize("version", range(5))
def test_epoch_stays_the_same_before_v5(tx: Tx, version: int) -> None:
    for value in (b"a", b"b"):
        assert tx.add() == Code.NONE
        assert tx.send(value)["error_code"] == Code.NONE
        assert tx.end(version=version) == Code.NONE
    assert tx.end(version=version) == Code.NONE  # a retry
    assert tx.end(committed=False, version=version) == Code.INVALID_TXN_STATE


def test_epoch_is_bumped_by_each_transaction_since_v5(tx: Tx) -> None:
    for epoch in range(3):
        assert tx.epoch == epoch
        assert tx.send(b"a", version=12)["error_code"] == Code.NONE
        assert tx.end(version=5) == Code.NONE
    assert stable(tx) == 6


def test_retry_with_the_previous_epoch_succeeds_since_v5(tx: Tx) -> None:
    assert tx.send(b"a", version=12)["error_code"] == Code.NONE
    assert tx.end(version=5) == Code.NONE
    tx.epoch -= 1
    assert tx.end(committed=False, version=5) == Code.INVALID_TXN_STATE
    assert tx.end(version=5) == Code.NONE
    assert tx.epoch == 1


def test_empty_transaction_may_be_aborted_but_not_committed_since_v5(tx: Tx) -> None:
    assert tx.end(version=5) == Code.INVALID_TXN_STATE
    assert tx.end(committed=False, version=5) == Code.NONE
    assert tx.epoch == 1


@pytest.mark.parametrize(("version", "code"), [(0, Code.INVALID_PRODUCER_EPOCH), (2, Code.PRODUCER_FENCED)])
def test_other_epoch_is_fenced(tx: Tx, version: int, code: Code) -> None:
    assert tx.add() == Code.NONE
    tx.epoch += 1
    assert tx.end(version=version) == code
    tx.epoch -= 2
    assert tx.end(version=version) == code


def test_unknown_producer_is_refused(tx: Tx) -> None:
    tx.transactional_id = "y"
    assert tx.end() == Code.INVALID_PRODUCER_ID_MAPPING
    tx.transactional_id = ""
    assert tx.end() == Code.INVALID_REQUEST
