"""Log directories of Apache Kafka can be opened by kafkalet, and vice versa (`make oracle`)."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import kafkalet
from kafkalet.clock import SystemClock
from kafkalet.protocol.records.batch import batches
from kafkalet.storage.directory import LogDirectory
from kafkalet.storage.image import write_image
from kafkalet.storage.log import Log
from kafkalet.storage.values import Isolation
from kafkalet.testing.layout import LayoutKind
from tests.oracle.apache_kafka import ApacheKafka, _install, missing
from tests.unit.storage.place import CONFIG, TOPIC_ID, Place, content
from tests.unit.storage.producing import T0, produced, record

pytestmark = pytest.mark.oracle

SEGMENT_FILES = (".log", ".index", ".timeindex", ".txnindex")


@pytest.fixture(scope="module", params=["3.9", "4.4"])
def kafka(request: pytest.FixtureRequest) -> Iterator[ApacheKafka]:
    if reason := missing(request.param):
        pytest.skip(reason)
    with ApacheKafka(request.param) as running:
        yield running


def fill(kafka: ApacheKafka, topic: str) -> list[bytes]:
    """Produce with three producers, two of them transactional with every outcome; return all values."""
    from confluent_kafka import Producer

    values = []
    plain = Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True, "linger.ms": 1})
    for number in range(500):
        values.append(b"%d" % number * 20)
        plain.produce(topic, values[-1], timestamp=T0 + number)
        if number % 7 == 0:
            plain.flush()
    plain.flush()
    for name in ("one", "two"):
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic + name})
        producer.init_transactions()
        for end in (producer.commit_transaction, producer.abort_transaction, None):
            producer.begin_transaction()
            values.append(name.encode())
            producer.produce(topic, values[-1])
            producer.flush()
            if end is not None:
                end()
    time.sleep(1)  # Apache Kafka answers before the markers are written
    return values


def values_of(log: Log) -> list[bytes | None]:
    found: list[bytes | None] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = list(batches(content(log.read(offset, 1 << 20, Isolation.LOG_END, True))))
        found += [entry.value for batch in read if not batch.is_control for entry in batch.records()]
        offset = read[-1].next_offset
    return found


def test_directory_of_killed_apache_kafka_is_recovered(kafka: ApacheKafka, tmp_path: Path) -> None:
    values = fill(kafka, "killed")
    shutil.copytree(kafka.directory / "data", tmp_path / "data")
    directory = LogDirectory(str(tmp_path / "data"), SystemClock(), durable=False)
    (topic_id,) = [topic_id for topic, _, topic_id in directory.found() if topic == "killed"]
    log = directory.get_or_create("killed", 0, None, CONFIG)
    assert log.topic_id == topic_id is not None
    assert values_of(log) == values
    log.maybe_increment_high_watermark(log.log_end_offset)
    aborted = log.local.aborted_transactions(0, log.log_end_offset, log.segments.first)
    assert len(aborted) == 2
    assert log.last_stable_offset < log.high_watermark
    directory.close()


@pytest.fixture
def tools(tmp_path: Path) -> ApacheKafka:
    """The command line tools of 3.9, the last release whose main jar contains them."""
    if reason := missing("3.9"):
        pytest.skip(reason)
    _install("3.9")
    kafka = ApacheKafka("3.9")
    kafka.directory = tmp_path
    return kafka


def test_dump_log_segments_reads_logs_without_errors(tools: ApacheKafka, tmp_path: Path) -> None:
    place = Place(tmp_path / "data", CONFIG._replace(segment_bytes=2000, index_interval_bytes=200))
    assert place.log.topic_id == TOPIC_ID
    for number in range(100):
        records = [record(T0 + number * 10 + each, value="x" * 30) for each in range(number % 5 + 1)]
        place.append(*records, codec=("none", "gzip", "snappy", "lz4", "zstd")[number % 5])
    sequence = 0
    for commit in (True, False, False, True):
        place.append(1, 2, producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
        place.end_transaction(7, commit=commit)
        sequence += 2
    place.log.append_as_leader(produced(5), 3)
    place.reopen()
    place.append(9)
    place.directory.close()
    assert len(place.log.segments) > 3
    for segment in place.log.segments:
        kinds = ("log", "index", "timeindex", "txnindex")
        paths = [place.file(f"{segment.base_offset:020d}.{kind}") for kind in kinds]
        text = dump(tools, *[path for path in paths if path.exists()])
        assert not re.search("mismatch|not found|invalid|corrupt|isvalid: false|exception", text, re.IGNORECASE)
        found = [int(offset) for offset in re.findall(r"^baseOffset: (\d+)", text, re.MULTILINE)]
        assert found == [batch.base_offset for _, batch in segment.heads()]


def test_dump_log_segments_reads_every_shape_without_errors(tools: ApacheKafka, tmp_path: Path) -> None:
    with kafkalet.Broker() as broker:
        for kind in get_args(LayoutKind):
            broker.topic(kind, 1).layout(kind)
        write_image(str(tmp_path / "data"), broker.snapshot().image.files)
        paths = [path for path in sorted((tmp_path / "data").rglob("*")) if path.suffix in SEGMENT_FILES]
        text = dump(tools, *paths)
        assert not re.search("mismatch|not found|invalid|corrupt|isvalid: false|exception", text, re.IGNORECASE)
        for kind in get_args(LayoutKind):
            dumped = [part for part in text.split("Dumping ")[1:] if f"/{kind}-0/" in part and ".log" in part[:300]]
            values = [
                int(value)
                for part in dumped
                for value in re.findall(r"^\| offset: (\d+) .*keySize: \d", part, re.MULTILINE)
            ]
            assert {record.offset for record in broker.topic(kind).records()} <= set(values), kind


def dump(tools: ApacheKafka, *paths: Path) -> str:
    files = ",".join(map(str, paths))
    command = tools._java("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", files)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout
