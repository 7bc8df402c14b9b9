"""Measure how many requests per second a broker answers when generating the load costs next to nothing.

`python -m benchmarks.requests` repeats those rows of `make bench` where a Python load generator may be slower than the
broker, with a C program (pump.c) instead. It also reports the server's processor time per response, which does not
depend on other load on the machine.
"""

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from . import brokers
from .load import SMALL_TOPIC, fetch, list_offsets
from .pump import is_compiled, pump


class Case(NamedTuple):
    """A request to repeat, the number of connections, and the number of requests in flight on each."""

    name: str
    request: Callable[[], bytes]
    connections: int
    in_flight: int


CASES = (
    Case("ListOffsets, 1 connection", list_offsets, 1, 1),
    Case("ListOffsets, 8 connections", list_offsets, 8, 1),
    Case("ListOffsets, 8 connections x 4", list_offsets, 8, 4),
    Case("Fetch of 1 KiB, 1 connection", fetch(1024, SMALL_TOPIC), 1, 1),
    Case("Fetch of 1 KiB, 8 connections x 4", fetch(1024, SMALL_TOPIC), 8, 4),
    Case("Fetch of 1 MiB, 1 connection", fetch(1 << 20), 1, 1),
    Case("Fetch of 1 MiB, 8 connections x 4", fetch(1 << 20), 8, 4),
)


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far, in seconds and including kernel time; 0 if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(broker: brokers.Running, case: Case, seconds: float, rounds: int) -> str:
    host, _, port = broker.address.rpartition(":")
    address, request = (host, int(port)), case.request()
    pump(address, request, case.connections, case.in_flight, seconds / 2)
    before = processor_seconds(broker.pid)
    results = [pump(address, request, case.connections, case.in_flight, seconds) for _ in range(rounds)]
    used = processor_seconds(broker.pid) - before
    answers = statistics.median(result.answers_per_second for result in results)
    megabytes = statistics.median(result.megabytes_per_second for result in results)
    each = used / sum(result.answers for result in results) * 1e6
    return f"{case.name:<36}{answers:>10,.0f} /s{megabytes:>10,.0f} MB/s{each:>10,.1f} us of processor time each"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.requests", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains this text")
    parser.add_argument("--kafka", action="store_true", help="measure Apache Kafka 3.9 instead of kafkalet")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds per round (default: %(default)s)")
    parser.add_argument(
        "--runs", type=int, default=5, help="number of rounds; the median is reported (default: %(default)s)"
    )
    options = parser.parse_args()
    if not is_compiled():
        print("no C compiler: the Python load generator will limit the results", file=sys.stderr)
    broker = brokers.start_kafka() if options.kafka else brokers.start_kafkalet()
    if broker is None:
        sys.exit(1)
    try:
        brokers.make_topics(broker)
        brokers.fill(broker, 64 << 20)
        for case in CASES:
            if not options.rows or any(part in case.name for part in options.rows):
                print(measure(broker, case, options.seconds, options.runs), flush=True)
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
