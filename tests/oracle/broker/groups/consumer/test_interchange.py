"""Logs with committed offsets are interchangeable with Apache Kafka (`make oracle`)."""

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from tests.oracle.apache_kafka import ApacheKafka, _install, missing

pytestmark = pytest.mark.oracle

COMMITTED = {("t", 0): 5, ("t", 1): 6}
TIMEOUT_S = 20.0


def commit(bootstrap_servers: str) -> None:
    """Commit offsets as a member of group "g", then in a committed, an aborted and an open transaction.

    COMMITTED are the offsets that are valid in the end.
    """
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    servers: dict[str, Any] = {"bootstrap.servers": bootstrap_servers}
    admin = AdminClient(servers)
    for made in admin.create_topics([NewTopic("t", 2, 1)]).values():
        made.result()
    consumer = Consumer(servers | {"group.id": "g", "enable.auto.commit": False})
    consumer.subscribe(["t"])
    deadline = time.monotonic() + TIMEOUT_S
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.1)
    consumer.commit(offsets=[TopicPartition("t", 0, 4), TopicPartition("t", 1, 6)], asynchronous=False)
    for name, offset in (("committed", 5), ("aborted", 50), ("open", 500)):
        producer = Producer(servers | {"transactional.id": name})
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition("t", 0, offset)], consumer.consumer_group_metadata())
        if name != "open":
            {"committed": producer.commit_transaction, "aborted": producer.abort_transaction}[name]()
    time.sleep(1)  # Apache Kafka responds before the markers are in the log
    consumer.close()


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_offsets_written_by_kafka_are_loaded(release: str, tmp_path: Path) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    with ApacheKafka(release) as kafka:
        commit(kafka.bootstrap_servers)
        shutil.copytree(kafka.directory / "data", tmp_path / "data")
    with kafkalet.Broker(data_dir=tmp_path / "data", version=release) as broker:
        group = broker.group("g")
        assert (group.state, group.members, group.committed()) == ("Empty", [], COMMITTED)


@pytest.mark.parametrize("release", ["3.9", "newest"])
def test_written_offsets_can_be_read_by_kafka(release: str, tmp_path: Path) -> None:
    if reason := missing("3.9"):
        pytest.skip(reason)
    _install("3.9")
    with kafkalet.Broker(data_dir=tmp_path / "data", version=release) as broker:
        commit(broker.bootstrap_servers)
        [place] = [
            path for path in (tmp_path / "data").glob("__consumer_offsets-*") if next(path.glob("*.log")).stat().st_size
        ]
        batches = broker.topic("__consumer_offsets").log(int(place.name.rpartition("-")[2])).batches
    tools = ApacheKafka("3.9")  # the last release with its tools in the main jar
    tools.directory = tmp_path
    command = tools._java("kafka.tools.DumpLogSegments", "--offsets-decoder", "--files", str(next(place.glob("*.log"))))
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.count("isvalid: true") == len(batches)
    assert text.count("endTxnMarker: COMMIT") == text.count("endTxnMarker: ABORT") == 1
    for offset in (4, 5, 6, 50, 500):
        assert f'"offset":{offset},' in text
