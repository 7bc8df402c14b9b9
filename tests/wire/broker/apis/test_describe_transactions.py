"""DescribeTransactions: the states of transactional ids."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import Tx, producing


@pytest.fixture
def tx() -> Iterator[Tx]:
    with producing() as opened:
        yield opened


def test_transactional_id_without_transaction_is_empty(tx: Tx) -> None:
    assert tx.describe() == {
        "error_code": Code.NONE,
        "transactional_id": "x",
        "transaction_state": "Empty",
        "transaction_timeout_ms": 60_000,
        "transaction_start_time_ms": -1,
        "producer_id": tx.producer_id,
        "producer_epoch": 0,
        "topics": [],
    }


def test_open_transaction_is_described_with_its_partitions(tx: Tx) -> None:
    tx.wire.cluster.topic("many").create(3)
    before_ms = tx.wire.cluster._server.clock.now_ms()
    assert tx.add(("many", 2), ("t", 0), ("many", 0)) == Code.NONE
    found = tx.describe()
    assert found["transaction_state"] == "Ongoing"
    assert found["transaction_start_time_ms"] >= before_ms
    assert found["topics"] == [{"topic": "many", "partitions": [0, 2]}, {"topic": "t", "partitions": [0]}]


@pytest.mark.parametrize(("committed", "state"), [(True, "CompleteCommit"), (False, "CompleteAbort")])
def test_completed_transaction_has_its_final_state(tx: Tx, committed: bool, state: str) -> None:
    assert tx.add() == Code.NONE
    assert tx.end(committed) == Code.NONE
    found = tx.describe()
    assert (found["transaction_state"], found["topics"]) == (state, [])


@pytest.mark.parametrize(("name", "code"), [("", Code.INVALID_REQUEST), ("y", Code.TRANSACTIONAL_ID_NOT_FOUND)])
def test_unknown_transactional_id_is_refused(tx: Tx, name: str, code: Code) -> None:
    tx.transactional_id = name
    found = tx.describe()
    assert found["error_code"] == code
    assert (found["transaction_state"], found["producer_id"], found["topics"]) == ("", 0, [])


def test_other_broker_returns_not_coordinator() -> None:
    with producing(2) as tx:
        tx.node = 3 - tx.node
        assert tx.describe()["error_code"] == Code.NOT_COORDINATOR
