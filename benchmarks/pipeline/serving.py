"""Brokers that serve an existing log directory: kafkalet, and Apache Kafka with links to the same segments."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from tests.oracle.apache_kafka import ApacheKafka

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASE = "3.9"
PATIENCE_S = 60
KEEP = {"log.retention.ms": "-1", "log.segment.bytes": str(1 << 30), "num.partitions": "4"}


@contextmanager
def kafkalet(directory: Path | None = None) -> Iterator[str]:
    """Run kafkalet in a separate process on a log directory, or without data, and yield its address."""
    command = [sys.executable, "-m", "kafkalet", "serve", "--listen", "127.0.0.1:0", "--log-level", "error"]
    for name, value in KEEP.items():
        command += ["--set", f"{name}={value}"]
    if directory is not None:
        command += ["--data-dir", str(directory)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip().rpartition("=")[2]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        process.stdout.close()


@contextmanager
def apache_kafka(directory: Path | None = None, topics: Mapping[str, int] | None = None) -> Iterator[str]:
    """Run Apache Kafka on the segments of a log directory and yield its address.

    Creates `topics` (name to number of partitions), stops the broker, replaces their files and starts it again.
    """
    with ApacheKafka(RELEASE, config=KEEP) as kafka:
        if topics:
            create(kafka.bootstrap_servers, topics)
        if directory is not None:
            kafka.end_broker(signal.SIGTERM)
            for topic, partitions in (topics or {}).items():
                for partition in range(partitions):
                    name = f"{topic}-{partition}"
                    _hand_over(directory / name, kafka.directory / "data" / name)
            kafka.start_again()
        yield kafka.bootstrap_servers


def create(servers: str, topics: Mapping[str, int]) -> None:
    """Create topics that do not exist yet."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for made in admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()]).values():
        made.result(PATIENCE_S)


def _hand_over(source: Path, target: Path) -> None:
    """Replace the files of a partition with links, except `partition.metadata`, which holds the cluster's topic id."""
    for path in target.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    for path in source.iterdir():
        if path.name == "partition.metadata":
            continue
        try:
            if path.suffix != ".log":
                raise OSError
            os.link(path, target / path.name)
        except OSError:  # on another file system; or an index, which the broker modifies
            shutil.copyfile(path, target / path.name)
