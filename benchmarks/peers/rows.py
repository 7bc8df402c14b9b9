"""The rows of the comparison: what is sent, how often, and the figures of one run."""

import json
import subprocess
import sys
from math import nan
from pathlib import Path
from typing import NamedTuple

from benchmarks.brokers import Running

SMALL = ("-topic", "small", "-batches", 1000, "-per-batch", 1, "-size", 900)
"""One record per batch: a Fetch of 1 KiB returns one whole batch."""
BIG = ("-topic", "big", "-batches", 64, "-per-batch", 62, "-size", 1024)
"""Batches of slightly less than 64 KiB."""
PATIENCE_S = 300


class Figure(NamedTuple):
    """A rate, and the processor time of the broker: microseconds per request, or seconds per GB."""

    rate: float
    processor_time: float


NONE = Figure(nan, nan)


class Load(NamedTuple):
    """The programs that generate the load (None: not available), and how much of it."""

    rawload: Path | None
    transfer: Path | None
    seconds: float
    mib: int

    def prepare(self, broker: Running) -> None:
        """Create and fill the topics that the requests read."""
        if self.rawload is not None:
            for topic in (SMALL, BIG):
                rawload(self.rawload, "prepare", broker, *topic)

    def can_measure(self, row: "Row") -> bool:
        return (self.transfer if isinstance(row, Transfer) else self.rawload) is not None


class Requests(NamedTuple):
    """Repeated requests over a number of connections, with a number of them in flight on each."""

    name: str
    unit: str
    arguments: tuple[object, ...]
    connections: int = 1
    in_flight: int = 1
    processor_unit: str = "µs"

    def measure(self, broker: Running, load: Load, run: int) -> Figure:
        assert load.rawload is not None
        command, *arguments = self.arguments
        shape = ("-conns", self.connections, "-depth", self.in_flight)
        times = ("-duration", f"{load.seconds}s", "-warmup", f"{load.seconds / 2}s")
        report = rawload(load.rawload, command, broker, "-pid", broker.pid, *shape, *times, *arguments)
        rate = report.get("requests_s" if self.unit == "requests/s" else "mb_s", nan)
        return Figure(rate, report.get("broker_cpu_us_per_request", nan))


class Transfer(NamedTuple):
    """Records of one size, produced or consumed with librdkafka in batches of at most a number of bytes."""

    name: str
    mode: str
    record_bytes: int
    batch_bytes: int
    unit: str = "MB/s"
    processor_unit: str = "s/GB"

    def measure(self, broker: Running, load: Load, run: int) -> Figure:
        topic = f"transfer-{self.record_bytes}-{self.batch_bytes}-{run}"
        if self.mode == "consume" and (broker.pid, topic) not in _filled:
            self._transfer("produce", topic, broker, load)
        return self._transfer(self.mode, topic, broker, load)

    def _transfer(self, mode: str, topic: str, broker: Running, load: Load) -> Figure:
        assert load.transfer is not None
        count = load.mib * (1024 if self.record_bytes == 1024 else 2048)
        before = broker.processor_seconds()
        sizes = map(str, (count, self.record_bytes, self.batch_bytes))
        done = _run([str(load.transfer), mode, broker.address, topic, *sizes])
        if done is None:
            return NONE
        _filled.add((broker.pid, topic))
        return Figure(float(done), (broker.processor_seconds() - before) / (count * self.record_bytes / 1e9))


Row = Requests | Transfer
_filled: set[tuple[int, str]] = set()
"""The topics that have been produced, by broker."""

_SMALL_FETCH = ("fetch", "-topic", "small", "-max-bytes", 1024, "-step", 1, "-wrap", 990)


def _large_fetch(kib: int) -> tuple[object, ...]:
    return ("fetch", "-topic", "big", "-max-bytes", kib * 1024, "-step", 62, "-wrap", 40)


ROWS: tuple[Row, ...] = (
    Requests("ListOffsets, one connection", "requests/s", ("listoffsets", "-topic", "small")),
    Requests("ListOffsets, eight with four in flight", "requests/s", ("listoffsets", "-topic", "small"), 8, 4),
    Requests("Fetch of 1 KiB, one connection", "requests/s", _SMALL_FETCH),
    Requests("Fetch of 1 KiB, eight with four in flight", "requests/s", _SMALL_FETCH, 8, 4),
    Requests("ApiVersions, one connection", "requests/s", ("apiversions",)),
    Requests("Fetch of 64 KiB, one connection", "MB/s", _large_fetch(64)),
    Requests("Fetch of 256 KiB, one connection", "MB/s", _large_fetch(256)),
    Requests("Fetch of 1 MiB, one connection", "MB/s", _large_fetch(1024)),
    Transfer("produce 1 KiB records, 1 MB batches", "produce", 1024, 1_000_000),
    Transfer("produce 1 KiB records, 16 KiB batches", "produce", 1024, 16_384),
    Transfer("produce 100-byte records, 1 MB batches", "produce", 100, 1_000_000),
    Transfer("consume 1 KiB records, 1 MB batches", "consume", 1024, 1_000_000),
    Transfer("consume 1 KiB records, 16 KiB batches", "consume", 1024, 16_384),
)


def rawload(program: Path, command: object, broker: Running, *arguments: object) -> dict[str, float]:
    output = _run([str(program), str(command), "-addr", broker.address, *map(str, arguments)])
    report: dict[str, float] = json.loads(output) if output else {}
    return report


def _run(command: list[str]) -> str | None:
    """Return the output of a load generator; print its messages and return None if it failed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode == 0:
        return done.stdout
    print(f"{' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
    return None
