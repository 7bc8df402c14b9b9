"""A partition asks the coordinator before a transaction's first batch, and takes its word."""

import pytest

import kafkalet
from kafkalet.broker.transactions import Transactions
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet.storage.values import Origin


class Voucher(Transactions):
    """Vouches for everybody, and remembers who was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int, str, int]] = []

    def verify(self, transactional_id: str, producer_id: int, producer_epoch: int, topic: str, partition: int) -> None:
        self.asked.append((transactional_id, producer_id, producer_epoch, topic, partition))


def sent(sequence: int, *, epoch: int = 0, transactional: bool = True) -> bytearray:
    batch = build_batch(
        [Record(0, 1, None, b"x")],
        producer_id=5,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    return bytearray(batch)


def refusal(cluster: kafkalet.Broker, transactions: Transactions, batch: bytearray) -> Code | None:
    partition = cluster.leadership.leader_of("t", 0)
    try:
        cluster.call(lambda: partition.produce(batch, 9, "x", transactions))
    except KafkaError as error:
        return error.code
    return None


def end(cluster: kafkalet.Broker) -> None:
    marker = build_end_marker(EndMarker(ControlType.COMMIT, 0), timestamp=1, producer_id=5, producer_epoch=0)
    partition = cluster.leadership.leader_of("t", 0)
    cluster.call(lambda: partition.append(bytearray(marker), Origin.COORDINATOR))


def test_without_a_coordinator_no_transaction_is_known() -> None:
    with kafkalet.Broker(topics=["t"]) as cluster:
        assert refusal(cluster, cluster.transactions, sent(0)) == Code.INVALID_TXN_STATE
        assert cluster.log("t").log_end_offset == 0


def test_each_transaction_is_asked_about_once() -> None:
    transactions = Voucher()
    with kafkalet.Broker(topics=["t"]) as cluster:
        assert refusal(cluster, transactions, sent(0)) is None
        assert refusal(cluster, transactions, sent(1)) is None
        assert transactions.asked == [("x", 5, 0, "t", 0)]
        end(cluster)
        assert refusal(cluster, transactions, sent(2)) is None
        assert transactions.asked == [("x", 5, 0, "t", 0)] * 2


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
