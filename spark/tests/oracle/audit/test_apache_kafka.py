"""The audit reports no finding for directories and responses of Apache Kafka.

The directories are audited while the broker runs and is written to, at rest, after a kill, after recovery, and after a
clean shutdown. They contain all codecs, recompressed batches, LogAppendTime, many small segments, logs compacted with
and without transactions, retention, DeleteRecords, transactions that are committed, aborted, interleaved, fenced and
open, and consumer groups.
"""

from __future__ import annotations

import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkalet_spark.audit import AuditOptions
from kafkalet_spark.live.broker import LiveBroker
from spark.tests.unit.audit.audited import audited, entries, flip
from tests.oracle.apache_kafka import ApacheKafka, missing

pytestmark = pytest.mark.oracle

CONFIG = {
    "log.cleaner.backoff.ms": "300",
    "log.retention.check.interval.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "log.flush.start.offset.checkpoint.interval.ms": "2000",
    "log.segment.delete.delay.ms": "500",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "zookeeper.session.timeout.ms": "3000",
}
SMALL = {"segment.bytes": "20000", "index.interval.bytes": "300"}
CLEANED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "300",
    "delete.retention.ms": "0",
}
TOPICS = {
    "plain": {"index.interval.bytes": "200"},
    "small": SMALL,
    "txn": SMALL,
    "compacted": SMALL | CLEANED,
    "compacted-txn": SMALL | CLEANED,
    "append-time": {"message.timestamp.type": "LogAppendTime", "index.interval.bytes": "200"},
    "recompressed": {"compression.type": "gzip", "index.interval.bytes": "200"},
    "retained": SMALL | {"retention.bytes": "50000"},
    "deleted": SMALL,
    "empty": {},
}
KEPT: list[Any] = []


