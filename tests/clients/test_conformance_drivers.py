"""The drivers of `kafkalet conform client` for Java, Go and Node do what the environment variables specify.

Run them with `make clients`. Those for Python are tested in tests/wire/conformance/clients/test_drivers.py.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from tests.source import ROOT
from tests.wire.conformance.clients.driven import COUNT, VALUES, Ended, drive, new_topic

from .toolchains import Workshop

pytestmark = pytest.mark.toolchain

KAFKA_CLIENTS = "4.4.0"
CLIENTS = ["java", "go", "node"]
NOT_SUPPORTED = 64


@pytest.fixture(scope="module")
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker() as running:
        yield running


@pytest.fixture
def topic(broker: kafkalet.Broker) -> str:
    name = new_topic()
    broker.topic(name).create(3)
    return name


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("drivers"), ROOT / "clients" / "conformance")


@pytest.fixture(params=CLIENTS)
def command(request: pytest.FixtureRequest, commands: Workshop) -> list[str | Path]:
    return _command(request.param, commands)


@pytest.fixture(params=["java", "go"])
def command_without_group(request: pytest.FixtureRequest, commands: Workshop) -> list[str | Path]:
    return _command(request.param, commands)


def _command(client: str, commands: Workshop) -> list[str | Path]:
    match client:
        case "java":
            return commands.java("Driver", KAFKA_CLIENTS)
        case "go":
            return commands.go("driver")
        case _:
            return commands.node("driver.js")


def fill(broker: kafkalet.Broker, topic: str) -> None:
    for value in VALUES:
        broker.topic(topic).send(value, key=value)


def acked(ended: Ended) -> list[str]:
    return sorted((value for value, *_ in ended.of("acked")), key=int)


def test_producer_reports_partition_and_offset_of_each_record(
    command: list[str | Path], broker: kafkalet.Broker, topic: str
) -> None:
    ended = drive(command, broker.bootstrap_servers, "produce", topic)
    assert ended.status == 0, ended
    stored = [[record.text(), str(record.partition), str(record.offset)] for record in broker.topic(topic).records()]
    assert sorted(ended.of("acked")) == sorted(stored)
    assert len(stored) == COUNT


@pytest.mark.parametrize("acks", ["0", "1"])
def test_producer_requests_the_acks_of_the_task(
    command: list[str | Path], broker: kafkalet.Broker, topic: str, acks: str
) -> None:
    broker.requests.clear()
    ended = drive(command, broker.bootstrap_servers, "produce", topic, acks=acks, idempotence="false")
    assert (ended.status, acked(ended)) == (0, VALUES), ended
    assert all(int(partition) >= -1 and int(offset) >= -1 for _, partition, offset in ended.of("acked"))
    sent = {(request.request or {})["acks"] for request in broker.requests.filter("Produce")}
    assert sent == {int(acks)}


def test_producer_with_transactional_id_commits_one_transaction(
    command: list[str | Path], broker: kafkalet.Broker, topic: str
) -> None:
    ended = drive(command, broker.bootstrap_servers, "produce", topic, transactional_id=topic)
    assert (ended.status, ended.lines[-1]) == (0, ["committed"]), ended
    assert len(broker.topic(topic).records()) == COUNT
    assert broker.transaction(topic).state == "CompleteCommit"


@pytest.mark.parametrize("reset", ["earliest", "none"])
def test_consumer_without_group_reads_all_partitions(
    command_without_group: list[str | Path], broker: kafkalet.Broker, topic: str, reset: str
) -> None:
    fill(broker, topic)
    ended = drive(command_without_group, broker.bootstrap_servers, "consume", topic, reset=reset)
    assert (ended.status, ended.values()) == (0, VALUES), ended


def test_kafkajs_consumer_without_group_is_not_supported(
    commands: Workshop, broker: kafkalet.Broker, topic: str
) -> None:
    ended = drive(commands.node("driver.js"), broker.bootstrap_servers, "consume", topic)
    assert ended.status == NOT_SUPPORTED, ended


def test_consumer_with_group_commits_what_it_has_read(
    command: list[str | Path], broker: kafkalet.Broker, topic: str
) -> None:
    fill(broker, topic)
    ended = drive(command, broker.bootstrap_servers, "consume", topic, group=topic)
    assert (ended.status, ended.values()) == (0, VALUES), ended
    assert sum(broker.group(topic).committed().values()) == COUNT
    assert broker.group(topic).state == "Empty"


def test_consumer_without_records_ends_at_the_timeout(
    command: list[str | Path], broker: kafkalet.Broker, topic: str
) -> None:
    ended = drive(command, broker.bootstrap_servers, "consume", topic, group=topic, timeout_s="6")
    assert (ended.status, ended.of("record")) == (1, []), ended


def test_transformer_copies_records_and_commits_offsets(
    command: list[str | Path], broker: kafkalet.Broker, topic: str
) -> None:
    fill(broker, topic)
    output = f"{topic}-copy"
    broker.topic(output).create(1)
    settings = {"group": topic, "transactional_id": topic, "output_topic": output}
    ended = drive(command, broker.bootstrap_servers, "transform", topic, **settings)
    assert (ended.status, ended.values()) == (0, VALUES), ended
    assert sum(int(number) for [number] in ended.of("committed")) == COUNT
    assert sorted(int(record.text()) for record in broker.topic(output).records()) == list(range(COUNT))
    assert sum(broker.group(topic).committed().values()) == COUNT


def test_unknown_role_is_not_supported(command: list[str | Path], broker: kafkalet.Broker, topic: str) -> None:
    assert drive(command, broker.bootstrap_servers, "administer", topic).status == NOT_SUPPORTED
