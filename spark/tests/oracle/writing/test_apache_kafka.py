"""Apache Kafka accepts the files that a load has written and serves the same records (`make oracle`)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalet_spark.logs.directory import find
from kafkalet_spark.logs.ends import log_end_offset
from kafkalet_spark.logs.transactions import last_stable_offset
from kafkalet_spark.writing import staging
from kafkalet_spark.writing.target import TargetDirectory
from spark.tests.unit.writing.making import load, numbered, records
from tests.oracle.apache_kafka import ApacheKafka, _install, missing

pytestmark = pytest.mark.oracle
PARTITIONS = 3
FOREVER = {"log.retention.ms": "-1", "log.cleaner.enable": "false", "num.partitions": str(PARTITIONS)}
SHAPE = {
    "transactionalShare": 0.6,
    "abortedShare": 0.3,
    "openTransactions": 2,
    "transactionSize": 50,
    "batchSize": "2k",
}


class Restarted:
    """A broker that can be stopped cleanly and started again on a changed directory."""

    def __init__(self, kafka: ApacheKafka) -> None:
        self.kafka = kafka
        self.data = kafka.directory / "data"

    def stop(self) -> None:
        self.kafka.end_broker(signal.SIGTERM)

    def start(self) -> None:
        self.kafka.start_again()
        self.kafka._wait(self._leads)

    def _leads(self) -> bool:
        """Return whether the broker answers and leads all partitions."""
        from confluent_kafka.admin import AdminClient

        topics = AdminClient({"bootstrap.servers": self.kafka.bootstrap_servers}).list_topics("t", timeout=10).topics
        return [each.leader for each in topics["t"].partitions.values()] == [1] * PARTITIONS


@pytest.fixture(scope="module", params=["2.8", "3.9", "4.4"])
def filled(request: pytest.FixtureRequest) -> Iterator[Restarted]:
    """A broker restarted on a log that contains its own records, followed by loads of several shapes."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    if reason := missing(request.param):
        pytest.skip(reason)
    with ApacheKafka(request.param, config=FOREVER) as kafka:
        servers: Any = {"bootstrap.servers": kafka.bootstrap_servers}
        admin = AdminClient(servers)
        admin.create_topics([NewTopic("t", PARTITIONS, 1)])["t"].result()
        producer = Producer(servers)
        for number in range(100):
            producer.produce("t", b"old %d" % number, partition=number % PARTITIONS)
        assert producer.flush(30) == 0
        broker = Restarted(kafka)
        broker.stop()
        load(broker.data, [numbered(0, 3000)], [numbered(3000, 3000)], **SHAPE, segmentBytes="30k")
        load(broker.data, [numbered(6000, 2000)], compression="zstd", segmentBytes="30k")
        os.makedirs(os.path.join(staging.writing(TargetDirectory(str(broker.data)), staging.new_job()), "0-0", "t-0"))
        broker.start()
        yield broker


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_consumer_reads_to_the_expected_end(filled: Restarted, isolation: str) -> None:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": filled.kafka.bootstrap_servers,
            "group.id": isolation,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    for log in find([str(filled.data)]):
        if log.topic == "t":
            place = TopicPartition("t", log.partition)
            end = log_end_offset(log) if isolation == "read_uncommitted" else last_stable_offset(log)
            assert consumer.get_watermark_offsets(place, timeout=30) == (0, end)
            consumer.assign([TopicPartition("t", log.partition, 0)])
            found = []
            while (message := consumer.poll(30)) is not None and message.error() is None:
                found.append((message.offset(), message.value()))
            expected = [(each.offset, each.value) for each in records(filled.data, log.partition)]
            if isolation == "read_uncommitted":
                assert found == expected
            else:
                assert 0 < len(found) < sum(offset < end for offset, _ in expected)
                assert set(found) <= set(expected)
    consumer.close()


def test_dump_log_segments_finds_no_error(filled: Restarted, tmp_path: Path) -> None:
    kinds: Counter[str] = Counter()
    for partition in range(PARTITIONS):
        directory = filled.data / f"t-{partition}"
        files = [path for path in sorted(directory.iterdir()) if path.suffix in (".log", ".index", ".timeindex")]
        text = dump(files, tmp_path)
        assert not re.search("mismatch|not found|invalid|corrupt|isvalid: false|exception", text, re.IGNORECASE)
        kinds.update(path.suffix for path in files)
    assert min(kinds.values()) > 10


def dump(paths: list[Path], work: Path) -> str:
    """Run DumpLogSegments of 3.9, the last release whose main jar contains the tools."""
    if reason := missing("3.9"):
        pytest.skip(reason)
    _install("3.9")
    tools = ApacheKafka("3.9")
    tools.directory = work
    command = tools._java("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(map(str, paths)))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_kafka_starts_with_leftovers_of_killed_load(filled: Restarted) -> None:
    assert filled.kafka.processes[-1].poll() is None


def test_kafka_does_not_start_on_half_committed_load(filled: Restarted) -> None:
    filled.stop()
    half = staging.committed(TargetDirectory(str(filled.data)), "job")
    os.makedirs(half)
    with pytest.raises(RuntimeError, match="did not start"):
        filled.start()
    filled.kafka.processes.pop()
    os.rmdir(half)
    filled.start()
