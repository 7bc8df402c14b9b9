"""A partition verifies a transaction with the coordinator before its first batch."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.transactions.decisions import Producer
from kafkalet.broker.transactions.verification import Operation, Refusals
from kafkalet.protocol.errors import Code
from tests.wire.brokers import on_the_wire

from .producing import PARTITION, Tx, producing


@pytest.fixture
def tx() -> Iterator[Tx]:
    with producing() as opened:
        yield opened


def verify(tx: Tx, operation: Operation, **changed: Any) -> Code | None:
    """Return the code of the refusal, NONE if the partition is accepted, or None while the verification waits."""
    asked = {"transactional_id": "x", "producer_id": tx.producer_id, "producer_epoch": tx.epoch, **changed}
    producer = Producer(asked["producer_id"], asked["producer_epoch"])
    partition = asked.get("partition", PARTITION)
    said: list[Refusals] = []
    transactions = tx.wire.cluster._server.transactions
    tx.wire.cluster._server.call(
        lambda: transactions.verify(asked["transactional_id"], producer, [partition], operation).then(said.append)
    )
    if not said:
        return None
    return said[0][partition].code if partition in said[0] else Code.NONE


@pytest.mark.parametrize(
    ("version", "operation"),
    [(3, Operation.VERIFY_FOR_OLD), (10, Operation.VERIFY_FOR_OLD), (11, Operation.VERIFY), (12, Operation.ADD)],
)
def test_operation_depends_on_version_of_produce(version: int, operation: Operation) -> None:
    assert Operation.of_produce(version) is operation


@pytest.mark.parametrize(
    ("version", "operation"), [(3, Operation.VERIFY_FOR_OLD), (4, Operation.VERIFY), (5, Operation.ADD)]
)
def test_operation_depends_on_version_of_txn_offset_commit(version: int, operation: Operation) -> None:
    assert Operation.of_txn_offset_commit(version) is operation


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, Code.NONE),
        ({"transactional_id": ""}, Code.INVALID_REQUEST),
        ({"transactional_id": "y"}, Code.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_id": 999}, Code.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_epoch": 7}, Code.INVALID_PRODUCER_EPOCH),
    ],
)
def test_wrong_producer_is_refused(tx: Tx, operation: Operation, changed: dict[str, Any], code: Code) -> None:
    assert tx.add() == Code.NONE
    assert verify(tx, operation, **changed) == code


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (Operation.VERIFY_FOR_OLD, Code.INVALID_TXN_STATE),
        (Operation.VERIFY, Code.TRANSACTION_ABORTABLE),
        (Operation.ADD, Code.NONE),
    ],
)
def test_missing_partition_is_refused_or_added(tx: Tx, operation: Operation, code: Code) -> None:
    assert verify(tx, operation) == code
    assert verify(tx, Operation.VERIFY) == (Code.NONE if code == Code.NONE else Code.TRANSACTION_ABORTABLE)


def test_verification_without_transaction_topic_returns_coordinator_not_available() -> None:
    with on_the_wire() as wire:
        said: list[Refusals] = []
        transactions = wire.cluster._server.transactions
        wire.cluster._server.call(
            lambda: transactions.verify("x", Producer(1, 0), [PARTITION], Operation.VERIFY).then(said.append)
        )
        assert {each: error.code for each, error in said[0].items()} == {PARTITION: Code.COORDINATOR_NOT_AVAILABLE}


def test_coordinator_can_be_another_broker() -> None:
    with producing(3) as tx:
        assert tx.add() == Code.NONE
        cluster = tx.wire.cluster
        for node in cluster._server.nodes:
            cluster.topic("t").move_leader(node)
            assert tx.send(b"a")["error_code"] == Code.NONE
