"""Large data directories: how long they take to open, the memory they need, recovery, and the creation of many topics.

    python -m benchmarks.scale [SCENARIO ...] [--partitions 10000] [--gib 20] [--recovery-gib 1] [--directory DIR]

The directories are written by a broker once and then multiplied: partitions share their closed segments by hard links,
so 20 GiB need only 1 GiB on the disk. Everything is removed afterwards.
"""

import argparse
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kafkalet
from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type
from tests.oracle.apache_kafka import missing
from tests.oracle.storage.kafka_logs import Opening, opened_by_kafka

from .brokers import Running, start_kafkalet
from .fairness import probe
from .load import ask, produce_request

GIB = 1 << 30
SEGMENT_BYTES = 64 << 20
PARTITIONS_PER_TOPIC = 100
TOPIC = "load"
CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")


# Directories


def write_template(path: Path, size: int) -> None:
    """Write a closed directory with one partition of `size` bytes; a few small records if `size` is 0."""
    config = {"log.segment.bytes": str(SEGMENT_BYTES), "log.retention.ms": "-1"}
    with kafkalet.Broker(data_dir=str(path), config=config, topics=[TOPIC]) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        request = produce_request(1_000_000, TOPIC)
        with socket.create_connection((host, int(port))) as sock:
            for _ in range(size // len(request) + 1 if size else 0):
                sock.sendall(request)
                sock.recv(int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big"), socket.MSG_WAITALL)
        if not size:
            broker.topic(TOPIC).send_batch([(str(key), "v" * 20) for key in range(3)])


def multiply(path: Path, partitions: int) -> None:
    """Give the directory `partitions` partitions like its only one, in topics of PARTITIONS_PER_TOPIC."""
    metadata = json.loads((path / "kafkalet.json").read_text())
    template = path / f"{TOPIC}-0"
    [topic] = metadata["topics"]
    metadata["topics"] = []
    contents = {name: (template / name).read_bytes() for name in os.listdir(template) if _is_small(template / name)}
    linked = [name for name in os.listdir(template) if name not in contents]
    active = max((name for name in linked if name.endswith(".log")), default=None)
    offset = (path / CHECKPOINTS[1]).read_text().split()[-1]
    names = []
    for at in range(0, partitions, PARTITIONS_PER_TOPIC):
        name = f"{TOPIC}{at // PARTITIONS_PER_TOPIC}"
        topic_id = os.urandom(16)
        count = min(PARTITIONS_PER_TOPIC, partitions - at)
        metadata["topics"].append(
            topic | {"name": name, "id": topic_id.hex(), "partitions": topic["partitions"] * count}
        )
        identity = f"version: 0\ntopic_id: {kafkalet_uuid(topic_id)}"
        for index in range(count):
            directory = path / f"{name}-{index}"
            directory.mkdir()
            for file, content in contents.items():
                (directory / file).write_bytes(identity.encode() if file == "partition.metadata" else content)
            for file in linked:
                (shutil.copyfile if file == active else os.link)(template / file, directory / file)
            names.append(f"{name} {index}")
    shutil.rmtree(template)
    for name in CHECKPOINTS:
        lines = "".join(f"{partition} {offset}\n" for partition in names)
        (path / name).write_text(f"0\n{len(names)}\n{lines}")
    (path / "kafkalet.json").write_text(json.dumps(metadata))


def kafkalet_uuid(topic_id: bytes) -> str:
    from kafkalet.formats import uuid_text

    return uuid_text(topic_id)


def _is_small(path: Path) -> bool:
    return path.stat().st_size < 1 << 20


def size_bytes(path: Path) -> int:
    """Return the size of all .log files, linked ones counted each time."""
    return sum(file.stat().st_size for file in path.glob("*/*.log"))


# Brokers


@contextmanager
def serving(path: Path, *, stops_s: list[float] | None = None) -> Iterator[Running]:
    """Run `kafkalet serve` with a directory. The time of its stop in seconds is added to `stops_s`."""
    broker = start_kafkalet({"log.retention.ms": "-1"}, "--data-dir", str(path))
    try:
        yield broker
    finally:
        begun_s = time.perf_counter()
        broker.stop()
        if stops_s is not None:
            stops_s.append(time.perf_counter() - begun_s)


def _address(broker: Running) -> tuple[str, int]:
    host, _, port = broker.address.rpartition(":")
    return host, int(port)


def _show(row: str, unit: str, *figures: float) -> None:
    columns = "".join(f"{figure:>14,.2f}" if figure < 10 else f"{figure:>14,.0f}" for figure in figures)
    print(f"{row:<64}{unit:<8}{columns}", flush=True)


def _waits(address: tuple[str, int], work: Callable[[], None]) -> tuple[float, float]:
    """Run `work`. Return its duration in seconds, and the longest wait of another client meanwhile in milliseconds."""
    thread = threading.Thread(target=work)
    begun_s = time.perf_counter()
    thread.start()
    longest_ms = max(probe(address, lambda: not thread.is_alive()), default=0.0)
    thread.join()
    return time.perf_counter() - begun_s, longest_ms


# Scenarios


def many_partitions(options: argparse.Namespace) -> None:
    """Open a directory with many small partitions."""
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        path = Path(name)
        write_template(path, 0)
        multiply(path, options.partitions)
        stops_s: list[float] = []
        what = f"{options.partitions:,} partitions"
        with serving(path, stops_s=stops_s) as broker:
            _show(f"open {what}, process to ready", "s", broker.start_ms / 1000)
            _show(f"memory with {what}", "MiB", broker.memory_mib())
            _, longest_ms = _waits(_address(broker), lambda: time.sleep(5))
            _show("longest wait of a client in the 5 s after that", "ms", longest_ms)
            _show("memory 5 s after that", "MiB", broker.memory_mib())
        _show(f"stop with {what}", "s", *stops_s)
        with serving(path) as broker:
            _show(f"open {what} again", "s", broker.start_ms / 1000)


def large_directory(options: argparse.Namespace) -> None:
    """Open a large directory and read from all its segments."""
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        path = Path(name)
        write_template(path, min(GIB, int(options.gib * GIB)))
        multiply(path, max(int(options.gib), 1))
        partitions, what = max(int(options.gib), 1), f"{size_bytes(path) / GIB:.1f} GiB"
        with serving(path) as broker:
            _show(f"open {what}, process to ready", "s", broker.start_ms / 1000)
            _show(f"memory with {what}", "MiB", broker.memory_mib())
            for step in (4, 1):
                for index in range(partitions):
                    _read_through(broker, f"{TOPIC}0", index, step)
                _show(f"memory after fetching 1 MiB in every {step} MiB", "MiB", broker.memory_mib())


def _read_through(broker: Running, topic: str, index: int, step: int) -> None:
    """Fetch 1 MiB at every offset that is a multiple of `step` MiB / 1 kB."""
    fetch: Any = request_type(Api.FETCH)
    types: Any = request_type(Api.LIST_OFFSETS)
    with broker.connect() as sock:
        latest = types.Topic.Partition(partition_index=index, timestamp=-1)
        answer: Any = ask(
            sock, types(replica_id=-1, topics=[types.Topic(name=topic, partitions=[latest])]), Api.LIST_OFFSETS, 7
        )
        end = answer.topics[0].partitions[0].offset
        for offset in range(0, end, 1000 * step):
            partition = fetch.Topic.Partition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
            request = fetch(
                max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[fetch.Topic(topic=topic, partitions=[partition])]
            )
            answer = ask(sock, request, Api.FETCH, 11)
            assert answer.responses[0].partitions[0].error_code == 0


def recovery(options: argparse.Namespace) -> None:
    """Recover a directory that was not closed."""
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        path = Path(name) / "kafkalet"
        write_template(path, int(options.recovery_gib * GIB))
        (path / ".kafka_cleanshutdown").unlink()
        for file in CHECKPOINTS:
            (path / file).unlink()
        size = size_bytes(path)
        shutil.copytree(path, Path(name) / "kafka")
        with serving(path) as broker:
            figures = [size / 1e6 / (broker.start_ms / 1000)]
            _show(f"recovery of {size / GIB:.1f} GiB, process to ready", "s", broker.start_ms / 1000)
        if lacking := missing("3.9"):
            print(f"Apache Kafka is not measured: {lacking}", file=sys.stderr)
        else:
            properties = {"segment.bytes": str(SEGMENT_BYTES)}
            log = Opening(Path(name) / "kafka" / f"{TOPIC}-0", clean=False)
            [opened] = opened_by_kafka([log], properties, time.time_ns() // 1_000_000)
            figures.append(size / 1e3 / opened["opened_ms"])
        _show("recovery, kafkalet with its start, classes of Apache Kafka 3.9", "MB/s", *figures)


def creation(options: argparse.Namespace) -> None:
    """Create many topics, and a topic with many partitions."""
    create: Any = request_type(Api.CREATE_TOPICS)

    def ask_for(address: tuple[str, int], topics: dict[str, int]) -> None:
        each = [
            create.Topic(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
            for name, count in topics.items()
        ]
        with socket.create_connection(address) as sock:
            answer: Any = ask(sock, create(topics=each, timeout_ms=60_000), Api.CREATE_TOPICS, 5)
            assert not any(topic.error_code for topic in answer.topics)

    with tempfile.TemporaryDirectory(dir=options.directory) as name, serving(Path(name)) as broker:
        address = _address(broker)
        ask_for(address, {"warm": 1})
        for what, topics in (
            ("1,000 topics", {f"t{number}": 1 for number in range(1000)}),
            (f"a topic of {options.partitions - 10:,} partitions", {"wide": options.partitions - 10}),
            ("one topic after that", {"last": 1}),
        ):
            seconds, longest_ms = _waits(address, lambda topics=topics: ask_for(address, topics))  # type: ignore[misc]
            _show(f"create {what}", "s", seconds)
            _show("  longest wait of another client", "ms", longest_ms)


SCENARIOS = {each.__name__: each for each in (many_partitions, large_directory, recovery, creation)}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenarios", nargs="*", help=f"out of: {', '.join(SCENARIOS)}")
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--gib", type=float, default=20)
    parser.add_argument("--recovery-gib", type=float, default=1)
    parser.add_argument("--directory", help="where to write the directories; the default is that for temporary files")
    options = parser.parse_args(arguments)
    for name, scenario in SCENARIOS.items():
        if not options.scenarios or name in options.scenarios:
            scenario(options)


if __name__ == "__main__":
    main()
