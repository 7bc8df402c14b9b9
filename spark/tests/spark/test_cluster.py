"""The pipeline on a standalone Spark cluster of a master and two workers, each with its own work directory.

It starts six JVMs, so it is skipped unless KAFKALET_TEST_CLUSTER=1. test_submit.py runs spark-submit without a cluster.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import kafkalet
from kafkalet_spark import submit

pyspark = pytest.importorskip("pyspark", reason="pip install kafkalet-spark")
pytestmark = [
    pytest.mark.skipif(os.environ.get("KAFKALET_TEST_CLUSTER") != "1", reason="KAFKALET_TEST_CLUSTER=1 is not set"),
]

BIN = Path(pyspark.__file__).parent / "bin"
DRIVER_PATH = str(Path(kafkalet.__file__).parents[1])
"""Where the driver finds kafkalet; submit.py finds its own package, and the workers get both from the driver."""
TIMEOUT_S = 300
ROWS = 5000


def free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Cluster:
    """The processes of a cluster, and their directories."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.directory = directory
        self.master = f"spark://127.0.0.1:{free_port()}"
        self._stack = stack
        self.environment = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(directory / "local"),
        }
        self.environment.pop("PYTHONPATH", None)

    def work(self, number: int) -> Path:
        return self.directory / f"worker-{number}"

    def start(self, name: str, *arguments: str) -> Path:
        """Start a daemon and return its log file."""
        log = self.directory / f"{name}.log"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [str(BIN / "spark-class"), *arguments],
                env=self.environment, cwd=self.directory, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return log

    def submit(self, *arguments: str) -> str:
        """Run a pipeline command with spark-submit, and return its last line of output."""
        settings = [f"--conf=spark.executor.{each}" for each in ("memory=512m", "cores=1")]
        settings += ["--conf=spark.driver.host=127.0.0.1", "--conf=spark.driver.bindAddress=127.0.0.1"]
        done = subprocess.run(
            [str(BIN / "spark-submit"), "--master", self.master, *settings, submit.__file__, *arguments],
            env=self.environment | {"PYTHONPATH": DRIVER_PATH},
            capture_output=True, text=True, timeout=TIMEOUT_S, cwd=self.directory, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()[-1]


def wait_for(log: Path, text: str, count: int = 1) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while log.read_text(errors="replace").count(text) < count:
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-4000:]
        time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ExitStack() as stack:
        started = Cluster(tmp_path, stack)
        host, port = started.master.removeprefix("spark://").split(":")
        at = ["--host", host, "--webui-port", "0"]
        log = started.start("master", "org.apache.spark.deploy.master.Master", *at, "--port", port)
        for number in range(2):
            work = ["--work-dir", str(started.work(number)), "--cores", "1", "--memory", "1g"]
            worker = "org.apache.spark.deploy.worker.Worker"
            started.start(f"worker-{number}", worker, *at, *work, started.master)
        wait_for(log, "Registering worker", 2)
        yield started


def test_load_and_dump_run_on_both_workers(cluster: Cluster, tmp_path: Path) -> None:
    lines = [f"{number % 50},{1_700_000_000_000 + number},{number}\n" for number in range(ROWS)]
    (tmp_path / "in").mkdir()
    for part in range(4):
        text = "".join(["k,at,v\n", *lines[part::4]])
        (tmp_path / "in" / f"{part}.csv").write_text(text)
    logs, out = str(tmp_path / "data"), str(tmp_path / "out")
    columns = ["--key", "k", "--value", "v", "--timestamp", "at"]
    loaded = cluster.submit(
        "load", str(tmp_path / "in"), "--data-dir", logs, "--topic", "t", "--partitions", "4", *columns
    )
    assert loaded == f"loaded {ROWS:,} records into {logs}"
    dumped = cluster.submit("dump", logs, "--out", out, "--max-bytes-per-task", "4k", "--format", "jsonl")
    assert dumped.startswith(f"dumped {ROWS:,} records from 4 partitions")
    files = list(Path(out).glob("topic=t/**/*.jsonl"))
    assert len(files) == 4
    assert sum(len(path.read_text().splitlines()) for path in files) == ROWS
    for number in range(2):
        assert (tmp_path / f"worker-{number}.log").read_text().count("Asked to launch executor app-") == 2
