"""A partition asks the coordinator before a transaction's first batch, and takes its word."""

from contextlib import nullcontext
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.transactions.verification import TransactionalProducer, Transactions
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet.storage.values import Origin


class Voucher(Transactions):
    """Vouches for everybody, and remembers who was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int, str, int, int]] = []

    def verify(self, *about: Any) -> None:
        self.asked.append(about)


class OneProducer(Transactions):
    """Knows one transactional id."""

    def __init__(self, *partitions: tuple[str, int]) -> None:
        self.producer = TransactionalProducer(5)
        self.producer.partitions.update(partitions)

    def find(self, transactional_id: str) -> TransactionalProducer | None:
        return self.producer if transactional_id == "x" else None


def sent(sequence: int, *, epoch: int = 0, transactional: bool = True) -> bytearray:
    batch = build_batch(
        [Record(0, 1, None, b"x")],
        producer_id=5,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    return bytearray(batch)


def refusal(
    cluster: kafkalet.Broker, transactions: Transactions, batch: bytearray, version: int = 9, name: str = "x"
) -> Code | None:
    partition = cluster.leadership.leader_of("t", 0)
    try:
        cluster.call(lambda: partition.produce(batch, version, name, transactions))
    except KafkaError as error:
        return error.code
    return None


def end(cluster: kafkalet.Broker) -> None:
    marker = build_end_marker(EndMarker(ControlType.COMMIT, 0), timestamp=1, producer_id=5, producer_epoch=0)
    partition = cluster.leadership.leader_of("t", 0)
    cluster.call(lambda: partition.append(bytearray(marker), Origin.COORDINATOR))


def test_without_a_coordinator_no_transaction_is_known() -> None:
    with kafkalet.Broker(topics=["t"]) as cluster:
        assert refusal(cluster, cluster.transactions, sent(0)) == Code.INVALID_PRODUCER_ID_MAPPING
        assert cluster.log("t").log_end_offset == 0


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, Code.NONE),
        ({"transactional_id": ""}, Code.INVALID_REQUEST),
        ({"transactional_id": "y"}, Code.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_id": 6}, Code.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_epoch": 1}, Code.INVALID_PRODUCER_EPOCH),
        ({"partition": 1}, Code.INVALID_TXN_STATE),
        ({"partition": 1, "produce_version": 11}, Code.TRANSACTION_ABORTABLE),
    ],
)
def test_what_is_not_in_the_transaction_is_refused(changed: dict[str, Any], code: Code) -> None:
    asked: dict[str, Any] = {
        "transactional_id": "x",
        "producer_id": 5,
        "producer_epoch": 0,
        "topic": "t",
        "partition": 0,
    }
    asked |= {"produce_version": 9} | changed
    with nullcontext() if code == Code.NONE else pytest.raises(KafkaError, check=lambda error: error.code == code):
        OneProducer(("t", 0)).verify(**asked)


def test_a_later_batch_does_not_overtake_one_that_was_refused() -> None:
    with kafkalet.Broker(topics=["t"]) as cluster:
        assert refusal(cluster, OneProducer(), sent(3)) == Code.INVALID_TXN_STATE
        assert refusal(cluster, OneProducer(("t", 0)), sent(4)) == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert refusal(cluster, OneProducer(("t", 0)), sent(3)) is None
        assert refusal(cluster, OneProducer(("t", 0)), sent(4)) is None


def test_each_transaction_is_asked_about_once() -> None:
    transactions = Voucher()
    with kafkalet.Broker(topics=["t"]) as cluster:
        assert refusal(cluster, transactions, sent(0)) is None
        assert refusal(cluster, transactions, sent(1)) is None
        assert transactions.asked == [("x", 5, 0, "t", 0, 9)]
        end(cluster)
        assert refusal(cluster, transactions, sent(2)) is None
        assert transactions.asked == [("x", 5, 0, "t", 0, 9)] * 2


def test_records_outside_transactions_are_not_asked_about() -> None:
    transactions = Voucher()
    with kafkalet.Broker(topics=["t"]) as cluster:
        assert refusal(cluster, transactions, sent(0, transactional=False)) is None
        assert not transactions.asked


@pytest.mark.parametrize(("release", "asked"), [("3.5", 0), ("3.9", 1), ("4.0", 2)])
def test_another_epoch_is_another_question_since_4_0(release: str, asked: int) -> None:
    transactions = Voucher()
    with kafkalet.Broker(topics=["t"], kafka_version=release) as cluster:
        assert refusal(cluster, transactions, sent(0)) is None
        assert refusal(cluster, transactions, sent(0, epoch=1)) is None
        assert len(transactions.asked) == asked
