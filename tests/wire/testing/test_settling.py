"""Tests of `settle`: the conditions that keep a cluster from being quiet, and others that do not."""

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest

from kafkalet import Broker, Cluster
from kafkalet.testing.waiting import wait
from tests.wire.broker.apis.test_join_group import body as join_body
from tests.wire.brokers import Wire

from .applications import CLIENTS, QUICK, running

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(config=QUICK) as broker:
        yield broker


def test_cluster_without_clients_is_quiet(kafka: Broker) -> None:
    kafka.settle(timeout=0)


@pytest.mark.parametrize("client", CLIENTS)
def test_duplicate_is_silent(kafka: Broker, client: str) -> None:
    """An application writes an invoice for each order that it has not seen. `settle` waits until it has decided."""
    orders = kafka.topic("orders", partitions=1)
    kafka.topic("invoices", partitions=1)
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0})
    known: set[bytes] = set()

    def bill(order: bytes) -> None:
        if order not in known:
            known.add(order)
            producer.produce("invoices", order)
            producer.flush()

    with running(client, kafka.bootstrap_servers, topic="orders", handle=bill):
        kafka.group("g").wait_until_stable(members=1)
        orders.send("7")
        kafka.settle()
        assert kafka.topic("invoices").values() == [b"7"]
        orders.send("7")
        kafka.settle()
        assert kafka.topic("invoices").values() == [b"7"]


@pytest.mark.parametrize("client", CLIENTS)
def test_idle_consumer_that_starts_at_the_end_is_quiet(kafka: Broker, client: str) -> None:
    kafka.topic("t").send("old")
    with running(client, kafka.bootstrap_servers, reset="latest"):
        kafka.group("g").wait_until_stable(members=1)
        kafka.settle()


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("client", CLIENTS)
def test_application_has_seen_every_record_after_settle(kafka: Broker, client: str, isolation: Any) -> None:
    topic = kafka.topic("t", partitions=2)
    with running(client, kafka.bootstrap_servers, isolation=isolation) as app:
        kafka.group("g").wait_until_stable(members=1)
        for round_ in range(6):
            topic.send("plain", partition=0)
            topic.send("plain", partition=1)
            with kafka.open_transaction("tx") as transaction:
                transaction.send("t", "a", partition=round_ % 2)
                transaction.send("t", "b", partition=0)
                if round_ % 3 == 0:
                    transaction.abort()
            kafka.settle()
            assert len(app.seen) == len(topic.records(isolation=isolation))


def test_group_with_lag_is_not_quiet_and_named_in_the_failure(kafka: Broker) -> None:
    kafka.topic("t").send_batch(["a", "b"])
    is_over = threading.Event()
    with running("confluent-kafka", kafka.bootstrap_servers, handle=lambda _: is_over.wait(20)):
        member = kafka.group("g").wait_until_stable(members=1).members[0]
        with pytest.raises(AssertionError) as caught:
            kafka.settle(timeout=0.2, requests=False)
        kafka.settle(groups=False, requests=False)
        is_over.set()
    assert str(caught.value).splitlines()[:-1] == [
        "waited 0.2 s for the brokers to be quiet:",
        "  group g: Stable, lag 2",
        f"    member {member.member_id} (client 'app' at 127.0.0.1): t-0",
        "    t-0: nothing committed, end 2, lag 2",
        "  clients:",
    ]


def test_group_without_members_counts_only_if_it_is_named(kafka: Broker) -> None:
    kafka.topic("t").send("v")
    kafka.group("g").seek(0, "t")
    kafka.settle(timeout=0)
    with pytest.raises(AssertionError, match="group g: Empty, lag 1"):
        kafka.settle(timeout=0, groups=["g"])


def test_failure_names_only_some_of_many_groups(kafka: Broker) -> None:
    names = [f"g{number}" for number in range(100)]
    with pytest.raises(AssertionError) as caught:
        kafka.settle(timeout=0, groups=names)
    lines = str(caught.value).splitlines()
    assert (lines[20], lines[21]) == ("  group g19: does not exist", "  and more")


def test_group_is_not_quiet_while_its_lag_is_unknown() -> None:
    with Cluster(brokers=2, config=QUICK) as cluster:
        cluster.topic("t").create(assignments=[[1]])
        cluster.topic("t").send("a")
        with running("confluent-kafka", cluster.bootstrap_servers, handle=lambda _: None):
            cluster.group("g").wait_for_lag(0)
            cluster.topic("t").take_offline()
            with pytest.raises(AssertionError, match=r"group g: .*\n(.*\n)*    t-0: no leader, so the lag is unknown"):
                cluster.settle(timeout=0, requests=False)


