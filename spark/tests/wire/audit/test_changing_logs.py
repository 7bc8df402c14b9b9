"""Logs that a broker changes during the audit are audited again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

import kafkalet
from kafkalet_spark.audit import changing_logs
from kafkalet_spark.audit.audit_options import AuditOptions
from kafkalet_spark.audit.changing_logs import Listed, audit_here, caught_up, listed, live_broker, node_of, steadied
from kafkalet_spark.audit.stretch_audit import ScanSettings
from kafkalet_spark.logs.directory import find
from spark.tests.unit.audit.audited import cut, entries, make

HOW = ScanSettings()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(data_dir=str(tmp_path), version="3.9") as broker:
        broker.topic("t").create(config={"segment.bytes": "500"})
        produce(broker, 30)
        yield broker


def produce(broker: kafkalet.Broker, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for at in range(count):
        producer.produce("t", b"%d" % at)
        producer.flush()


def seen(broker: kafkalet.Broker, path: Path) -> Listed:
    (log,) = [log for log in find([str(path)]) if log.topic == "t"]
    with live_broker(AuditOptions(bootstrap=broker.bootstrap_servers)) as live:
        return listed(log, live)


def test_log_has_the_bounds_of_the_broker(broker: kafkalet.Broker, tmp_path: Path) -> None:
    each = seen(broker, tmp_path)
    assert (each.prepared.before_offset, each.prepared.log.log_start_offset, each.is_live) == (30, 0, True)
    assert len(each.inodes) == len(each.prepared.log.segments) > 2
    assert each.prepared.findings.total == 0


def test_appends_and_new_segments_are_not_changes(broker: kafkalet.Broker, tmp_path: Path) -> None:
    each = seen(broker, tmp_path)
    produce(broker, 20)
    assert not each.has_changed()
    facts = audit_here(each, AuditOptions(), HOW)
    assert (facts.findings.total, facts.log_end_offset) == (0, 30)


def test_deleted_and_replaced_segments_are_changes(broker: kafkalet.Broker, tmp_path: Path) -> None:
    each = seen(broker, tmp_path)
    path = Path(each.prepared.log.segments[0].path)
    data = path.read_bytes()
    path.rename(path.with_suffix(".log.deleted"))
    assert each.has_changed()
    path.write_bytes(data)
    assert each.has_changed()
    path.unlink()
    path.with_suffix(".log.deleted").rename(path)
    assert not each.has_changed()
    os.truncate(path, len(data) - 1)
    assert each.has_changed()


def test_changed_log_is_audited_again(broker: kafkalet.Broker, tmp_path: Path) -> None:
    options = AuditOptions(bootstrap=broker.bootstrap_servers)
    each = seen(broker, tmp_path)
    facts = audit_here(each, options, HOW)
    assert steadied(each, facts, options, HOW) == (each, facts)
    produce(broker, 5)
    other, again = steadied(each._replace(inodes=tuple(0 for _ in each.inodes)), facts, options, HOW)
    assert (again.findings.total, again.log_end_offset) == (0, 35)
    assert not other.has_changed()


def test_changed_log_of_a_running_broker_is_audited_again_without_a_connection(
    broker: kafkalet.Broker, tmp_path: Path
) -> None:
    """As if the cleaner had replaced a segment after it was listed."""
    (log,) = [log for log in find([str(tmp_path)]) if log.topic == "t"]
    each = listed(log, None)
    assert each.prepared.before_offset == 30
    segments = (log.segments[0]._replace(size=log.segments[0].size + 1000), *log.segments[1:])
    earlier = each._replace(prepared=each.prepared._replace(log=log._replace(segments=segments)))
    facts = audit_here(earlier, AuditOptions(), HOW)
    assert facts.findings.total > 0
    _, again = steadied(earlier, facts, AuditOptions(), HOW)
    assert (again.findings.total, again.log_end_offset) == (0, 30)


def test_findings_about_a_log_that_keeps_changing_are_discarded(
    broker: kafkalet.Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = AuditOptions(bootstrap=broker.bootstrap_servers)
    each = seen(broker, tmp_path)
    cut(Path(each.prepared.log.segments[0].path), 100)
    monkeypatch.setattr(Listed, "has_changed", lambda _: True)
    assert audit_here(each, options, HOW).findings.total > 0
    _, facts = steadied(each, audit_here(each, options, HOW), options, HOW)
    (not_checked,) = facts.findings.not_checked
    assert (facts.findings.total, not_checked.reason) == (0, "the log kept changing")


def test_log_without_a_broker_is_never_audited_again(tmp_path: Path) -> None:
    made = make(tmp_path)
    (log,) = find([str(made.path)])
    each = listed(log, None)
    Path(log.segments[0].path).unlink()
    assert (each.is_live, each.has_changed()) == (False, False)


def test_files_of_a_follower_are_recognized(broker: kafkalet.Broker, tmp_path: Path) -> None:
    assert node_of(str(tmp_path)) == 1
    assert not seen(broker, tmp_path).prepared.is_followers
    path = tmp_path / "meta.properties"
    path.write_text("version=0\nbroker.id=7\n")
    assert node_of(str(tmp_path)) == 7
    assert seen(broker, tmp_path).prepared.is_followers
    path.unlink()
    assert node_of(str(tmp_path)) is None
    assert not seen(broker, tmp_path).prepared.is_followers


def test_files_of_the_running_broker_must_reach_its_high_watermark(broker: kafkalet.Broker, tmp_path: Path) -> None:
    each = seen(broker, tmp_path)
    assert (each.is_in_place, each.prepared.reaches_at_least) == (True, 30)
    log = Path(each.prepared.log.segments[-1].path)
    data = log.read_bytes()
    cut(log, entries(log)[-1][0])
    (finding,) = audit_here(seen(broker, tmp_path), AuditOptions(), HOW).findings.found
    log.write_bytes(data)
    assert (finding.fault, finding.file, finding.offset) == ("missing", str(log), 29)


def test_copy_may_end_before_its_broker(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(tmp_path, tmp_path / "copy"))
    produce(broker, 5)
    each = seen(broker, copy)
    assert (each.is_in_place, each.prepared.reaches_at_least) == (False, 0)
    facts = audit_here(each, AuditOptions(), HOW)
    assert (facts.findings.total, facts.log_end_offset) == (0, 30)


def test_copy_of_a_stopped_broker_is_audited_completely(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(tmp_path, tmp_path / "copy"))
    (copy / ".kafka_cleanshutdown").write_text("")
    each = seen(broker, copy)
    assert (each.is_live, each.is_compared, each.prepared.log.is_closed) == (False, True, True)


def test_files_past_the_high_watermark_are_read_to_their_end(broker: kafkalet.Broker, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(tmp_path, tmp_path / "copy"))
    (log,) = [log for log in find([str(copy)]) if log.topic == "t"]
    with (
        kafkalet.Broker(version="3.9", topics=["t"]) as empty,
        live_broker(AuditOptions(bootstrap=empty.bootstrap_servers)) as live,
    ):
        each = listed(log, live)
    assert (each.prepared.before_offset, each.bounds and each.bounds.high_watermark) == (30, 0)
    assert audit_here(each, AuditOptions(), HOW).log_end_offset == 30


def test_audit_waits_for_the_high_watermark(broker: kafkalet.Broker, tmp_path: Path) -> None:
    each = seen(broker, tmp_path)
    assert each.bounds is not None
    early = each._replace(bounds=each.bounds._replace(high_watermark=10))
    assert early.is_beyond_the_broker
    with live_broker(AuditOptions(bootstrap=broker.bootstrap_servers)) as live:
        assert caught_up([early], live) == [each]


def test_wait_for_the_high_watermark_times_out(
    monkeypatch: pytest.MonkeyPatch, broker: kafkalet.Broker, tmp_path: Path
) -> None:
    monkeypatch.setattr(changing_logs, "CATCH_UP_MS", 50)
    each = seen(broker, tmp_path)
    beyond = each._replace(prepared=each.prepared._replace(before_offset=31))
    with live_broker(AuditOptions(bootstrap=broker.bootstrap_servers)) as live:
        assert caught_up([beyond, beyond], live) == [beyond, beyond]


def test_follower_may_be_behind(broker: kafkalet.Broker, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=7\n")
    each = seen(broker, tmp_path)
    assert (each.prepared.is_followers, each.prepared.reaches_at_least) == (True, 0)
