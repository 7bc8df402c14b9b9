"""What is known of logs before they are read, by what a live broker says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import kafkalet
from kafkalet.pipeline.audit.broker_job import begin_with_broker, listed_again
from kafkalet.pipeline.audit.options import AuditOptions
from kafkalet.pipeline.audit.tasks import begin
from kafkalet.pipeline.live.refusals import Unreachable
from kafkalet.pipeline.logs.directory import find

from .audited import make


def test_the_log_ends_where_the_broker_says_and_begins_there_too(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=str(tmp_path)) as broker:
        broker.create_topic("t")
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for at in range(10):
            producer.produce("t", b"%d" % at)
            producer.flush()
        logs = [log for log in find([str(tmp_path)]) if log.topic == "t"]
        (one,) = begin_with_broker([begin(log, None) for log in logs], AuditOptions(bootstrap=broker.bootstrap_servers))
        assert (one.before_offset, one.log.log_start_offset) == (10, 0)
        producer.produce("t", b"later")
        producer.flush()
        again = listed_again(one)
        assert again.before_offset == 10
        assert again.log.size_bytes > one.log.size_bytes
        assert again.findings.total == 0


def test_a_log_that_the_broker_does_not_have_is_audited_at_rest(tmp_path: Path) -> None:
    made = make(tmp_path / "logs")
    with kafkalet.Broker() as broker:
        options = AuditOptions(bootstrap=broker.bootstrap_servers)
        (one,) = begin_with_broker([begin(log, None) for log in find([str(made.path)])], options)
    assert one.before_offset is None
    assert listed_again(one).findings.found == one.findings.found
    assert [finding.check for finding in one.findings.found] == ["list-offsets"]


def test_a_broker_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    made = make(tmp_path / "logs")
    options = AuditOptions(bootstrap="127.0.0.1:1", properties={"default.api.timeout.ms": "200"})
    with pytest.raises(Unreachable):
        begin_with_broker([begin(log, None) for log in find([str(made.path)])], options)
