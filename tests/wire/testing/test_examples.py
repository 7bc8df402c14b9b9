"""Twenty tests of a shop as users of the kit would write them, with each of the client libraries.

They show how short a test is: no sleep, no loop, no client beside those of the shop.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkalet import Broker, Cluster
from kafkalet.protocol.errors import Code
from tests.clients.drivers import DRIVERS, BrokerError, Driver, Row

from .shop import PaymentFailed, Shop

T0 = 1_700_000_000_000


@pytest.fixture(params=sorted(DRIVERS))
def make_app(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Shop]]:
    """Open shops for a broker, with each client library in turn."""
    opened: list[Shop] = []
    driver_type: type[Driver] = DRIVERS[request.param]

    def make(kafka: Broker | Cluster) -> Shop:
        opened.append(Shop(driver_type, kafka.bootstrap_servers))
        return opened[-1]

    yield make
    for shop in opened:
        shop.close()


@pytest.fixture
def app(make_app: Callable[[Any], Shop], kafka: Broker) -> Shop:
    return make_app(kafka)


def test_order_is_published(kafka: Broker, app: Shop) -> None:
    app.place_order(7)
    [record] = kafka.topic("orders").wait_for(1)
    assert (record.key, record.json()) == (b"7", {"id": 7})


def test_order_is_billed_and_committed(kafka: Broker, app: Shop) -> None:
    kafka.topic("orders").send_json({"id": 7}, key="7")
    app.start_billing()
    kafka.group("billing").wait_for_lag(0)
    assert app.billed == [7]


def test_order_that_is_not_json_goes_to_the_dead_letter_queue(kafka: Broker, app: Shop) -> None:
    kafka.topic("orders").send(b"not json")
    app.start_billing()
    assert kafka.topic("orders.dlq").wait_for(1)[0].headers["error"] == b"JSONDecodeError"


def test_duplicate_order_sends_one_invoice(kafka: Broker, app: Shop) -> None:
    kafka.topic("orders").send_json({"id": 7})
    kafka.topic("orders").send_json({"id": 7})
    app.start_billing()
    kafka.group("billing").wait_until_stable()
    kafka.settle()
    assert kafka.topic("invoices").values() == [b"7"]


def test_producer_retries_when_the_leader_changes(kafka: Broker, app: Shop) -> None:
    kafka.topic("t", partitions=1)
    with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2):  # fails unless it fires twice
        app.publish("t", b"x")
    assert kafka.topic("t").values() == [b"x"]


def test_lost_response_does_not_duplicate_the_record(kafka: Broker, app: Shop) -> None:
    kafka.topic("t", partitions=1)
    with kafka.fault("Produce", disconnect="after", times=1):
        app.publish("t", b"x", enable_idempotence=True)
    assert kafka.topic("t").values() == [b"x"]


def test_order_is_billed_again_if_its_offset_is_not_committed(kafka: Broker, app: Shop) -> None:
    kafka.topic("orders").send_json({"id": 7})
    with kafka.fault("OffsetCommit", error="GROUP_AUTHORIZATION_FAILED"), pytest.raises(BrokerError):
        app.bill_once()
    app.bill_once()
    assert app.billed == [7, 7]


def test_surviving_member_takes_over(kafka: Broker, make_app: Callable[[Any], Shop]) -> None:
    kafka.topic("orders", partitions=2)
    first, second = make_app(kafka), make_app(kafka)
    first.start_billing()
    second.start_billing()
    group = kafka.group("billing").wait_until_stable(members=2)
    assert sorted(map(sorted, group.assignment.values())) == [[("orders", 0)], [("orders", 1)]]
    second.stop_billing()
    [assigned] = group.wait_until_stable(members=1).assignment.values()
    assert assigned == {("orders", 0), ("orders", 1)}


def test_aborted_transfer_leaves_nothing(kafka: Broker, app: Shop) -> None:
    with pytest.raises(PaymentFailed):
        app.transfer(5, fail=True)
    assert kafka.topic("transfers").values(isolation="read_committed") == []


def test_open_transaction_hides_its_records(kafka: Broker, app: Shop) -> None:
    with kafka.open_transaction("tx") as transaction:
        transaction.send("t", "a")
        assert kafka.topic("t").values() == [b"a"]
        assert kafka.topic("t").values(isolation="read_committed") == []
    assert app.report("t", 1, "read_committed") == [b"a"]


def test_old_records_expire(kafka: Broker, app: Shop) -> None:
    kafka.topic("audit", config={"retention.ms": 3_600_000}).send("old")
    kafka.clock.advance(hours=2)
    assert app.offsets("audit") == (1, 1)


def test_report_starts_at_a_time(kafka: Broker, app: Shop) -> None:
    kafka.topic("t", config={"retention.ms": -1}).send("a", timestamp=T0)
    kafka.topic("t", config={"retention.ms": -1}).send("b", timestamp=T0 + 60_000)
    assert app.since("t", T0 + 1) == [b"b"]


def test_reader_counts_records_across_a_gap(kafka: Broker, app: Shop) -> None:
    topic = kafka.topic("t").layout("gap", first=5, size=3)
    assert len(app.report("t", topic.count())) == topic.count()


def test_older_producer_is_fenced(kafka: Broker, app: Shop) -> None:
    payments = app.payments("p")
    payments.begin()
    payments.send("transfers", 0, [Row(None, b"5")])
    with kafka.open_transaction("p"):
        pass
    with pytest.raises(BrokerError, match=r"(?i)fenced|newer"):
        payments.commit()
    assert kafka.topic("transfers").values(isolation="read_committed") == []


@pytest.mark.kafka(version="2.8", topics={"orders": 6}, config={"message.max.bytes": "1000"})
def test_record_that_is_too_large_is_refused(kafka: Broker, app: Shop) -> None:
    with pytest.raises(BrokerError) as caught:
        app.publish("orders", b"x" * 2000)
    assert (caught.value.code, kafka.topic("orders").partition_count) == (Code.MESSAGE_TOO_LARGE, 6)


@pytest.mark.parametrize("kafka", ["2.8", "3.9", "4.4"], indirect=True)
def test_every_release_takes_orders(kafka: Broker, app: Shop) -> None:
    app.place_order(7)
    assert kafka.topic("orders").wait_for(1)


def test_application_survives_the_stop_of_a_broker(kafka_cluster: Cluster, make_app: Callable[[Any], Shop]) -> None:
    app = make_app(kafka_cluster)
    topic = kafka_cluster.topic("t", partitions=1, replication_factor=3)
    kafka_cluster.broker(1).stop()
    app.publish("t", b"x")
    assert topic.wait_for(1)[0].value == b"x"


def test_client_sends_few_metadata_requests(kafka: Broker, app: Shop) -> None:
    kafka.topic("orders").send_json({"id": 7})
    app.start_billing()
    kafka.group("billing").wait_for_lag(0)
    assert kafka.requests.count("Metadata") < 20
    kafka.assert_no_unsupported()


PROGRAM = """
import os
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
producer.produce("out", b"done")
assert producer.flush(10) == 0
"""


def test_main_program_finds_the_broker(kafka_env: Broker) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=os.environ)
    assert kafka_env.topic("out").wait_for(1)[0].value == b"done"
