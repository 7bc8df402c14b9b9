"""Tests of the transactions of the test kit: their state, waits, fencing, and transactions without a client."""

from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest

from kafkalet import Broker, Cluster
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.testing.transaction import OpenTransaction

from .applications import CLIENTS, QUICK, running

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(params=["newest", "3.9", "2.8"])
def kafka(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker with each version of transactions: since 4.0, each transaction has its own epoch."""
    with Broker(version=request.param) as broker:
        yield broker


def producer(kafka: Cluster, transactional_id: str = "tx") -> confluent_kafka.Producer:
    """Return a producer with an open transaction that contains a record."""
    client = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": transactional_id, "linger.ms": 0}
    )
    client.init_transactions(10)
    begin(client)
    return client


def begin(client: confluent_kafka.Producer, value: bytes = b"v") -> None:
    client.begin_transaction()
    client.produce("t", value, partition=0)
    client.flush()


def committed(kafka: Cluster) -> list[bytes | None]:
    return kafka.topic("t").values(isolation="read_committed")


class Boom(Exception):
    pass


def fail_after(kafka: Cluster, work: Callable[[OpenTransaction], object]) -> None:
    with kafka.open_transaction("tx") as transaction:
        work(transaction)
        assert kafka.transaction("tx").state == "Ongoing"
        raise Boom


# The transaction of a client


def test_state_follows_the_producer(kafka: Broker) -> None:
    transaction = kafka.transaction("tx")
    assert transaction.state == "Dead"
    client = producer(kafka)
    assert (transaction.state, transaction.partitions, transaction.coordinator) == ("Ongoing", [("t", 0)], 1)
    client.commit_transaction(10)
    assert transaction.wait_until("CompleteCommit").partitions == []


def test_abort_leaves_nothing(kafka: Broker) -> None:
    client = producer(kafka)
    client.abort_transaction(10)
    assert committed(kafka) == []


def test_aborting_the_transaction_of_a_producer_fences_it(kafka: Broker) -> None:
    client = producer(kafka)
    assert kafka.transaction("tx").abort().state == "CompleteAbort"
    with pytest.raises(confluent_kafka.KafkaException) as caught:
        client.commit_transaction(10)
    assert caught.value.args[0].fatal() or caught.value.args[0].txn_requires_abort()
    assert committed(kafka) == []


def test_new_producer_fences_the_old_one(kafka: Broker) -> None:
    zombie = producer(kafka)
    begin_again = producer(kafka)
    with pytest.raises(confluent_kafka.KafkaException) as caught:
        zombie.commit_transaction(10)
    assert caught.value.args[0].fatal()
    begin_again.commit_transaction(10)
    assert committed(kafka) == [b"v"]


def test_transaction_that_is_not_open_cannot_be_aborted(kafka: Broker) -> None:
    producer(kafka).commit_transaction(10)
    kafka.transaction("tx").wait_until("CompleteCommit")
    with pytest.raises(KafkaError, match=r"CompleteCommit, .* is not open") as caught:
        kafka.transaction("tx").abort()
    assert caught.value.code is Code.INVALID_TXN_STATE


def test_missing_transaction_cannot_be_aborted(kafka: Broker) -> None:
    with pytest.raises(KafkaError, match="there is no transactional id tx"):
        kafka.transaction("tx").abort()


def test_wait_that_times_out_shows_the_transaction(kafka: Broker) -> None:
    client = producer(kafka)
    with pytest.raises(
        AssertionError, match=r"transaction tx: waited 0 s for Empty: <transaction tx: Ongoing, .* t-0>"
    ):
        kafka.transaction("tx").wait_until("Empty", timeout=0)
    client.abort_transaction(10)


def test_transaction_of_a_stopped_coordinator_is_unknown(kafka: Broker) -> None:
    with kafka.open_transaction("tx") as transaction:
        transaction.send("t", "v")
    seen = kafka.transaction("tx")
    kafka.broker(1).stop()
    with pytest.raises(KafkaError, match="the coordinator of tx is stopped") as caught:
        assert seen.state
    assert caught.value.code is Code.COORDINATOR_NOT_AVAILABLE
    with pytest.raises(AssertionError, match=r"waited 0 s for Dead: .* the coordinator of tx is stopped"):
        seen.wait_until("Dead", timeout=0)
    kafka.broker(1).start()
    seen.wait_until("CompleteCommit")


def test_unknown_state_suggests_a_close_match(kafka: Broker) -> None:
    with pytest.raises(ValueError, match="did you mean 'CompleteCommit'"):
        kafka.transaction("tx").wait_until("CompleteComit")


# Transactions without a client


@pytest.mark.parametrize("client", CLIENTS)
def test_consumer_gets_records_only_after_the_transaction_is_committed(client: str) -> None:
    with Broker(config=QUICK) as kafka:
        kafka.topic("t", partitions=1)
        with running(client, kafka.bootstrap_servers, isolation="read_committed") as app:
            with kafka.open_transaction("tx") as transaction:
                transaction.send("t", "a")
                transaction.send("t", "b", key="k", headers={"h": "1"})
                kafka.group("g").wait_for_lag(0)
                assert app.seen == []
            kafka.group("g").wait_for_lag(0)
            kafka.settle()
            assert app.seen == [b"a", b"b"]


def test_transaction_is_aborted_by_an_exception(kafka: Broker) -> None:
    with pytest.raises(Boom):
        fail_after(kafka, lambda transaction: transaction.send("t", "v"))
    assert (kafka.transaction("tx").state, committed(kafka)) == ("CompleteAbort", [])


def test_transaction_holds_the_last_stable_offset_until_it_ends(kafka: Broker) -> None:
    with kafka.open_transaction("tx") as transaction:
        transaction.send("t", "v")
        assert kafka.topic("t").log().last_stable_offset == 0
    assert (kafka.topic("t").log().last_stable_offset, kafka.transaction("tx").state) == (2, "CompleteCommit")


def test_transaction_of_several_partitions_has_a_marker_in_each(kafka: Broker) -> None:
    kafka.topic("t", partitions=2)
    with kafka.open_transaction("tx") as transaction:
        transaction.send("t", "a", partition=0)
        transaction.send("t", "b", partition=1)
        transaction.send("t", "c", partition=1)
        assert kafka.transaction("tx").partitions == [("t", 0), ("t", 1)]
    assert [log.log_end_offset for log in kafka.topic("t").logs] == [2, 3]


def test_new_transaction_fences_an_older_producer(kafka: Broker) -> None:
    client = producer(kafka)
    with kafka.open_transaction("tx") as transaction:
        transaction.send("t", "new")
        with pytest.raises(confluent_kafka.KafkaException) as caught:
            client.commit_transaction(10)
        assert caught.value.args[0].fatal()
    assert committed(kafka) == [b"new"]


@pytest.mark.parametrize("call", [lambda tx: tx.send("t", "late"), lambda tx: tx.commit()])
def test_newer_producer_fences_an_open_transaction(kafka: Broker, call: Callable[[Any], object]) -> None:
    transaction = kafka.open_transaction("tx").__enter__()
    transaction.send("t", "old")
    with kafka.open_transaction("tx") as newer:
        newer.send("t", "new")
    with pytest.raises(KafkaError, match="another producer with this id has fenced it"):
        call(transaction)
    assert committed(kafka) == [b"new"]


def test_transactional_id_can_be_reused_for_several_transactions(kafka: Broker) -> None:
    for value in ("a", "b", "c"):
        with kafka.open_transaction("tx") as transaction:
            transaction.send("t", value)
            if value == "b":
                transaction.abort()
    assert committed(kafka) == [b"a", b"c"]


def test_offsets_are_committed_with_the_transaction(kafka: Broker) -> None:
    kafka.topic("in", partitions=2)
    group = kafka.group("g")
    with kafka.open_transaction("tx") as transaction:
        transaction.send_offsets("g", {("in", 0): 5, ("in", 1): 7}).send("t", "v")
        assert group.committed() == {}
    assert group.wait_for_commit("in", 0, 5) == 5
    assert group.committed() == {("in", 0): 5, ("in", 1): 7}


def test_offsets_of_an_aborted_transaction_are_dropped(kafka: Broker) -> None:
    kafka.topic("in", partitions=1)
    with pytest.raises(Boom):
        fail_after(kafka, lambda transaction: transaction.send_offsets("g", {("in", 0): 5}))
    assert kafka.group("g").committed() == {}


def test_empty_transaction_writes_nothing(kafka: Broker) -> None:
    with kafka.open_transaction("tx"):
        pass
    assert kafka.transaction("tx").state == "Empty"


def test_ended_transaction_refuses_records(kafka: Broker) -> None:
    with kafka.open_transaction("tx") as transaction:
        transaction.send("t", "v")
        transaction.commit()
        with pytest.raises(RuntimeError, match="transaction tx is not open"):
            transaction.send("t", "late")


def test_transaction_is_used_in_a_with_statement(kafka: Broker) -> None:
    with pytest.raises(RuntimeError, match=r"use it inside `with kafka\.open_transaction"):
        kafka.open_transaction("tx").send("t", "v")


@pytest.mark.parametrize("offsets", [{}, [("t", 0, 5)], {"t": 5}])
def test_invalid_offset_is_refused_with_the_allowed_range(kafka: Broker, offsets: Any) -> None:
    with pytest.raises(TypeError, match=r'\("orders", 0\)'), kafka.open_transaction("tx") as transaction:
        transaction.send_offsets("g", offsets)


def test_timeout_above_the_maximum_is_refused(kafka: Broker) -> None:
    with pytest.raises(KafkaError) as caught, kafka.open_transaction("tx", timeout=10**6):
        pass
    assert caught.value.code is Code.INVALID_TRANSACTION_TIMEOUT


def test_transaction_continues_after_the_coordinator_has_moved() -> None:
    with Cluster(brokers=3, config={"min.insync.replicas": 1}) as kafka:
        kafka.topic("t", partitions=1, replication_factor=3)
        with kafka.open_transaction("tx") as transaction:
            transaction.send("t", "before")
            kafka.broker(kafka.transaction("tx").coordinator).stop()
            transaction.send("t", "after")
        assert committed(kafka) == [b"before", b"after"]


def test_timeout_of_transaction_that_is_too_long_names_the_limit(kafka: Broker) -> None:
    with pytest.raises(KafkaError, match=r"transaction\.max\.timeout\.ms"), kafka.open_transaction("tx", 10**9):
        pass
