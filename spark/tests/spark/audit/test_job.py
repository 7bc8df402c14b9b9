"""The whole audit with Spark: its verdict, its result files, and the comparison with a live broker."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

import kafkalet
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet_spark.audit import AuditOptions, audit, run
from kafkalet_spark.audit.facts import SCHEMA
from kafkalet_spark.audit.job import FACTS, REPORT, VERDICT, chosen
from spark.tests.unit.audit.audited import audited, entries, fill, flip, make, overwrite, segments
from spark.tests.unit.logs.made import CONFIG, Made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLOSE_TOGETHER = AuditOptions(max_bytes_per_task=500, chunk_bytes=1000)


def test_result_with_spark_equals_result_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    made = make(tmp_path / "logs")
    path = segments(made)[1]
    flip(path, entries(path)[2][0] + 40)
    for index in segments(made, ".txnindex"):
        overwrite(index, 2, b"\x77")
    verdict = run(spark, [str(made.path)], CLOSE_TOGETHER)
    assert verdict.findings == audited(made.path).findings
    assert verdict.exit_status == 1
    assert {finding.check for finding in verdict.findings} == {"checksum", "txn-index"}


def test_results_are_written(spark: SparkSession, tmp_path: Path) -> None:
    made = make(tmp_path / "logs")
    other = Made(tmp_path / "more", CONFIG, topic="other")
    fill(other)
    other.close()
    shutil.copy(made.path / "meta.properties", other.path / "meta.properties")
    with open(other.path / "meta.properties", "a") as properties:
        properties.write("directory.id=another\n")
    (other.place / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAqg")
    out = tmp_path / "a" / "b"
    verdict = audit(spark, [str(made.path), str(other.path)], AuditOptions(out=str(out)))
    assert verdict.agrees
    assert verdict.exit_status == 0
    parsed = json.loads((out / VERDICT).read_text())
    assert (parsed["agrees"], len(parsed["partitions"])) == (True, 2)
    table = pq.read_table(out / FACTS)
    assert table.schema.equals(SCHEMA)
    frame = spark.read.parquet(str(out / FACTS)).where("kind = 'partition' and name = 'log_end_offset'")
    assert {(row.topic, row.value) for row in frame.collect()} == {
        (facts.log.topic, facts.log_end_offset) for facts in verdict.partitions
    }
    assert (out / REPORT).read_text().splitlines() == [*verdict.lines()]


def test_a_directory_without_logs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no logs in"):
        chosen([str(tmp_path)], AuditOptions())


def test_only_selected_topics_are_audited(tmp_path: Path) -> None:
    made = make(tmp_path)
    assert [log.topic for log in chosen([str(tmp_path)], AuditOptions(topics=("a.b-c",))).logs] == ["a.b-c"]
    with pytest.raises(ValueError, match=r"there is no topic other in .*"):
        chosen([str(made.path)], AuditOptions(topics=("other",)))
    with pytest.raises(FileNotFoundError):
        chosen([str(tmp_path / "nowhere")], AuditOptions())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log directory of `broker`."""
    return tmp_path_factory.mktemp("audit") / "data"


@pytest.fixture(scope="module")
def broker(data: Path) -> Iterator[kafkalet.Broker]:
    """Start a broker from which tests only read."""
    with kafkalet.Broker(data_dir=str(data), version="3.9") as broker:
        _produce(broker)
        yield broker


def _produce(broker: kafkalet.Broker) -> None:
    broker.topic("plain").create(2, config={"segment.bytes": "5000", "index.interval.bytes": "300"})
    broker.topic("txn").create(config={"segment.bytes": "4000", "index.interval.bytes": "300"})
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    for at in range(400):
        producer.produce("plain", b"%d" % at, partition=at % 2, timestamp=1_700_000_000_000 + at * 7 % 1000)
        if at % 20 == 0:
            producer.flush()
    producer.flush()
    for name in ("one", "two"):
        patience = {"transaction.timeout.ms": 900_000}  # the last one stays open during the tests
        transactional = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name, **patience})
        transactional.init_transactions()
        for at in range(3):
            transactional.begin_transaction()
            for number in range(30):
                transactional.produce("txn", b"%d" % number, timestamp=1_700_000_000_000 + number)
            transactional.flush()
            if name == "two" and at == 2:
                break  # leave it open
            (transactional.abort_transaction if at % 2 else transactional.commit_transaction)()


def test_a_live_broker_agrees_with_its_files(
    spark: SparkSession, broker: kafkalet.Broker, data: Path, tmp_path: Path
) -> None:
    options = AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=300, out=str(tmp_path / "out"))
    verdict = audit(spark, [str(data)], options)
    assert verdict.agrees, list(verdict.lines())
    assert verdict.compared is not None
    assert (verdict.compared.not_compared, verdict.compared.refused) == ((), ())
    assert verdict.compared.lookups > 3 * 2 * 250
    ends = {facts.log.name: (facts.last_stable_offset, facts.log_end_offset) for facts in verdict.partitions}
    assert ends["txn-0"][0] < ends["txn-0"][1]


def test_files_that_differ_from_the_broker_disagree(
    spark: SparkSession, broker: kafkalet.Broker, data: Path, tmp_path: Path
) -> None:
    """The records of the copy are one second later than those of the broker."""
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    for log in (copy / "txn-0").glob("*.log"):
        data = bytearray(log.read_bytes())
        for at, size in entries(log):
            for field in (27, 35):
                later = int.from_bytes(data[at + field : at + field + 8], "big") + 1000
                data[at + field : at + field + 8] = later.to_bytes(8, "big")
            data[at + 17 : at + 21] = crc32c(data[at + 21 : at + size]).to_bytes(4, "big")
        log.write_bytes(data)
    options = AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=50, topics=("txn",))
    verdict = audit(spark, [str(copy)], options)
    assert "list-offsets" in {finding.check for finding in verdict.findings}
    assert verdict.compared is not None
    assert verdict.compared.disagreements > 0


def test_a_topic_that_the_broker_does_not_have_disagrees(
    spark: SparkSession, broker: kafkalet.Broker, tmp_path: Path
) -> None:
    made = make(tmp_path / "other")
    verdict = audit(spark, [str(made.path)], AuditOptions(bootstrap=broker.bootstrap_servers))
    finding = next(finding for finding in verdict.findings if finding.fault == "not-in-broker")
    assert "does not have the partition" in finding.message
