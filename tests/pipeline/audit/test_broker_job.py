"""A live broker that agrees with its files, and one that does not, without Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

import kafkalet
from kafkalet.pipeline.audit import AuditOptions
from kafkalet.pipeline.live.refusals import Unreachable

from .audited import audited, cut, entries, make

T0 = 1_700_000_000_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(data_dir=str(tmp_path / "data"), kafka_version="3.9") as broker:
        broker.create_topic("plain", partitions=2, config={"segment.bytes": "3000", "index.interval.bytes": "300"})
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
        for at in range(200):
            producer.produce("plain", b"%d" % at, partition=at % 2, timestamp=T0 + at * 7)
            if at % 20 == 0:
                producer.flush()
        producer.flush()
        yield broker


@pytest.mark.parametrize("max_bytes", [1000, 1 << 30])
def test_a_broker_agrees_with_its_files(broker: kafkalet.Broker, tmp_path: Path, max_bytes: int) -> None:
    options = AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=100, max_bytes_per_task=max_bytes)
    verdict = audited(tmp_path / "data", options)
    assert verdict.agrees, list(verdict.lines())
    assert verdict.compared is not None
    assert verdict.compared.lookups > 2 * 2 * 90


def test_a_file_that_lacks_records_disagrees_with_the_broker(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy)
    log = max((copy / "plain-0").glob("*.log"))
    position, _ = entries(log)[-1]
    cut(log, position)
    verdict = audited(copy, AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=100))
    assert {finding.check for finding in verdict.findings} >= {"missing", "list-offsets"}
    assert {finding.partition for finding in verdict.findings} == {0}
    assert verdict.compared is not None
    assert 0 < verdict.compared.disagreements < verdict.compared.lookups
    (told,) = [
        finding for finding in verdict.findings if "the largest timestamp under read_committed" in finding.message
    ]
    assert "the broker says offset" in told.message


def test_a_followers_copy_is_compared_unless_it_was_cut_on_its_own(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy)
    (copy / "meta.properties").write_text("version=1\nnode.id=2\n")
    cleaned = copy / "cleaner-offset-checkpoint"
    cleaned.write_text("0\n1\nplain 0 50\n")
    verdict = audited(copy, AuditOptions(bootstrap=broker.bootstrap_servers, timestamps=100))
    assert verdict.agrees, list(verdict.lines())
    assert verdict.compared is not None
    assert verdict.compared.not_compared == ("plain-0 (a follower's copy, compacted on its own)",)
    assert 2 * 90 < verdict.compared.lookups < 2 * 2 * 90


def test_a_log_that_the_broker_does_not_have_disagrees(broker: kafkalet.Broker, tmp_path: Path) -> None:
    verdict = audited(make(tmp_path / "other").path, AuditOptions(bootstrap=broker.bootstrap_servers))
    (finding,) = verdict.findings
    assert finding.check == "list-offsets"
    assert "does not have it" in finding.message


def test_a_broker_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    options = AuditOptions(bootstrap="127.0.0.1:1", properties={"default.api.timeout.ms": "200"})
    with pytest.raises(Unreachable):
        audited(make(tmp_path).path, options)
