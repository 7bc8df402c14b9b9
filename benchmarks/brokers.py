"""Start, fill and stop the brokers under test, each in a separate process, and measure their memory."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type, response_type
from tests.oracle.apache_kafka import ApacheKafka, missing

from .load import SMALL_TOPIC, TOPIC, ask, produce_request

ROOT = Path(__file__).resolve().parent.parent


class Running(NamedTuple):
    """A running broker that listens on `address`."""

    address: str
    pid: int
    start_ms: float
    stop: Callable[[], None]

    def memory_mib(self) -> float:
        """Return the resident memory of the process in MiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise SystemExit(f"process {self.pid} has gone")

    def processor_seconds(self) -> float:
        """Return the processor time of the process so far, including kernel time; 0 if unknown."""
        return processor_seconds(self.pid)

    def connect(self) -> socket.socket:
        host, _, port = self.address.rpartition(":")
        return socket.create_connection((host, int(port)))


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far, in seconds and including kernel time; 0 if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_kafkalet(
    config: Mapping[str, str] | None = None,
    *options: str,
    python: Sequence[str] = (sys.executable,),
    directory: str | Path = ROOT,
) -> Running:
    """Start kafkalet with these properties and options, on a free port unless they contain `listeners`. The command
    `python` runs the sources in `directory`, or the installed package if there are none.
    """
    given = config or {}
    listen = () if "listeners" in given else ("--listen", "127.0.0.1:0")
    settings = [f"--set={name}={value}" for name, value in given.items()]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*python, "-m", "kafkalet", "serve", *listen, "--log-level", "error", *settings, *options],
        stdout=subprocess.PIPE,
        text=True,
        cwd=directory,
    )
    assert process.stdout is not None
    ready = process.stdout.readline()
    start_ms = (time.perf_counter() - begun) * 1000
    if not ready:
        raise SystemExit(f"kafkalet did not start in {directory} with {' '.join(python)}")
    return Running(ready.split()[2].partition("=")[2], process.pid, start_ms, _stop(process))


def start_kfake(program: Path) -> Running:
    """Start kfake, built from benchmarks/peers/kfake, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    begun = time.perf_counter()
    process = subprocess.Popen([str(program), "-port", str(port)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if not process.stdout.readline():
        raise SystemExit("kfake did not start")
    return Running(f"127.0.0.1:{port}", process.pid, (time.perf_counter() - begun) * 1000, _stop(process))


def _stop(process: subprocess.Popen[str]) -> Callable[[], None]:
    def stop() -> None:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
        assert process.stdout is not None
        process.stdout.close()

    return stop


def start_kafka(heap: str = "512m", release: str = "3.9") -> Running | None:
    """Start a release of Apache Kafka with a maximum heap size; print the reason and return None if it is not available
    (see tests/oracle/apache_kafka.py).
    """
    if lacking := missing(release):
        print(f"Apache Kafka is not measured: {lacking}", file=sys.stderr)
        return None
    kafka = ApacheKafka(release, heap=heap)
    kafka.__enter__()
    return Running(
        kafka.bootstrap_servers,
        [*kafka.processes.values()][-1].pid,
        kafka.start_s * 1000,
        lambda: kafka.__exit__(None, None, None),
    )


def make_topics(broker: Running) -> None:
    """Let the broker create the topics of the benchmarks, and wait until they exist."""
    metadata = request_type(Api.METADATA)
    topics = [metadata.Topic(name=name) for name in (TOPIC, SMALL_TOPIC)]  # type: ignore[attr-defined]
    deadline = time.monotonic() + 30
    with broker.connect() as sock:
        while any(topic.error_code for topic in ask(sock, metadata(topics=topics), Api.METADATA, 4).topics):
            if time.monotonic() > deadline:
                raise SystemExit(f"{broker.address} did not create the topics")
        while _produce(sock, produce_request(1024, SMALL_TOPIC)):  # the leader may not know yet that it leads
            if time.monotonic() > deadline:
                raise SystemExit(f"{broker.address} does not accept records")


def fill(broker: Running, size: int) -> None:
    """Produce `size` bytes in batches of 1 MB."""
    request = produce_request(1_000_000)
    with broker.connect() as sock:
        for _ in range(size // len(request) + 1):
            _produce(sock, request)


def _produce(sock: socket.socket, request: bytes) -> int:
    """Send a Produce request for one partition, and return the error code of the response."""
    sock.sendall(request)
    answer: Any = response_type(Api.PRODUCE).decode(_exactly(sock, int.from_bytes(_exactly(sock, 4), "big")), 7, 4)
    error_code: int = answer.responses[0].partition_responses[0].error_code
    return error_code


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += sock.recv(count - len(data))
    return data
