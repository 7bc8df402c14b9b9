"""Small log directories of Apache Kafka as text, with the responses of their broker, for tests that do not need Java.

    python -m spark.tests.unit.logs.recording 3.9 > spark/tests/unit/logs/data/kafka-3.9.json

A recording holds the directory twice, as after a kill and after a clean shutdown. For each file it has the size, and
the bytes without trailing zeros. Releases before 0.11 were recorded with a client of their time, by `recorded`.
"""

from __future__ import annotations

import base64
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkalet_conformance.playing.target import Target
from kafkalet_spark.logs.directory import topic_partition
from tests.oracle.apache_kafka import ApacheKafka
from tests.wire.behavior.client import Client

DATA = Path(__file__).with_name("data")
T0 = 1_700_000_000_000
DAY_MS = 24 * 60 * 60 * 1000
CHECKPOINTS = ("log-start-offset-checkpoint", "replication-offset-checkpoint", ".kafka_cleanshutdown")
PLAIN, TRANSACTIONAL, COMPACTED, DELETED = "plain.with-dash-3", "txn", "compacted", "deleted"
CONFIG = {
    "log.cleaner.backoff.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "300",
    "log.flush.start.offset.checkpoint.interval.ms": "300",
    "log.cleaner.dedupe.buffer.size": str(2 << 20),
}


def packed(directory: Path) -> dict[str, Any]:
    """Pack the files of the logs in a log directory, and its checkpoints."""
    names = [*CHECKPOINTS]
    for place in sorted(directory.iterdir()):
        if place.is_dir() and topic_partition(place.name) and not place.name.startswith("__"):
            names += sorted(f"{place.name}/{file.name}" for file in place.iterdir())
    files = {}
    for name in names:
        if (directory / name).exists():
            data = (directory / name).read_bytes()
            files[name] = [len(data), base64.b64encode(data.rstrip(b"\0")).decode()]
    return files


def unpack(files: dict[str, Any], directory: Path) -> None:
    """Write the files of a recording to a directory."""
    for name, (size, text) in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(base64.b64decode(text))
            file.truncate(size)


def recorded(release: str, running: Path, stopped: Path, answers: dict[str, Any]) -> str:
    """Return a recording as text. Responses by topic: earliest, latest, stable, and [timestamp, offset or null,
    time].
    """
    recording = {"release": release, "running": packed(running), "stopped": packed(stopped), "answers": answers}
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {_lines(part)}" for name, part in recording.items()) + "\n}\n"


def _lines(part: Any) -> str:
    """Format as JSON, with one line per entry of an object."""
    if not isinstance(part, dict):
        return json.dumps(part)
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in part.items()) + "\n }"


def record(release: str) -> str:
    """Record Apache Kafka of that release."""
    with tempfile.TemporaryDirectory() as copies, ApacheKafka(release, config=CONFIG) as kafka:
        data = kafka.directory / "data"
        fill(kafka.bootstrap_servers, data, release)
        client = Client(Target(kafka.bootstrap_servers))
        answers = {topic: ask(client, topic) for topic in (PLAIN, TRANSACTIONAL, COMPACTED, DELETED)}
        client.close()
        running = Path(copies) / "running"
        shutil.copytree(data, running)
        kafka.processes[-1].terminate()
        kafka.processes[-1].wait(60)
        return recorded(release, running, data, answers)


def fill(bootstrap: str, data: Path, release: str) -> None:
    """Produce the records. A segment holds a day of record time."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    config = {"segment.ms": str(DAY_MS), "retention.ms": "-1", "index.interval.bytes": "200"}
    if release != "2.8" and int(release[0]) >= 4:
        config |= {"message.timestamp.after.max.ms": str((1 << 63) - 1)}
    compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    topics = [NewTopic(name, 1, 1, config=config) for name in (PLAIN, TRANSACTIONAL, DELETED)]
    for made in admin.create_topics([*topics, NewTopic(COMPACTED, 1, 1, config=config | compacted)]).values():
        made.result()
    for codec, topic in (("none", PLAIN), ("gzip", PLAIN), ("none", DELETED), ("none", COMPACTED)):
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20})
        for step in range(12):
            for number in range(3):
                at = T0 + step * DAY_MS // 4 + (-1) ** number * number * 1000
                producer.produce(topic, b"value %d" % step, b"%d" % number, timestamp=at)
            producer.flush()
    transactions(bootstrap)
    [done] = admin.delete_records([TopicPartition(DELETED, 0, 17)]).values()
    done.result()
    _wait(lambda: DELETED in (data / CHECKPOINTS[0]).read_text(), "log start written down")
    _wait(lambda: (data / f"{COMPACTED}-0" / f"{0:020d}.log").stat().st_size < 300, "compaction")
    time.sleep(3)


def transactions(bootstrap: str) -> None:
    producers = [Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t{number}"}) for number in range(3)]
    now_ms = time.time_ns() // 1_000_000
    for step, ends in enumerate(("ca-", "--a", "aac", "c--", "-ca")):
        for producer, end in zip(producers, ends, strict=True):
            if step == 0:
                producer.init_transactions()
                producer.begin_transaction()
            for number in range(2):
                producer.produce(TRANSACTIONAL, b"%d" % step, timestamp=now_ms + step * 10 - number)
            producer.flush()
            if end != "-":
                (producer.commit_transaction if end == "c" else producer.abort_transaction)()
                producer.begin_transaction()
    producers[0].produce(TRANSACTIONAL, b"open", timestamp=now_ms + 1)
    producers[0].flush()
    _OPEN.extend(producers)  # a producer that is closed would end its transaction


_OPEN: list[Producer] = []


def ask(client: Client, topic: str) -> dict[str, Any]:
    stable = client.offset(topic, -1, 4, isolation_level=1).offset
    times = {T0 + ms for ms in range(-5000, 5001, 500)} | {T0 + hour * DAY_MS // 24 for hour in range(80)}
    asked = [(at, client.offset(topic, at, 4)) for at in sorted({*times, 0, 1 << 60})]
    if client.serves("ListOffsets", 7):
        asked.append((-3, client.offset(topic, -3, 7)))
    return {
        "earliest": client.offset(topic, -2, 4).offset,
        "latest": client.offset(topic, -1, 4).offset,
        "stable": stable,
        "times": [[at, found.offset, found.timestamp] for at, found in asked],
        "aborted": aborted(client, topic) if topic == TRANSACTIONAL else [],
    }


def aborted(client: Client, topic: str) -> list[tuple[int, int]]:
    """Return producer id and first offset of all aborted transactions, from a fetch of the whole log."""
    body = {
        "replica_id": -1, "max_wait_ms": 100, "min_bytes": 0, "max_bytes": 1 << 30, "isolation_level": 1,
        "topics": [{"topic": topic, "partitions": [
            {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 30}]}],
    }  # fmt: skip
    [said] = client.ask("Fetch", 4, body)["responses"][0]["partitions"]
    return [(each["producer_id"], each["first_offset"]) for each in said["aborted_transactions"]]


def _wait(ready: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


if __name__ == "__main__":
    sys.stdout.write(record(sys.argv[1]))
