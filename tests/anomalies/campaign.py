"""A run: a cluster of three brokers, a writer and a reader of each client, faults, and the verdict."""

import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NamedTuple

import kafkalet

from . import faults
from .checker import Anomaly, Log, anomalies
from .history import History
from .worker import READERS

PARTITIONS = 4
LIMIT_S = 120.0
CONFIG = {
    "default.replication.factor": 3,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "min.insync.replicas": 2,
    "replica.lag.time.max.ms": 5000,
    "broker.session.timeout.ms": 5000,
}


class Client(NamedTuple):
    name: str
    command: Sequence[str | Path]
    """The command of a worker, without its arguments."""


def python_client(name: str) -> Client:
    return Client(name, [sys.executable, "-m", "tests.anomalies.worker", name])


class Run(NamedTuple):
    history: History
    log: Log
    faults: dict[str, int]
    anomalies: list[Anomaly]
    seconds: float
    stuck: list[str]
    """The readers that did not end by themselves. What they read is complete, because the group has no lag."""

    def __str__(self) -> str:
        history = self.history
        counted = {
            "records sent": len(history.sends),
            "acknowledged": len(history.acked),
            "transactions committed": len(history.committed),
            "records stored": sum(map(len, self.log.values())),
            "received": sum(map(len, history.polls.values())),
            "received by the group": len(history.members),
        }
        found = Counter(each.kind for each in self.anomalies)
        shown = ", ".join(f"{count:,} {what}" for what, count in counted.items())
        stuck = f"; did not end: {', '.join(self.stuck)}" if self.stuck else ""
        return f"{self.seconds:.0f} s, faults {self.faults}: {shown}; anomalies: {dict(found) or 'none'}{stuck}"


class _Worker:
    """A process of a client. Its events are in a file."""

    def __init__(self, client: Client, role: str, servers: str, acks: str, seed: int, directory: Path) -> None:
        self.name = f"{client.name}-{role}"
        self.events = directory / f"{self.name}.jsonl"
        arguments = [role, servers, faults.TOPIC, str(PARTITIONS), acks, client.name, str(seed)]
        with self.events.open("wb") as out, (directory / f"{self.name}.err").open("wb") as errors:
            self.process = subprocess.Popen(
                [*map(str, client.command), *arguments], stdin=subprocess.PIPE, stdout=out, stderr=errors
            )

    def wait_for_first_event(self) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not self.events.stat().st_size:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"{self.name} does nothing; see {self.events.with_suffix('.err')}")
            time.sleep(0.05)

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> bool:
        """Wait until the process has ended. Return False if it has not, and is killed."""
        try:
            status = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        if status != 0:
            raise AssertionError(f"{self.name} ended with status {status}; see {self.events.with_suffix('.err')}")
        return True


def run(
    clients: Sequence[Client],
    seconds: float,
    seed: int,
    *,
    acks: str = "all",
    possible: Sequence[faults.Fault] = faults.SAFE,
    directory: Path | None = None,
) -> Run:
    """Let clients work under faults for a time, which begins when each of them has begun.

    `directory` keeps the events and the data. Raises AssertionError if a writer does not end, or the group does not
    reach the end of the log.
    """
    began = time.monotonic()
    folder = directory or Path(tempfile.mkdtemp(prefix="kafkalet-anomalies-"))
    with kafkalet.Cluster(brokers=3, config=CONFIG, data_dir=folder / "data") as cluster:
        cluster.topic(faults.TOPIC).create(PARTITIONS)
        servers = cluster.bootstrap_servers
        writers = [_Worker(each, "write", servers, acks, seed, folder) for each in clients]
        readers = [_Worker(each, "read", servers, acks, seed, folder) for each in clients]
        ended = Event()
        for worker in (*writers, *readers):
            worker.wait_for_first_event()
        with ThreadPoolExecutor(1) as pool:
            faulty = pool.submit(faults.run, cluster, random.Random(seed), possible, ended)
            ended.wait(seconds)
            ended.set()
            counts = faulty.result()
        _end(writers)
        if stuck := [worker.name for worker in writers if not worker.wait()]:
            raise AssertionError(f"{', '.join(stuck)} did not end; see {folder}")
        _wait_for_transactions(cluster)
        _wait_for_group(cluster)
        _end(readers)
        stuck = [worker.name for worker in readers if not worker.wait()]
        log = _read(cluster)
    history = History()
    for worker in (*writers, *readers):
        with worker.events.open() as lines:
            history.read(worker.name, lines)
    return Run(history, log, counts, anomalies(history, log), time.monotonic() - began, stuck)


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.stop()


def _wait_for_transactions(cluster: kafkalet.Cluster) -> None:
    """Wait until each transaction whose producer has ended is complete; the coordinator aborts those that are open."""
    deadline = time.monotonic() + LIMIT_S
    for transaction in cluster.transactions():
        while transaction.state in ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"):
            if time.monotonic() > deadline:
                raise AssertionError(f"{transaction} does not end")
            time.sleep(0.1)


def _wait_for_group(cluster: kafkalet.Cluster) -> None:
    cluster.settle()
    cluster.group(READERS).wait_for_lag(0, LIMIT_S)


def _read(cluster: kafkalet.Cluster) -> Log:
    log: Log = {partition: [] for partition in range(PARTITIONS)}
    for record in cluster.topic(faults.TOPIC).records("read_committed"):
        log[record.partition].append((record.offset, record.text()))
    return log
