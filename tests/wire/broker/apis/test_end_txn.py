"""EndTxn: a transaction is decided, and its records become visible or never do."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import Tx, producing


@pytest.fixture
def tx() -> Iterator[Tx]:
    with producing() as opened:
        yield opened


def stable(tx: Tx) -> int:
    return tx.wire.cluster.log("t").last_stable_offset


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("committed", [True, False])
def test_the_marker_comes_after_the_records(tx: Tx, version: int, committed: bool) -> None:
    assert tx.add() == Code.NONE
    assert tx.send(b"a", b"b")["error_code"] == Code.NONE
    assert stable(tx) == 0
    assert tx.end(committed, version=version) == Code.NONE
    assert stable(tx) == 3
    [_, marker] = tx.wire.cluster.log("t").batches
    assert (marker.is_control, marker.is_transactional, marker.producer_id) == (True, True, tx.producer_id)


@pytest.mark.parametrize("version", range(5))
def test_up_to_v4_the_epoch_stays(tx: Tx, version: int) -> None:
    for value in (b"a", b"b"):
        assert tx.add() == Code.NONE
        assert tx.send(value)["error_code"] == Code.NONE
        assert tx.end(version=version) == Code.NONE
    assert tx.end(version=version) == Code.NONE  # asked once more
    assert tx.end(committed=False, version=version) == Code.INVALID_TXN_STATE


def test_from_v5_on_each_transaction_has_its_epoch(tx: Tx) -> None:
    for epoch in range(3):
        assert tx.epoch == epoch
        assert tx.send(b"a", version=12)["error_code"] == Code.NONE
        assert tx.end(version=5) == Code.NONE
    assert stable(tx) == 6


def test_from_v5_on_who_asks_again_comes_with_the_epoch_before(tx: Tx) -> None:
    assert tx.send(b"a", version=12)["error_code"] == Code.NONE
    assert tx.end(version=5) == Code.NONE
    tx.epoch -= 1
    assert tx.end(committed=False, version=5) == Code.INVALID_TXN_STATE
    assert tx.end(version=5) == Code.NONE
    assert tx.epoch == 1


def test_from_v5_on_nothing_may_be_aborted_but_not_committed(tx: Tx) -> None:
    assert tx.end(version=5) == Code.INVALID_TXN_STATE
    assert tx.end(committed=False, version=5) == Code.NONE
    assert tx.epoch == 1


@pytest.mark.parametrize(("version", "code"), [(0, Code.INVALID_PRODUCER_EPOCH), (2, Code.PRODUCER_FENCED)])
def test_another_epoch_is_fenced(tx: Tx, version: int, code: Code) -> None:
    assert tx.add() == Code.NONE
    tx.epoch += 1
    assert tx.end(version=version) == code
    tx.epoch -= 2
    assert tx.end(version=version) == code


def test_what_is_not_known(tx: Tx) -> None:
    tx.transactional_id = "y"
    assert tx.end() == Code.INVALID_PRODUCER_ID_MAPPING
    tx.transactional_id = ""
    assert tx.end() == Code.INVALID_REQUEST
