"""Tests of the report that a failed test shows."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonPartition

from kafkalet import Broker, Cluster
from kafkalet.testing.clients import MOST_CHARS, what_clients_do
from kafkalet.testing.report import MOST_REQUESTS, report


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def produce(kafka: Cluster, topic: str = "orders", **more: object) -> Producer:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "app", **more})
    producer.produce(topic, b"one")
    producer.flush(10)
    return producer


def test_report_of_an_unused_broker_is_short(kafka: Broker) -> None:
    assert report(kafka, []) == "no requests, records, groups or transactions"
    assert what_clients_do(kafka) == ["no client is connected"]


def test_report_has_requests_and_logs(kafka: Broker) -> None:
    produce(kafka)
    lines = report(kafka, []).splitlines()
    assert lines[0] == "The last requests, with the time before now:"
    assert any("client=app Produce v" in line and "offset 0" in line for line in lines)
    at = lines.index("Logs:")
    assert lines[at + 1] == (
        "  orders-0: log start offset 0, last stable offset 1, high watermark 1, log end offset 1, leader 1"
    )


@pytest.mark.parametrize("client", ["librdkafka", "kafka-python"])
def test_polls_do_not_displace_other_requests(kafka: Broker, client: str) -> None:
    """The consumer starts at the end of the log, which its ListOffsets request shows."""
    kafka.topic("orders").send("one")
    with polling(client, kafka.bootstrap_servers):
        kafka.requests.wait_for("Fetch", n=3 * MOST_REQUESTS)
        lines = report(kafka, []).splitlines()
    requests = lines[1 : lines.index("Logs:")]
    assert len(requests) <= MOST_REQUESTS
    assert any(
        re.search(r"ListOffsets v\d+ orders-0@latest( read_committed)? -> offset 1 in ", line) for line in requests
    )
    times = [re.search(r"Fetch .* -> nothing.*, (\d+) times in \d+\.\d s$", line) for line in requests]
    assert max(int(found[1]) for found in times if found) > MOST_REQUESTS
    seconds = [float(line.split()[0]) for line in requests]
    assert seconds == sorted(seconds)


def test_polls_of_many_consumers_do_not_displace_other_requests(kafka: Broker) -> None:
    kafka.topic("idle").create()
    consumers = []
    for number in range(MOST_REQUESTS):
        settings = {"group.id": "g", "client.id": f"c{number}", "fetch.wait.max.ms": 50}
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, **settings})
        consumer.assign([TopicPartition("idle", 0, 0)])
        consumers.append(consumer)
        kafka.requests.wait_for("Fetch", client_id=f"c{number}")
    kafka.requests.clear()
    produce(kafka)
    for number in range(len(consumers)):
        kafka.requests.wait_for("Fetch", client_id=f"c{number}", n=3)
    lines = report(kafka, []).splitlines()
    for consumer in consumers:
        consumer.close()
    assert any("client=app Produce v" in line for line in lines)


@contextmanager
def polling(client: str, bootstrap_servers: str) -> Iterator[None]:
    """A consumer that starts at the end of the topic and sends a Fetch request every few milliseconds."""
    consumer: Any
    if client == "librdkafka":
        consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "g", "fetch.wait.max.ms": 5})
        consumer.assign([TopicPartition("orders", 0)])
        timeout = 0.05
    else:  # as a member of a group, it can lose its assignment: kafka-python 3.0 forgets a join that outlasts a poll
        consumer = KafkaConsumer(bootstrap_servers=bootstrap_servers, fetch_max_wait_ms=5)
        consumer.assign([KafkaPythonPartition("orders", 0)])
        timeout = 50  # milliseconds
    is_over = threading.Event()

    def poll() -> None:
        while not is_over.is_set():
            consumer.poll(timeout)
        consumer.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_report_has_groups(kafka: Broker) -> None:
    kafka.topic("orders").send("one")
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "billing", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    assert consumer.poll(10) is not None
    lines = report(kafka, []).splitlines()
    consumer.close()
    assert "  billing: Stable, members: rdkafka" in lines
    assert any("orders-0" in line and "lag 1" in line for line in lines)


def test_report_reads_only_some_of_many_groups(kafka: Broker) -> None:
    kafka.topic("orders", partitions=20).send("one")
    for number in range(50):
        kafka.group(f"g{number:02}").seek("earliest", "orders")
    lines = report(kafka, []).splitlines()
    at = lines.index("Groups:")
    assert lines[at + 1] == "  g00: Empty, members: none"
    assert lines[at + 12 : at + 14] == ["    ... 10 more", "  g01: Empty, members: none"]
    assert lines[-1] == "  ... 48 more groups"


def test_each_waiting_request_of_clients_with_the_same_id_is_shown(kafka: Broker) -> None:
    kafka.topic("t", partitions=2)
    consumers = []
    for partition in range(2):
        consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "fetch.wait.max.ms": 20_000}
        )
        consumer.assign([TopicPartition("t", partition, 0)])
        consumers.append(consumer)
    kafka.requests.wait_for("Fetch", n=2)
    lines = [line for line in what_clients_do(kafka) if "Fetch" in line and "waiting" in line]
    for consumer in consumers:
        consumer.close()
    assert len(lines) == 2


def test_report_has_open_transactions(kafka: Broker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("orders", b"one")
    producer.flush(10)
    lines = report(kafka, []).splitlines()
    producer.abort_transaction(10)
    at = lines.index("Open transactions:")
    assert lines[at + 1].startswith("  tx: Ongoing, with orders-0 (producer id ")


def test_report_is_limited(kafka: Broker) -> None:
    kafka.topic("x" * 200).create()
    for _ in range(30):
        produce(kafka, "x" * 200)
    lines = report(kafka, []).splitlines()
    assert sum(" s  client=" in line and " times in " not in line for line in lines) == MOST_REQUESTS
    assert max(map(len, lines)) <= MOST_CHARS + len("  ...")


def test_report_of_a_stopped_cluster_does_not_raise() -> None:
    assert "not running" in report(Broker(), [])


def test_partition_out_of_sync_shows_its_replicas() -> None:
    with Cluster(brokers=2) as cluster:
        cluster.topic("t").create(1, assignments=[[1, 2]])
        cluster.topic("t").send("one")
        cluster.broker(2).stop()
        assert "leader 1, in sync [1] of [1, 2]" in report(cluster, [])


def test_clients_are_shown_with_their_last_request(kafka: Broker) -> None:
    producer = produce(kafka)
    assert what_clients_do(kafka)[0].startswith("client=app Produce v")
    assert producer is not None


def test_clients_are_shown_without_a_journal() -> None:
    kafka = Broker()
    kafka._server.journal = None
    with kafka:
        producer = produce(kafka)
        assert what_clients_do(kafka)[0].startswith("app: last request Produce v")
        assert producer is not None


def test_report_marks_the_requests_on_which_a_fault_has_fired_and_lists_the_fault(kafka: Broker) -> None:
    with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2):
        produce(kafka, **{"retry.backoff.ms": 10})
    lines = report(kafka, kafka._fault_lines()).splitlines()
    produced = [line for line in lines if "Produce v" in line]
    assert ["NOT_LEADER_OR_FOLLOWER (fault 1)" in line for line in produced] == [True, False]
    assert ", 2 times in " in produced[0]
    assert lines[-2:] == [
        "Faults:",
        "  1: <fault('Produce', error='NOT_LEADER_OR_FOLLOWER', times=2), fired 2 times>, removed",
    ]


def test_report_lists_faults_with_their_counts(kafka: Broker) -> None:
    kafka.fault("Fetch", delay=1, strict=False)
    assert report(kafka, kafka._fault_lines()).endswith(
        "Faults:\n  1: <fault('Fetch', delay=1, strict=False), fired 0 times>"
    )