def test_groups_and_transactions_of_coordinators_that_are_down_are_not_quiet(kafka: Broker) -> None:
    kafka.topic("t").send("v")
    kafka.group("g").seek(0, "t")
    with kafka.open_transaction("tx") as transaction:
        transaction.send("t", "w")
    kafka.broker(1).stop()
    for options, topic in (
        ({"groups": True, "transactions": False}, "__consumer_offsets"),
        ({"groups": False, "transactions": True}, "__transaction_state"),
    ):
        with pytest.raises(AssertionError, match=rf"topic {topic}: \d+ of \d+ partitions have no leader"):
            kafka.settle(timeout=0, **options)
    kafka.settle(timeout=0, groups=False, transactions=False, requests=False)


def test_topic_with_a_partition_without_a_leader_is_not_quiet() -> None:
    """Its records are unknown, and producers wait for its leader: a record may still arrive."""
    with Cluster(brokers=3) as cluster:
        cluster.topic("t").create(assignments=[[1], [2], [3]])
        cluster.topic("replicated").create(assignments=[[1, 2]])
        cluster.settle(timeout=0)
        cluster.broker(2).stop()
        with pytest.raises(AssertionError) as caught:
            cluster.settle(timeout=0)
        _, *topics, _, _ = str(caught.value).splitlines()
        assert topics == ["  topic t: 1 of 3 partitions has no leader: 1"]
        cluster.settle(timeout=0, requests=False)
        cluster.broker(2).start()
        cluster.settle()


def test_named_group_that_does_not_exist_is_not_quiet(kafka: Broker) -> None:
    with pytest.raises(AssertionError, match="group g: does not exist"):
        kafka.settle(timeout=0, groups=["g"])


def test_open_transaction_is_not_quiet_until_it_ends(kafka: Broker) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("t", b"v")
    producer.flush()
    with pytest.raises(AssertionError, match="transaction tx: Ongoing, with t-0"):
        kafka.settle(timeout=0.1)
    kafka.settle(transactions=False)
    producer.commit_transaction()
    kafka.settle()
    assert kafka.topic("t").values(isolation="read_committed") == [b"v"]


def test_produce_that_waits_for_replicas_is_not_quiet() -> None:
    with Cluster(brokers=2) as kafka:
        kafka.topic("t").create(assignments=[[1, 2]])
        held = kafka.hold_replication(2)
        producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "late"})
        producer.produce("t", b"v", partition=0)
        end = kafka.topic("t").log()
        wait(kafka, lambda: end.log_end_offset or None, 10, lambda: repr(end))
        with pytest.raises(
            AssertionError, match=r"client 'late' at 127\.0\.0\.1:\d+: Produce v\d+ has no response yet, for"
        ):
            kafka.settle(timeout=0.1)
        with Settling(kafka) as is_quiet:
            assert not is_quiet()
            held.release()
        producer.flush()


class Settling:
    """A thread that calls `settle`. The call has to return soon after the end of the block."""

    def __init__(self, kafka: Cluster, **options: Any) -> None:
        self.failures: list[BaseException] = []

        def main() -> None:
            try:
                kafka.settle(**options)
            except BaseException as error:
                self.failures.append(error)
                raise

        self.thread = threading.Thread(target=main, daemon=True)

    def __enter__(self) -> Callable[[], bool]:
        self.thread.start()
        return lambda: not self.thread.is_alive()

    def __exit__(self, *of_error: object) -> None:
        self.thread.join(20)
        assert not self.thread.is_alive()
        assert not self.failures


def test_half_received_request_is_not_quiet(kafka: Broker) -> None:
    with socket.create_connection(("127.0.0.1", kafka.port)) as client:
        kafka.settle()
        client.sendall(b"\0\0\0\x20 half")
        with pytest.raises(
            AssertionError, match=r"client '' at 127\.0\.0\.1:\d+: a request is received but not served"
        ):
            kafka.settle(timeout=0.1)
        kafka.settle(requests=False)
    kafka.settle()  # the connection is closed


def test_join_that_waits_for_other_members_is_not_quiet(kafka: Broker) -> None:
    wire = Wire(kafka)
    wire.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
    wire.ask("JoinGroup", 3, join_body("g"))
    wire.connection(name="second").send("JoinGroup", 3, join_body("g"))
    with pytest.raises(AssertionError, match=r"JoinGroup v3 has no response yet(.|\n)*group g: PreparingRebalance"):
        kafka.settle(timeout=0.1)
    wire.close()


def test_waiting_fetch_is_quiet(kafka: Broker) -> None:
    kafka.topic("t", partitions=1)
    wire = Wire(kafka)
    with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000)) as answer:
        kafka.settle()
        kafka.topic("t").send("for the Fetch")
        assert answer()["responses"][0]["partitions"][0]["high_watermark"] == 1
    wire.close()


@pytest.mark.parametrize("groups", ["g", 1])
def test_groups_must_be_a_list(kafka: Broker, groups: Any) -> None:
    with pytest.raises(TypeError, match="True, False or a list of group ids"):
        kafka.settle(groups=groups)
