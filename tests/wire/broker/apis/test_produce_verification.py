"""Transactional records of Produce are appended only after verification with the coordinator."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet.broker.cluster.state_topics import TRANSACTION_STATE
from kafkalet.broker.transactions.verification import Transactions
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from tests.wire.broker.transactions.producing import Tx, producing
from tests.wire.brokers import batch


@pytest.fixture
def tx() -> Iterator[Tx]:
    with producing() as opened:
        yield opened


def code(tx: Tx, version: int = 9, **more: Any) -> Code:
    return Code(tx.send(b"a", version=version, **more)["error_code"])


@pytest.mark.parametrize(
    ("version", "refused"), [(9, Code.INVALID_TXN_STATE), (11, Code.TRANSACTION_ABORTABLE), (12, Code.NONE)]
)
def test_partition_that_was_not_added_is_refused_or_added(tx: Tx, version: int, refused: Code) -> None:
    assert code(tx, version) == refused
    assert tx.describe()["transaction_state"] == ("Ongoing" if refused == Code.NONE else "Empty")


@pytest.mark.parametrize("version", [9, 11])
def test_added_partition_is_accepted(tx: Tx, version: int) -> None:
    assert tx.add() == Code.NONE
    assert code(tx, version) == Code.NONE


def test_refusal_has_error_message_for_old_clients_only(tx: Tx) -> None:
    assert tx.send(b"a")["error_message"] == "Partition was not added to the transaction"
    assert tx.send(b"a", version=11)["error_message"] is None


def test_later_batch_cannot_overtake_refused_one(tx: Tx) -> None:
    tx.sequences["t", 0] = 3
    assert code(tx) == Code.INVALID_TXN_STATE
    assert tx.add() == Code.NONE
    tx.sequences["t", 0] = 4
    assert code(tx) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    tx.sequences["t", 0] = 3
    assert code(tx) == Code.NONE


def test_each_transaction_is_verified(tx: Tx) -> None:
    tx.commit(b"a")
    assert code(tx) == Code.INVALID_TXN_STATE


def test_transaction_open_in_log_is_not_verified_again(tx: Tx) -> None:
    with producing(2) as two:
        assert two.add() == Code.NONE
        assert code(two) == Code.NONE
        two.wire.cluster._server.call(lambda: two.wire.cluster._server.metadata.remove_topic(TRANSACTION_STATE.name))
        assert code(two) == Code.NONE


def test_since_4_0_another_epoch_is_verified_again() -> None:
    for release, expected in (("3.9", Code.NONE), ("4.4", Code.INVALID_PRODUCER_EPOCH)):
        with producing(version=release) as tx:
            assert tx.add() == Code.NONE
            assert code(tx) == Code.NONE
            tx.epoch += 1
            tx.sequences.clear()
            assert code(tx) == expected


@pytest.mark.parametrize(
    ("release", "expected"), [("4.0", Code.INVALID_TXN_STATE), ("4.1", Code.INVALID_PRODUCER_EPOCH)]
)
def test_since_4_1_log_refuses_old_epoch_before_coordinator(release: str, expected: Code) -> None:
    with producing(version=release) as tx:
        ahead = batch(b"a", producer_id=tx.producer_id, producer_epoch=5, base_sequence=0)
        assert tx.wire.produce(bytes(ahead))["error_code"] == Code.NONE
        assert code(tx) == expected


def test_request_of_two_producers_is_refused(tx: Tx) -> None:
    tx.wire.cluster.topic("u").create()
    topics = [
        {"name": topic, "partitions": [{"index": 0, "records": [{"raw": bytes(records).hex()}]}]}
        for topic, records in (
            ("t", batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)),
            ("u", batch(b"a", producer_id=2, producer_epoch=0, base_sequence=0, is_transactional=True)),
        )
    ]
    answer = tx.wire.ask("Produce", 9, {"acks": 1, "transactional_id": "x", "topics": topics})
    codes = {partition["error_code"] for topic in answer["responses"] for partition in topic["partitions"]}
    assert codes == {Code.INVALID_PRODUCER_ID_MAPPING}


def test_verification_can_be_disabled() -> None:
    with producing(config={"transaction.partition.verification.enable": "false"}) as tx:
        assert code(tx) == Code.NONE
        assert tx.describe()["transaction_state"] == "Empty"


def test_verification_comes_before_other_checks() -> None:
    with producing(2, topic_config={"min.insync.replicas": "2"}) as tx:
        leader = tx.wire.cluster._server.metadata.topics["t"].partitions[0].leader
        tx.wire.cluster.broker(3 - leader).stop()
        tx.node = tx.find()
        assert code(tx, acks=-1) == Code.INVALID_TXN_STATE
        assert code(tx, acks=7) == Code.INVALID_TXN_STATE


@pytest.mark.parametrize(("version", "expected"), [(3, Code.OUT_OF_ORDER_SEQUENCE_NUMBER), (5, Code.NONE)])
def test_marker_of_same_epoch_does_not_end_verification_of_next_transaction(
    tx: Tx, version: int, expected: Code
) -> None:
    """The verification belongs to the next transaction; the refused batch had the smallest sequence number there is."""
    refused = batch(b"a", producer_id=tx.producer_id, producer_epoch=0, base_sequence=-1, is_transactional=True)
    assert tx.wire.produce(bytes(refused), version=12, transactional_id="x")["error_code"] == Code.INVALID_RECORD
    assert tx.end(committed=False, version=version) == Code.NONE
    plain = batch(b"a", producer_id=tx.producer_id, producer_epoch=tx.epoch, base_sequence=0)
    assert tx.wire.produce(bytes(plain), version=12, transactional_id="x")["error_code"] == expected


# Slow coordinators


def test_records_wait_until_added_partition_is_replicated() -> None:
    with producing(2) as tx:
        cluster = tx.wire.cluster
        leader = cluster._server.metadata.topics["t"].partitions[0].leader
        held = cluster.hold_replication(3 - tx.node, TRANSACTION_STATE.name)
        records = batch(
            b"a", producer_id=tx.producer_id, producer_epoch=tx.epoch, base_sequence=0, is_transactional=True
        )
        body = tx.wire.produce_body(bytes(records), version=12, transactional_id="x", acks=-1)
        connection = tx.wire.connection(leader, "waiting")
        sent = connection.send("Produce", 12, body)
        tx.wire.until(lambda: len(cluster._server.nodes[tx.node].purgatory) == 1)
        assert cluster.topic("t").log().log_end_offset == 0
        held.release()
        [topic] = connection.receive(sent, 10)["responses"]
        assert topic["partitions"][0]["error_code"] == Code.NONE
        assert cluster.topic("t").log().log_end_offset == 1


@pytest.mark.parametrize(
    ("version", "expected"),
    [(9, Code.NOT_ENOUGH_REPLICAS), (11, Code.NOT_ENOUGH_REPLICAS), (12, Code.CONCURRENT_TRANSACTIONS)],
)
def test_pending_completion_is_retried_before_refusal_even_if_clock_stands_still(
    version: int, expected: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The previous transaction is decided, but cannot be completed."""
    asked, ask = [], Transactions._ask

    def counted(*args: Any) -> Any:
        asked.append(args)
        return ask(*args)

    with producing(2, clock=ManualClock()) as tx:
        cluster = tx.wire.cluster
        cluster.topic("slow").create(1, replication_factor=2)
        leader = cluster._server.metadata.topics["slow"].partitions[0].leader
        assert tx.add(("slow", 0)) == Code.NONE
        assert tx.send(b"a", topic="slow")["error_code"] == Code.NONE
        cluster.hold_replication(3 - leader, "slow")
        assert tx.end() == Code.NONE
        records = batch(
            b"a", producer_id=tx.producer_id, producer_epoch=tx.epoch, base_sequence=0, is_transactional=True
        )
        monkeypatch.setattr(Transactions, "_ask", counted)
        leader = cluster._server.metadata.topics["t"].partitions[0].leader
        answer = tx.wire.produce(bytes(records), version=version, node=leader, transactional_id="x")
        assert answer["error_code"] == expected
        assert len(asked) > 1
