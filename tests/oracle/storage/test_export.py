"""Directories written by kafkalet: Apache Kafka opens them with the same responses, and its tool finds no fault."""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kafkalet
from kafkalet.cli import main
from tests.oracle.apache_kafka import ApacheKafka, _install, missing

from .observing import Answers, differences, observe
from .workload import Workload

pytestmark = pytest.mark.oracle

GROUPS = [f"{kind} {number}" for kind in ("simple", "classic", "consumer", "txg") for number in range(3)]
TRANSACTIONAL_IDS = [f"tx {number}" for number in range(4)]
COMPLAINT = re.compile("error|exception|corrupt|invalid|recover|truncat|stray|snapshot|sanity|rebuil", re.IGNORECASE)
FAULT = re.compile(
    "mismatch|consecutive|not found|invalid|corrupt|isvalid: false|exception|out of order", re.IGNORECASE
)
SEGMENT_FILES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


def config_of(release: str) -> dict[str, str]:
    config = {
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "2",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    return config if release >= "4" else config | {"group.coordinator.rebalance.protocols": "classic,consumer"}


@contextmanager
def opened_here(directory: Path, release: str, brokers: int) -> Iterator[kafkalet.Cluster]:
    config = config_of(release) | {"log.cleaner.enable": "false"}
    with kafkalet.Cluster(brokers, data_dir=directory, version=release, config=config) as cluster:
        yield cluster


class OpenedKafka(ApacheKafka):
    """Apache Kafka with directories that `kafkalet export` has prepared."""

    def __init__(self, data: Path, release: str, brokers: int) -> None:
        # Compaction would change the responses.
        super().__init__(release, brokers=brokers, config=config_of(release) | {"log.cleaner.enable": "false"})
        self.data = data
        self.complaints: list[str] = []

    def _configure(self, node: int, port: int, side_port: int) -> None:
        prepared = (self.data / f"server-{node}.properties").read_text()
        (log_dirs,) = re.findall(r"^log\.dirs=(.*)$", prepared, re.MULTILINE)
        properties = self._properties(node, port, side_port) | {"log.dirs": log_dirs}
        self._file(node).write_text("".join(f"{name}={value}\n" for name, value in properties.items()))

    def _stop(self) -> None:
        log = self.directory / "server.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        self.complaints = [line for line in lines if COMPLAINT.search(line)]
        super()._stop()


def disturbances(cluster: kafkalet.Cluster, workload: Workload, brokers: int) -> Iterator[None]:
    """Stop and start brokers, and elect leaders, again and again; between two of them, the workload continues."""
    while True:
        node = workload.random.randint(1, brokers)
        workload.close()
        cluster.broker(node).stop()
        yield
        workload.close()
        cluster.broker(node).start()
        yield
        topic, partition = workload.a_partition()
        cluster._server.call(lambda: cluster._server.elect_leader(topic, partition, node))  # noqa: B023
        yield


def fill(cluster: kafkalet.Cluster, release: str, brokers: int, seed: int) -> Workload:
    workload = Workload(cluster.bootstrap_servers, seed, tv2=release >= "4")
    workload.create_topics(small_segments=release < "4", replicas=brokers)
    workload.set_everything()
    workload.create_acls()
    disturbing = disturbances(cluster, workload, brokers)
    for _ in range(8):
        workload.run(20)
        if brokers > 1:
            next(disturbing)
            workload.bootstrap = cluster.bootstrap_servers
    for node in range(1, brokers + 1):
        if not cluster.broker(node).is_running:
            cluster.broker(node).start()
    workload.close()
    return workload


@pytest.mark.parametrize(
    ("release", "brokers", "is_killed"), [("3.9", 1, False), ("3.9", 3, True), ("4.4", 1, True), ("4.4", 3, False)]
)
def test_kafka_opens_exported_directory_with_the_same_responses_and_vice_versa(
    tmp_path: Path, release: str, brokers: int, is_killed: bool
) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    source, data = tmp_path / "source", tmp_path / "data"
    with opened_here(source, release, brokers) as cluster:
        workload = fill(cluster, release, brokers, seed=brokers)
        before = answers_of(cluster.bootstrap_servers)
        if is_killed:
            cluster._server.call(
                lambda: [each.checkpoint() for node in cluster._server.nodes.values() for each in node.directories]
            )
            shutil.copytree(source, tmp_path / "killed")
            shutil.copytree(source, tmp_path / "copy")
    if is_killed:
        source = tmp_path / "killed"
        with opened_here(tmp_path / "copy", release, brokers) as cluster:
            before = answers_of(cluster.bootstrap_servers)
    assert main(["export", "--data-dir", str(source), "--to", str(data), "--kafka-version", release]) == 0
    kafka = OpenedKafka(data, release, brokers)
    with kafka:
        assert "\n".join(differences(before, answers_of(kafka.bootstrap_servers))) == ""
        workload.bootstrap = kafka.bootstrap_servers
        workload.random = random.Random(brokers)
        workload.run(60)
        workload.create_topic("new", 2, brokers, retention_ms="-1")
        workload.produce("new", 1)
        workload.close()
        after = answers_of(kafka.bootstrap_servers)
    assert kafka.complaints == []
    with opened_here(data, release, brokers) as cluster:
        assert "\n".join(differences(after, answers_of(cluster.bootstrap_servers))) == ""
    assert main(["inspect", "--verify", str(data)]) == 0


def answers_of(bootstrap: str) -> Answers:
    return observe(bootstrap, GROUPS, TRANSACTIONAL_IDS)


@pytest.mark.parametrize(
    ("release", "brokers", "is_cleaned"), [("3.9", 1, False), ("3.9", 3, True), ("4.4", 1, True), ("4.4", 3, False)]
)
def test_dump_log_segments_finds_no_fault(tmp_path: Path, release: str, brokers: int, is_cleaned: bool) -> None:
    """The directory was copied while it was in use, opened again, and closed."""
    if reason := missing("3.9"):
        pytest.skip(reason)
    _install("3.9")
    data = tmp_path / "data"
    with opened_here(tmp_path / "source", release, brokers) as cluster:
        fill(cluster, release, brokers, seed=10 + brokers)
        shutil.copytree(tmp_path / "source", data)
    with kafkalet.Cluster(brokers, data_dir=data, version=release, config=config_of(release)) as cluster:
        if is_cleaned:
            cluster.run_cleaner()
    assert main(["inspect", "--verify", str(data)]) == 0
    files = [path.relative_to(data) for path in sorted(data.rglob("*")) if path.suffix in SEGMENT_FILES]
    tools = ApacheKafka("3.9")
    tools.directory = tmp_path
    for options, part in (
        (("--deep-iteration", "--print-data-log"), files),
        (("--index-sanity-check",), [path for path in files if path.suffix.endswith("index")]),
        (("--verify-index-only", "--deep-iteration"), files),
        (("--offsets-decoder",), [path for path in files if "__consumer_offsets" in str(path)]),
        (("--transaction-log-decoder",), [path for path in files if "__transaction_state" in str(path)]),
    ):
        command = tools._java("kafka.tools.DumpLogSegments", *options, "--files", ",".join(map(str, part)))
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=data)
        assert list(faults((done.stdout + done.stderr).splitlines(), is_cleaned)) == []
        assert done.stdout.count("Dumping ") == len(part)


def faults(lines: list[str], is_cleaned: bool) -> Iterator[str]:
    """Yield what the tool complains about.

    In a cleaned log, offsets have gaps. The time index includes batches whose records have all been removed
    (MemoryRecords.filterTo), and the tool expects none for them.
    """
    for number, line in enumerate(lines):
        if not FAULT.search(line):
            continue
        following = lines[number + 1 : number + 2]
        is_gap = line.startswith("Non-consecutive offsets")
        is_empty_batch = line.startswith("Found timestamp mismatch") and following[0].endswith("log timestamp: -1")
        if not (is_cleaned and (is_gap or is_empty_batch)):
            yield "\n".join((line, *following))
