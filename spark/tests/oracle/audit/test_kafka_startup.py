"""The documented reactions of Apache Kafka to faults are those of a real broker."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.live.lookups import EARLIEST, LATEST
from kafkalet_spark.logs.checkpoints import read_offsets
from spark.tests.unit.audit.faults import FAULTS, VALUE, KafkaStart
from tests.oracle.apache_kafka import ApacheKafka, missing

pytestmark = pytest.mark.oracle

CLEANED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1500"}
KEPT: list[Producer] = []


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    if reason := missing("3.9"):
        pytest.skip(reason)
    config = {
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "log.cleaner.backoff.ms": "300",
    }
    with ApacheKafka("3.9", config=config) as kafka:
        fill(kafka.bootstrap_servers)
        wait_for_cleaner(kafka.directory / "data")
        fill_again(kafka.bootstrap_servers)
        kafka.end_broker(signal.SIGTERM)
        shutil.move(kafka.directory / "data", kafka.directory / "sound")
        yield kafka


def fill(bootstrap: str) -> None:
    small = {"segment.bytes": "2000", "index.interval.bytes": "200"}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic("plain", 2, 1, config=small), NewTopic("txn", 1, 1, config=small)]
    for made in admin.create_topics([*topics, NewTopic("compacted", 1, 1, config=small | CLEANED)]).values():
        made.result()
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for at in range(120):
        producer.produce("plain", b"value %d" % at, b"%d" % at, partition=at % 2)
        producer.produce("plain", b"another %d" % at, b"%d" % at, partition=at % 2)
        producer.flush()
    for at in range(40):
        put(producer, at, at % 8, at + 1)
    time.sleep(2)  # segment.ms
    put(producer, 0)
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t"})
    transactional.init_transactions()
    for at in range(20):
        transactional.begin_transaction()
        for number in range(3):
            transactional.produce("txn", b"value %d" % number)
        transactional.flush()
        (transactional.abort_transaction if at % 2 else transactional.commit_transaction)()
    KEPT.append(transactional)  # a garbage-collected producer would abort its transaction


def put(producer: Producer, *keys: int) -> None:
    for key in keys:
        producer.produce("compacted", VALUE, b"key %d" % key)
    producer.flush()


def wait_for_cleaner(data: Path) -> None:
    path = data / "cleaner-offset-checkpoint"
    while not path.exists() or read_offsets(str(path)).get(("compacted", 0), 0) < 120:
        time.sleep(0.2)


def fill_again(bootstrap: str) -> None:
    """Disable the cleaner and write records that are not compacted."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    resource = ConfigResource(ConfigResource.Type.TOPIC, "compacted")
    for name, value in (("min.cleanable.dirty.ratio", "1.0"), ("segment.ms", "600000000")):
        resource.add_incremental_config(ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET))
    for done in admin.incremental_alter_configs([resource]).values():
        done.result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    for at in range(100, 118):
        put(producer, at, 1000 + at)
    for at in range(18):
        put(producer, at, 0)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.kafka is not None])
def test_apache_kafka_reacts_to_fault_as_documented(kafka: ApacheKafka, name: str) -> None:
    data = kafka.directory / "data"
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(kafka.directory / "sound", data, symlinks=True)
    fault = FAULTS[name]
    fault.plant(data)
    before = names(data)
    offsets: dict[str, tuple[int, int]] = {}
    try:
        kafka.start_again()
        with LiveBroker(kafka.bootstrap_servers) as broker:
            for partition in (0, 1):
                start, end = (broker.list_offsets({("plain", partition): at}) for at in (EARLIEST, LATEST))
                offsets[f"plain-{partition}"] = start["plain", partition].offset, end["plain", partition].offset
    except RuntimeError:
        assert kafka.processes[-1].poll() is not None
    kafka.end_broker(signal.SIGTERM)
    assert fault.kafka is not None
    assert fault.kafka(KafkaStart(bool(offsets), offsets, before, names(data))), (name, offsets, names(data))


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))