class Filling:
    """Writes records to all topics, reproducibly from a seed."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self.bootstrap = bootstrap
        self.name = str(seed)
        self.chance = random.Random(seed)
        self.begun_ms = int(time.time() * 1000)

    def producer(self, **properties: Any) -> Producer:
        returned = {name.replace("_", "."): value for name, value in properties.items()}
        return Producer(
            {"bootstrap.servers": self.bootstrap, "linger.ms": 5, "batch.size": 15000, "log_level": 0} | returned
        )

    def send(
        self, producer: Producer, topic: str, count: int, *, keys: int = 50, size: int = 120, spread: int = 0
    ) -> None:
        chance = self.chance
        for number in range(count):
            value = chance.randbytes(8) * chance.randrange(1, size // 8)
            at = self.begun_ms + number * 3 + chance.randrange(-spread, spread + 1)
            producer.produce(topic, value, b"key %d" % chance.randrange(keys), timestamp=at)
            if number % 37 == 0:
                producer.flush()
        producer.flush()

    def write(self, scale: float = 1) -> None:
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            producer = self.producer(compression_type=codec)
            self.send(producer, "plain", int(300 * scale), spread=3000)
            self.send(producer, "recompressed", int(150 * scale))
            self.send(producer, "append-time", int(150 * scale))
        producer = self.producer(enable_idempotence=True)
        for topic in ("small", "deleted"):
            self.send(producer, topic, int(2000 * scale))
        self.send(producer, "retained", int(2000 * scale), size=800)
        self.send(self.producer(enable_idempotence=True), "small", int(300 * scale), spread=2000)
        for _ in range(4):
            self.send(producer, "compacted", int(400 * scale), keys=40, size=900)
            time.sleep(0.4)
        self.transactions(int(10 * scale))

    def transactions(self, rounds: int) -> None:
        names = [f"{self.name}-{number}" for number in range(3)]
        producers = [self.producer(transactional_id=name) for name in names]
        for producer in producers:
            producer.init_transactions()
        for _ in range(rounds):
            for producer in producers:
                producer.begin_transaction()
            for producer in producers:
                self.send(producer, "txn", self.chance.randrange(1, 50), size=300)
                self.send(producer, "compacted-txn", self.chance.randrange(1, 30), size=2000, keys=20)
            for producer in producers:
                (producer.abort_transaction if self.chance.random() < 0.4 else producer.commit_transaction)()
            time.sleep(0.1)
        fencing = self.producer(transactional_id=names[0])
        fencing.init_transactions()
        fencing.begin_transaction()
        self.send(fencing, "txn", 20)
        fencing.commit_transaction()
        still = self.producer(transactional_id=f"{self.name}-open", transaction_timeout_ms=600_000)
        still.init_transactions()
        still.begin_transaction()
        self.send(still, "txn", 15)
        self.send(still, "plain", 5)
        self.send(self.producer(), "txn", 30)
        KEPT.extend([*producers, fencing, still])  # a garbage-collected producer would abort its transaction


def create_topics(kafka: ApacheKafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    topics = []
    for name, config in TOPICS.items():
        larger = {"segment.bytes": str(1 << 20)} if kafka.release == "4.4" and "segment.bytes" in config else {}
        topics.append(NewTopic(name, 2 if name == "plain" else 1, 1, config=config | larger))
    for made in admin.create_topics(topics).values():
        made.result()


def delete_records(kafka: ApacheKafka, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for done in admin.delete_records([TopicPartition("deleted", 0, offset)]).values():
        done.result()


@pytest.fixture(scope="module", params=["2.8", "3.9", "4.4"])
def kafka(request: pytest.FixtureRequest) -> Iterator[ApacheKafka]:
    if reason := missing(request.param):
        pytest.skip(reason)
    with ApacheKafka(request.param, config=CONFIG) as kafka:
        create_topics(kafka)
        yield kafka


def agrees(path: Path, options: AuditOptions | None = None, *, is_at_rest: bool = True) -> None:
    """Audit a directory, which must have no findings. While it is written to, some logs may remain uncompared."""
    verdict = audited(path, options)
    assert verdict.findings == [], "\n".join(verdict.lines())
    assert verdict.agrees or not is_at_rest, "\n".join(verdict.lines())
    assert verdict.total("records") > 3000
    assert verdict.total("aborted_transactions") > 0
    if options is not None and options.bootstrap is not None:
        assert verdict.compared is not None
        assert verdict.compared.refused == ()
        assert verdict.compared.lookups > 2000


def knows_all_topics(kafka: ApacheKafka) -> bool:
    """Return whether the broker knows all topics; before 3.3 it answers requests before it has loaded them."""
    with LiveBroker(kafka.bootstrap_servers) as broker:
        return broker.topics().keys() >= TOPICS.keys()


def copied(kafka: ApacheKafka, path: Path) -> Path:
    while True:
        try:
            return Path(shutil.copytree(kafka.directory / "data", path, symlinks=True))
        except shutil.Error:  # a segment was deleted meanwhile
            shutil.rmtree(path)


def test_audit_of_apache_kafka_finds_no_fault(kafka: ApacheKafka, tmp_path: Path) -> None:
    """A single test, because each state is built on the previous one."""
    data = kafka.directory / "data"
    asking = AuditOptions(bootstrap=kafka.bootstrap_servers, timestamps=600)
    Filling(kafka.bootstrap_servers, 1).write()
    delete_records(kafka, 1234)

    # audit while records are written
    writing = threading.Thread(target=lambda: Filling(kafka.bootstrap_servers, 2).write(), daemon=True)
    writing.start()
    looked = 0
    while writing.is_alive():
        agrees(data, AuditOptions(bootstrap=kafka.bootstrap_servers, timestamps=200), is_at_rest=False)
        looked += 1
    writing.join()
    assert looked > 0

    time.sleep(4)  # let the cleaner, retention and the checkpoints run
    agrees(data, asking)
    agrees(copied(kafka, tmp_path / "running"))

    kafka.end_broker(signal.SIGKILL)
    agrees(copied(kafka, tmp_path / "killed"))
    kafka.start_again()
    kafka._wait(lambda: knows_all_topics(kafka))
    agrees(data, asking)
    Filling(kafka.bootstrap_servers, 3).write(0.5)
    delete_records(kafka, 2500)
    time.sleep(4)
    agrees(data, asking)

    kafka.end_broker(signal.SIGTERM)
    agrees(data)
    assert audited(data, AuditOptions(topics=("compacted",))).total("compacted_offsets") > 0

    log = next(path for path in sorted((data / "small-0").glob("*.log")) if path.stat().st_size > 1000)
    flip(log, entries(log)[3][0] + 50)
    (finding,) = audited(data).findings
    assert (finding.check, finding.file, finding.position) == ("checksum", str(log), entries(log)[3][0])
