"""The drivers for Python clients do what the environment variables specify, and report it."""

import sys
from collections.abc import Iterator

import pytest

import kafkalet

from .driven import COUNT, VALUES, Ended, drive, new_topic

CLIENTS = ["aiokafka", "confluent_kafka", "kafka_python"]


@pytest.fixture(scope="module")
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker() as running:
        yield running


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def topic(broker: kafkalet.Broker) -> str:
    name = new_topic()
    broker.topic(name).create(3)
    return name


def run(client: str, broker: kafkalet.Broker, role: str, topic: str, **settings: str) -> Ended:
    module = f"kafkalet_conformance.clients.drivers.{client}"
    return drive([sys.executable, "-m", module], broker.bootstrap_servers, role, topic, **settings)


def fill(broker: kafkalet.Broker, topic: str) -> None:
    for value in VALUES:
        broker.topic(topic).send(value, key=value)


def test_producer_reports_partition_and_offset_of_each_record(client: str, broker: kafkalet.Broker, topic: str) -> None:
    ended = run(client, broker, "produce", topic)
    assert ended.status == 0, ended
    stored = [[record.text(), str(record.partition), str(record.offset)] for record in broker.topic(topic).records()]
    assert sorted(ended.of("acked")) == sorted(stored)
    assert len(stored) == COUNT


@pytest.mark.parametrize("acks", ["0", "1"])
def test_producer_requests_the_acks_of_the_task(client: str, broker: kafkalet.Broker, topic: str, acks: str) -> None:
    broker.requests.clear()
    ended = run(client, broker, "produce", topic, acks=acks, idempotence="false")
    assert ended.status == 0, ended
    assert all(int(partition) >= -1 and int(offset) >= -1 for _, partition, offset in ended.of("acked"))
    assert sorted((value for value, *_ in ended.of("acked")), key=int) == VALUES
    assert {request.request["acks"] for request in broker.requests.filter("Produce")} == {int(acks)}


def test_producer_with_transactional_id_commits_one_transaction(
    client: str, broker: kafkalet.Broker, topic: str
) -> None:
    ended = run(client, broker, "produce", topic, transactional_id=topic)
    assert (ended.status, ended.lines[-1]) == (0, ["committed"]), ended
    assert len(broker.topic(topic).records()) == COUNT
    assert broker.transaction(topic).state == "CompleteCommit"


def test_consumer_without_group_reads_all_partitions(client: str, broker: kafkalet.Broker, topic: str) -> None:
    fill(broker, topic)
    ended = run(client, broker, "consume", topic)
    assert (ended.status, ended.values()) == (0, VALUES), ended


def test_consumer_with_reset_none_starts_at_the_beginning(client: str, broker: kafkalet.Broker, topic: str) -> None:
    fill(broker, topic)
    ended = run(client, broker, "consume", topic, reset="none")
    assert (ended.status, ended.values()) == (0, VALUES), ended


def test_consumer_with_group_commits_what_it_has_read(client: str, broker: kafkalet.Broker, topic: str) -> None:
    fill(broker, topic)
    ended = run(client, broker, "consume", topic, group=topic)
    assert (ended.status, ended.values()) == (0, VALUES), ended
    assert sum(broker.group(topic).committed().values()) == COUNT
    assert broker.group(topic).state == "Empty"


def test_consumer_without_records_ends_at_the_timeout(client: str, broker: kafkalet.Broker, topic: str) -> None:
    ended = run(client, broker, "consume", topic, timeout_s="2")
    assert (ended.status, ended.of("record")) == (1, []), ended


def test_transformer_copies_records_and_commits_offsets(client: str, broker: kafkalet.Broker, topic: str) -> None:
    fill(broker, topic)
    output = f"{topic}-copy"
    broker.topic(output).create(1)
    settings = {"group": topic, "transactional_id": topic, "output_topic": output}
    ended = run(client, broker, "transform", topic, **settings)
    assert (ended.status, ended.values()) == (0, VALUES), ended
    assert sum(int(number) for [number] in ended.of("committed")) == COUNT
    assert sorted(int(record.text()) for record in broker.topic(output).records()) == list(range(COUNT))
    assert sum(broker.group(topic).committed().values()) == COUNT


def test_unknown_role_is_not_supported(client: str, broker: kafkalet.Broker, topic: str) -> None:
    assert run(client, broker, "administer", topic).status == 64
