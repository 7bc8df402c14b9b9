"""The documented reactions of Apache Kafka to faults are those of a real broker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafkalet.pipeline.live.broker import LiveBroker
from kafkalet.pipeline.live.lookups import EARLIEST, LATEST
from tests.oracle.apache_kafka import ApacheKafka, missing
from tests.unit.pipeline.audit.faults import FAULTS, Seen

pytestmark = pytest.mark.oracle

KEPT: list[Producer] = []


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    if reason := missing("3.9"):
        pytest.skip(reason)
    config = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
    with ApacheKafka("3.9", config=config) as kafka:
        fill(kafka.bootstrap_servers)
        broker = kafka.processes.pop()
        broker.terminate()
        broker.wait(60)
        shutil.move(kafka.directory / "data", kafka.directory / "sound")
        yield kafka


def fill(bootstrap: str) -> None:
    small = {"segment.bytes": "2000", "index.interval.bytes": "200"}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics(
        [NewTopic("plain", 2, 1, config=small), NewTopic("txn", 1, 1, config=small)]
    ).values():
        made.result()
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for at in range(120):
        producer.produce("plain", b"value %d" % at, b"%d" % at, partition=at % 2)
        producer.flush()
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t"})
    transactional.init_transactions()
    for at in range(20):
        transactional.begin_transaction()
        for number in range(3):
            transactional.produce("txn", b"value %d" % number)
        transactional.flush()
        (transactional.abort_transaction if at % 2 else transactional.commit_transaction)()
    KEPT.append(transactional)  # a garbage-collected producer would abort its transaction


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.kafka is not None])
def test_apache_kafka_reacts_to_fault_as_documented(kafka: ApacheKafka, name: str) -> None:
    data = kafka.directory / "data"
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(kafka.directory / "sound", data, symlinks=True)
    fault = FAULTS[name]
    fault.plant(data)
    before = names(data)
    kafka._launch("kafka.Kafka", kafka.directory / "server.properties")
    offsets: dict[str, tuple[int, int]] = {}
    try:
        kafka._wait(kafka._answers)
        with LiveBroker(kafka.bootstrap_servers) as broker:
            for partition in (0, 1):
                start, end = (broker.list_offsets({("plain", partition): at}) for at in (EARLIEST, LATEST))
                offsets[f"plain-{partition}"] = start["plain", partition].offset, end["plain", partition].offset
    except RuntimeError:
        assert kafka.processes[-1].poll() is not None
    process = kafka.processes.pop()
    process.terminate()
    process.wait(60)
    assert fault.kafka is not None
    assert fault.kafka(Seen(bool(offsets), offsets, before, names(data))), (name, offsets, names(data))


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))
