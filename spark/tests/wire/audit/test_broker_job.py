"""Comparison of log directories with a live broker, without Spark."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

import kafkalet
from kafkalet.storage.cleaning import cleaner
from kafkalet_spark.audit import AuditOptions
from kafkalet_spark.live.refusals import Unreachable
from spark.tests.unit.audit.audited import audited, make

T0 = 1_700_000_000_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(data_dir=str(tmp_path / "data"), version="3.9") as broker:
        broker.topic("plain").create(2, config={"segment.bytes": "1000", "index.interval.bytes": "300"})
        produce(broker, 200)
        yield broker


def produce(broker: kafkalet.Broker, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    for at in range(count):
        producer.produce("plain", b"%d" % at, partition=at % 2, timestamp=T0 + at * 7)
        if at % 20 == 0:
            producer.flush()
    producer.flush()


@pytest.mark.parametrize("max_bytes", [1000, 1 << 30])
def test_broker_agrees_with_its_files(broker: kafkalet.Broker, tmp_path: Path, max_bytes: int) -> None:
    options = AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=100, max_bytes_per_task=max_bytes)
    verdict = audited(tmp_path / "data", options)
    assert verdict.agrees, list(verdict.lines())
    assert verdict.compared is not None
    assert verdict.compared.lookups > 2 * 2 * 90


def test_log_whose_segments_are_being_replaced_is_not_compared(
    broker: kafkalet.Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker answers from the cleaned segment, but the old files still have their names."""
    broker.topic("compact").create(1, config={"cleanup.policy": "compact", "segment.bytes": "1000"})
    for at in range(100):
        broker.topic("compact").send(b"v%d" % at, key=b"k", timestamp=T0 + at * 7)
    is_replaced, may_end = threading.Event(), threading.Event()

    def sync(*_: object) -> None:
        is_replaced.set()
        may_end.wait()

    monkeypatch.setattr(cleaner, "_sync", sync)
    cleaning = threading.Thread(target=broker.run_cleaner)
    cleaning.start()
    is_replaced.wait()
    options = AuditOptions(topics=("compact",), bootstrap=broker.bootstrap_servers)
    try:
        verdict = audited(tmp_path / "data", options)
    finally:
        may_end.set()
        cleaning.join()
    assert list(verdict.findings) == []
    assert verdict.compared is not None
    assert verdict.compared.not_compared == ("compact-0 (the log kept changing)",)
    verdict = audited(tmp_path / "data", options)
    assert verdict.agrees, list(verdict.lines())


def test_records_missing_from_a_copy_are_explained(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy)
    produce(broker, 10)
    verdict = audited(copy, AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=100))
    assert verdict.agrees, list(verdict.lines())
    assert verdict.compared is not None
    assert verdict.compared.explained == (
        "plain-0: offsets 100 to 104 are only in the broker: written after the directory was copied, unless the "
        "copy is incomplete",
        "plain-1: offsets 100 to 104 are only in the broker: written after the directory was copied, unless the "
        "copy is incomplete",
    )


def test_copy_with_more_records_than_the_broker_disagrees(tmp_path: Path) -> None:
    made = make(tmp_path / "logs")
    with kafkalet.Broker(version="3.9", topics=["a.b-c"]) as empty:
        verdict = audited(made.path, AuditOptions(bootstrap=empty.bootstrap_servers, timestamps=50))
    less = next(cause for cause in verdict.causes if cause.finding.fault == "broker-has-less")
    assert less.finding.message == "offsets 0 to 105 are only in the directory: the broker's log is empty"
    assert {finding.check for finding in less.consequences} <= {"list-offsets"}
    assert verdict.exit_status == 1


def test_records_that_the_broker_has_deleted_are_explained(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for deleted in admin.delete_records([TopicPartition("plain", 0, 40)]).values():
        deleted.result()
    verdict = audited(copy, AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=100))
    assert verdict.agrees, list(verdict.lines())
    assert verdict.compared is not None
    (returned,) = verdict.compared.explained
    assert returned.startswith("plain-0: offsets 0 to 39 are only in the directory: deleted from the broker since")


def test_copy_with_garbage_after_the_high_watermark_disagrees(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy)
    log = max((copy / "plain-0").glob("*.log"))
    log.write_bytes(log.read_bytes() + b"\xff" * 100)
    verdict = audited(copy, AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=10))
    assert [(finding.fault, finding.file) for finding in verdict.findings] == [("unreadable", str(log))]


def test_copy_of_another_cluster_disagrees(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy)
    (copy / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=other\n")
    verdict = audited(copy, AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=10))
    (finding,) = verdict.findings
    assert (finding.fault, finding.file) == ("other-cluster", str(copy / "meta.properties"))


def test_recreated_topic_disagrees(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy)
    path = copy / "plain-1" / "partition.metadata"
    path.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAqg")
    (copy / "plain-0" / "partition.metadata").write_text(path.read_text())
    verdict = audited(copy, AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=10))
    assert [(finding.fault, finding.partition) for finding in verdict.findings] == [
        ("topic-made-anew", 0),
        ("topic-made-anew", 1),
    ]


def test_followers_copy_is_compared_unless_it_was_compacted_independently(
    broker: kafkalet.Broker, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy)
    (copy / "meta.properties").write_text("version=1\nnode.id=2\n")
    (copy / "kafkalet.json").unlink()  # It says that all replicas are on broker 1.
    last = max(int(path.stem) for path in (copy / "plain-0").glob("*.log"))
    (copy / "cleaner-offset-checkpoint").write_text(f"0\n1\nplain 0 {last}\n")
    verdict = audited(copy, AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=100))
    # The cleaner removes records without a key, and these have none.
    assert [finding.fault for finding in verdict.findings] == ["null-key"]
    assert verdict.compared is not None
    assert verdict.compared.not_compared == ("plain-0 (a follower's copy, compacted independently of the leader)",)
    assert 2 * 90 < verdict.compared.lookups < 2 * 2 * 90


def test_log_that_the_broker_does_not_have_disagrees(broker: kafkalet.Broker, tmp_path: Path) -> None:
    verdict = audited(make(tmp_path / "other").path, AuditOptions(bootstrap=broker.bootstrap_servers))
    finding = next(finding for finding in verdict.findings if finding.fault == "not-in-broker")
    assert "does not have the partition" in finding.message


def test_unreachable_broker_is_an_error(tmp_path: Path) -> None:
    options = AuditOptions(bootstrap="127.0.0.1:1", properties={"default.api.timeout.ms": "200"})
    with pytest.raises(Unreachable):
        audited(make(tmp_path).path, options)
